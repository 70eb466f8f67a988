/*
 * search.c - this project's own: the shortest order found in many tries for measured costs, chunks and a limit of
 * memory (3 workers, v = 2, 4 micro-batches, f, i, w = 4, 6, 2 a share; a small letter is the worker's second stage;
 * tries =
 * 4000).
 *
 *   w0 F0--F1--F2--F3--....f0--i0----f1--w0i1----f2--i2----w1I0----W0w2..f3--i3----w3I1----W1....I2----W2....I3----W3
 *   w1 ....F0--F1--F2--f0--F3--f1--..i0----w0f2--i1----I0----W0i2----f3--w1w2..I1----i3----I2----W1W2w3I3----W3......
 *   w2 ........F0--f0--F1--f1--F2--f2--....i0----I0----W0w0F3--f3--i1----I1----i2----I2----i3----I3----W1w1W2w2W3w3..
 *
 * Problem: each published system is best for certain costs, depth and memory; measured costs are different, and differ
 * from stage to stage. Idea: each system is a placement of the stages, whole or split backwards, a limit of memory and
 * a rule of priority, so try many combinations. Every system of the registry that flushes and has one pipe comes first,
 * with its default options, where it has a cap with several of them, and every number of chunks up to 64 into which the
 * model can be cut: the result is never worse than the best of them that fits into memory, by the predicted step of
 * `plan` and the bytes of the engine's layout. Without a model (schedule) there are 1 to 4 chunks, and only cap limits
 * memory; the times compared are those of the finished plans, optimizer steps included. Then the list scheduler makes
 * orders (list_schedule.h) for stages in blocks, round and round and in waves, each with whole and with split
 * backwards: with its own priorities, and with random ones, most of which are small changes of the shortest order so
 * far of the same placement (search_candidate.h).
 *
 * All have one copy of weights and gradients. Systems of several pipes are left out: they need further gradient
 * buffers, and data_parallel, in which no worker waits, would always be the shortest by this measure.
 *
 * Time: the option objective says what is minimised: a step as it would run (without a model: makespan), makespan or
 * period, at the costs of the configuration. Bubble of the makespan with boundary buffers without limit, D = 4, T = 8,
 * v = 4, cap = D, against the best system of the registry:
 *
 *	f, i, w     by name   search, tries = 20000 (six seeds)   tries = 4000 (six seeds)
 *	1, 1, 1     0.75      0.75                                0.75
 *	2, 1, 2     1.5       1.5                                 1.5
 *	2, 3, 1     3         2.25                                2.25
 *	5, 6, 4     5.25      4.5                                 4.5 in four, 5 in two
 *
 * With costs drawn for each stage (whole numbers from 1 to 6, D = 2..4, T = 4 or 8, v = 1 or 2) it was better than the
 * best by name in half of 40 cases. Memory: no worker keeps more than `cap` micro-batches of its share, each until its
 * W or B, checked by walking; by default bytes alone decide where a model is given, else D. Gradients of a stage are
 * summed in the order 0..T-1, or in that of the system that was best.
 *
 * The same arguments give the same plan: tries are counted, and random numbers are a function of the seed and the
 * number of the try. With a limit of seconds the number of tries depends on the clock; that number given as tries makes
 * the same plan again. The plan's name is search+<system> if no try was better than that system.
 *
 * How far that is from the best is bounded, as a makespan and for the placement that was found: windows of time for
 * each pass, trials of pairs of passes and a tree search raise a lower bound, and find shorter orders on the way
 * (exact.h, search_prove.h). `schedule` and `plan` print the gap, or that the order is optimal.
 *
 * An order that does not fit is tried again with the forward passes of stages recomputed, on the first worker, on two,
 * four and so on, until it fits; so chunks, placement, order and recomputation are chosen together under the bytes.
 *
 * NOTE 1: random search with list scheduling is no new idea; waves with split backwards at these costs, which no
 * published system has, are what it finds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "schedules/common/search_names.h"
#include "ir/recompute.h"
#include "schedules/common/search_candidate.h"
#include "schedules/common/search_prove.h"
#include "schedules/common/stage_costs.h"

/* Times this close are equal: sums of doubles in another order. */
#define SAME 1e-9
/* Without a number of tries: at most this many, and this much work, of which a second does about as much. */
#define USUAL_TRIES 500.0
#define USUAL_WORK 3e7
#define MOST_TRIES 1e8
#define MOST_CHUNKS 64u  /* of those that are tried where the user names no number */
#define FREE_CHUNKS 4u   /* likewise, without a model that has this many layers */
#define MOST_ROUNDS 6u   /* with less memory each */

static const mr_option options[] = {
	{"chunks", MR_OPT_INT, "0", 0, 1024, NULL, NULL,
	 "stages that a worker hosts; 0: as many as make the shortest step"},
	{"cap", MR_OPT_STRING, "memory", 0, 0, NULL, NULL,
	 "micro-batches of its share that a worker may keep, each until its W: D (workers), 2D, none or a number; "
	 "memory: what the process has room for, as machine.memory_limit says, and D where no model is given"},
	{"objective", MR_OPT_ENUM, "step", 0, 0, "step|makespan|period", NULL,
	 "what to make short: a step as it will run, an iteration with its barrier, or the distance of iterations "
	 "without one"},
	{"tries", MR_OPT_INT, "0", 0, MOST_TRIES, NULL, NULL,
	 "random candidates; 0: 500, or fewer where the plan is so large that they would take more than about a "
	 "second"},
	{"seconds", MR_OPT_FLOAT, "0", 0, 86400, NULL, "seconds",
	 "time for random candidates, as many as there are tries, or without end where tries is 0; 0: only tries "
	 "count"},
	{"seed", MR_OPT_INT, "1", 0, 1e15, NULL, NULL, "of the random candidates"},
	{"proof", MR_OPT_INT, "0", 0, 1e9, NULL, NULL,
	 "nodes of the search for a shorter order of the placement found, or for a proof that there is none, if a "
	 "makespan is made short; 0: 200, or fewer where the plan is so large that they would take more than some "
	 "hundredths of a second"},
	{"swaps", MR_OPT_INT, "0", 0, 1e9, NULL, NULL,
	 "of neighbours in the placement found, to shorten its order, beside the proof; where room decides the time, "
	 "up to a quarter of theirs goes to a beam before them; 0: four for each of its nodes"},
	MR_STAGE_COSTS_OPTION,
	{0},
};

/* The best candidate of one placement, whole or split, with this number of chunks. */
typedef struct family {
	uint16_t chunks, n_stages;
	mr_search_place place;
	bool split;
	mr_stage_cost *cost; /* [n_stages] */
	mr_search_way way;   /* keyed once there is one */
	double value;        /* INFINITY: none yet */
} family;

typedef struct search {
	const mr_sched_args *args;
	mr_search_judge judge;
	uint32_t n_micro;
	uint16_t *chunks;    /* [n_chunks] numbers to try, ascending */
	uint32_t n_chunks;
	family *of;          /* [n_of] */
	uint32_t n_of;
	mr_plan *best;       /* of the list scheduler's, NULL: none below `value` */
	double value;        /* first sight of best; before there is one, what it must be below */
	mr_plan *chosen;     /* the fastest that fits; if none fits, the one that needs least memory */
	mr_sched_verdict verdict;
	double chosen_value; /* INFINITY: it does not fit */
	uint16_t *worker_of; /* [most stages] */
	uint32_t *limit;     /* [D] */
	uint32_t *rank;      /* [3][most stages][T] */
	mr_search_way next;
} search;

static size_t n_keys(const search *s, uint16_t n_stages)
{
	return 3 * (size_t)n_stages * s->n_micro;
}

/* Of one candidate: instructions, times what the list scheduler looks at for each. */
static double work_of(const search *s, const family *f)
{
	return (double)n_keys(s, f->n_stages) * (s->args->n_workers + f->chunks);
}

/* --- judging --- */

/* Take @plan, whose first sight is @sight, if it is the best of all in the run; else drop it. */
static mr_status take(search *s, mr_plan *plan, double sight, const char *from, bool *fits)
{
	mr_sched_verdict v;
	double value;
	mr_status st = mr_search_look(&s->judge, plan, sight, &v, &value);
	bool first = !s->chosen, none = s->chosen_value == INFINITY;

	*fits = st == MR_OK && v.fits;
	if (st == MR_OK && (first || (v.fits && value < s->chosen_value * (1 - SAME)) || (v.fits && none) ||
			    (!v.fits && none && v.bytes < s->verdict.bytes))) {
		mr_plan_destroy(s->chosen);
		s->chosen = plan;
		s->verdict = v;
		s->chosen_value = v.fits ? value : INFINITY;
		snprintf(plan->system, sizeof(plan->system), "search%s%s", *from ? "+" : "", from);
		return MR_OK;
	}
	mr_plan_destroy(plan);
	return st;
}

/* The same for orders that recompute, of a plan that does not fit: on few workers first, which takes less time. */
static mr_status take_recomputing(search *s, const mr_plan *plan, const char *from)
{
	bool fits = false;

	for (uint32_t w = 1, last = 0; !fits && last < plan->n_workers; w *= 2) {
		uint16_t n = (uint16_t)(w < plan->n_workers ? w : plan->n_workers);
		double sight = INFINITY;
		mr_plan *again;
		uint32_t n_again;

		last = n;
		MR_TRY(mr_plan_recompute(plan, n, &again, &n_again));
		if (n_again && mr_search_sight(&s->judge, again, &sight) == MR_OK &&
		    sight < s->chosen_value * (1 - SAME)) {
			MR_TRY(take(s, again, sight, from, &fits));
			continue;
		}
		mr_plan_destroy(again);
	}
	return MR_OK;
}

/* *@fits: without recomputing. */
static mr_status choose(search *s, mr_plan *plan, double sight, const char *from, bool *fits)
{
	bool recomputes = false;
	mr_plan *copy = NULL;
	mr_status st;

	for (uint16_t w = 0; w < plan->n_workers && !recomputes; w++)
		for (uint32_t i = 0; i < mr_plan_list(plan, w, MR_BODY)->n; i++)
			recomputes |= mr_plan_list(plan, w, MR_BODY)->at[i].op == MR_OP_R;
	if (s->judge.model && !recomputes)
		MR_TRY(mr_plan_copy(plan, &copy));
	st = take(s, plan, sight, from, fits);
	if (st == MR_OK && copy && !*fits)
		st = take_recomputing(s, copy, from);
	mr_plan_destroy(copy);
	return st;
}

/* Try the systems of the registry, until no later one can be better. */
static mr_status choose_by_name(search *s)
{
	mr_search_name *names = NULL;
	uint32_t n = 0;
	mr_status st = mr_search_names(&s->judge, s->chunks, s->n_chunks, &names, &n);

	for (uint32_t i = 0; st == MR_OK && i < n && names[i].sight < s->chosen_value * (1 - SAME); i++) {
		mr_plan *plan = NULL;
		bool fits;

		st = mr_search_emit_name(&s->judge, &names[i], &plan);
		if (st == MR_OK)
			st = choose(s, plan, names[i].sight, names[i].ops->name, &fits);
	}
	free(names);
	return st;
}

/* Take @plan, which is better than the best of the list scheduler's, or drop it. */
static mr_status offer(search *s, mr_plan *plan)
{
	double value = INFINITY;
	mr_status st = mr_search_sight(&s->judge, plan, &value);

	if (st != MR_OK || !(value < s->value * (1 - SAME))) {
		mr_plan_destroy(plan);
		return st;
	}
	mr_plan_destroy(s->best);
	s->best = plan;
	s->value = value;
	return MR_OK;
}

/* --- candidates --- */

static void lay_out(search *s, const family *f, const mr_search_way *way, mr_list_job *job)
{
	uint16_t d = s->args->n_workers;

	*job = (mr_list_job){.n_workers = d,
			     .n_stages = f->n_stages,
			     .n_pipes = 1,
			     .n_micro = s->n_micro,
			     .worker_of = s->worker_of,
			     .cost = f->cost,
			     .cap = s->limit,
			     .split = way->split,
			     .patient = way->patient,
			     .rank = way->keyed ? s->rank : NULL};
	for (uint16_t k = 0; k < f->n_stages; k++)
		s->worker_of[k] = mr_search_worker(way->place, d, f->n_stages, k);
	for (uint16_t w = 0; w < d; w++)
		s->limit[w] = way->limit;
	for (size_t k = 0; way->keyed && k < n_keys(s, f->n_stages); k++)
		s->rank[k] = (uint32_t)((fmax(fmin(way->key[k], 60), -60) + 64) * (1 << 24));
}

/* An empty plan with the stages of @f where they lie. */
static mr_status place_stages(const search *s, const family *f, mr_plan **out)
{
	MR_TRY(mr_sched_create(s->args, "search", f->n_stages, 1, 3, out));
	for (uint16_t k = 0; k < f->n_stages; k++)
		(*out)->worker_of[k] = mr_search_worker(f->place, s->args->n_workers, f->n_stages, k);
	mr_sched_flushes(*out, s->n_micro, MR_SUM_ASCENDING);
	return MR_OK;
}

static mr_status make_plan(const search *s, const family *f, const mr_list_order *order, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(place_stages(s, f, &plan));
	return mr_sched_finish(plan, mr_list_order_emit(order, plan), out);
}

/* Store in @f the keys that reproduce the order: the time at which each instruction began. */
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
	f->value = s->judge.period ? order->span : order->makespan;
}

/* Allocate @f's keys and costs when it has its first candidate. */
static mr_status begin_family(const search *s, family *f)
{
	mr_plan *plan;
	mr_status st;

	if (f->cost)
		return MR_OK;
	f->cost = malloc(f->n_stages * sizeof(*f->cost));
	f->way.key = calloc(n_keys(s, f->n_stages), sizeof(*f->way.key));
	if (!f->cost || !f->way.key)
		return mr_fail(MR_ERESOURCE, "no memory to search an order of %zu instructions",
			       n_keys(s, f->n_stages));
	MR_TRY(place_stages(s, f, &plan));
	st = mr_search_costs(&s->judge, plan, f->cost);
	mr_plan_destroy(plan);
	return st;
}

static mr_status try_way(search *s, const mr_search_way *way, family *f)
{
	mr_list_order *order = NULL;
	mr_plan *plan = NULL;
	mr_list_job job;
	double value;
	mr_status st = MR_OK;

	MR_TRY(begin_family(s, f));
	lay_out(s, f, way, &job);
	MR_TRY(mr_list_order_create(&job, &order));
	value = s->judge.period ? order->span : order->makespan;
	if (value < f->value * (1 + SAME)) /* equals too: the search moves on */
		keep(s, f, way, &job, order);
	if (value < s->value * (1 - SAME)) {
		st = make_plan(s, f, order, &plan);
		if (st == MR_OK)
			st = offer(s, plan);
	}
	mr_list_order_destroy(order);
	return st;
}

/* Activations that a worker may keep: more than all there are is no limit. */
static uint32_t most_kept(const search *s, const family *f)
{
	double all = (double)s->n_micro * f->chunks;

	return (uint32_t)fmax(f->chunks, floor(fmin(s->judge.cap * f->chunks + SAME, all)));
}

/* Each family with the list scheduler's own priorities, patient and not. */
static mr_status try_plain(search *s)
{
	double work = 0;

	for (uint32_t k = 0; k < 2 * s->n_of; k++) {
		family *f = &s->of[k / 4 * 2 + k % 2];
		uint32_t most, usual;

		if (k / 4 * 2 + k % 2 >= s->n_of)
			continue;
		most = most_kept(s, f);
		usual = (uint32_t)s->args->n_workers * f->chunks;
		for (unsigned less = 0; less < (usual < most ? 2u : 1u); less++) {
			mr_search_way way = {
				.place = f->place, .split = f->split, .patient = k & 2, .limit = less ? usual : most};

			if (way.patient && !way.split)
				continue;
			work += work_of(s, f);
			if (s->best && work > USUAL_WORK)
				return MR_OK;
			MR_TRY(try_way(s, &way, f));
		}
	}
	return MR_OK;
}

static mr_status try_one(search *s, uint64_t candidate)
{
	mr_search_dice dice = {.seed = (uint64_t)mr_values_int(s->args->options, "seed"), .candidate = candidate};
	uint32_t pick = (uint32_t)(mr_search_roll(&dice) * s->n_of);
	family *f;

	if (mr_search_roll(&dice) < 0.5) /* the best family so far */
		for (uint32_t k = 0; k < s->n_of; k++)
			pick = s->of[k].value < s->of[pick].value * (1 - SAME) ? k : pick;
	f = &s->of[pick];

	if (f->value < INFINITY && mr_search_roll(&dice) < 0.8) {
		mr_search_vary(&s->next, &f->way, f->n_stages, s->n_micro, f->chunks, most_kept(s, f), &dice);
	} else {
		s->next.place = f->place;
		s->next.split = f->split;
		mr_search_draw(&s->next, f->n_stages, s->n_micro, f->chunks, most_kept(s, f), &dice);
	}
	return try_way(s, &s->next, f);
}

/* The number of tries: the usual one, or as many as take about a second. */
static uint64_t usual_tries(const search *s)
{
	double work = 0;

	for (uint32_t k = 0; k < s->n_of; k++)
		work += work_of(s, &s->of[k]) / s->n_of;
	return (uint64_t)fmin(USUAL_TRIES, USUAL_WORK / work);
}

/* A given number of tries is made in any case; with a limit of time at least one is made, since 0 tries would mean
 * something else. */
static mr_status try_many(search *s)
{
	const mr_sched_args *a = s->args;
	uint64_t tries = (uint64_t)mr_values_int(a->options, "tries"), k = 0;
	double seconds = mr_values_float(a->options, "seconds"), end = a->now ? a->now() + seconds : 0;

	if (seconds > 0 && !a->now)
		return MR_OK;
	if (!tries)
		tries = seconds > 0 ? (uint64_t)MOST_TRIES : usual_tries(s);
	for (; k < tries && (k == 0 || !(seconds > 0) || a->now() < end); k++)
		MR_TRY(try_one(s, k));
	if (seconds > 0 && a->n_tries)
		*a->n_tries = k;
	return MR_OK;
}

/* Search for orders; each round may keep less than the one before, until an order fits. */
static mr_status choose_by_search(search *s)
{
	bool fits = false;

	for (unsigned round = 0; round < MOST_ROUNDS && !fits && s->judge.cap >= 1; round++) {
		double sight;
		mr_plan *plan;

		s->value = s->chosen_value;
		for (uint32_t k = 0; k < s->n_of; k++)
			s->of[k].value = INFINITY;
		MR_TRY(try_plain(s));
		if (round == 0) /* later rounds try only the scheduler's own priorities with less memory */
			MR_TRY(try_many(s));
		if (!s->best)
			return MR_OK;
		sight = s->value;
		plan = s->best;
		s->best = NULL;
		MR_TRY(choose(s, plan, sight, "", &fits));
		s->judge.cap = fmin(s->judge.cap, 2.0 * s->n_micro) / 2;
	}
	return MR_OK;
}

/* --- tables --- */

/* May a plan hold @v stages a worker? */
static mr_status may_hold(const search *s, uint32_t v)
{
	mr_plan *plan;

	MR_TRY(mr_sched_create(s->args, "search", v * s->args->n_workers, 1, 3, &plan));
	mr_plan_destroy(plan);
	return MR_OK;
}

static mr_status refuse_chunks(const search *s)
{
	const mr_sched_args *a = s->args;
	unsigned v = a->chunks ? a->chunks : 1;

	if (!s->judge.model && a->costs)
		return mr_fail(MR_ECONFIG, "the cost table has %u stages, the plan %u", a->costs->n_stages,
			       v * a->n_workers);
	return mr_fail(MR_ECONFIG, "the model cannot be cut into %u stages, %u for each of %u workers",
		       v * a->n_workers, v, a->n_workers);
}

static mr_status list_chunks(search *s)
{
	const mr_sched_args *a = s->args;
	uint32_t most = a->chunks ? a->chunks : s->judge.model ? MOST_CHUNKS : FREE_CHUNKS;

	s->chunks = malloc(most * sizeof(*s->chunks));
	if (!s->chunks)
		return mr_fail(MR_ERESOURCE, "no memory for %u numbers of chunks", most);
	for (uint32_t v = a->chunks ? a->chunks : 1; v <= most; v++) {
		mr_status st = may_hold(s, v);

		if (st != MR_OK && (st != MR_ECONFIG || !s->n_chunks))
			return st;
		if (st == MR_OK && mr_search_cuts(&s->judge, v * a->n_workers))
			s->chunks[s->n_chunks++] = (uint16_t)v;
	}
	return s->n_chunks ? MR_OK : refuse_chunks(s);
}

static mr_status make_room(search *s)
{
	uint16_t most = (uint16_t)(s->chunks[s->n_chunks - 1] * s->args->n_workers);
	size_t keys = n_keys(s, most);

	s->of = calloc((size_t)s->n_chunks * 2 * MR_SEARCH_N_PLACES, sizeof(*s->of));
	s->worker_of = malloc(most * sizeof(*s->worker_of));
	s->limit = malloc(s->args->n_workers * sizeof(*s->limit));
	s->rank = malloc(keys * sizeof(*s->rank));
	s->next.key = malloc(keys * sizeof(*s->next.key));
	if (!s->of || !s->worker_of || !s->limit || !s->rank || !s->next.key)
		return mr_fail(MR_ERESOURCE, "no memory to search an order of %zu instructions", keys);
	for (uint32_t c = 0; c < s->n_chunks; c++)
		for (unsigned k = 0; k < (s->chunks[c] == 1 ? 2 : 2 * MR_SEARCH_N_PLACES); k++)
			s->of[s->n_of++] = (family){.chunks = s->chunks[c],
						    .place = (mr_search_place)(k / 2),
						    .split = k % 2,
						    .n_stages = (uint16_t)(s->chunks[c] * s->args->n_workers),
						    .value = INFINITY};
	return MR_OK;
}

static void fini(search *s)
{
	mr_plan_destroy(s->best);
	mr_plan_destroy(s->chosen);
	for (uint32_t k = 0; k < s->n_of; k++) {
		free(s->of[k].cost);
		free(s->of[k].way.key);
	}
	free(s->of);
	free(s->chunks);
	free(s->worker_of);
	free(s->limit);
	free(s->rank);
	free(s->next.key);
}

/* Make the order shorter, or find how much shorter it could be. @judge: with the limit that was given. */
static mr_status prove(search *s, const mr_search_judge *judge)
{
	mr_sched_proof proof;
	mr_plan *shorter;
	double sight;
	bool fits;

	s->judge = *judge;
	if (judge->period)
		return MR_OK;
	MR_TRY(mr_search_prove(judge, s->chosen, (uint64_t)mr_values_int(s->args->options, "proof"),
			       (uint64_t)mr_values_int(s->args->options, "swaps"), &shorter, &proof));
	if (shorter) {
		MR_TRY(mr_search_sight(judge, shorter, &sight));
		MR_TRY(choose(s, shorter, sight, "", &fits));
	}
	MR_TRY(mr_search_sight(judge, s->chosen, &proof.makespan));
	if (s->args->proof)
		*s->args->proof = proof;
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	search s = {.args = args, .n_micro = args->n_micro, .value = INFINITY, .chosen_value = INFINITY};
	mr_search_judge judge;
	mr_status st = mr_search_judge_init(&s.judge, args);

	judge = s.judge;
	if (st == MR_OK)
		st = list_chunks(&s);
	if (st == MR_OK)
		st = make_room(&s);
	if (st == MR_OK)
		st = choose_by_name(&s);
	if (st == MR_OK)
		st = choose_by_search(&s);
	if (st == MR_OK)
		st = prove(&s, &judge);
	if (st == MR_OK) {
		*out = s.chosen; /* a limit from 1 on has room for an order of the list scheduler */
		s.chosen = NULL;
	}
	fini(&s);
	return st;
}

static bool by_costs(const mr_values *values)
{
	return !*mr_values_string(values, "costs");
}

const mr_sched_ops mr_sched_search = {
	.name = "search",
	.summary = "ours: the best of all systems with one pipe and of many random orders, for the costs and the "
		   "memory at hand",
	.source = "millrace; list scheduling with random priorities",
	.options = options,
	.by_costs = by_costs,
	.judged = true,
	.time_budget_option = "seconds",
	.tries_option = "tries",
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
};
