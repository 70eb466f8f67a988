/*
 * asgd.c - asynchronous SGD: workers with the whole model commit each gradient when it arrives (3 workers that take 1,
 * 2 and 4 a gradient; the numbers are the order of the arrivals, and a bar is a step).
 *
 *   w0 0|1|3|4|7|8|        pipe 0: reads what its own step before has made
 *   w1 .2 |.5 |.9 |        pipe 1
 *   w2 ....6  |....        pipe 2
 *
 * Problem: a synchronous step waits for the slowest worker. Idea: the server steps with each gradient when it arrives,
 * and its worker goes on from the weights that this step has made:
 *	w(v+1) = w(v) - lr * gradient of worker i at w(r),  r = 1 + the number of i's step before (0: none)
 *
 * Times: worker i takes times[i] a gradient, in a time that is planned and not measured: arrivals are sorted by it,
 * those at one time by worker, and micro-batch m is the m-th to arrive. So the order, and each bit, is the same on any
 * machine and in every run; workers that are as fast as planned wait for nothing. In a cycle of the least common
 * multiple L of all times worker i commits L / times[i] gradients, N in all; the cycle is an iteration of the plan.
 *
 * Staleness: the commits of others between two of a worker's own. Each of them falls between two such, so over a cycle
 * those of worker i add up to N - n_i, n_i being its own commits: (N - n_i) / n_i on average.
 *
 * data = own gives each worker a part of the data for itself. Then vanilla ASGD goes where the mean of the workers'
 * objectives, weighted by n_i, is least, and not their plain mean: fast workers count for more. rescaled = true
 * corrects it by rates proportional to the times, with the same sum for each worker over a cycle:
 *	rate of worker i = lr * times[i] * N / (n * L) = lr * N / (n * n_i)
 * whose mean over the commits of a cycle is lr. That normalisation is a choice of this program; the source states the
 * proportion, and constants are taken up by lr.
 *
 * Memory: a gradient a worker; versions of the weights for the most commits between a read and its step, and one; all
 * weights and the state of the optimizer once, or once a rank: each gradient goes to all of them, and each makes all
 * steps.
 *
 * Source: Mahran, Maranjyan, Richtarik, Rescaled Asynchronous SGD, arXiv 2605.13434; ASGD itself: Agarwal, Duchi,
 * Distributed Delayed Stochastic Optimization, NIPS 2011.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/sched.h"

/* Arrivals of a cycle: beyond this the times have no common multiple worth the name. */
#define MOST_ARRIVALS 65536u

static const mr_option options[] = {
	{"times", MR_OPT_FLOATS, "[]", 1, 65536, NULL, "workers",
	 "time of each worker for a gradient, whole numbers: they order the arrivals; empty: all are alike"},
	{"data", MR_OPT_ENUM, "shared", 0, 0, "shared|own", NULL,
	 "own: each worker has its part of the training samples, in the order of the source, for itself"},
	{"rescaled", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "rates proportional to the times, so that each worker adds the same sum of rates over a cycle"},
	{0},
};

typedef struct cycle {
	uint32_t n;       /* workers */
	uint32_t *time;   /* [n] */
	uint64_t length;  /* L */
	uint64_t n_all;   /* N */
} cycle;

static uint64_t divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static mr_status read_times(const mr_sched_args *args, cycle *c)
{
	size_t n;
	const double *times = mr_values_floats(args->options, "times", &n);

	if (n && n != c->n)
		return mr_fail(MR_ECONFIG, "times: %zu numbers for %u workers: give one for each", n, c->n);
	c->length = 1;
	for (uint32_t i = 0; i < c->n; i++) {
		double t = n ? times[i] : 1;

		if (t != floor(t))
			return mr_fail(MR_ECONFIG, "times: %g is no whole number; only the ratios count", t);
		c->time[i] = (uint32_t)t;
		c->length *= c->time[i] / divisor(c->length, c->time[i]);
		if (c->length > (uint64_t)MOST_ARRIVALS * MOST_ARRIVALS)
			break;
	}
	for (uint32_t i = 0; i < c->n; i++)
		c->n_all += c->time[i] ? c->length / c->time[i] : 0;
	if (c->n_all > MOST_ARRIVALS || c->length > (uint64_t)MOST_ARRIVALS * MOST_ARRIVALS)
		return mr_fail(MR_ECONFIG,
			       "times: these repeat only after more than %u gradients; take times with a smaller "
			       "common multiple",
			       MOST_ARRIVALS);
	return MR_OK;
}

static mr_status open_cycle(const mr_sched_args *args, cycle *c)
{
	*c = (cycle){.n = args->n_workers, .time = calloc(args->n_workers, sizeof(*c->time))};
	return c->time ? read_times(args, c) : mr_fail(MR_ERESOURCE, "no memory for %u workers", c->n);
}

/* Calls @put for the first @n arrivals, in order; @most: the most commits between a read and its step. */
static mr_status arrive(const cycle *c, uint64_t n, mr_status (*put)(void *, uint32_t, uint32_t), void *arg,
			uint64_t *most)
{
	uint64_t *next = calloc(2 * (size_t)c->n, sizeof(*next)), *read = next + c->n;

	if (!next)
		return mr_fail(MR_ERESOURCE, "no memory for the arrivals of %u workers", c->n);
	*most = 0;
	for (uint32_t i = 0; i < c->n; i++)
		next[i] = c->time[i];
	for (uint64_t m = 0; m < n; m++) {
		mr_status st;
		uint32_t w = 0;

		for (uint32_t i = 1; i < c->n; i++)
			w = next[i] < next[w] ? i : w;
		*most = m - read[w] > *most ? m - read[w] : *most;
		read[w] = m + 1;
		next[w] += c->time[w];
		st = put ? put(arg, w, (uint32_t)m) : MR_OK;
		if (st != MR_OK) {
			free(next);
			return st;
		}
	}
	free(next);
	return MR_OK;
}

typedef struct filled {
	mr_plan *plan;
	mr_section section;
} filled;

static mr_status put_arrival(void *arg, uint32_t worker, uint32_t micro)
{
	const filled *f = arg;

	MR_TRY(mr_sched_emit(f->plan, (uint16_t)worker, f->section, MR_OP_F, micro, 0, (uint8_t)worker));
	return mr_sched_emit(f->plan, (uint16_t)worker, f->section, MR_OP_B, micro, 0, (uint8_t)worker);
}

static mr_status fill(mr_plan *plan, const mr_sched_args *args, const cycle *c)
{
	filled f = {plan, args->finite ? MR_PROLOGUE : MR_BODY};
	uint64_t n = args->finite ? args->n_micro : c->n_all, most;

	for (uint16_t p = 0; p < plan->n_pipes; p++)
		plan->worker_of[mr_plan_at(plan, (uint8_t)p, 0)] = p;
	plan->n_micro = plan->commits = (uint32_t)n;
	plan->contract = (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_LATEST,
		.sum = MR_SUM_ASCENDING,
		.need = 1,
		.same_version_b = true,
		.whole_steps = plan->n_pipes > 1,
		.own_data = plan->n_pipes > 1 && !strcmp(mr_values_string(args->options, "data"), "own"),
		.equal_rates = plan->n_pipes > 1 && mr_values_bool(args->options, "rescaled"),
	};
	/* those of the second cycle are those of all later ones */
	MR_TRY(arrive(c, args->finite ? n : 2 * n, NULL, NULL, &most));
	plan->contract.max_staleness = (uint32_t)most;
	return arrive(c, n, put_arrival, &f, &most);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_sched_args own = *args;
	mr_plan *plan = NULL;
	cycle c;
	mr_status st = open_cycle(args, &c);

	own.n_micro = args->finite ? args->n_micro : (uint32_t)c.n_all;
	if (st == MR_OK)
		st = mr_sched_create(&own, "asgd", 1, args->n_workers, 2, &plan);
	if (st == MR_OK)
		st = mr_sched_finish(plan, fill(plan, args, &c), out);
	free(c.time);
	return st;
}

static uint32_t one_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static uint32_t one_stage(const mr_sched_args *args)
{
	(void)args;
	return 1;
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint64_t most, n;
	cycle c;

	(void)f;
	(void)i;
	(void)w;
	out->versions_first = out->versions_last = 0;
	if (open_cycle(args, &c) == MR_OK) {
		n = args->finite ? args->n_micro : 2 * c.n_all;
		if (arrive(&c, n, NULL, NULL, &most) == MR_OK)
			out->versions_first = out->versions_last = (uint32_t)most + 1;
		if (n >= c.n_all) /* each worker has a gradient */
			out->peak_slots_first = out->peak_slots_last = 1;
	}
	free(c.time);
}

const mr_sched_ops mr_sched_asgd = {
	.name = "asgd",
	.summary = "workers with the whole model step with each gradient when it arrives, by planned times; rescaled: "
		   "with rates for workers with data of their own",
	.source = "Agarwal and Duchi, Distributed Delayed Stochastic Optimization, NIPS 2011; rescaled: Mahran et al., "
		  "arXiv 2605.13434",
	.options = options,
	.asynchronous = true,
	.default_micro = one_micro,
	.stages = one_stage,
	.emit = emit,
	.claims = claims,
};
