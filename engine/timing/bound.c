#include "timing/bound.h"

#include <math.h>
#include <stdlib.h>

#include "timing/walk.h"

/* A piece of work of one worker that can begin at @release and has @tail behind it. */
typedef struct job {
	double release, tail, work;
} job;

/* Stage @stage of pipe @pipe on its worker. */
typedef struct host {
	uint32_t n_f, n_i;
	double w;          /* work of its weight halves */
} host;

typedef struct bounds {
	const mr_plan *plan;
	const mr_cost *cost;
	host *at;          /* [pipes * stages] */
	double *f, *i;     /* [stages + 1] of all stages before */
	job *job;          /* [n_jobs] of one worker */
	uint32_t *ready;   /* heap of jobs, the longest tail first */
	uint32_t n_jobs;
	bool alone;        /* weight halves of all stages count */
	double tail_0;     /* of an input half of stage 0: its weight half and its step */
} bounds;

/* --- one worker --- */

static int by_release(const void *x, const void *y)
{
	const job *a = x, *b = y;

	return (a->release > b->release) - (a->release < b->release);
}

static void push(bounds *b, uint32_t n, uint32_t j)
{
	for (; n && b->job[b->ready[(n - 1) / 2]].tail < b->job[j].tail; n = (n - 1) / 2)
		b->ready[n] = b->ready[(n - 1) / 2];
	b->ready[n] = j;
}

/* Remove the first of @n; returns n - 1. */
static uint32_t pop(bounds *b, uint32_t n)
{
	uint32_t last = b->ready[--n], at = 0;

	for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n && b->job[b->ready[child + 1]].tail > b->job[b->ready[child]].tail;
		if (b->job[b->ready[child]].tail <= b->job[last].tail)
			break;
		b->ready[at] = b->ready[child];
	}
	b->ready[at] = last;
	return n;
}

/* The jobs in the best preemptive order: always the one with the longest tail. Returns the latest end with its tail. */
static double preemptive(bounds *b)
{
	uint32_t next = 0, n = 0;
	double t = 0, bound = 0;

	qsort(b->job, b->n_jobs, sizeof(*b->job), by_release);
	while (next < b->n_jobs || n) {
		job *x;

		if (!n)
			t = fmax(t, b->job[next].release);
		for (; next < b->n_jobs && b->job[next].release <= t; next++)
			push(b, n++, next);
		x = &b->job[b->ready[0]];
		if (next < b->n_jobs && b->job[next].release < t + x->work) {
			x->work -= b->job[next].release - t;
			t = b->job[next].release;
			continue;
		}
		t += x->work;
		bound = fmax(bound, t + x->tail);
		n = pop(b, n);
	}
	return bound;
}

/* --- jobs --- */

static double longest(const double *before, uint16_t from, uint16_t to)
{
	double most = 0;

	for (uint16_t s = from; s < to; s++)
		most = fmax(most, before[s + 1] - before[s]);
	return most;
}

static void put(bounds *b, double release, double tail, double work)
{
	if (work > 0)
		b->job[b->n_jobs++] = (job){release, tail, work};
}

/* The passes of @stage of one pipe. */
static void add_passes(bounds *b, uint16_t stage, const host *h)
{
	const mr_plan *p = b->plan;
	uint16_t n = p->n_stages;
	const mr_stage_cost *c = &b->cost->stage[stage];
	double head = b->f[stage], each = longest(b->f, 0, stage);
	double back = b->f[n] + b->i[n] - b->i[stage + 1];
	double back_each = fmax(longest(b->f, 0, n), longest(b->i, (uint16_t)(stage + 1), n));
	double step = (c->u - c->s) / mr_plan_partial_sums(p, stage);
	bool keeps_w = stage == 0 || b->alone;
	double w = h->n_i ? h->w / h->n_i : 0, tail = b->i[stage] + b->tail_0;

	if (!stage)
		tail = b->tail_0;
	else if (keeps_w)
		tail = fmax(tail, w + step);
	for (uint32_t k = 0; k < h->n_f; k++)
		put(b, head + k * each, b->f[n] - b->f[stage + 1] + b->i[n] + b->tail_0, c->f);
	for (uint32_t k = 0; k < h->n_i; k++) {
		put(b, back + k * back_each, tail, c->i);
		if (keeps_w)
			put(b, back + k * back_each + c->i, step, w);
	}
}

static double of_worker(bounds *b, uint16_t w)
{
	const mr_plan *p = b->plan;

	b->n_jobs = 0;
	for (uint16_t s = 0; s < p->n_stages; s++)
		for (unsigned q = 0; q < p->n_pipes; q++)
			if (mr_plan_worker(p, (uint8_t)q, s) == w)
				add_passes(b, s, &b->at[mr_plan_at(p, (uint8_t)q, s)]);
	return preemptive(b);
}

/* --- all of it --- */

/* Count what the lists do; returns the busiest worker's time. */
static double count(bounds *b, mr_section section)
{
	const mr_plan *p = b->plan;
	double busiest = 0;

	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, section);
		double busy = 0;

		for (uint32_t k = 0; k < l->n; k++) {
			const mr_instr *in = &l->at[k];
			double takes = mr_instr_cost(p, in, b->cost);
			host *h = &b->at[mr_plan_at(p, in->pipe, in->stage)];

			busy += takes;
			h->n_f += in->op == MR_OP_F;
			h->n_i += in->op == MR_OP_I || in->op == MR_OP_B;
			h->w += in->op == MR_OP_W || in->op == MR_OP_B
					? fmax(0, fmin(b->cost->stage[in->stage].w * in->span,
						       takes - (in->op == MR_OP_B ? b->cost->stage[in->stage].i : 0)))
					: 0;
		}
		busiest = fmax(busiest, busy);
	}
	return busiest;
}

static void fini(bounds *b)
{
	free(b->at);
	free(b->f);
	free(b->job);
	free(b->ready);
}

static mr_status allocate(bounds *b)
{
	const mr_plan *p = b->plan;
	size_t most = 0;

	b->at = calloc((size_t)p->n_pipes * p->n_stages, sizeof(*b->at));
	b->f = calloc(2 * ((size_t)p->n_stages + 1), sizeof(*b->f));
	for (uint16_t w = 0; w < p->n_workers; w++) {
		size_t n = (size_t)mr_plan_list(p, w, MR_BODY)->n + mr_plan_list(p, w, MR_PROLOGUE)->n;

		most = n > most ? n : most;
	}
	b->job = malloc((3 * most + 1) * sizeof(*b->job));
	b->ready = malloc((3 * most + 1) * sizeof(*b->ready));
	if (!b->at || !b->f || !b->job || !b->ready)
		return mr_fail(MR_ERESOURCE, "no memory for the bound of %u stages", p->n_stages);
	b->i = b->f + p->n_stages + 1;
	return MR_OK;
}

mr_status mr_plan_bound(const mr_plan *plan, const mr_cost *cost, bool alone, double *bound)
{
	bounds b = {.plan = plan, .cost = cost, .alone = alone || plan->contract.flush == MR_FLUSH_BARRIER};
	mr_status st = allocate(&b);
	bool ends = st == MR_OK && !mr_plan_list(plan, 0, MR_BODY)->n;
	const host *first;

	if (st != MR_OK) {
		fini(&b);
		return st;
	}
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		b.f[s + 1] = b.f[s] + cost->stage[s].f;
		b.i[s + 1] = b.i[s] + cost->stage[s].i;
	}
	*bound = count(&b, ends ? MR_PROLOGUE : MR_BODY);
	first = &b.at[mr_plan_at(plan, 0, 0)];
	b.tail_0 = (first->n_i ? first->w / first->n_i : 0) +
		   (cost->stage[0].u - cost->stage[0].s) / mr_plan_partial_sums(plan, 0);
	if (!ends && plan->contract.flush != MR_FLUSH_NONE && !plan->contract.steal &&
	    !mr_contract_replicates(&plan->contract))
		for (uint16_t w = 0; w < plan->n_workers; w++)
			*bound = fmax(*bound, of_worker(&b, w));
	fini(&b);
	return MR_OK;
}
