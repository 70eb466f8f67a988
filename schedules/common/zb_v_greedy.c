#include "schedules/common/zb_v_greedy.h"

#include <math.h>
#include <stdlib.h>

#define N_PASSES 4 /* steps up to MR_VEE_I0 are passes; the weight gradients that follow wait for no other worker */

typedef struct v_worker {
	double clock;   /* end of its last step */
	double held;    /* chunks in memory */
	double bubble;  /* time it waited after its first forward */
	double allowed; /* what it waited in the trial before; -1 in the first */
	uint32_t n[MR_VEE_N];
	mr_vee_step next; /* decided on, not yet put */
} v_worker;

/* One trial. */
typedef struct v_run {
	const mr_plan *plan;
	mr_stage_cost cost;
	bool w_before_f;    /* do a weight gradient before a forward that comes late by more than the worker can spare
	                       */
	bool w_before_i;    /* likewise before I of leg 1; before I of leg 0 it is always done */
	double longest;     /* bubble of any worker */
	double most_allowed;
	v_worker *at;       /* [D] */
	double *end;        /* [N_PASSES][D][T] */
	uint8_t *steps;     /* [D][6 T] */
	uint8_t *w_order;   /* [D][2 T] the weight gradients in the order of their I */
} v_run;

static double cost_of(const v_run *r, mr_vee_step s)
{
	return s <= MR_VEE_F1 ? r->cost.f : s <= MR_VEE_I0 ? r->cost.i : r->cost.w;
}

static double *end_of(const v_run *r, uint16_t w, mr_vee_step s, uint32_t micro)
{
	return &r->end[((size_t)s * r->plan->n_workers + w) * r->plan->n_micro + micro];
}

/* The worker that hands over to the pass @s of @w; w itself where none does. */
static uint16_t source(const v_run *r, uint16_t w, mr_vee_step s)
{
	bool down = s == MR_VEE_F0 || s == MR_VEE_I1;

	if (s >= N_PASSES || (down ? w == 0 : w + 1 == r->plan->n_workers))
		return w;
	return (uint16_t)(down ? w - 1 : w + 1);
}

static bool has_input(const v_run *r, uint16_t w, mr_vee_step s)
{
	uint16_t from = source(r, w, s);

	return from == w || r->at[from].n[s] > r->at[w].n[s];
}

/* When the next @s of worker @w has its input from another worker; -1 if it needs none. */
static double ready(const v_run *r, uint16_t w, mr_vee_step s)
{
	uint16_t from = source(r, w, s);

	if (from == w)
		return -1;
	return *end_of(r, from, s, r->at[w].n[s]) + r->cost.c;
}

static void put(v_run *r, uint16_t w, mr_vee_step s)
{
	v_worker *at = &r->at[w];
	double at_once = at->clock + cost_of(r, s);
	double end = fmax(at->clock, ready(r, w, s)) + cost_of(r, s);
	size_t done = 0;

	for (unsigned k = 0; k < MR_VEE_N; k++)
		done += at->n[k];
	if (at->n[MR_VEE_F0])
		at->bubble += end - at_once;
	r->longest = fmax(r->longest, at->bubble);
	at->clock = end;
	at->held += s <= MR_VEE_F1 ? 1 : -0.5;
	if (s < N_PASSES)
		*end_of(r, w, s, at->n[s]) = end;
	if (s == MR_VEE_I0 || s == MR_VEE_I1)
		r->w_order[(size_t)w * 2 * r->plan->n_micro + at->n[MR_VEE_I0] + at->n[MR_VEE_I1]] =
			s == MR_VEE_I0 ? MR_VEE_W0 : MR_VEE_W1;
	r->steps[(size_t)w * MR_VEE_N * r->plan->n_micro + done] = (uint8_t)s;
	at->n[s]++;
}

static bool has_w(const v_run *r, uint16_t w)
{
	const uint32_t *n = r->at[w].n;

	return n[MR_VEE_W0] + n[MR_VEE_W1] < n[MR_VEE_I0] + n[MR_VEE_I1];
}

static mr_vee_step next_w(const v_run *r, uint16_t w)
{
	const uint32_t *n = r->at[w].n;

	return (mr_vee_step)r->w_order[(size_t)w * 2 * r->plan->n_micro + n[MR_VEE_W0] + n[MR_VEE_W1]];
}

/* Weight gradients that end before @s can begin; if @overrun, one that does not where the wait cannot be spared. Then
 * @s. */
static void fill_and_put(v_run *r, uint16_t w, mr_vee_step s, bool overrun)
{
	const v_worker *at = &r->at[w];
	double when = ready(r, w, s), longest = fmax(r->longest, r->most_allowed - at->allowed);

	while (has_w(r, w) && at->clock + cost_of(r, MR_VEE_W0) <= when)
		put(r, w, next_w(r, w));
	if (overrun && has_w(r, w) && when - at->clock > longest - at->bubble)
		put(r, w, next_w(r, w));
	put(r, w, s);
}

/* Forwards of leg 0 until the first of leg 1 returns, as far as memory allows, on all workers it has yet to pass. */
static void warm_up(v_run *r)
{
	uint16_t last = (uint16_t)(r->plan->n_workers - 1);
	double cap = 2.0 * r->plan->n_workers;

	for (uint16_t w = 0; w <= last; w++)
		put(r, w, MR_VEE_F0);
	for (uint16_t w = r->plan->n_workers; w-- > 0;) {
		double returns = ready(r, w, MR_VEE_F1);

		while (w < last && r->at[w].held + 2 * w + 2 <= cap && r->at[w].n[MR_VEE_F0] < r->plan->n_micro &&
		       r->at[w].clock + cost_of(r, MR_VEE_F0) <= returns)
			for (uint16_t j = 0; j <= w; j++)
				put(r, j, MR_VEE_F0);
		put(r, w, MR_VEE_F1);
	}
}

/* Forwards of both legs in turn until no worker has done less than the one before it. */
static void even_out(v_run *r)
{
	mr_vee_step s = MR_VEE_F0;

	for (uint16_t w = 1; w < r->plan->n_workers; w++)
		for (;; s = s == MR_VEE_F0 ? MR_VEE_F1 : MR_VEE_F0) {
			const uint32_t *n = r->at[w].n, *before = r->at[w - 1].n;

			if (n[MR_VEE_F0] + n[MR_VEE_F1] >= before[MR_VEE_F0] + before[MR_VEE_F1] &&
			    (n[MR_VEE_F1] > before[MR_VEE_F1] || before[MR_VEE_F1] >= r->plan->n_micro))
				break;
			for (uint16_t j = r->plan->n_workers; j-- > w;)
				if (r->at[j].n[s] < r->plan->n_micro)
					put(r, j, s);
		}
}

/* One I on every worker: of leg 0 where its gradient is there or leg 1 is done with, else of leg 1. */
static void round_of_i(v_run *r)
{
	for (uint16_t w = 0; w < r->plan->n_workers; w++) {
		v_worker *at = &r->at[w];
		bool leg_0 = at->n[MR_VEE_I0] < at->n[MR_VEE_I1] &&
			     (has_input(r, w, MR_VEE_I0) || at->n[MR_VEE_I1] == r->plan->n_micro);

		at->next = leg_0 ? MR_VEE_I0 : MR_VEE_I1;
	}
	for (uint16_t w = r->plan->n_workers; w-- > 0;)
		if (r->at[w].next == MR_VEE_I0)
			fill_and_put(r, w, MR_VEE_I0, true);
	for (uint16_t w = 0; w < r->plan->n_workers; w++)
		if (r->at[w].next == MR_VEE_I1)
			fill_and_put(r, w, MR_VEE_I1, r->w_before_i);
}

/* One forward on every worker that has one to do: of leg 1 where its input is there, else of leg 0. */
static void round_of_f(v_run *r)
{
	for (uint16_t w = 0; w < r->plan->n_workers; w++) {
		v_worker *at = &r->at[w];
		bool leg_1 = at->n[MR_VEE_F1] < at->n[MR_VEE_F0] && has_input(r, w, MR_VEE_F1);
		mr_vee_step s = leg_1 ? MR_VEE_F1 : MR_VEE_F0;

		if (at->n[MR_VEE_F1] == r->plan->n_micro ||
		    (!leg_1 && (at->n[s] == r->plan->n_micro || !has_input(r, w, s))))
			continue;
		while (at->held + 1 > 2.0 * r->plan->n_workers)
			put(r, w, next_w(r, w));
		fill_and_put(r, w, s, r->w_before_f);
	}
}

/* Returns the longest bubble. */
static double run(v_run *r)
{
	for (uint16_t w = 0; w < r->plan->n_workers; w++)
		r->at[w] = (v_worker){.allowed = r->at[w].allowed};
	r->longest = 0;
	warm_up(r);
	even_out(r);
	for (uint64_t k = 0; k < 2 * (uint64_t)r->plan->n_micro; k++) {
		round_of_i(r);
		round_of_f(r);
	}
	for (uint16_t w = 0; w < r->plan->n_workers; w++)
		while (has_w(r, w))
			put(r, w, next_w(r, w));
	return r->longest;
}

/* Run with nothing allowed, then with the bubbles of the run before, while that helps; keep the best. */
static void try_one_way(v_run *r, double *least, uint8_t **best)
{
	double before = INFINITY, bubble;

	for (uint16_t w = 0; w < r->plan->n_workers; w++)
		r->at[w].allowed = -1;
	r->most_allowed = -1;
	while ((bubble = run(r)) < before) {
		before = bubble;
		r->most_allowed = bubble;
		for (uint16_t w = 0; w < r->plan->n_workers; w++)
			r->at[w].allowed = r->at[w].bubble;
		if (bubble < *least) {
			uint8_t *kept = r->steps;

			r->steps = *best;
			*best = kept;
			*least = bubble;
		}
	}
}

mr_status mr_zb_v_greedy(const mr_plan *plan, mr_stage_cost cost, uint8_t **out)
{
	size_t n = (size_t)plan->n_workers * plan->n_micro;
	double least = INFINITY;
	v_run r = {
		.plan = plan,
		.cost = cost,
		.at = malloc(plan->n_workers * sizeof(*r.at)),
		.end = malloc(N_PASSES * n * sizeof(*r.end)),
		.steps = malloc(MR_VEE_N * n),
		.w_order = malloc(2 * n),
	};
	mr_status st = MR_OK;

	*out = malloc(MR_VEE_N * n);
	if (r.at && r.end && r.steps && r.w_order && *out) {
		for (unsigned way = 0; way < 4; way++) {
			r.w_before_i = !(way & 2);
			r.w_before_f = !(way & 1);
			try_one_way(&r, &least, out);
		}
	} else {
		free(*out);
		*out = NULL;
		st = mr_fail(MR_ERESOURCE, "no memory to order %u micro-batches on %u workers", plan->n_micro,
			     plan->n_workers);
	}
	free(r.at);
	free(r.end);
	free(r.steps);
	free(r.w_order);
	return st;
}
