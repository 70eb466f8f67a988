#include "schedules/common/exact_beam.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define WIDTH 30u        /* states that go on */
#define CHILDREN 6u      /* of each, in a slice */
#define STARTS 4u        /* states that a section hands over */
#define SLICES_A_PASS 12 /* slices of time in the longest pass */
#define SHARPNESS 1.5    /* of a worker's work: this much later counts e times as much */
#define HOPES 0.25       /* of a worker's work: how far a slot's hope is drawn from the usual one, at most, */
#define APART 0.1        /* and how far from the one before it */

#define NEVER (INT64_MAX / 4)

/* The passes begun up to some time. */
typedef struct state {
	double score;
	uint64_t hash;
	uint32_t trace;     /* the last pass begun in this section, NOWHERE: none */
	uint32_t start;     /* which state the section began with */
	int64_t t[];        /* see beam */
} state;

/* Where something of a state lies in t. */
typedef struct places {
	size_t idle;   /* [n_workers] from when on a worker is idle */
	size_t soonest;/* [n_workers] the first end of what it could do next */
	size_t next;   /* [n_chains] */
	size_t ready;  /* [n_chains] when the next pass could begin; NEVER: it waits for one that has not begun */
	size_t end;    /* [n_chains][ring] of the last passes */
	size_t bytes;  /* of a state */
} places;

typedef struct trace {
	uint32_t before;
	uint16_t chain;
} trace;

/* A number of states. */
typedef struct states {
	char *at;
	uint32_t n, most;
} states;

typedef struct beam {
	const mr_exact_job *job;
	places in;
	uint32_t ring, mask;
	uint32_t n_path;         /* passes of a way: all F and I, and W of the first stage */
	uint16_t *path;          /* [n_path] chains */
	int64_t *rest;           /* [n_path] what is left of a way free of waiting, this pass too */
	int64_t way, work, slice;
	uint32_t slots;
	double *hope;            /* [slots] */
	double least;            /* what no slot ends before */
	states now, all, found, starts;
	state **sorted;          /* of the states that are compared */
	state **stack;           /* [CHILDREN + 1] with room for one each */
	trace *traces;
	uint32_t n_traces, most_traces;
	uint16_t *done, *begun;  /* [STARTS][n_passes], [runs][n_passes] chains in the order of their passes */
	uint32_t *n_done, *n_begun;
	uint64_t n_random;
	mr_exact_order *out;
} beam;

static state *state_at(const beam *b, const states *s, uint32_t k)
{
	return (state *)(s->at + k * b->in.bytes);
}

static double draw(beam *b)
{
	return (double)(mr_mix64(b->n_random++) >> 11) * 0x1p-53;
}

/* --- putting passes down --- */

static int64_t ready_of(const beam *b, const state *s, uint32_t chain)
{
	const mr_exact_job *j = b->job;
	uint32_t m = (uint32_t)s->t[b->in.next + chain];
	const mr_exact_edges *e;
	int64_t t = 0;

	if (m >= j->n_micro)
		return NEVER;
	e = &j->needs[(size_t)chain * j->n_micro + m];
	for (uint32_t k = 0; k < e->n; k++) {
		uint32_t from = e->at[k].pass / j->n_micro, micro = e->at[k].pass - from * j->n_micro;
		int64_t end;

		if (micro >= s->t[b->in.next + from])
			return NEVER;
		end = s->t[b->in.end + (size_t)from * b->ring + (micro & b->mask)] + e->at[k].lag;
		t = end > t ? end : t;
	}
	return t;
}

static int64_t begin_of(const beam *b, const state *s, uint32_t chain)
{
	int64_t ready = s->t[b->in.ready + chain], idle = s->t[b->in.idle + b->job->worker[chain]];

	return ready > idle ? ready : idle;
}

static void note_soonest(const beam *b, state *s, uint32_t worker)
{
	int64_t t = NEVER;

	for (uint32_t k = b->job->first[worker]; k < b->job->first[worker + 1]; k++) {
		uint32_t c = b->job->chain[k];
		int64_t end = begin_of(b, s, c) + b->job->work[c];

		t = end < t ? end : t;
	}
	s->t[b->in.soonest + worker] = t;
}

/* Begin the next pass of @chain. */
static mr_status put(beam *b, state *s, uint32_t chain)
{
	const mr_exact_job *j = b->job;
	uint32_t m = (uint32_t)s->t[b->in.next + chain], worker = j->worker[chain];
	int64_t begin = begin_of(b, s, chain), end = begin + j->work[chain];
	const mr_exact_edges *e = &j->feeds[(size_t)chain * j->n_micro + m];

	if (b->n_traces == b->most_traces) {
		trace *more = realloc(b->traces, 2 * (size_t)b->most_traces * sizeof(*more));

		if (!more)
			return mr_fail(MR_ERESOURCE, "no memory for a beam of orders");
		b->traces = more;
		b->most_traces *= 2;
	}
	b->traces[b->n_traces] = (trace){s->trace, (uint16_t)chain};
	s->trace = b->n_traces++;
	s->hash += mr_mix64(((uint64_t)chain * j->n_micro + m) ^ mr_mix64((uint64_t)begin));
	s->t[b->in.idle + worker] = end;
	s->t[b->in.end + (size_t)chain * b->ring + (m & b->mask)] = end;
	s->t[b->in.next + chain]++;
	s->t[b->in.ready + chain] = ready_of(b, s, chain);
	for (uint32_t k = 0; k < e->n; k++) {
		uint32_t to = e->at[k].pass / j->n_micro;

		s->t[b->in.ready + to] = ready_of(b, s, to);
		if (j->worker[to] != worker)
			note_soonest(b, s, j->worker[to]);
	}
	note_soonest(b, s, worker);
	return MR_OK;
}

/* The worker whose next pass would end first. */
static uint32_t first_to_end(const beam *b, const state *s)
{
	uint32_t take = 0;

	for (uint32_t w = 1; w < b->job->n_workers; w++)
		if (s->t[b->in.soonest + w] < s->t[b->in.soonest + take])
			take = w;
	return take;
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

/* @hope: [slots], NULL: the usual one for all. */
static void judge(const beam *b, state *s, int64_t now, const double *hope)
{
	const mr_exact_job *j = b->job;
	double sum = 0;

	for (uint32_t p = 0; p < b->n_path; p++) {
		uint32_t c = b->path[p], from = p ? b->path[p - 1] : b->path[b->n_path - 1];
		uint32_t behind = p ? 0 : b->slots, to = (uint32_t)s->t[b->in.next + from] + behind;
		int64_t lag = j->worker[from] == j->worker[c] ? 0 : j->lag[from / MR_EXACT_KINDS];
		int64_t idle = s->t[b->in.idle + j->worker[c]];

		idle = idle > now ? idle : now;
		for (uint32_t m = (uint32_t)s->t[b->in.next + c]; m < to && m < j->n_micro; m++) {
			uint32_t behind_it = j->n_micro - 1 - m, slot = behind_it % b->slots;
			int64_t t = m < behind ? 0
					       : s->t[b->in.end + (size_t)from * b->ring + ((m - behind) & b->mask)];

			t = t + lag > idle ? t + lag : idle;
			idle = t + j->work[c];
			t += b->rest[p] + b->way * (behind_it / b->slots) + b->work * slot;
			sum += weigh(b, (double)t + (hope ? hope[slot] : 0));
		}
	}
	s->score = sum;
}

static int by_score(const void *x, const void *y)
{
	const state *a = *(state *const *)x, *b = *(state *const *)y;

	if (a->score != b->score)
		return a->score < b->score ? -1 : 1;
	return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Sort @from, of which b->sorted has the states then. */
static void sort(beam *b, const states *from)
{
	for (uint32_t k = 0; k < from->n; k++)
		b->sorted[k] = state_at(b, from, k);
	qsort(b->sorted, from->n, sizeof(*b->sorted), by_score);
}

/* The best states of @from, each once. */
static void keep_best(beam *b, const states *from, states *to)
{
	sort(b, from);
	to->n = 0;
	for (uint32_t k = 0; k < from->n && to->n < to->most; k++)
		if (!k || b->sorted[k]->hash != b->sorted[k - 1]->hash)
			memcpy(state_at(b, to, to->n++), b->sorted[k], b->in.bytes);
}

/* --- orders --- */

/* The chains of @s's passes of this section, in order, into @to; returns how many. */
static uint32_t write_down(const beam *b, const state *s, uint16_t *to)
{
	uint32_t n = 0;

	for (uint32_t k = s->trace; k != MR_EXACT_NOWHERE; k = b->traces[k].before)
		n++;
	for (uint32_t k = s->trace, at = n; k != MR_EXACT_NOWHERE; k = b->traces[k].before)
		to[--at] = b->traces[k].chain;
	return n;
}

/* All passes of @s have begun: is it the shortest order so far? */
static mr_status finish(beam *b, const state *s)
{
	const mr_exact_job *j = b->job;
	uint32_t n = b->n_done[s->start], *next;
	uint16_t *chain;
	int64_t end = 0;

	for (uint32_t w = 0; w < j->n_workers; w++)
		end = s->t[b->in.idle + w] > end ? s->t[b->in.idle + w] : end;
	if (end >= b->out->makespan)
		return MR_OK;
	next = calloc((size_t)j->n_chains + j->n_workers, sizeof(*next));
	chain = malloc(j->n_passes * sizeof(*chain));
	if (next && chain) {
		memcpy(chain, b->done + (size_t)s->start * j->n_passes, n * sizeof(*chain));
		n += write_down(b, s, chain + n);
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

/* --- slices, sections --- */

/* Of the passes that could begin on @worker before the first end there: which begins first; the others in @other. */
static uint32_t list_choices(const beam *b, const state *s, uint32_t worker, uint32_t *other, uint32_t *n)
{
	const mr_exact_job *j = b->job;
	int64_t soonest = s->t[b->in.soonest + worker];
	uint32_t take = MR_EXACT_NOWHERE;

	*n = 0;
	for (uint32_t k = j->first[worker]; k < j->first[worker + 1]; k++) {
		uint32_t c = j->chain[k];

		if (begin_of(b, s, c) >= soonest && begin_of(b, s, c) + j->work[c] > soonest)
			continue;
		if (take == MR_EXACT_NOWHERE || begin_of(b, s, c) < begin_of(b, s, take)) {
			if (take != MR_EXACT_NOWHERE)
				other[(*n)++] = take;
			take = c;
		} else {
			other[(*n)++] = c;
		}
	}
	return take;
}

/* All states that follow from @from up to time @to, or some of them. */
static mr_status expand(beam *b, const state *from, int64_t to)
{
	uint32_t made = 0, waiting = 1;

	memcpy(b->stack[0], from, b->in.bytes);
	while (waiting) {
		state *s = b->stack[waiting - 1];
		uint32_t worker = first_to_end(b, s), other[MR_EXACT_KINDS], n, take;

		if (s->t[b->in.soonest + worker] >= to) {
			waiting--;
			if (s->t[b->in.soonest + worker] >= NEVER) {
				MR_TRY(finish(b, s));
			} else if (made < CHILDREN) {
				judge(b, s, to, b->hope);
				memcpy(state_at(b, &b->all, b->all.n++), s, b->in.bytes);
				made++;
			}
			continue;
		}
		take = list_choices(b, s, worker, other, &n);
		for (uint32_t k = 0; k < n && made + waiting < CHILDREN; k++, waiting++) {
			/* the copy goes below @s, which stays on top */
			b->stack[waiting - 1] = b->stack[waiting];
			b->stack[waiting] = s;
			memcpy(b->stack[waiting - 1], s, b->in.bytes);
			MR_TRY(put(b, b->stack[waiting - 1], other[k]));
		}
		MR_TRY(put(b, s, take));
	}
	return MR_OK;
}

/* What each slot is hoped to be before the usual: usually nothing. */
static void draw_hopes(beam *b, bool usual)
{
	double work = usual ? 0 : (double)b->work, apart = APART * (2 * draw(b) - 1) * work;

	for (uint32_t k = 0; k < b->slots; k++)
		b->hope[k] = k * apart + HOPES * (2 * draw(b) - 1) * work;
}

/* Run number @run of the section from @from to @to; its best state goes to b->found. */
static mr_status run_section(beam *b, uint32_t run, int64_t from, int64_t to)
{
	state *best;

	memcpy(state_at(b, &b->now, 0), state_at(b, &b->starts, run % b->starts.n), b->in.bytes);
	state_at(b, &b->now, 0)->trace = MR_EXACT_NOWHERE;
	state_at(b, &b->now, 0)->start = run % b->starts.n;
	b->now.n = 1;
	b->n_traces = 0;
	draw_hopes(b, run < b->starts.n);
	while (from < to && b->now.n) {
		from = from + b->slice < to ? from + b->slice : to;
		b->all.n = 0;
		for (uint32_t k = 0; k < b->now.n; k++)
			MR_TRY(expand(b, state_at(b, &b->now, k), from));
		keep_best(b, &b->all, &b->now);
	}
	if (!b->now.n)
		return MR_OK;
	for (uint32_t k = 0; k < b->now.n; k++)
		judge(b, state_at(b, &b->now, k), to, NULL);
	sort(b, &b->now);
	best = state_at(b, &b->found, b->found.n);
	memcpy(best, b->sorted[0], b->in.bytes);
	b->n_begun[b->found.n] = write_down(b, best, b->begun + (size_t)b->found.n * b->job->n_passes);
	best->trace = b->found.n++;
	return MR_OK;
}

/* The best states found become the starts of the next section. */
static mr_status hand_over(beam *b)
{
	size_t n = b->job->n_passes;
	uint16_t *done = calloc(STARTS * n, sizeof(*done));
	uint32_t n_done[STARTS] = {0};

	if (!done)
		return mr_fail(MR_ERESOURCE, "no memory for a beam of orders");
	keep_best(b, &b->found, &b->starts);
	for (uint32_t k = 0; k < b->starts.n; k++) {
		const state *s = state_at(b, &b->starts, k);
		uint32_t old = b->n_done[s->start];

		memcpy(done + k * n, b->done + s->start * n, old * sizeof(*done));
		memcpy(done + k * n + old, b->begun + s->trace * n, b->n_begun[s->trace] * sizeof(*done));
		n_done[k] = old + b->n_begun[s->trace];
	}
	memcpy(b->n_done, n_done, sizeof(n_done));
	free(b->done);
	b->done = done;
	return MR_OK;
}

static mr_status search(beam *b, uint32_t runs)
{
	int64_t section = b->way / 2 > b->slice ? b->way / 2 : b->slice;
	state *s = state_at(b, &b->starts, 0);

	memset(s, 0, b->in.bytes);
	for (uint32_t c = 0; c < b->job->n_chains; c++)
		s->t[b->in.ready + c] = ready_of(b, s, c);
	for (uint32_t w = 0; w < b->job->n_workers; w++)
		note_soonest(b, s, w);
	b->starts.n = 1;
	for (int64_t t = 0; b->starts.n; t += section) {
		b->found.n = 0;
		for (uint32_t k = 0; k < runs; k++)
			MR_TRY(run_section(b, k, t, t + section));
		MR_TRY(hand_over(b));
	}
	return MR_OK;
}

/* --- tables --- */

/* Work of a worker for one micro-batch. */
static int64_t work_of(const mr_exact_job *j, uint32_t worker)
{
	int64_t work = 0;

	for (uint32_t k = j->first[worker]; k < j->first[worker + 1]; k++)
		work += j->work[j->chain[k]];
	return work;
}

static int64_t most_work(const mr_exact_job *j)
{
	int64_t most = 0;

	for (uint32_t w = 0; w < j->n_workers; w++)
		most = work_of(j, w) > most ? work_of(j, w) : most;
	return most;
}

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

	if (j->most_beside != MR_EXACT_KINDS || j->n_stages != j->n_workers || j->n_stages < 2)
		return false;
	return slots < j->n_micro && most_work(j) > 0 && ways * way_of(j) > j->n_micro * most_work(j);
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

static bool take_states(const beam *b, states *s, uint32_t most)
{
	*s = (states){.at = malloc(most * b->in.bytes), .most = most};
	return s->at != NULL;
}

static mr_status init(beam *b, uint32_t runs)
{
	const mr_exact_job *j = b->job;
	uint32_t most = WIDTH * CHILDREN > runs ? WIDTH * CHILDREN : runs, kept = 0;
	int64_t longest = 0;
	bool got;

	for (uint32_t w = 0; w < j->n_workers; w++)
		kept = j->cap[w] > kept ? j->cap[w] : kept;
	for (uint32_t c = 0; c < j->n_chains; c++)
		longest = j->work[c] > longest ? j->work[c] : longest;
	for (b->ring = 1; b->ring < kept + 1; b->ring *= 2)
		;
	b->mask = b->ring - 1;
	b->in.soonest = b->in.idle + j->n_workers;
	b->in.next = b->in.soonest + j->n_workers;
	b->in.ready = b->in.next + j->n_chains;
	b->in.end = b->in.ready + j->n_chains;
	b->in.bytes = sizeof(state) + (b->in.end + (size_t)j->n_chains * b->ring) * sizeof(int64_t);
	b->slots = j->cap[j->worker[0]];
	b->way = way_of(j);
	b->work = most_work(j);
	b->slice = longest > SLICES_A_PASS ? longest / SLICES_A_PASS : 1;
	b->least = (double)(b->way * ((j->n_micro + b->slots - 1) / b->slots) + b->work * (b->slots - 1));
	b->n_path = 2u * j->n_stages + 1;
	b->path = calloc(b->n_path, sizeof(*b->path));
	b->rest = calloc(b->n_path, sizeof(*b->rest));
	b->hope = calloc(b->slots, sizeof(*b->hope));
	got = take_states(b, &b->now, WIDTH) && take_states(b, &b->all, WIDTH * CHILDREN) &&
	      take_states(b, &b->found, runs) && take_states(b, &b->starts, STARTS);
	b->sorted = calloc(most, sizeof(*b->sorted));
	b->stack = calloc(CHILDREN + 1, sizeof(*b->stack));
	for (uint32_t k = 0; b->stack && k <= CHILDREN; k++)
		got = (b->stack[k] = malloc(b->in.bytes)) && got;
	b->most_traces = 1u << 14;
	b->traces = malloc(b->most_traces * sizeof(*b->traces));
	b->done = calloc((size_t)STARTS * j->n_passes, sizeof(*b->done));
	b->n_done = calloc(STARTS, sizeof(*b->n_done));
	b->begun = calloc((size_t)runs * j->n_passes, sizeof(*b->begun));
	b->n_begun = calloc(runs, sizeof(*b->n_begun));
	if (!got || !b->path || !b->rest || !b->hope || !b->sorted || !b->stack || !b->traces || !b->done ||
	    !b->n_done || !b->begun || !b->n_begun)
		return mr_fail(MR_ERESOURCE, "no memory for a beam of orders");
	lay_out_path(b);
	return MR_OK;
}

static void fini(beam *b)
{
	for (uint32_t k = 0; b->stack && k <= CHILDREN; k++)
		free(b->stack[k]);
	free(b->stack);
	free(b->path);
	free(b->rest);
	free(b->hope);
	free(b->now.at);
	free(b->all.at);
	free(b->found.at);
	free(b->starts.at);
	free(b->sorted);
	free(b->traces);
	free(b->done);
	free(b->n_done);
	free(b->begun);
	free(b->n_begun);
}

mr_status mr_exact_beam(const mr_exact_job *job, uint32_t runs, mr_exact_order *out)
{
	beam b = {.job = job, .out = out};
	mr_status st = init(&b, runs);

	out->makespan = INT64_MAX;
	if (st == MR_OK)
		st = search(&b, runs);
	fini(&b);
	return st;
}
