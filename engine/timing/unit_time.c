#include "timing/unit_time.h"

#include <stdlib.h>

/* What a stage has done, and which kind it prefers next. */
typedef struct stage {
	uint32_t n_f, n_b; /* finished before this step */
	bool started, prefer_b;
} stage;

typedef struct clock {
	mr_unit_time *out;
	stage *s;          /* [n_stages] */
	uint32_t noam;     /* 0: no cap */
} clock;

static mr_status check(uint16_t n_stages, uint32_t n_micro)
{
	if (n_stages < 1 || n_micro < 1)
		return mr_fail(MR_EINVAL, "a pipeline in unit time needs stages and micro-batches, got %u and %u",
			       n_stages, n_micro);
	if ((uint64_t)n_stages * n_micro > UINT32_MAX / 2)
		return mr_fail(MR_EINVAL, "%u stages and %u micro-batches are more operations than a timeline holds",
			       n_stages, n_micro);
	return MR_OK;
}

static bool f_ready(const clock *c, uint16_t k)
{
	const mr_unit_time *u = c->out;
	const stage *s = &c->s[k];
	uint32_t m = s->n_f;

	if (m == u->n_micro || (k && c->s[k - 1].n_f <= m))
		return false;
	if (k == 0 && c->noam && s->n_f - s->n_b >= c->noam)
		return false;
	if (!u->round)
		return true;
	if (m % u->round >= u->n_replicas && s->n_b <= m - u->n_replicas)
		return false;
	return m < u->round || c->s[0].n_b >= m / u->round * u->round;
}

static bool b_ready(const clock *c, uint16_t k)
{
	const stage *s = &c->s[k];
	bool last = k + 1 == c->out->n_stages;

	return s->n_b < s->n_f && (last || c->s[k + 1].n_b > s->n_b);
}

/* One step of all stages. Their counters move only after every stage has decided. */
static void tick(clock *c, uint32_t time)
{
	mr_unit_time *u = c->out;
	uint32_t first = u->n;

	for (uint16_t k = 0; k < u->n_stages; k++) {
		stage *s = &c->s[k];
		bool rf = f_ready(c, k), rb = b_ready(c, k);

		if (rb && (!s->started || s->prefer_b || !rf)) {
			u->at[u->n++] = (mr_unit_op){.time = time, .micro = s->n_b, .stage = k, .backward = true};
			s->started = true;
			s->prefer_b = false;
		} else if (rf) {
			u->at[u->n++] = (mr_unit_op){.time = time, .micro = s->n_f, .stage = k};
			s->prefer_b = s->started;
		}
	}
	for (uint32_t i = first; i < u->n; i++) {
		if (u->at[i].backward)
			c->s[u->at[i].stage].n_b++;
		else
			c->s[u->at[i].stage].n_f++;
	}
}

static mr_status run(mr_unit_time *u, uint32_t noam)
{
	clock c = {.out = u, .noam = noam};
	size_t n_ops = 2 * (size_t)u->n_stages * u->n_micro;

	c.s = calloc(u->n_stages, sizeof(*c.s));
	u->at = malloc(n_ops * sizeof(*u->at));
	if (!c.s || !u->at) {
		free(c.s);
		mr_unit_time_fini(u);
		return mr_fail(MR_ERESOURCE, "no memory for %zu operations", n_ops);
	}
	while (c.s[0].n_b < u->n_micro)
		tick(&c, u->length++);
	free(c.s);
	return MR_OK;
}

mr_status mr_unit_greedy(uint16_t n_stages, uint32_t n_micro, uint32_t noam, mr_unit_time *out)
{
	*out = (mr_unit_time){.n_stages = n_stages, .n_replicas = 1, .n_micro = n_micro};
	MR_TRY(check(n_stages, n_micro));
	return run(out, noam ? noam : n_stages);
}

mr_status mr_unit_rounds(uint16_t n_stages, uint32_t n_micro, uint16_t replicas, uint32_t local, mr_unit_time *out)
{
	*out = (mr_unit_time){.n_stages = n_stages, .n_replicas = replicas, .n_micro = n_micro};
	MR_TRY(check(n_stages, n_micro));
	if (replicas < 1 || local < 1 || (uint64_t)replicas * local > UINT32_MAX)
		return mr_fail(MR_EINVAL, "LocalSGD needs replicas and local steps, got %u and %u", replicas, local);
	out->round = replicas * local;
	return run(out, 0);
}

void mr_unit_time_fini(mr_unit_time *u)
{
	free(u->at);
	u->at = NULL;
	u->n = 0;
}

/* A round of @n micro-batches of @replicas replicas. */
static uint64_t round_length(uint64_t stages, uint64_t n, uint64_t replicas)
{
	uint64_t steps = (n + replicas - 1) / replicas, last = n - (steps - 1) * replicas;

	if (replicas >= stages)
		return 2 * n + 2 * (stages - 1);
	return 2 * stages * (steps - 1) + 2 * last + 2 * (stages - 1);
}

uint64_t mr_unit_rounds_length(uint16_t n_stages, uint32_t n_micro, uint16_t replicas, uint32_t local)
{
	uint64_t round = (uint64_t)replicas * local, rest = n_micro % round;

	return n_micro / round * round_length(n_stages, round, replicas) +
	       (rest ? round_length(n_stages, rest, replicas) : 0);
}

/*
 * --- PipeDream's timeline in closed form ---
 *
 * B of micro-batch m at stage s of S runs at 2 m + 2 S - 1 - s. F runs at 2 m + s for m >= S; before that the stage
 * does F as soon as they come, W = min(S, 2 S - 1 - 2 s) of them, and every second step from its first B on.
 */

static uint64_t forward_time(uint64_t n_stages, uint64_t s, uint64_t m)
{
	uint64_t early = 2 * n_stages - 1 - 2 * s;

	early = early < n_stages ? early : n_stages;
	if (m >= n_stages)
		return 2 * m + s;
	return m < early ? s + m : 2 * n_stages - s + 2 * (m - early);
}

/* Updates that stage @s has made before @time. */
static uint64_t updates_of(uint64_t n_stages, uint64_t n_micro, uint64_t s, uint64_t time)
{
	uint64_t first = 2 * n_stages - 1 - s, n = time > first ? (time - first + 1) / 2 : 0;

	return n < n_micro ? n : n_micro;
}

/* Updates made before the turn of stage @before in step @time: those of all stages in earlier steps, and those of the
 * stages before it in this step. */
static uint64_t updates_before(uint64_t n_stages, uint64_t n_micro, uint64_t time, uint64_t before)
{
	uint64_t n = 0;

	for (uint64_t s = 0; s < n_stages; s++)
		n += updates_of(n_stages, n_micro, s, time + (s < before));
	return n;
}

mr_unit_update mr_unit_update_at(uint16_t n_stages, uint64_t n_micro, uint64_t k, uint32_t *delay)
{
	uint64_t low = 0, high = 2 * (n_micro < k + 1 ? n_micro : k + 1) + 2 * (uint64_t)n_stages;
	mr_unit_update u = {0};

	while (low + 1 < high) { /* the last step before which at most k updates are made */
		uint64_t mid = low + (high - low) / 2;

		if (updates_before(n_stages, n_micro, mid, 0) <= k)
			low = mid;
		else
			high = mid;
	}
	while (updates_before(n_stages, n_micro, low, u.stage + 1u) <= k)
		u.stage++;
	u.micro = updates_of(n_stages, n_micro, u.stage, low);
	for (uint16_t j = 0; delay && j < n_stages; j++)
		delay[j] = (uint32_t)(k - updates_before(n_stages, n_micro, forward_time(n_stages, j, u.micro), j));
	return u;
}

uint32_t mr_unit_delay(uint16_t n_stages, uint16_t active, uint16_t read)
{
	uint32_t s = n_stages, d = (s - read) / 2 + active / 2u;

	for (uint32_t t = read + 1u; t + active + 2 <= 2 * s; t++)
		d += t % 2 ? (s + 1) / 2 : s / 2;
	return d;
}

uint32_t mr_unit_delay_max(uint16_t n_stages)
{
	return (uint32_t)(2 * (uint64_t)n_stages * n_stages - n_stages) / 2;
}

uint32_t mr_unit_delay_startup(uint16_t n_stages)
{
	return (uint32_t)(5 * (uint64_t)n_stages * n_stages - 4 * (uint64_t)n_stages) / 4;
}
