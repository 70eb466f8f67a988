/*
 * search.c - ours: the shortest order that many tries find for measured costs, chunks and a limit of memory (3
 * workers, v = 2, 4 micro-batches, f, i, w = 4, 6, 2 a share; a small letter is the worker's second stage; tries = 4000).
 *
 *   w0 F0--F1--F2--F3--....f0--i0----f1--w0i1----f2--i2----w1I0----W0w2..f3--i3----w3I1----W1....I2----W2....I3----W3
 *   w1 ....F0--F1--F2--f0--F3--f1--..i0----w0f2--i1----I0----W0i2----f3--w1w2..I1----i3----I2----W1W2w3I3----W3......
 *   w2 ........F0--f0--F1--f1--F2--f2--....i0----I0----W0w0F3--f3--i1----I1----i2----I2----i3----I3----W1w1W2w2W3w3..
 *
 * Problem: each published system is the right one for some costs, depth and memory; measured costs are none of those,
 * and differ from stage to stage. Idea: all of them are a placement of the stages, whole or split backwards, a limit
 * of memory and an idea of what is urgent, so try many. Every system of the registry with one pipe comes first, with
 * its usual options, if it can do with D, T, chunks and memory: what is found is never worse than the best of them.
 * Then the list scheduler makes orders (list_schedule.h) for stages in blocks, round and round and in waves, each with
 * whole and with split backwards: with its own priorities, and with random ones, most of which are small changes of
 * the shortest order so far of the same placement (search_way.h).
 *
 * All have one copy of weights and gradients. Systems of several pipes are left out: they pay with further gradients,
 * and data_parallel, which has no pipeline to wait for, would always win by this measure.
 *
 * Time: what is asked for, makespan or period, at the costs given and with boundary buffers without limit. D = 4,
 * T = 8, v = 4, cap = D, bubble of the makespan, against the best system by name:
 *
 *	f, i, w     by name   search, tries = 20000 (six seeds)   tries = 4000 (six seeds)
 *	1, 1, 1     0.75      0.75                                0.75
 *	2, 1, 2     1.5       1.5                                 1.5
 *	2, 3, 1     3         2.25                                2.25
 *	5, 6, 4     5.25      4.5                                 4.5 in four, 5 in two
 *
 * With costs drawn for each stage (whole numbers from 1 to 6, D = 2..4, T = 4 or 8, v = 1 or 2) it was better than the
 * best by name in half of 40 cases. Memory: no worker keeps more than `cap` micro-batches of its share, each until its
 * W or B, checked by walking. Gradients of a stage are summed in the order 0..T-1, or in that of the system that was
 * best.
 *
 * The same arguments give the same plan: tries are counted, and random numbers are a function of the seed
 * and the number of the try. With a limit of seconds they are timed as well: then the number of tries that there was
 * time for gives the same plan. The plan's name is search+<system> where no try beat that system.
 *
 * NOTE 1: random search with list scheduling is no new idea; waves with split backwards at these costs, which no
 * published system has, are what it finds.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/walk.h"
#include "schedules/parts/cap.h"
#include "schedules/registry.h"
#include "schedules/parts/search_way.h"
#include "schedules/parts/stage_costs.h"

/* Times this close are equal: sums of doubles in another order. */
#define SAME 1e-9
/* Without a number of tries: at most so many, and so much work, of which a second does about as much. */
#define USUAL_TRIES 500.0
#define USUAL_WORK 3e7
#define MOST_TRIES 1e8

extern const mr_sched_ops mr_sched_search;

static const mr_option options[] = {
	MR_SCHED_CHUNKS("2"),
	{"cap", MR_OPT_STRING, "D", 0, 0, NULL, NULL,
	 "micro-batches of its share that a worker may keep, each until its W: D (workers), 2D, none or a number"},
	{"objective", MR_OPT_ENUM, "makespan", 0, 0, "makespan|period", NULL,
	 "what to make short: an iteration with its barrier, or the distance of iterations without one"},
	{"tries", MR_OPT_INT, "0", 0, MOST_TRIES, NULL, NULL,
	 "random candidates; 0: 500, or fewer where the plan is so large that they would take more than about a second"},
	{"seconds", MR_OPT_FLOAT, "0", 0, 86400, NULL, "seconds",
	 "time for random candidates, as many as there are tries, or without end where tries is 0; 0: only tries count"},
	{"seed", MR_OPT_INT, "1", 0, 1e15, NULL, NULL, "of the random candidates"},
	MR_STAGE_COSTS_OPTION,
	{0},
};

/* The best candidate of one placement, whole or split. */
typedef struct family {
	mr_search_way way; /* keyed once there is one */
	double value;      /* INFINITY: none yet */
} family;

#define N_FAMILIES (2 * MR_SEARCH_N_PLACES)

typedef struct search {
	const mr_sched_args *args;
	mr_stage_cost *cost; /* [S] */
	uint16_t n_stages;
	uint32_t n_micro;
	double cap;          /* micro-batches of a worker's share */
	bool period;
	double work;         /* of one candidate: instructions, times what the list scheduler looks at for each */
	mr_plan *best;
	double value;        /* of best */
	family of[N_FAMILIES];
	uint16_t *worker_of; /* [S] */
	uint32_t *limit;     /* [D] */
	uint32_t *rank;      /* [3][S][T] */
	mr_search_way next;
} search;

/* --- judging --- */

/* *@value is what @plan takes, or INFINITY where a worker keeps too much. */
static mr_status judge(const search *s, const mr_plan *plan, double *value)
{
	mr_cost cost = {s->n_stages, s->cost};
	mr_walk *walk = NULL;

	MR_TRY(mr_plan_walk(plan, &cost, 1, &(mr_walk_opts){.unlimited = true, .no_period = !s->period}, &walk));
	*value = s->period ? walk->period : walk->makespan;
	for (uint16_t w = 0; w < plan->n_workers; w++)
		if (walk->peak_until_w[w] > s->cap + SAME)
			*value = INFINITY;
	mr_walk_destroy(walk);
	return MR_OK;
}

/* Take @plan, which is better than the best, or drop it. @from: what to call it. */
static mr_status offer(search *s, mr_plan *plan, const char *from)
{
	double value = INFINITY;
	mr_status st = judge(s, plan, &value);

	if (st != MR_OK || !(value < s->value * (1 - SAME))) {
		mr_plan_destroy(plan);
		return st;
	}
	mr_plan_destroy(s->best);
	s->best = plan;
	s->value = value;
	snprintf(plan->system, sizeof(plan->system), "search%s%s", *from ? "+" : "", from);
	return MR_OK;
}

/* --- systems known by name --- */

/*
 * Options of @ops with which a worker hosts as many stages as asked for, where they follow from an option of another
 * name; NULL: the defaults.
 */
static mr_status fit_chunks(const search *s, const mr_sched_ops *ops, mr_values **out)
{
	*out = NULL;
	if (!ops->chunks_of)
		return MR_OK;
	MR_TRY(mr_values_create(ops->options, out));
	for (const mr_option *o = ops->options; o->name; o++) {
		int64_t usual = o->type == MR_OPT_INT ? mr_values_int(*out, o->name) : 0;

		if (o->type != MR_OPT_INT)
			continue;
		for (int64_t x = (int64_t)o->min; (double)x <= o->max && x <= s->args->chunks; x++) {
			MR_TRY(mr_values_set_int(*out, o->name, x));
			if (ops->chunks_of(*out) == s->args->chunks)
				return MR_OK;
		}
		MR_TRY(mr_values_set_int(*out, o->name, usual));
	}
	return MR_OK;
}

static bool comparable(const search *s, const mr_plan *plan)
{
	return plan->n_pipes == 1 && plan->n_stages == s->n_stages && plan->contract.flush == MR_FLUSH_BARRIER &&
	       plan->contract.coverage == MR_COVER_TRAIN;
}

/* What a system refuses it cannot do here; only a lack of memory ends the search. */
static mr_status try_system(search *s, const mr_sched_ops *ops)
{
	mr_sched_args args = *s->args;
	mr_values *values = NULL;
	mr_plan *plan = NULL;
	mr_status st = fit_chunks(s, ops, &values);

	args.options = values;
	if (st == MR_OK)
		st = mr_schedule_emit(ops, &args, &plan);
	mr_values_destroy(values);
	if (st != MR_OK)
		return st == MR_ECONFIG ? MR_OK : st;
	if (comparable(s, plan))
		return offer(s, plan, ops->name);
	mr_plan_destroy(plan);
	return MR_OK;
}

/* --- candidates --- */

static void lay_out(search *s, const mr_search_way *way, mr_list_job *job)
{
	uint16_t d = s->args->n_workers;

	*job = (mr_list_job){.n_workers = d,
			     .n_stages = s->n_stages,
			     .n_pipes = 1,
			     .n_micro = s->n_micro,
			     .worker_of = s->worker_of,
			     .cost = s->cost,
			     .cap = way->limit == UINT32_MAX ? NULL : s->limit,
			     .split = way->split,
			     .patient = way->patient,
			     .rank = way->keyed ? s->rank : NULL};
	for (uint16_t k = 0; k < s->n_stages; k++)
		s->worker_of[k] = mr_search_worker(way->place, d, s->n_stages, k);
	for (uint16_t w = 0; w < d; w++)
		s->limit[w] = way->limit;
	for (size_t k = 0; way->keyed && k < 3 * (size_t)s->n_stages * s->n_micro; k++)
		s->rank[k] = (uint32_t)((fmax(fmin(way->key[k], 60), -60) + 64) * (1 << 24));
}

static mr_status make_plan(const search *s, const mr_list_order *order, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_sched_create(s->args, "search", s->n_stages, 1, 3, &plan));
	memcpy(plan->worker_of, s->worker_of, s->n_stages * sizeof(*plan->worker_of));
	mr_sched_flushes(plan, s->n_micro, MR_SUM_ASCENDING);
	return mr_sched_finish(plan, mr_list_order_emit(order, plan), out);
}

/* Keys that say what @order came to: when each instruction began. */
static void keep(const search *s, family *f, const mr_search_way *way, const mr_list_job *job,
		 const mr_list_order *order)
{
	float *key = f->way.key;

	for (size_t k = 0; k < order->first[order->n_workers]; k++) {
		const mr_list_step *x = &order->at[k];

		key[mr_list_rank_at(job, (mr_op)x->op, x->stage, x->micro)] = (float)(x->begin / order->makespan);
	}
	f->way = *way;
	f->way.key = key;
	f->way.keyed = true;
	f->value = s->period ? order->span : order->makespan;
}

static mr_status try_way(search *s, const mr_search_way *way, family *f)
{
	mr_list_order *order = NULL;
	mr_plan *plan = NULL;
	mr_list_job job;
	double value;
	mr_status st;

	lay_out(s, way, &job);
	MR_TRY(mr_list_order_create(&job, &order));
	value = s->period ? order->span : order->makespan;
	st = MR_OK;
	if (value < f->value * (1 + SAME)) /* equals too: the search moves on */
		keep(s, f, way, &job, order);
	if (value < s->value * (1 - SAME)) {
		st = make_plan(s, order, &plan);
		if (st == MR_OK)
			st = offer(s, plan, "");
	}
	mr_list_order_destroy(order);
	return st;
}

/* Activations that a worker may keep. */
static uint32_t most_kept(const search *s)
{
	double n = floor(s->cap * s->args->chunks + SAME);

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static mr_status try_plain(search *s)
{
	for (unsigned k = 0; k < 2 * N_FAMILIES; k++) {
		mr_search_way way = {.place = (mr_search_place)(k / 4), .split = k & 1, .patient = k & 2, .limit = most_kept(s)};

		if ((way.patient && !way.split) || (s->args->chunks == 1 && k >= 4))
			continue;
		if (s->best && k * s->work > USUAL_WORK)
			break;
		MR_TRY(try_way(s, &way, &s->of[2 * way.place + way.split]));
	}
	return MR_OK;
}

static mr_status try_one(search *s, uint64_t candidate)
{
	mr_search_dice dice = {.seed = (uint64_t)mr_values_int(s->args->options, "seed"), .candidate = candidate};
	uint32_t n_families = s->args->chunks == 1 ? 2 : N_FAMILIES, pick = (uint32_t)(mr_search_roll(&dice) * n_families);
	family *f;

	if (mr_search_roll(&dice) < 0.5) /* the best family so far */
		for (uint32_t k = 0; k < n_families; k++)
			pick = s->of[k].value < s->of[pick].value * (1 - SAME) ? k : pick;
	f = &s->of[pick];

	if (f->value < INFINITY && mr_search_roll(&dice) < 0.8) {
		mr_search_vary(&s->next, &f->way, s->n_stages, s->n_micro, s->args->chunks, most_kept(s), &dice);
	} else {
		s->next.place = (mr_search_place)(pick / 2);
		s->next.split = pick % 2;
		mr_search_draw(&s->next, s->n_stages, s->n_micro, s->args->chunks, most_kept(s), &dice);
	}
	return try_way(s, &s->next, f);
}

/* Those that count are tried in any case; where a clock does, one at least, for a number of tries of 0 means another thing. */
static mr_status try_many(search *s)
{
	const mr_sched_args *a = s->args;
	uint64_t tries = (uint64_t)mr_values_int(a->options, "tries"), k = 0;
	double seconds = mr_values_float(a->options, "seconds"), end = a->now ? a->now() + seconds : 0;

	if (seconds > 0 && !a->now)
		return MR_OK;
	if (!tries)
		tries = seconds > 0 ? (uint64_t)MOST_TRIES : (uint64_t)fmin(USUAL_TRIES, USUAL_WORK / s->work);
	for (; k < tries && (k == 0 || !(seconds > 0) || a->now() < end); k++)
		MR_TRY(try_one(s, k));
	if (seconds > 0 && a->n_counted)
		*a->n_counted = k;
	return MR_OK;
}

static mr_status look(search *s)
{
	for (size_t i = 0; mr_schedule_at(i); i++)
		if (mr_schedule_at(i) != &mr_sched_search && !mr_schedule_at(i)->asynchronous)
			MR_TRY(try_system(s, mr_schedule_at(i)));
	MR_TRY(try_plain(s));
	return try_many(s);
}

/* --- tables --- */

static mr_status make_room(search *s)
{
	size_t keys = 3 * (size_t)s->n_stages * s->n_micro;
	bool well = true;

	s->cost = malloc(s->n_stages * sizeof(*s->cost));
	s->worker_of = malloc(s->n_stages * sizeof(*s->worker_of));
	s->limit = malloc(s->args->n_workers * sizeof(*s->limit));
	s->rank = malloc(keys * sizeof(*s->rank));
	s->next.key = malloc(keys * sizeof(*s->next.key));
	for (unsigned k = 0; k < N_FAMILIES; k++) {
		s->of[k] = (family){.way = {.key = calloc(keys, sizeof(float))}, .value = INFINITY};
		well = well && s->of[k].way.key;
	}
	if (!well || !s->cost || !s->worker_of || !s->limit || !s->rank || !s->next.key)
		return mr_fail(MR_ERESOURCE, "no memory to search an order of %zu instructions", keys);
	return MR_OK;
}

static void fini(search *s)
{
	mr_plan_destroy(s->best);
	free(s->cost);
	free(s->worker_of);
	free(s->limit);
	free(s->rank);
	free(s->next.key);
	for (unsigned k = 0; k < N_FAMILIES; k++)
		free(s->of[k].way.key);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	search s = {.args = args, .n_micro = args->n_micro, .value = INFINITY};
	mr_plan *size;
	mr_status st;

	MR_TRY(mr_cap_read(mr_values_string(args->options, "cap"), args->n_workers, &s.cap));
	MR_TRY(mr_sched_create(args, "search", (uint32_t)args->n_workers * args->chunks, 1, 3, &size));
	s.n_stages = size->n_stages;
	s.work = 3.0 * s.n_stages * s.n_micro * (args->n_workers + args->chunks);
	s.period = !strcmp(mr_values_string(args->options, "objective"), "period");
	st = make_room(&s);
	if (st == MR_OK)
		st = mr_stage_costs(args, size, s.cost);
	if (st == MR_OK)
		st = look(&s);
	mr_plan_destroy(size);
	if (st == MR_OK) {
		assert(s.best); /* a limit from 1 on has room for an order of the list scheduler */
		*out = s.best;
		s.best = NULL;
	}
	fini(&s);
	return st;
}

const mr_sched_ops mr_sched_search = {
	.name = "search",
	.summary = "ours: the best of all systems with one pipe and of many random orders, for measured costs and a limit of memory",
	.source = "millrace; list scheduling with random priorities",
	.options = options,
	.timed = "seconds",
	.counted = "tries",
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
};
