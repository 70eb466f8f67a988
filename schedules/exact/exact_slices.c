#include "schedules/exact/exact_slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define CHILDREN 6u      /* of each, in a slice */
#define SLICES_A_PASS 12 /* slices of time in the longest pass */

#define NEVER MR_EXACT_NEVER

/* --- putting passes down --- */

int64_t mr_exact_state_ready(const mr_exact_slices *b, const mr_exact_state *s, uint32_t chain, uint32_t micro)
{
	const mr_exact_job *j = b->job;
	const mr_exact_edges *e;
	int64_t t = 0;

	if (micro >= j->n_micro)
		return NEVER;
	e = &j->needs[(size_t)chain * j->n_micro + micro];
	for (uint32_t k = 0; k < e->n; k++) {
		uint32_t from = e->at[k].pass / j->n_micro, m = e->at[k].pass - from * j->n_micro;
		int64_t end;

		if (m >= s->t[b->next + from])
			return NEVER;
		end = s->t[b->end + (size_t)from * b->ring + (m & b->mask)] + e->at[k].lag;
		t = end > t ? end : t;
	}
	return t;
}

static void note_ready(const mr_exact_slices *b, mr_exact_state *s, uint32_t chain)
{
	s->t[b->ready + chain] = mr_exact_state_ready(b, s, chain, (uint32_t)s->t[b->next + chain]);
}

static int64_t begin_of(const mr_exact_slices *b, const mr_exact_state *s, uint32_t chain)
{
	int64_t ready = s->t[b->ready + chain], idle = s->t[b->idle + b->job->worker[chain]];

	return ready > idle ? ready : idle;
}

static void note_soonest(const mr_exact_slices *b, mr_exact_state *s, uint32_t worker)
{
	int64_t t = NEVER;

	for (uint32_t k = b->job->first[worker]; k < b->job->first[worker + 1]; k++) {
		uint32_t c = b->job->chain[k];
		int64_t end = begin_of(b, s, c) + b->job->work[c];

		t = end < t ? end : t;
	}
	s->t[b->soonest + worker] = t;
}

void mr_exact_state_clear(const mr_exact_slices *b, mr_exact_state *s)
{
	memset(s, 0, b->bytes);
	s->trace = MR_EXACT_NOWHERE;
	for (uint32_t c = 0; c < b->job->n_chains; c++)
		note_ready(b, s, c);
	for (uint32_t w = 0; w < b->job->n_workers; w++)
		note_soonest(b, s, w);
}

mr_status mr_exact_state_put(mr_exact_slices *b, mr_exact_state *s, uint32_t chain)
{
	const mr_exact_job *j = b->job;
	uint32_t m = (uint32_t)s->t[b->next + chain], worker = j->worker[chain];
	int64_t begin = begin_of(b, s, chain), end = begin + j->work[chain];
	const mr_exact_edges *e = &j->feeds[(size_t)chain * j->n_micro + m];

	if (b->n_traces == b->most_traces) {
		mr_exact_trace *more = realloc(b->traces, 2 * (size_t)b->most_traces * sizeof(*more));

		if (!more)
			return mr_fail(MR_ERESOURCE, "no memory for a beam of orders");
		b->traces = more;
		b->most_traces *= 2;
	}
	b->traces[b->n_traces] = (mr_exact_trace){s->trace, (uint16_t)chain};
	s->trace = b->n_traces++;
	s->hash += mr_mix64(((uint64_t)chain * j->n_micro + m) ^ mr_mix64((uint64_t)begin));
	s->t[b->idle + worker] = end;
	s->t[b->end + (size_t)chain * b->ring + (m & b->mask)] = end;
	s->t[b->next + chain]++;
	note_ready(b, s, chain);
	for (uint32_t k = 0; k < e->n; k++) {
		uint32_t to = e->at[k].pass / j->n_micro;

		note_ready(b, s, to);
		if (j->worker[to] != worker)
			note_soonest(b, s, j->worker[to]);
	}
	note_soonest(b, s, worker);
	return MR_OK;
}

uint32_t mr_exact_state_write(const mr_exact_slices *b, const mr_exact_state *s, uint16_t *to)
{
	uint32_t n = 0;

	for (uint32_t k = s->trace; k != MR_EXACT_NOWHERE; k = b->traces[k].before)
		n++;
	for (uint32_t k = s->trace, at = n; k != MR_EXACT_NOWHERE; k = b->traces[k].before)
		to[--at] = b->traces[k].chain;
	return n;
}

/* --- which states are the best --- */

static int by_score(const void *x, const void *y)
{
	const mr_exact_state *a = *(mr_exact_state *const *)x, *b = *(mr_exact_state *const *)y;

	if (a->score != b->score)
		return a->score < b->score ? -1 : 1;
	return (a->hash > b->hash) - (a->hash < b->hash);
}

void mr_exact_states_sort(mr_exact_states *s)
{
	uint32_t n = 0, many = s->n;

	qsort(s->at, many, sizeof(mr_exact_state *), by_score);
	for (uint32_t k = 0; k < many; k++) {
		mr_exact_state *x = s->at[k];

		if (n && x->hash == s->at[n - 1]->hash)
			continue;
		s->at[k] = s->at[n]; /* a copy, or itself */
		s->at[n++] = x;
	}
	s->n = n;
}

/* --- slices --- */

/* The worker whose next pass would end first. */
static uint32_t first_to_end(const mr_exact_slices *b, const mr_exact_state *s)
{
	uint32_t take = 0;

	for (uint32_t w = 1; w < b->job->n_workers; w++)
		if (s->t[b->soonest + w] < s->t[b->soonest + take])
			take = w;
	return take;
}

/* Of the passes that could begin on @worker before the first end there: which begins first; the others in @other. */
static uint32_t list_choices(const mr_exact_slices *b, const mr_exact_state *s, uint32_t worker, uint32_t *other,
			     uint32_t *n)
{
	const mr_exact_job *j = b->job;
	int64_t soonest = s->t[b->soonest + worker];
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

/* All states that follow from @from up to time @to, or some of them; the room of @from is used. */
static mr_status expand(mr_exact_slices *b, mr_exact_state *from, int64_t to)
{
	mr_exact_state *stack[CHILDREN + 1] = {from};
	uint32_t made = 0, waiting = 1;

	while (waiting) {
		mr_exact_state *s = stack[waiting - 1];
		uint32_t worker = first_to_end(b, s), other[MR_EXACT_KINDS], n, take;

		if (s->t[b->soonest + worker] >= to) {
			waiting--;
			if (s->t[b->soonest + worker] < NEVER && made < CHILDREN) {
				b->judge(b->by, s, to);
				b->all.at[b->all.n++] = s;
				made++;
				continue;
			}
			if (s->t[b->soonest + worker] >= NEVER)
				MR_TRY(b->finish(b->by, s));
			b->unused.at[b->unused.n++] = s;
			continue;
		}
		take = list_choices(b, s, worker, other, &n);
		for (uint32_t k = 0; k < n && made + waiting < CHILDREN; k++, waiting++) {
			/* the copy goes below @s, which stays on top */
			mr_exact_state *copy = b->unused.at[--b->unused.n];

			memcpy(copy, s, b->bytes);
			stack[waiting - 1] = copy;
			stack[waiting] = s;
			MR_TRY(mr_exact_state_put(b, copy, other[k]));
		}
		MR_TRY(mr_exact_state_put(b, s, take));
	}
	return MR_OK;
}

/* The best of what is expanded go on. */
static void keep_best(mr_exact_slices *b)
{
	uint32_t many = b->all.n;

	mr_exact_states_sort(&b->all);
	b->now.n = b->all.n < b->width ? b->all.n : b->width;
	memcpy(b->now.at, b->all.at, b->now.n * sizeof(mr_exact_state *));
	for (uint32_t k = b->now.n; k < many; k++)
		b->unused.at[b->unused.n++] = b->all.at[k];
	b->all.n = 0;
}

mr_status mr_exact_slices_run(mr_exact_slices *b, const mr_exact_state *start, int64_t from, int64_t to)
{
	while (b->now.n)
		b->unused.at[b->unused.n++] = b->now.at[--b->now.n];
	b->now.at[b->now.n++] = b->unused.at[--b->unused.n];
	memcpy(b->now.at[0], start, b->bytes);
	b->now.at[0]->trace = MR_EXACT_NOWHERE;
	b->n_traces = 0;
	while (from < to && b->now.n) {
		from = from + b->slice < to ? from + b->slice : to;
		for (uint32_t k = 0; k < b->now.n; k++)
			MR_TRY(expand(b, b->now.at[k], from));
		keep_best(b);
	}
	return MR_OK;
}

/* --- room --- */

bool mr_exact_states_init(const mr_exact_slices *b, uint32_t n, mr_exact_states *out)
{
	bool got = (out->at = calloc(n, sizeof(mr_exact_state *))) != NULL;

	out->n = 0;
	for (out->rooms = 0; got && out->rooms < n; out->rooms += got)
		got = (out->at[out->rooms] = malloc(b->bytes)) != NULL;
	return got;
}

void mr_exact_states_fini(mr_exact_states *s)
{
	for (uint32_t k = 0; s->at && k < s->rooms; k++)
		free(s->at[k]);
	free(s->at);
}

mr_status mr_exact_slices_init(mr_exact_slices *b)
{
	const mr_exact_job *j = b->job;
	uint32_t kept = 0, rooms = (b->width + 1) * CHILDREN;
	int64_t longest = 0;

	for (uint32_t w = 0; w < j->n_workers; w++)
		kept = j->cap[w] > kept ? j->cap[w] : kept;
	for (uint32_t c = 0; c < j->n_chains; c++)
		longest = j->work[c] > longest ? j->work[c] : longest;
	for (b->ring = 1; b->ring < kept; b->ring *= 2)
		;
	b->mask = b->ring - 1;
	b->idle = 0;
	b->soonest = b->idle + j->n_workers;
	b->next = b->soonest + j->n_workers;
	b->ready = b->next + j->n_chains;
	b->end = b->ready + j->n_chains;
	b->bytes = sizeof(mr_exact_state) + (b->end + (size_t)j->n_chains * b->ring) * sizeof(int64_t);
	b->slice = longest > SLICES_A_PASS ? longest / SLICES_A_PASS : 1;
	b->now.at = calloc(b->width, sizeof(mr_exact_state *));
	b->all.at = calloc(rooms, sizeof(mr_exact_state *));
	b->unused.at = calloc(rooms, sizeof(mr_exact_state *));
	b->most_traces = 1u << 14;
	b->traces = malloc(b->most_traces * sizeof(*b->traces));
	if (!mr_exact_states_init(b, rooms, &b->rooms) || !b->now.at || !b->all.at || !b->unused.at || !b->traces)
		return mr_fail(MR_ERESOURCE, "no memory for a beam of orders");
	memcpy(b->unused.at, b->rooms.at, rooms * sizeof(mr_exact_state *));
	b->unused.n = rooms;
	return MR_OK;
}

void mr_exact_slices_fini(mr_exact_slices *b)
{
	free(b->now.at);
	free(b->all.at);
	free(b->unused.at);
	mr_exact_states_fini(&b->rooms);
	free(b->traces);
}
