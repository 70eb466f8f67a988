#include "schedules/exact/exact_beam.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "schedules/exact/exact_slices.h"

#define WIDTH 1u         /* states that go on in a run */
#define SECTIONS 8       /* of a way */
#define RUNS_A_START 6u  /* of the runs of a section every sixth best is a start of the next one, */
#define STARTS 4u        /* at least four of them */
#define SHARPNESS 1.0    /* of a worker's work: this much later counts e times as much */
#define HOPES 1.0       /* of a worker's work: how far a slot's hope is drawn from the usual one, at most, */
#define APART 0.1        /* and how far from the one before it */

typedef struct beam {
	const mr_exact_job *job;
	mr_exact_slices of;
	uint32_t n_path;         /* passes of a way: all F and I, and W of the first stage */
	uint16_t *path;          /* [n_path] chains */
	int64_t *rest;           /* [n_path] what is left of a way free of waiting, this pass too */
	int64_t way, work;
	uint32_t slots;
	double *hope;            /* [slots] */
	bool usual;              /* hope for nothing */
	double least;            /* what no slot ends before */
	mr_exact_states found, starts;
	uint32_t n_starts;       /* at most */
	uint16_t *done, *more;   /* [n_starts][n_passes] chains of the starts in the order of their passes */
	uint32_t *n_done, *n_more; /* [n_starts] */
	uint16_t *begun;         /* chains that the states found began, one behind the other */
	size_t n_begun, most_begun;
	size_t *first_begun;     /* [runs + 1] */
	uint64_t n_random;
	mr_exact_order *out;
} beam;

static double draw(beam *b)
{
	return (double)(mr_mix64(b->n_random++) >> 11) * 0x1p-53;
}

/* --- how good a state is --- */

/* By how much a slot that ends at @t counts: nearly exp, by operations that give the same bits everywhere. */
static double weigh(const beam *b, double t)
{
	double x = 1 + (t - b->least) / (16 * SHARPNESS * (double)b->work);

	x = x > 0 ? x * x : 0;
	x *= x;
	x *= x;
	return x * x;
}

static void judge(void *by, mr_exact_state *s, int64_t now)
{
	const beam *b = by;
	const mr_exact_job *j = b->job;
	double sum = 0;

	for (uint32_t p = 0; p < b->n_path; p++) {
		uint32_t c = b->path[p], from = p ? b->path[p - 1] : b->path[b->n_path - 1];
		uint32_t behind = p ? 0 : b->slots, to = (uint32_t)s->t[b->of.next + from] + behind;
		int64_t lag = j->worker[from] == j->worker[c] ? 0 : j->lag[from / MR_EXACT_KINDS];
		int64_t idle = s->t[b->of.idle + j->worker[c]];

		idle = idle > now ? idle : now;
		for (uint32_t m = (uint32_t)s->t[b->of.next + c]; m < to && m < j->n_micro; m++) {
			uint32_t behind_it = j->n_micro - 1 - m, slot = behind_it % b->slots;
			size_t last = (size_t)from * b->of.ring + ((m - behind) & b->of.mask);
			int64_t t = m < behind ? 0 : s->t[b->of.end + last];

			t = t + lag > idle ? t + lag : idle;
			idle = t + j->work[c];
			t += b->rest[p] + b->way * (behind_it / b->slots) + b->work * slot;
			sum += weigh(b, (double)t + (b->usual ? 0 : b->hope[slot]));
		}
	}
	s->score = sum;
}

/* --- orders --- */

/* All passes of @s have begun: is it the shortest order so far? */
static mr_status finish(void *by, const mr_exact_state *s)
{
	beam *b = by;
	const mr_exact_job *j = b->job;
	uint32_t n = b->n_done[s->start], *next;
	uint16_t *chain;
	int64_t end = 0;

	for (uint32_t w = 0; w < j->n_workers; w++)
		end = s->t[b->of.idle + w] > end ? s->t[b->of.idle + w] : end;
	if (end >= b->out->makespan)
		return MR_OK;
	next = calloc((size_t)j->n_chains + j->n_workers, sizeof(*next));
	chain = malloc(j->n_passes * sizeof(*chain));
	if (next && chain) {
		memcpy(chain, b->done + (size_t)s->start * j->n_passes, n * sizeof(*chain));
		n += mr_exact_state_write(&b->of, s, chain + n);
		for (uint32_t k = 0; k < n; k++) {
			uint32_t c = chain[k], w = j->worker[c];

			b->out->pass[(size_t)j->first[w] * j->n_micro + next[j->n_chains + w]++] =
				c * j->n_micro + next[c]++;
		}
		b->out->makespan = end;
	}
	free(chain);
	free(next);
	return next && chain ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for an order of %u passes", j->n_passes);
}

/* --- sections --- */

/* What each slot is hoped to be before the usual: usually nothing. */
static void draw_hopes(beam *b, bool usual)
{
	double work = usual ? 0 : (double)b->work, apart = APART * (2 * draw(b) - 1) * work;

	for (uint32_t k = 0; k < b->slots; k++)
		b->hope[k] = k * apart + HOPES * (2 * draw(b) - 1) * work;
}

/* For the passes of one more state. */
static mr_status make_room(beam *b)
{
	uint16_t *more;

	if (b->n_begun + b->job->n_passes <= b->most_begun)
		return MR_OK;
	more = realloc(b->begun, 2 * (b->most_begun + b->job->n_passes) * sizeof(*more));
	if (!more)
		return mr_fail(MR_ERESOURCE, "no memory for a beam of orders");
	b->begun = more;
	b->most_begun = 2 * (b->most_begun + b->job->n_passes);
	return MR_OK;
}

/* Run number @run of the section from @from to @to; its best state goes to b->found. */
static mr_status run_section(beam *b, uint32_t run, int64_t from, int64_t to)
{
	mr_exact_state *start = b->starts.at[run % b->starts.n], *best;

	draw_hopes(b, run < b->starts.n);
	b->usual = false;
	MR_TRY(mr_exact_slices_run(&b->of, start, from, to));
	if (!b->of.now.n)
		return MR_OK;
	b->usual = true;
	for (uint32_t k = 0; k < b->of.now.n; k++)
		judge(b, b->of.now.at[k], to);
	mr_exact_states_sort(&b->of.now);
	best = b->found.at[b->found.n];
	memcpy(best, b->of.now.at[0], b->of.bytes);
	MR_TRY(make_room(b));
	b->n_begun += mr_exact_state_write(&b->of, best, b->begun + b->n_begun);
	best->trace = b->found.n++;
	b->first_begun[b->found.n] = b->n_begun;
	return MR_OK;
}

/* The best states found become the starts of the next section. */
static void hand_over(beam *b)
{
	size_t n = b->job->n_passes;
	uint16_t *done = b->more;
	uint32_t *n_done = b->n_more;

	mr_exact_states_sort(&b->found);
	b->starts.n = b->found.n < b->n_starts ? b->found.n : b->n_starts;
	for (uint32_t k = 0; k < b->starts.n; k++) {
		const mr_exact_state *s = b->found.at[k];
		size_t old = b->n_done[s->start], from = b->first_begun[s->trace],
		       many = b->first_begun[s->trace + 1u] - from;

		memcpy(done + k * n, b->done + s->start * n, old * sizeof(*done));
		memcpy(done + k * n + old, b->begun + from, many * sizeof(*done));
		n_done[k] = (uint32_t)(old + many);
		memcpy(b->starts.at[k], s, b->of.bytes);
		b->starts.at[k]->start = k;
	}
	b->more = b->done;
	b->n_more = b->n_done;
	b->done = done;
	b->n_done = n_done;
}

static mr_status search(beam *b, uint32_t runs)
{
	int64_t part = b->way / SECTIONS, section = part > b->of.slice ? part : b->of.slice;

	mr_exact_state_clear(&b->of, b->starts.at[0]);
	b->starts.n = 1;
	for (int64_t t = 0; b->starts.n; t += section) {
		b->found.n = 0;
		b->n_begun = 0;
		for (uint32_t k = 0; k < runs; k++)
			MR_TRY(run_section(b, k, t, t + section));
		hand_over(b);
	}
	return MR_OK;
}

/* --- tables --- */

/* Of a way free of waiting. */
static int64_t way_of(const mr_exact_job *j)
{
	int64_t way = j->work[MR_EXACT_W];

	for (uint32_t s = 0; s < j->n_stages; s++) {
		way += j->work[MR_EXACT_KINDS * s + MR_EXACT_F] + j->work[MR_EXACT_KINDS * s + MR_EXACT_I];
		way += (s + 1u < j->n_stages ? j->lag[s] : 0) + (s ? j->lag[s] : 0);
	}
	return way;
}

bool mr_exact_beam_suits(const mr_exact_job *j)
{
	uint32_t slots = j->cap[j->worker[0]], ways = (j->n_micro + slots - 1) / slots;
	int64_t work = mr_exact_job_most_work(j);

	if (j->most_beside != MR_EXACT_KINDS || j->n_stages != j->n_workers || j->n_stages < 2)
		return false;
	return slots < j->n_micro && work > 0 && ways * way_of(j) > j->n_micro * work;
}

static void lay_out_path(beam *b)
{
	const mr_exact_job *j = b->job;
	int64_t rest = 0;

	for (uint32_t s = 0; s < j->n_stages; s++) {
		b->path[s] = (uint16_t)(MR_EXACT_KINDS * s + MR_EXACT_F);
		b->path[2 * j->n_stages - 1 - s] = (uint16_t)(MR_EXACT_KINDS * s + MR_EXACT_I);
	}
	b->path[2 * j->n_stages] = MR_EXACT_W;
	for (uint32_t p = b->n_path; p-- > 0;) {
		uint32_t c = b->path[p], to = p + 1 < b->n_path ? b->path[p + 1] : c;

		rest += j->work[c] + (j->worker[to] == j->worker[c] ? 0 : j->lag[c / MR_EXACT_KINDS]);
		b->rest[p] = rest;
	}
}

static mr_status init(beam *b, uint32_t runs)
{
	const mr_exact_job *j = b->job;
	bool got;

	b->of = (mr_exact_slices){.job = j, .width = WIDTH, .by = b, .judge = judge, .finish = finish};
	MR_TRY(mr_exact_slices_init(&b->of));
	b->n_starts = runs / RUNS_A_START > STARTS ? runs / RUNS_A_START : STARTS;
	got = mr_exact_states_init(&b->of, runs, &b->found) && mr_exact_states_init(&b->of, b->n_starts, &b->starts);
	b->slots = j->cap[j->worker[0]];
	b->way = way_of(j);
	b->work = mr_exact_job_most_work(j);
	b->least = (double)(b->way * ((j->n_micro + b->slots - 1) / b->slots) + b->work * (b->slots - 1));
	b->n_path = 2u * j->n_stages + 1;
	b->path = calloc(b->n_path, sizeof(*b->path));
	b->rest = calloc(b->n_path, sizeof(*b->rest));
	b->hope = calloc(b->slots, sizeof(*b->hope));
	b->done = calloc((size_t)b->n_starts * j->n_passes, sizeof(*b->done));
	b->more = calloc((size_t)b->n_starts * j->n_passes, sizeof(*b->more));
	b->n_done = calloc(b->n_starts, sizeof(*b->n_done));
	b->n_more = calloc(b->n_starts, sizeof(*b->n_more));
	b->first_begun = calloc((size_t)runs + 1, sizeof(*b->first_begun));
	if (!got || !b->path || !b->rest || !b->hope || !b->done || !b->more || !b->n_done || !b->n_more ||
	    !b->first_begun)
		return mr_fail(MR_ERESOURCE, "no memory for a beam of orders");
	lay_out_path(b);
	return MR_OK;
}

static void fini(beam *b)
{
	mr_exact_slices_fini(&b->of);
	mr_exact_states_fini(&b->found);
	mr_exact_states_fini(&b->starts);
	free(b->path);
	free(b->rest);
	free(b->hope);
	free(b->done);
	free(b->more);
	free(b->n_done);
	free(b->n_more);
	free(b->begun);
	free(b->first_begun);
}

mr_status mr_exact_beam(const mr_exact_job *job, uint32_t runs, uint64_t seed, mr_exact_order *out)
{
	beam b = {.job = job, .out = out, .n_random = seed ? mr_mix64(seed) : 0};
	mr_status st = init(&b, runs);

	out->makespan = INT64_MAX;
	if (st == MR_OK)
		st = search(&b, runs);
	fini(&b);
	return st;
}
