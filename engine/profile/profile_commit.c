#include "profile/profile_commit.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/zeroed.h"
#include "base/stats.h"
#include "base/str.h"
#include "host/clock.h"
#include "host/group.h"
#include "planner/make_plan.h"
#include "profile/profile_live.h"
#include "weights/replicas.h"

#define LEAST_ROUNDS 5u
#define MOST_ROUNDS 64u
#define EACH 4u /* micro-batches of a pipe */
#define LEARNING_RATE 1e-12 /* the weights do not change */

static const mr_average mean = {.rule = MR_AVERAGE_MEAN, .every = 1};

/* Shared by all workers. */
typedef struct yard {
	const mr_run_config *c;
	mr_stage *stage;
	uint32_t n;          /* workers, and as many replicas */
	mr_stage_weights *own;       /* [n] the replicas */
	mr_shard *shard;     /* [n] theirs */
	mr_replicas replicas;
	double seconds;
	uint64_t end;        /* mr_clock_ns after which no further round begins */
	_Atomic uint32_t arrived; /* at barriers, so far */
	_Atomic bool stop;   /* a thread has failed, or the time is up */
} yard;

/* One worker. */
typedef struct party {
	yard *y;
	uint32_t id, n_barriers;
	mr_group *group;
	mr_region region;
	mr_kctx *kc;
	double average[MOST_ROUNDS];
	uint32_t n_rounds;
	mr_status status;
	char text[1024];
} party;

static double seconds_since(uint64_t begin)
{
	return (double)(mr_clock_ns() - begin) * 1e-9;
}

/* A barrier for all threads. Release and acquire: after it each sees what all have written before. False: one of them
 * has failed. */
static bool meet(party *p)
{
	yard *y = p->y;

	atomic_fetch_add_explicit(&y->arrived, 1, memory_order_acq_rel);
	p->n_barriers++;
	while (atomic_load_explicit(&y->arrived, memory_order_acquire) < p->n_barriers * y->n)
		if (atomic_load_explicit(&y->stop, memory_order_relaxed))
			return false;
	return true;
}

static int64_t n_elements(const yard *y)
{
	return (int64_t)(mr_stage_size(y->stage)->weight_bytes / mr_dtype_bytes(y->c->kernels->types.weights));
}

/* Touch the caches as micro-batches do: read the weights, write a gradient. */
static mr_status work(const party *p, mr_stage_weights *b)
{
	const mr_types *t = &p->y->c->kernels->types;
	const void *weights = mr_weights_at(b, 0, b->latest);
	size_t bytes = mr_stage_size(b->stage)->weight_bytes, all = mr_stage_size(b->stage)->grad_bytes;
	int64_t n = (int64_t)(bytes / mr_dtype_bytes(t->gradients));

	for (size_t at = 0; bytes && at + bytes <= all; at += bytes) /* narrower weights fill a part of the gradient
									each time */
		MR_TRY(p->y->c->kernels->sum_gradients(p->kc, &(mr_sum_gradients_args){.n = n, .a = weights,
										       .b = weights,
										       .y = b->shard[0].grads + at}));
	return MR_OK;
}

static mr_status average_together(party *p, double *seconds)
{
	yard *y = p->y;
	mr_stage_weights *b = &y->own[p->id];
	uint64_t begin;

	MR_TRY(work(p, b));
	MR_TRY(mr_weights_step(b, 0, p->kc, LEARNING_RATE, 1));
	mr_weights_committed(b);
	if (!meet(p))
		return MR_OK;
	begin = mr_clock_ns();
	MR_TRY(mr_replicas_average(&y->replicas, p->id, b->latest + 1, p->kc));
	*seconds = seconds_since(begin);
	if (!meet(p))
		return MR_OK;
	mr_weights_committed(b);
	return MR_OK;
}

/* The first worker decides for all whether there is time for one more round. */
static bool go_on(party *p)
{
	yard *y = p->y;

	if (p->id == 0 && p->n_rounds >= LEAST_ROUNDS && (p->n_rounds == MOST_ROUNDS || mr_clock_ns() > y->end))
		atomic_store_explicit(&y->stop, true, memory_order_relaxed);
	return meet(p) && !atomic_load_explicit(&y->stop, memory_order_relaxed);
}

static void layout(party *p, mr_arena *a)
{
	mr_weights_layout(&p->y->own[p->id], a, 0);
}

static mr_status map(party *p)
{
	const mr_run_config *c = p->y->c;
	const mr_place_worker *place = &c->place->worker[p->id];
	char need[16], limit[16];
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	layout(p, &a);
	if (c->memory_limit && a.used * p->y->n > c->memory_limit)
		return mr_fail(MR_ERESOURCE, "averages of the largest stage need %s of memory, and %s is the limit",
			       mr_bytes_text(a.used * p->y->n, need), mr_bytes_text(c->memory_limit, limit));
	MR_TRY(mr_region_map(&p->region, a.used, place->bindable ? &place->memory : NULL));
	mr_arena_init(&a, p->region.base, p->region.bytes);
	layout(p, &a);
	return MR_OK;
}

static mr_status set_up(party *p)
{
	yard *y = p->y;
	mr_stage_weights *own = &y->own[p->id];

	mr_region_prefault(&p->region, 0, p->region.bytes);
	MR_TRY(y->c->kernels->ctx_create(y->c->kernels, y->c->place->worker[p->id].n_threads, &p->kc));
	mr_stage_init_weights(y->stage, y->c->seed, mr_weights_at(own, 0, 0), own->rest);
	return MR_OK;
}

static mr_status measure(party *p)
{
	MR_TRY(set_up(p));
	while (go_on(p)) {
		double average = 0;

		MR_TRY(average_together(p, &average));
		p->average[p->n_rounds++] = average;
	}
	return MR_OK;
}

static void thread(void *arg)
{
	party *p = arg;

	p->status = measure(p);
	if (p->status != MR_OK) {
		snprintf(p->text, sizeof(p->text), "%s", mr_error_text());
		atomic_store_explicit(&p->y->stop, true, memory_order_relaxed);
	}
	p->y->c->kernels->ctx_destroy(p->kc);
}

/* --- all of them --- */

static void open_block(const yard *y, uint32_t i)
{
	mr_stage_weights *b = &y->own[i];

	b->stage = y->stage;
	b->k = y->c->kernels;
	b->optim = *y->c->optim;
	b->cap = 1;
	b->shard = &y->shard[i];
	b->shard[0].need = 1;
	b->n_shards = 1;
	mr_weights_cut(b);
}

static mr_status open_yard(yard *y, uint32_t first, uint32_t end)
{
	const mr_run_config *c = y->c;

	MR_TRY(mr_stage_create(c->graph, first, end, c->samples, c->kernels, false, NULL, &y->stage));
	y->own = mr_zeroed(y->n * sizeof(*y->own));
	y->shard = mr_zeroed(y->n * sizeof(*y->shard));
	if (!y->own || !y->shard)
		return mr_fail(MR_ERESOURCE, "no memory for averages of %u workers", y->n);
	for (uint32_t i = 0; i < y->n; i++)
		open_block(y, i);
	y->replicas = (mr_replicas){.average = &mean, .optim = c->optim, .first = y->own, .n = y->n, .stride = 1};
	return MR_OK;
}

static void close_yard(yard *y)
{
	mr_stage_destroy(y->stage);
	free(y->own);
	free(y->shard);
}

/* The time of the slowest worker, for which the others wait. */
static double slowest(const yard *y, party *p)
{
	double most = 0;

	for (uint32_t i = 0; i < y->n; i++) {
		double x = mr_median(p[i].average, p[0].n_rounds);

		most = x > most ? x : most;
	}
	return most;
}

static mr_status run(yard *y, party *p)
{
	mr_status st = MR_OK;
	uint32_t begun = 0;

	for (uint32_t i = 0; st == MR_OK && i < y->n; i++) {
		p[i].y = y;
		p[i].id = i;
		st = map(&p[i]);
	}
	y->end = mr_clock_ns() + (uint64_t)(y->seconds * 1e9);
	for (; st == MR_OK && begun < y->n; begun++) {
		char name[16];

		snprintf(name, sizeof(name), "mr-w%u", begun);
		st = mr_group_start(&y->c->place->worker[begun], name, thread, &p[begun], &p[begun].group);
		if (st != MR_OK)
			break;
	}
	if (st != MR_OK) /* the running ones must not wait for those that will never start */
		atomic_store_explicit(&y->stop, true, memory_order_relaxed);
	for (uint32_t i = 0; i < begun; i++)
		mr_group_join(p[i].group);
	for (uint32_t i = 0; st == MR_OK && i < begun; i++)
		if (p[i].status != MR_OK)
			st = mr_fail(p[i].status, "averages of worker %u: %s", i, p[i].text);
	for (uint32_t i = 0; i < y->n; i++)
		mr_region_unmap(&p[i].region);
	return st;
}

/* The stage with the largest weights, of those that can be made without another stage. */
static uint16_t largest(const mr_run_config *c)
{
	uint16_t n_stages = c->partition->n_stages, best = 0;
	int64_t most = -1;

	if (mr_graph_ties(c->graph) && n_stages > 1)
		n_stages--;
	for (uint16_t s = 0; s < n_stages; s++) {
		int64_t n = 0;

		for (uint32_t p = 0; p < c->graph->n_params; p++)
			if (c->graph->params[p].tied_to < 0 &&
			    mr_partition_stage(c->partition, c->graph->params[p].node) == s)
				n += c->graph->params[p].n;
		if (n > most) {
			most = n;
			best = s;
		}
	}
	return best;
}

static mr_status measure_average(const mr_run_config *c, double seconds, double *rate)
{
	uint32_t n = c->place->n_workers < MR_REPLICAS_MOST ? c->place->n_workers : MR_REPLICAS_MOST;
	yard y = {.c = c, .n = n, .seconds = seconds};
	uint16_t s = largest(c);
	party *p = calloc(y.n, sizeof(*p));
	mr_status st = p ? open_yard(&y, c->partition->first[s], c->partition->first[s + 1])
			 : mr_fail(MR_ERESOURCE, "no memory for averages of %u workers", y.n);

	if (st == MR_OK)
		st = run(&y, p);
	if (st == MR_OK && n_elements(&y))
		*rate = slowest(&y, p) * y.n /
			((double)mr_stage_size(y.stage)->weight_bytes * mr_replicas_passes(&mean, y.n, 0));
	close_yard(&y);
	free(p);
	return st;
}

/* --- steps of several pipes --- */

static mr_status fill(mr_plan *plan)
{
	for (uint32_t m = 0; m < plan->n_micro; m++) {
		uint16_t w = (uint16_t)(m * plan->n_workers / plan->n_micro);

		for (uint16_t s = 0; s < plan->n_stages; s++)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, s, (uint8_t)w));
		for (uint16_t s = plan->n_stages; s-- > 0;)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, s, (uint8_t)w));
	}
	return MR_OK;
}

/* One pipe a worker, with all stages of @c: only commits are shared between workers. */
static mr_status make_plan(const mr_run_config *c, mr_plan **out)
{
	uint16_t d = c->plan->n_workers, n = c->partition->n_stages;
	mr_sched_args a = {.n_workers = d, .chunks = n, .n_micro = (uint32_t)EACH * d};
	mr_plan_question q = {.trains = true, .terms = {.tied = c->plan->contract.tied}};
	mr_plan *plan;
	mr_status st;

	MR_TRY(mr_sched_create(&a, "pipes", n, d, 2, &plan));
	for (uint16_t p = 0; p < d; p++)
		for (uint16_t s = 0; s < n; s++)
			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] = p;
	mr_sched_flushes(plan, a.n_micro, MR_SUM_ASCENDING);
	MR_TRY(mr_sched_finish(plan, fill(plan), out));
	st = mr_plan_finish(&q, out, NULL);
	if (st != MR_OK)
		mr_plan_destroy(*out);
	return st;
}

static double weight_bytes(const mr_run_config *c)
{
	double bytes = 0;

	for (uint32_t p = 0; p < c->graph->n_params; p++)
		if (c->graph->params[p].tied_to < 0)
			bytes += (double)c->graph->params[p].n * (double)mr_dtype_bytes(c->kernels->types.weights);
	return bytes;
}

/* The sum of the times of all @op of the plan; 0 if one of them was not measured. */
static double seconds_of(const mr_run_config *c, const double *live, mr_op op)
{
	double seconds = 0;

	for (uint16_t w = 0; w < c->plan->n_workers; w++) {
		const mr_list *l = mr_plan_list(c->plan, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++, live++)
			seconds += l->at[i].op == op ? *live : 0;
	}
	return isfinite(seconds) ? seconds : 0;
}

static void take_rates(const mr_run_config *c, const double *live, mr_commit_rates *out)
{
	double bytes = weight_bytes(c);

	if (bytes > 0) {
		out->shared_s = seconds_of(c, live, MR_OP_U) / bytes;
		out->reduce_s = seconds_of(c, live, MR_OP_AR) / (bytes * (c->plan->n_pipes - 1));
	}
	out->forward_s = seconds_of(c, live, MR_OP_F) / c->plan->n_micro;
	out->back_s = seconds_of(c, live, MR_OP_B) / c->plan->n_micro;
}

static mr_status measure_steps(const mr_run_config *c, double seconds, mr_commit_rates *out)
{
	mr_run_config own = *c;
	mr_live_profile live;
	mr_plan *plan;
	mr_status st;

	MR_TRY(make_plan(c, &plan));
	own.plan = plan;
	own.clip = 0;
	own.sums_apart = c->clip > 0;
	own.mitigate = NULL;
	st = mr_profile_live(&own, seconds, &live);
	if (st == MR_OK)
		take_rates(&own, live.instr, out);
	free(live.instr);
	mr_plan_destroy(plan);
	return st == MR_ERESOURCE ? MR_OK : st; /* then no such system fits here either */
}

mr_status mr_profile_commits(const mr_run_config *c, double seconds, mr_commit_rates *out)
{
	*out = (mr_commit_rates){0};
	if (c->plan->n_workers < 2 || c->plan->n_workers > UINT8_MAX)
		return MR_OK;
	MR_TRY(measure_average(c, seconds, &out->average_s));
	return measure_steps(c, seconds, out);
}
