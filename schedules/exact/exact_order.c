#include "schedules/exact/exact_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define HOLD 8u         /* steps for which a swap is tabu, at least */
#define HOLD_MORE 16u   /* steps more, drawn at random below this */
#define STALE 1000u     /* steps without a new best order before the search goes back to it, and makes at random */
#define SHAKES 12u      /* up to this many swaps of the longest path, */
#define A_SHAKE 40u     /* and up to one more for this many passes: a small change of a large order is soon undone */

/* Two passes that follow each other: the one that lies at @at on @worker, and the next. */
typedef struct swap {
	uint16_t worker;
	uint32_t at;
} swap;

typedef struct improver {
	const mr_exact_job *job;
	mr_exact_order *now;
	int64_t *head, *tail;      /* [n_passes] */
	int64_t *work;             /* [n_passes] */
	uint32_t *at;              /* [n_passes] where it lies among its worker's passes */
	uint32_t *last, *next;     /* [n_passes] the pass before it on its worker, behind it; MR_EXACT_NOWHERE: none */
	uint32_t *waits, *sorted;  /* [n_passes] none waits for a later one */
	uint32_t *place;           /* [n_passes] where it lies in sorted */
	uint32_t *moved;           /* [n_passes] those that go behind a swap */
	uint8_t *due;              /* [n_passes] its head or tail may have changed */
	uint32_t n_due;
	uint32_t *path;            /* [n_passes] a longest path */
	uint32_t n_path;
	swap *swaps;               /* [n_passes] of the path */
	uint32_t n_swaps;
	uint64_t *held;            /* [n_passes][most_beside] step up to which it is not put behind that chain */
	uint64_t step, n_random;
} improver;

/* --- orders --- */

mr_status mr_exact_order_init(const mr_exact_job *job, mr_exact_order *out)
{
	*out = (mr_exact_order){.pass = malloc(job->n_passes * sizeof(*out->pass)), .makespan = INT64_MAX};
	return out->pass ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for an order of %u passes", job->n_passes);
}

void mr_exact_order_fini(mr_exact_order *o)
{
	free(o->pass);
	o->pass = NULL;
}

/* Can the next pass of @chain be put down? */
static bool is_open(const mr_exact_job *j, const uint32_t *next, uint32_t chain)
{
	uint32_t m = next[chain], w = j->worker[chain], kept = 0;
	const mr_exact_edges *e;

	if (m >= j->n_micro)
		return false;
	e = &j->needs[chain * j->n_micro + m];
	for (uint32_t k = 0; k < e->n; k++)
		if (next[e->at[k].pass / j->n_micro] <= e->at[k].pass % j->n_micro)
			return false;
	if (chain % MR_EXACT_KINDS != MR_EXACT_F)
		return true;
	for (uint32_t k = j->first[w]; k < j->first[w + 1]; k += MR_EXACT_KINDS)
		kept += next[j->chain[k] + MR_EXACT_F] - next[j->chain[k] + MR_EXACT_W];
	return kept < j->cap[w];
}

mr_status mr_exact_order_by(const mr_exact_job *j, const int64_t *begin, mr_exact_order *o)
{
	uint32_t *next = calloc((size_t)j->n_chains + j->n_workers, sizeof(*next)), *put = next + j->n_chains, n = 0;

	if (!next)
		return mr_fail(MR_ERESOURCE, "no memory for an order of %u passes", j->n_passes);
	for (; n < j->n_passes; n++) {
		uint32_t take = MR_EXACT_NOWHERE, w;
		int64_t least = 0;

		for (uint32_t c = 0; c < j->n_chains; c++) {
			int64_t t = next[c] < j->n_micro ? begin[c * j->n_micro + next[c]] : 0;

			if ((take != MR_EXACT_NOWHERE && t >= least) || !is_open(j, next, c))
				continue;
			take = c;
			least = t;
		}
		if (take == MR_EXACT_NOWHERE)
			break;
		w = j->worker[take];
		o->pass[j->first[w] * j->n_micro + put[w]++] = take * j->n_micro + next[take];
		next[take]++;
	}
	free(next);
	return n == j->n_passes ? MR_OK : mr_fail(MR_EINVAL, "passes of an order wait for each other");
}

/* --- times --- */

static uint32_t *list_of(const improver *s, uint16_t worker)
{
	return &s->now->pass[(size_t)s->job->first[worker] * s->job->n_micro];
}

static uint32_t length_of(const improver *s, uint16_t worker)
{
	return (s->job->first[worker + 1] - s->job->first[worker]) * s->job->n_micro;
}

static uint16_t worker_of(const improver *s, uint32_t pass)
{
	return s->job->worker[pass / s->job->n_micro];
}

/* The longest way over the edges @e of a pass, by that of each pass at their other ends, heads or tails. What lies
 * before or behind the pass on its worker is left aside. */
static int64_t longest_of(const improver *s, const mr_exact_edges *e, const int64_t *way)
{
	int64_t t = 0;

	for (unsigned k = 0; k < e->n; k++) {
		int64_t one = way[e->at[k].pass] + s->work[e->at[k].pass] + e->at[k].lag;

		t = one > t ? one : t;
	}
	return t;
}

/* When the inputs of @pass are there. */
static int64_t inputs_of(const improver *s, uint32_t pass)
{
	return longest_of(s, &s->job->needs[pass], s->head);
}

/* The longest way behind @pass. */
static int64_t outputs_of(const improver *s, uint32_t pass)
{
	return longest_of(s, &s->job->feeds[pass], s->tail);
}

/* Sort all passes so that none waits for a later one. false: there is a circle. */
static bool sort(improver *s)
{
	const mr_exact_job *j = s->job;
	uint32_t n = 0;

	for (uint16_t w = 0; w < j->n_workers; w++)
		for (uint32_t k = 0, many = length_of(s, w); k < many; k++) {
			uint32_t x = list_of(s, w)[k];

			s->at[x] = k;
			s->last[x] = k ? list_of(s, w)[k - 1] : MR_EXACT_NOWHERE;
			s->next[x] = k + 1 < many ? list_of(s, w)[k + 1] : MR_EXACT_NOWHERE;
			s->waits[x] = j->needs[x].n + (k > 0);
			if (!s->waits[x])
				s->sorted[n++] = x;
		}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t x = s->sorted[k], next = s->next[x];
		const mr_exact_edges *e = &s->job->feeds[x];

		for (unsigned i = 0; i < e->n; i++)
			if (!--s->waits[e->at[i].pass])
				s->sorted[n++] = e->at[i].pass;
		if (next != MR_EXACT_NOWHERE && !--s->waits[next])
			s->sorted[n++] = next;
	}
	return n == j->n_passes;
}

static int64_t head_of(const improver *s, uint32_t pass)
{
	uint32_t last = s->last[pass];
	int64_t t = inputs_of(s, pass), end = last == MR_EXACT_NOWHERE ? 0 : s->head[last] + s->work[last];

	return end > t ? end : t;
}

static int64_t tail_of(const improver *s, uint32_t pass)
{
	uint32_t next = s->next[pass];
	int64_t t = outputs_of(s, pass), rest = next == MR_EXACT_NOWHERE ? 0 : s->tail[next] + s->work[next];

	return rest > t ? rest : t;
}

/* The last end on any worker. */
static void note_makespan(improver *s)
{
	const mr_exact_job *j = s->job;

	s->now->makespan = 0;
	for (uint16_t w = 0; w < j->n_workers; w++) {
		uint32_t n = length_of(s, w), x = n ? list_of(s, w)[n - 1] : 0;
		int64_t end = n ? s->head[x] + s->work[x] : 0;

		s->now->makespan = end > s->now->makespan ? end : s->now->makespan;
	}
}

/* All heads and tails. false: there is a circle. */
static bool time(improver *s)
{
	const mr_exact_job *j = s->job;

	if (!sort(s))
		return false;
	for (uint32_t k = 0; k < j->n_passes; k++) {
		s->place[s->sorted[k]] = k;
		s->head[s->sorted[k]] = head_of(s, s->sorted[k]);
	}
	for (uint32_t k = j->n_passes; k-- > 0;)
		s->tail[s->sorted[k]] = tail_of(s, s->sorted[k]);
	note_makespan(s);
	return true;
}

/* --- times after a swap --- */

static void make_due(improver *s, uint32_t pass)
{
	if (pass == MR_EXACT_NOWHERE || s->due[pass])
		return;
	s->due[pass] = 1;
	s->n_due++;
}

/* The heads of what is due and of what follows from it; nothing due is sorted before place @k. */
static void renew_heads(improver *s, uint32_t k)
{
	for (; s->n_due; k++) {
		uint32_t x = s->sorted[k];
		const mr_exact_edges *e = &s->job->feeds[x];
		int64_t t;

		if (!s->due[x])
			continue;
		s->due[x] = 0;
		s->n_due--;
		t = head_of(s, x);
		if (t == s->head[x])
			continue;
		s->head[x] = t;
		for (unsigned i = 0; i < e->n; i++)
			make_due(s, e->at[i].pass);
		make_due(s, s->next[x]);
	}
}

static void renew_tails(improver *s, uint32_t k)
{
	for (; s->n_due; k--) {
		uint32_t x = s->sorted[k];
		const mr_exact_edges *e = &s->job->needs[x];
		int64_t t;

		if (!s->due[x])
			continue;
		s->due[x] = 0;
		s->n_due--;
		t = tail_of(s, x);
		if (t == s->tail[x])
			continue;
		s->tail[x] = t;
		for (unsigned i = 0; i < e->n; i++)
			make_due(s, e->at[i].pass);
		make_due(s, s->last[x]);
	}
}

/* Sort anew for @v before @u, which lie next to each other on a worker, @u first: what waits for @u goes behind @v.
 * false: @v does so on another way, and nothing is changed. */
static bool resort(improver *s, uint32_t u, uint32_t v)
{
	uint32_t from = s->place[u], to = s->place[v], n = 0, put = from;
	bool circle;

	s->due[u] = 1;
	for (uint32_t k = from; k < to; k++) {
		uint32_t x = s->sorted[k], next = s->next[x];
		const mr_exact_edges *e = &s->job->feeds[x];

		if (!s->due[x])
			continue;
		for (unsigned i = 0; i < e->n; i++)
			s->due[e->at[i].pass] |= s->place[e->at[i].pass] <= to;
		if (x != u && next != MR_EXACT_NOWHERE)
			s->due[next] |= s->place[next] <= to;
	}
	circle = s->due[v];
	for (uint32_t k = from; k <= to; k++) {
		uint32_t x = s->sorted[k];

		if (s->due[x])
			s->moved[n++] = x;
		else if (!circle)
			s->sorted[put++] = x;
		s->due[x] = 0;
	}
	for (uint32_t k = 0; !circle && k < n; k++)
		s->sorted[put++] = s->moved[k];
	for (uint32_t k = from; k <= to; k++)
		s->place[s->sorted[k]] = k;
	return !circle;
}

/* --- swaps --- */

static uint64_t roll(improver *s, uint64_t n)
{
	return mr_mix64(s->n_random++) % n;
}

/* A longest path, by chance one of them. */
static void find_path(improver *s)
{
	const mr_exact_job *j = s->job;
	uint32_t x = MR_EXACT_NOWHERE, many = 0;

	s->n_path = 0;
	for (uint32_t k = 0; k < j->n_passes; k++)
		if (!s->head[k] && s->work[k] + s->tail[k] == s->now->makespan && !roll(s, ++many))
			x = k;
	while (x != MR_EXACT_NOWHERE) {
		int64_t end = s->head[x] + s->work[x];
		uint32_t next = MR_EXACT_NOWHERE;
		const mr_exact_edges *e = &s->job->feeds[x];

		s->path[s->n_path++] = x;
		many = 0;
		for (unsigned k = 0; k < e->n; k++) {
			uint32_t y = e->at[k].pass;

			if (s->head[y] == end + e->at[k].lag &&
			    s->head[y] + s->work[y] + s->tail[y] == s->now->makespan && !roll(s, ++many))
				next = y;
		}
		if (s->next[x] != MR_EXACT_NOWHERE) {
			uint32_t y = s->next[x];

			if (s->head[y] == end && s->work[y] + s->tail[y] + end == s->now->makespan &&
			    !roll(s, ++many))
				next = y;
		}
		x = next;
	}
}

/* May the passes at @at and @at + 1 on @worker change places? */
static bool may_swap(const improver *s, uint16_t worker, uint32_t at)
{
	const mr_exact_job *j = s->job;
	const uint32_t *list = list_of(s, worker);
	uint32_t u = list[at], v = list[at + 1], kept = 0;
	const mr_exact_edges *e = &s->job->feeds[u];

	if (u / j->n_micro == v / j->n_micro)
		return false;
	for (unsigned k = 0; k < e->n; k++)
		if (e->at[k].pass == v)
			return false;
	if (u / j->n_micro % MR_EXACT_KINDS != MR_EXACT_W || v / j->n_micro % MR_EXACT_KINDS != MR_EXACT_F ||
	    j->first[worker + 1] - j->first[worker] == MR_EXACT_KINDS)
		return true; /* with one stage the room is an edge */
	for (uint32_t k = 0; k < at; k++) {
		kept += list[k] / j->n_micro % MR_EXACT_KINDS == MR_EXACT_F;
		kept -= list[k] / j->n_micro % MR_EXACT_KINDS == MR_EXACT_W;
	}
	return kept + 1 <= j->cap[worker];
}

/* The swaps on the path. */
static void find_swaps(improver *s)
{
	s->n_swaps = 0;
	for (uint32_t k = 0; k + 1 < s->n_path; k++) {
		uint32_t u = s->path[k], v = s->path[k + 1];
		uint16_t w = worker_of(s, u);

		if (worker_of(s, v) != w || s->at[v] != s->at[u] + 1 || !may_swap(s, w, s->at[u]))
			continue;
		s->swaps[s->n_swaps++] = (swap){w, s->at[u]};
	}
}

/* The length of the longest path through the two passes if they changed places. */
static int64_t estimate(const improver *s, const swap *x)
{
	const uint32_t *list = list_of(s, x->worker);
	uint32_t u = list[x->at], v = list[x->at + 1];
	int64_t head_v = inputs_of(s, v), head_u = inputs_of(s, u), tail_u = outputs_of(s, u),
		tail_v = outputs_of(s, v), by_v, by_u;

	if (x->at) {
		int64_t end = s->head[list[x->at - 1]] + s->work[list[x->at - 1]];

		head_v = end > head_v ? end : head_v;
	}
	head_u = head_v + s->work[v] > head_u ? head_v + s->work[v] : head_u;
	if (x->at + 2 < length_of(s, x->worker)) {
		int64_t rest = s->tail[list[x->at + 2]] + s->work[list[x->at + 2]];

		tail_u = rest > tail_u ? rest : tail_u;
	}
	tail_v = tail_u + s->work[u] > tail_v ? tail_u + s->work[u] : tail_v;
	by_v = head_v + s->work[v] + tail_v;
	by_u = head_u + s->work[u] + tail_u;
	return by_v > by_u ? by_v : by_u;
}

static uint64_t *held(const improver *s, uint32_t pass, uint32_t behind)
{
	return &s->held[(size_t)pass * s->job->most_beside + s->job->place[behind / s->job->n_micro]];
}

/* The swap to be made; false: there is none. */
static bool choose(improver *s, int64_t best, swap *out)
{
	int64_t least = INT64_MAX;
	uint32_t many = 0;

	find_path(s);
	find_swaps(s);
	for (uint32_t k = 0; k < s->n_swaps; k++) {
		const uint32_t *list = list_of(s, s->swaps[k].worker);
		int64_t length = estimate(s, &s->swaps[k]);

		if (*held(s, list[s->swaps[k].at], list[s->swaps[k].at + 1]) > s->step && length >= best)
			continue;
		if (length < least)
			many = 0;
		if (length > least || roll(s, ++many))
			continue;
		least = length;
		*out = s->swaps[k];
	}
	if (least < INT64_MAX || !s->n_swaps)
		return s->n_swaps > 0;
	*out = s->swaps[roll(s, s->n_swaps)];
	return true;
}

/* --- the search --- */

/* Let @next come behind @last on their worker. */
static void link_up(improver *s, uint32_t last, uint32_t next)
{
	if (last != MR_EXACT_NOWHERE)
		s->next[last] = next;
	if (next != MR_EXACT_NOWHERE)
		s->last[next] = last;
}

/* Swap and time, or do not try that again soon if passes would wait for each other then. */
static void step(improver *s, const swap *x)
{
	uint32_t *list = list_of(s, x->worker), u = list[x->at], v = list[x->at + 1], from = s->place[u],
		 to = s->place[v];

	if (!resort(s, u, v)) {
		*held(s, u, v) = s->step + HOLD + HOLD_MORE;
		return;
	}
	list[x->at] = v;
	list[x->at + 1] = u;
	s->at[v] = x->at;
	s->at[u] = x->at + 1;
	link_up(s, s->last[u], v);
	link_up(s, u, s->next[v]);
	link_up(s, v, u);
	*held(s, v, u) = s->step + HOLD + roll(s, HOLD_MORE);
	make_due(s, u);
	make_due(s, v);
	make_due(s, s->next[u]);
	renew_heads(s, from);
	make_due(s, u);
	make_due(s, v);
	make_due(s, s->last[v]);
	renew_tails(s, to);
	note_makespan(s);
}

static void shake(improver *s, uint32_t times)
{
	for (uint32_t k = 0; k < times; k++) {
		find_path(s);
		find_swaps(s);
		if (s->n_swaps)
			step(s, &s->swaps[roll(s, s->n_swaps)]);
	}
}

static void search(improver *s, mr_exact_order *best, int64_t enough, uint64_t steps)
{
	size_t bytes = s->job->n_passes * sizeof(*best->pass);
	uint64_t since = 0;

	for (s->step = 1; s->step <= steps && best->makespan > enough; s->step++, since++) {
		swap x;

		if (since >= STALE) {
			memcpy(s->now->pass, best->pass, bytes);
			(void)time(s);
			shake(s, 1 + (uint32_t)roll(s, SHAKES + s->job->n_passes / A_SHAKE));
			since = 0;
		}
		if (!choose(s, best->makespan, &x))
			return;
		step(s, &x);
		if (s->now->makespan < best->makespan) {
			memcpy(best->pass, s->now->pass, bytes);
			best->makespan = s->now->makespan;
			since = 0;
		}
	}
}

static mr_status allocate(improver *s)
{
	size_t n = s->job->n_passes;

	s->head = calloc(n, sizeof(*s->head));
	s->tail = calloc(n, sizeof(*s->tail));
	s->work = calloc(n, sizeof(*s->work));
	s->at = calloc(n, sizeof(*s->at));
	s->last = calloc(n, sizeof(*s->last));
	s->next = calloc(n, sizeof(*s->next));
	s->waits = calloc(n, sizeof(*s->waits));
	s->sorted = calloc(n, sizeof(*s->sorted));
	s->place = calloc(n, sizeof(*s->place));
	s->moved = calloc(n, sizeof(*s->moved));
	s->due = calloc(n, sizeof(*s->due));
	s->path = calloc(n, sizeof(*s->path));
	s->swaps = calloc(n, sizeof(*s->swaps));
	s->held = calloc(n * s->job->most_beside, sizeof(*s->held));
	if (!s->head || !s->tail || !s->work || !s->at || !s->last || !s->next || !s->waits || !s->sorted ||
	    !s->place || !s->moved || !s->due || !s->path || !s->swaps || !s->held)
		return mr_fail(MR_ERESOURCE, "no memory to improve an order of %zu passes", n);
	for (size_t x = 0; x < n; x++)
		s->work[x] = s->job->work[x / s->job->n_micro];
	return MR_OK;
}

static void fini(improver *s)
{
	free(s->head);
	free(s->tail);
	free(s->work);
	free(s->at);
	free(s->last);
	free(s->next);
	free(s->waits);
	free(s->sorted);
	free(s->place);
	free(s->moved);
	free(s->due);
	free(s->path);
	free(s->swaps);
	free(s->held);
}

mr_status mr_exact_improve(const mr_exact_job *job, mr_exact_order *o, int64_t enough, uint64_t steps)
{
	mr_exact_order now;
	improver s = {.job = job, .now = &now};
	mr_status st = mr_exact_order_init(job, &now);

	if (st == MR_OK)
		st = allocate(&s);
	if (st == MR_OK) {
		memcpy(now.pass, o->pass, job->n_passes * sizeof(*now.pass));
		if (time(&s))
			o->makespan = now.makespan;
		else
			st = mr_fail(MR_EINVAL, "passes of an order wait for each other");
	}
	if (st == MR_OK)
		search(&s, o, enough, steps);
	fini(&s);
	mr_exact_order_fini(&now);
	return st;
}
