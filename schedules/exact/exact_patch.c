#include "schedules/exact/exact_patch.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "schedules/exact/exact_slices.h"

#define WIDTH 2u       /* states that go on */
#define SHARPNESS 0.3  /* of a worker's work: this much later counts e times as much */
#define HOPES 0.05     /* of a worker's work: by how much the end of a micro-batch is moved, at most */
#define SHORTEST 2     /* least and most micro-batches whose work at a worker is as long as a section */
#define LONGEST 10
#define BEFORE_A_TURN 20u /* sections */

/* A begin of a pass, and which one in the order of before. */
typedef struct key {
	int64_t begin;
	uint32_t at, pass;
} key;

/* An order, and room to find sections of it anew. */
typedef struct patcher {
	const mr_exact_job *job;
	mr_exact_slices of;
	mr_exact_state *start;       /* of a section */
	uint32_t n_before;           /* passes that begin before it, the first of sorted */
	uint32_t *sorted;            /* [n_passes] in the order of begins: none waits for a later one */
	int64_t *begin, *tail;       /* [n_passes] */
	int64_t makespan;
	uint32_t *trial, *found;     /* [n_passes] like sorted, by some other begins */
	int64_t found_makespan;      /* INT64_MAX: nothing is found */
	int64_t *trial_begin;        /* [n_passes] */
	key *keys;                   /* [n_passes] */
	uint32_t *next;              /* [n_chains] */
	int64_t *idle;               /* [n_workers] */
	uint16_t *written;           /* [n_passes] chains */
	double *hope;                /* [n_micro] */
	int64_t work;                /* most of a worker for a micro-batch */
	uint64_t n_random;
} patcher;

static double draw(patcher *p)
{
	return (double)(mr_mix64(p->n_random++) >> 11) * 0x1p-53;
}

/* --- times --- */

/* The begins of passes in the order @sorted; returns the makespan. */
static int64_t time_of(patcher *p, const uint32_t *sorted, int64_t *begin)
{
	const mr_exact_job *j = p->job;
	int64_t makespan = 0;

	memset(p->idle, 0, j->n_workers * sizeof(*p->idle));
	for (uint32_t k = 0; k < j->n_passes; k++) {
		uint32_t x = sorted[k], c = x / j->n_micro, w = j->worker[c];
		const mr_exact_edges *e = &j->needs[x];
		int64_t t = p->idle[w];

		for (uint32_t i = 0; i < e->n; i++) {
			uint32_t y = e->at[i].pass;
			int64_t there = begin[y] + j->work[y / j->n_micro] + e->at[i].lag;

			t = there > t ? there : t;
		}
		begin[x] = t;
		p->idle[w] = t + j->work[c];
		makespan = p->idle[w] > makespan ? p->idle[w] : makespan;
	}
	return makespan;
}

/* The longest way behind each pass. */
static void note_tails(patcher *p)
{
	const mr_exact_job *j = p->job;

	memset(p->idle, 0, j->n_workers * sizeof(*p->idle));
	for (uint32_t k = j->n_passes; k-- > 0;) {
		uint32_t x = p->sorted[k], c = x / j->n_micro, w = j->worker[c];
		const mr_exact_edges *e = &j->feeds[x];
		int64_t t = p->idle[w];

		for (uint32_t i = 0; i < e->n; i++) {
			uint32_t y = e->at[i].pass;
			int64_t rest = p->tail[y] + j->work[y / j->n_micro] + e->at[i].lag;

			t = rest > t ? rest : t;
		}
		p->tail[x] = t;
		p->idle[w] = t + j->work[c];
	}
}

static int by_begin(const void *x, const void *y)
{
	const key *a = x, *b = y;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* The order found is the order. */
static void take_found(patcher *p)
{
	p->makespan = time_of(p, p->found, p->begin);
	for (uint32_t k = 0; k < p->job->n_passes; k++)
		p->keys[k] = (key){p->begin[p->found[k]], k, p->found[k]};
	qsort(p->keys, p->job->n_passes, sizeof(*p->keys), by_begin);
	for (uint32_t k = 0; k < p->job->n_passes; k++)
		p->sorted[k] = p->keys[k].pass;
	note_tails(p);
}

/* --- sections --- */

/* By how much something counts that would end @late behind the makespan (as in exact_beam.c). */
static double weigh(const patcher *p, double late)
{
	double x = 1 + late / (16 * SHARPNESS * (double)p->work);

	x = x > 0 ? x * x : 0;
	x *= x;
	x *= x;
	return x * x;
}

static void judge(void *by, mr_exact_state *s, int64_t now)
{
	const patcher *p = by;
	const mr_exact_job *j = p->job;
	const mr_exact_slices *b = &p->of;
	double sum = 0;

	for (uint32_t c = 0; c < j->n_chains; c++) {
		int64_t idle = s->t[b->idle + j->worker[c]], ready = s->t[b->ready + c];

		idle = idle > now ? idle : now;
		for (uint32_t m = (uint32_t)s->t[b->next + c]; ready < MR_EXACT_NEVER; m++) {
			idle = (ready > idle ? ready : idle) + j->work[c];
			sum += weigh(p, (double)(idle + p->tail[c * j->n_micro + m] - p->makespan) + p->hope[m]);
			ready = mr_exact_state_ready(b, s, c, m + 1);
		}
	}
	s->score = sum;
}

/* What @s has begun, and what is left in the order of before: may it take the place of p->found? */
static mr_status finish(void *by, const mr_exact_state *s)
{
	patcher *p = by;
	const mr_exact_job *j = p->job;
	uint32_t n = p->n_before, many = mr_exact_state_write(&p->of, s, p->written);
	int64_t makespan;

	for (uint32_t c = 0; c < j->n_chains; c++)
		p->next[c] = (uint32_t)p->start->t[p->of.next + c];
	memcpy(p->trial, p->sorted, n * sizeof(*p->trial));
	for (uint32_t k = 0; k < many; k++) {
		uint32_t c = p->written[k];

		p->trial[n++] = c * j->n_micro + p->next[c]++;
	}
	for (uint32_t k = p->n_before; k < j->n_passes; k++) {
		uint32_t c = p->sorted[k] / j->n_micro;

		if (p->sorted[k] - c * j->n_micro >= p->next[c])
			p->trial[n++] = p->sorted[k];
	}
	makespan = time_of(p, p->trial, p->trial_begin);
	if (makespan <= p->makespan && makespan < p->found_makespan) {
		p->found_makespan = makespan;
		memcpy(p->found, p->trial, j->n_passes * sizeof(*p->found));
	}
	return MR_OK;
}

/* Find a section anew. */
static mr_status patch(patcher *p)
{
	int64_t least = SHORTEST * p->work, longer = (LONGEST - SHORTEST) * p->work;
	int64_t from = (int64_t)(draw(p) * (double)(p->makespan + least)) - least,
		to = from + least + (int64_t)(draw(p) * (double)longer);
	uint32_t n = 0;

	for (uint32_t m = 0; m < p->job->n_micro; m++)
		p->hope[m] = HOPES * (2 * draw(p) - 1) * (double)p->work;
	from = from > 0 ? from : 0;
	p->of.n_traces = 0;
	p->found_makespan = INT64_MAX;
	mr_exact_state_clear(&p->of, p->start);
	for (; n < p->job->n_passes && p->begin[p->sorted[n]] < from; n++)
		MR_TRY(mr_exact_state_put(&p->of, p->start, p->sorted[n] / p->job->n_micro));
	p->n_before = n;
	MR_TRY(mr_exact_slices_run(&p->of, p->start, from, to));
	for (uint32_t k = 0; k < p->of.now.n; k++)
		MR_TRY(finish(p, p->of.now.at[k]));
	if (p->found_makespan <= p->makespan)
		take_found(p);
	return MR_OK;
}

/* --- directions --- */

static uint32_t turned_pass(const mr_exact_job *j, uint32_t pass)
{
	uint32_t micro = pass % j->n_micro;

	return pass - micro + j->n_micro - 1 - micro;
}

static mr_exact_edges turned_edges(const mr_exact_job *j, const mr_exact_edges *e)
{
	mr_exact_edges out = *e;

	for (uint32_t k = 0; k < e->n; k++)
		out.at[k].pass = turned_pass(j, e->at[k].pass);
	return out;
}

/* @job with time turned round, in all but its needs and feeds shared with it. */
static mr_status turn_job(const mr_exact_job *job, mr_exact_job *out)
{
	*out = *job;
	out->needs = calloc(job->n_passes, sizeof(*out->needs));
	out->feeds = calloc(job->n_passes, sizeof(*out->feeds));
	if (!out->needs || !out->feeds)
		return mr_fail(MR_ERESOURCE, "no memory to turn an order of %u passes", job->n_passes);
	for (uint32_t x = 0; x < job->n_passes; x++) {
		uint32_t y = turned_pass(job, x);

		out->needs[y] = turned_edges(job, &job->feeds[x]);
		out->feeds[y] = turned_edges(job, &job->needs[x]);
	}
	return MR_OK;
}

/* The order of @from, turned round, becomes that of @to. */
static void turn(const patcher *from, patcher *to)
{
	uint32_t n = from->job->n_passes;

	for (uint32_t k = 0; k < n; k++)
		to->found[k] = turned_pass(from->job, from->sorted[n - 1 - k]);
	take_found(to);
}

/* --- room --- */

static mr_status init(patcher *p, const mr_exact_job *j)
{
	size_t n = j->n_passes;

	*p = (patcher){.job = j};
	p->of = (mr_exact_slices){.job = j, .width = WIDTH, .by = p, .judge = judge, .finish = finish};
	MR_TRY(mr_exact_slices_init(&p->of));
	p->start = malloc(p->of.bytes);
	p->sorted = calloc(n, sizeof(*p->sorted));
	p->begin = calloc(n, sizeof(*p->begin));
	p->tail = calloc(n, sizeof(*p->tail));
	p->trial = calloc(n, sizeof(*p->trial));
	p->found = calloc(n, sizeof(*p->found));
	p->trial_begin = calloc(n, sizeof(*p->trial_begin));
	p->keys = calloc(n, sizeof(*p->keys));
	p->next = calloc(j->n_chains, sizeof(*p->next));
	p->idle = calloc(j->n_workers, sizeof(*p->idle));
	p->written = calloc(n, sizeof(*p->written));
	p->hope = calloc(j->n_micro, sizeof(*p->hope));
	p->work = mr_exact_job_most_work(j);
	if (p->start && p->sorted && p->begin && p->tail && p->trial && p->found && p->trial_begin && p->keys &&
	    p->next && p->idle && p->written && p->hope)
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "no memory to patch an order of %zu passes", n);
}

static void fini(patcher *p)
{
	mr_exact_slices_fini(&p->of);
	free(p->start);
	free(p->sorted);
	free(p->begin);
	free(p->tail);
	free(p->trial);
	free(p->found);
	free(p->trial_begin);
	free(p->keys);
	free(p->next);
	free(p->idle);
	free(p->written);
	free(p->hope);
}

/* p->found: the passes of @o, none of which waits for a later one. */
static void sort(patcher *p, const mr_exact_order *o)
{
	const mr_exact_job *j = p->job;
	uint32_t n = 0;

	memset(p->idle, 0, j->n_workers * sizeof(*p->idle)); /* passes put down */
	memset(p->next, 0, j->n_chains * sizeof(*p->next));
	for (uint32_t w = 0, since = 0; since < j->n_workers && n < j->n_passes; w = (w + 1) % j->n_workers, since++) {
		uint32_t many = (j->first[w + 1] - j->first[w]) * j->n_micro;

		for (; p->idle[w] < many; since = 0) {
			uint32_t x = o->pass[(size_t)j->first[w] * j->n_micro + (size_t)p->idle[w]], waits = 0;

			for (uint32_t k = 0; k < j->needs[x].n; k++) {
				uint32_t y = j->needs[x].at[k].pass;

				waits += p->next[y / j->n_micro] <= y % j->n_micro;
			}
			if (waits)
				break;
			p->found[n++] = x;
			p->next[x / j->n_micro]++;
			p->idle[w]++;
		}
	}
}

static void write_order(patcher *p, mr_exact_order *o)
{
	const mr_exact_job *j = p->job;

	memset(p->idle, 0, j->n_workers * sizeof(*p->idle)); /* passes written */
	for (uint32_t k = 0; k < j->n_passes; k++) {
		uint32_t w = j->worker[p->sorted[k] / j->n_micro];

		o->pass[(size_t)j->first[w] * j->n_micro + (size_t)p->idle[w]++] = p->sorted[k];
	}
	o->makespan = p->makespan;
}

static mr_status search(patcher *p, mr_exact_order *o, int64_t enough, uint64_t times)
{
	unsigned now = 0;

	sort(&p[0], o);
	take_found(&p[0]);
	for (uint64_t k = 1; k <= times && p[now].makespan > enough; k++) {
		MR_TRY(patch(&p[now]));
		if (k % BEFORE_A_TURN)
			continue;
		turn(&p[now], &p[1 - now]);
		now = 1 - now;
	}
	if (now)
		turn(&p[1], &p[0]);
	write_order(&p[0], o);
	return MR_OK;
}

bool mr_exact_patch_suits(const mr_exact_job *j)
{
	return j->most_beside == MR_EXACT_KINDS && j->n_stages == j->n_workers && mr_exact_job_most_work(j) > 0;
}

mr_status mr_exact_patch(const mr_exact_job *job, mr_exact_order *o, int64_t enough, uint64_t times, uint64_t seed)
{
	patcher p[2] = {{0}, {0}};
	mr_exact_job turned = {0};
	mr_status st = turn_job(job, &turned);

	if (st == MR_OK)
		st = init(&p[0], job);
	if (st == MR_OK)
		st = init(&p[1], &turned);
	for (unsigned k = 0; k < 2; k++)
		p[k].n_random = mr_mix64(2 * seed + k);
	if (st == MR_OK && o->makespan > enough && times)
		st = search(p, o, enough, times);
	fini(&p[0]);
	fini(&p[1]);
	free(turned.needs);
	free(turned.feeds);
	return st;
}
