/*
 * lower_raise.c - raises boundary buffers until the plan is as fast as with unlimited ones.
 *
 * One scene is one unrolled graph: a single iteration with its barrier, and a run of iterations without barrier (whose
 * length stands for the period, and is longer when the period turns out not to be met). In each scene and for each cost
 * table the target is the time with unlimited buffers. If the plan is slower, then every critical path contains a wait
 * for a buffer (a path without one would be as long with unlimited buffers): follow one path from the end, raise the
 * boundary of the first such wait by one, number its buffers anew, and look again. A cycle is treated alike. A boundary
 * is not raised above the micro-batches that pass it. A boundary of many buffers is raised by a 64th at a time: each
 * look visits the whole plan, and where thousands are needed, steps of one would take minutes.
 */
#include "lower/lower_internal.h"

#include <stdlib.h>

#include "lower/lower_scene.h"
#include "timing/walk.h"
#include "ir/stage_ops.h"

/* Times this close are equal: the difference is a rounding error of sums in another order. */
#define SAME 1e-9

/*
 * Iterations without barrier after the steady state; the period is taken over the last ADVANCE of them (1, 2 and 4
 * divide it, for plans that repeat only every second or fourth time). Their number is doubled while the period is not
 * met, up to these limits of iterations and of instructions.
 */
#define RUN_BODIES 8u
#define ADVANCE 4u
#define RUN_LONGEST 256u
#define RUN_NODES (1u << 21)

/*
 * Cost ratios f : i : w at which buffers must not slow a plan. Equal costs alone leave plans with a split
 * backward short by one or two buffers at other ratios (7 of 56 golden orders lose up to one f or i); the literature
 * draws these ratios, and real stages lie between them.
 */
#define N_RATIOS 5
static const double ratios[N_RATIOS][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {2, 1, 2}};

typedef struct mr_raise {
	mr_plan *plan;
	mr_unroll *once; /* iteration 0 (or the whole finite list): where buffers are numbered */
	const mr_cost *costs;
	uint32_t n_costs;
	uint32_t passing[UINT8_MAX + 1]; /* micro-batches of each pipe in once */
	mr_scene scene;
	uint64_t visits; /* instructions ordered or timed */
	bool raised; /* since the flag was last cleared */
	bool slow;   /* the last scene has a longer period than with unlimited buffers */
} mr_raise;

static bool crosses(const mr_plan *p, uint8_t pipe, uint16_t stage)
{
	return mr_plan_worker(p, pipe, stage) != mr_plan_worker(p, pipe, (uint16_t)(stage - 1));
}

/* A boundary of n buffers is raised by 1 + n / RAISE_PART. */
#define RAISE_PART 64u

/* More buffers than micro-batches that pass can never be full at once. */
static bool raise_one(mr_raise *r, uint8_t pipe, uint16_t stage, bool forward)
{
	uint16_t *n = (forward ? r->plan->n_fwd : r->plan->n_bwd) + mr_plan_at(r->plan, pipe, stage);
	uint32_t most = r->passing[pipe] < UINT16_MAX ? r->passing[pipe] : UINT16_MAX, more = *n + 1u + *n / RAISE_PART;

	if (!crosses(r->plan, pipe, stage) || *n >= most)
		return false;
	*n = (uint16_t)(more < most ? more : most);
	r->raised = true;
	return true;
}

/* Number the buffers of one boundary, with more of them until that is possible. */
static mr_status renumber(mr_raise *r, uint8_t pipe, uint16_t stage, bool forward)
{
	mr_status st;

	if (r->plan->storage != MR_STORED || !crosses(r->plan, pipe, stage))
		return MR_OK;
	do
		st = mr_lower_number(r->plan, r->once, pipe, stage, forward);
	while (st == MR_ECONFIG && raise_one(r, pipe, stage, forward));
	return st;
}

/* Set the storage edges of one boundary in the scene; where a buffer is not released in time, add one more. */
static mr_status reconnect(mr_raise *r, uint8_t pipe, uint16_t stage, bool forward)
{
	mr_status st = mr_unroll_storage(r->scene.g, pipe, stage, forward);

	while (st == MR_ECONFIG && raise_one(r, pipe, stage, forward)) {
		MR_TRY(renumber(r, pipe, stage, forward));
		st = mr_unroll_storage(r->scene.g, pipe, stage, forward);
	}
	return st;
}

/* Raise the boundary to which the storage edge of @node belongs. */
static mr_status raise_for(mr_raise *r, uint32_t node, bool *done)
{
	const mr_instr *in = r->scene.g->at[node].in;
	bool forward = in->op == MR_OP_F;
	uint16_t stage = (uint16_t)(in->stage + forward);

	*done = raise_one(r, in->pipe, stage, forward);
	if (!*done)
		return MR_OK;
	MR_TRY(renumber(r, in->pipe, stage, forward));
	MR_TRY(reconnect(r, in->pipe, stage, forward));
	mr_scene_changed(&r->scene, in->pipe, stage, forward);
	return MR_OK;
}

/* Follow a critical path from its end and raise the first boundary that can be raised; *done: whether there was one. */
static mr_status raise_critical(mr_raise *r, double last, bool *done)
{
	mr_scene *s = &r->scene;
	uint32_t node;

	*done = false;
	MR_TRY(mr_scene_prepare(s));
	for (node = mr_scene_held(s, last); node != MR_NO_NODE; node = mr_scene_held_before(s, node)) {
		MR_TRY(raise_for(r, node, done));
		if (*done)
			break;
	}
	return MR_OK;
}

/* Raise until the scene takes no longer than @target under @cost, or nothing more can be raised. */
static mr_status meet(mr_raise *r, const mr_cost *cost, double target)
{
	mr_scene *s = &r->scene;

	s->timed = false;
	for (;;) {
		uint32_t stuck;
		mr_status st = mr_scene_order(s, &stuck);
		bool done;

		if (st == MR_ECONFIG && stuck != MR_NO_NODE) {
			MR_TRY(raise_for(r, stuck, &done));
			if (done)
				continue;
			/* Restore the cycle's message: raise_for may have left another one. */
			return mr_scene_order(s, NULL);
		}
		MR_TRY(st);
		if (!s->timed)
			mr_scene_time(s, cost);
		if (mr_scene_finish(s) <= target * (1 + SAME))
			return MR_OK;
		MR_TRY(raise_critical(r, mr_scene_finish(s), &done));
		if (!done)
			return MR_OK;
	}
}

static mr_status reconnect_all(mr_raise *r)
{
	for (unsigned p = 0; p < r->plan->n_pipes; p++)
		for (uint16_t s = 1; s < r->plan->n_stages; s++) {
			MR_TRY(reconnect(r, (uint8_t)p, s, true));
			if (mr_stage_hands_back(r->plan, s))
				MR_TRY(reconnect(r, (uint8_t)p, s, false));
		}
	return MR_OK;
}

/* Find an order with storage edges, or without them if there is none with them. */
static mr_status connect(mr_raise *r)
{
	mr_status st = reconnect_all(r);
	mr_scene *s = &r->scene;

	if (st == MR_OK && mr_scene_order(s, NULL) == MR_OK)
		return MR_OK;
	MR_TRY(mr_scene_order_plain(s)); /* reports mistakes of the plan itself first */
	return st;
}

/* @target, @step: [n_costs] finish and advance with unlimited buffers; @now, @last: with the present ones. */
static mr_status play_with(mr_raise *r, double *target, double *step, double *now, double *last)
{
	mr_scene *s = &r->scene;
	bool fresh;

	MR_TRY(connect(r));
	MR_TRY(mr_scene_time_all(s, r->costs, r->n_costs, ADVANCE, false, target, step));
	fresh = s->ordered; /* now and last belong to the present buffers */
	if (fresh)
		MR_TRY(mr_scene_time_all(s, r->costs, r->n_costs, ADVANCE, true, now, last));
	for (uint32_t c = 0; c < r->n_costs; c++) {
		if (fresh && now[c] <= target[c] * (1 + SAME))
			continue;
		fresh = false;
		MR_TRY(meet(r, &r->costs[c], target[c]));
	}
	if (!fresh)
		MR_TRY(mr_scene_order(s, NULL));
	if (!fresh)
		MR_TRY(mr_scene_time_all(s, r->costs, r->n_costs, ADVANCE, true, now, last));
	r->slow = false;
	for (uint32_t c = 0; c < r->n_costs; c++)
		r->slow |= last[c] > step[c] + target[c] * SAME;
	return MR_OK;
}

static mr_status play(mr_raise *r)
{
	size_t n = r->n_costs;
	double *t = malloc(4 * n * sizeof(*t));
	mr_status st = t ? play_with(r, t, t + n, t + 2 * n, t + 3 * n)
			 : mr_fail(MR_ERESOURCE, "no memory for %zu cost tables", n);

	free(t);
	return st;
}

/* Evaluate one scene of @n_bodies iterations. */
static mr_status scene(mr_raise *r, uint32_t n_bodies, bool no_barrier)
{
	mr_unroll *shared = !no_barrier && r->once->n_bodies == n_bodies ? r->once : NULL;
	mr_status st;

	MR_TRY(mr_scene_init(&r->scene, r->plan, n_bodies, no_barrier, shared));
	st = play(r);
	r->visits += r->scene.visits;
	mr_scene_fini(&r->scene);
	return st;
}

static mr_status number_all(mr_raise *r)
{
	for (unsigned p = 0; p < r->plan->n_pipes; p++)
		for (uint16_t s = 1; s < r->plan->n_stages; s++) {
			MR_TRY(renumber(r, (uint8_t)p, s, true));
			if (mr_stage_hands_back(r->plan, s))
				MR_TRY(renumber(r, (uint8_t)p, s, false));
		}
	return MR_OK;
}

static mr_status raise_all(mr_raise *r)
{
	uint32_t steady = mr_plan_steady(r->plan), run = steady + RUN_BODIES;
	uint64_t body = r->once->n_nodes / (r->once->n_bodies ? r->once->n_bodies : 1);

	while (run > 2 && run * body > RUN_NODES)
		run--;
	MR_TRY(number_all(r));
	do {
		r->raised = false;
		MR_TRY(scene(r, steady > 0, false));
		if (steady)
			MR_TRY(scene(r, run, true));
		if (steady && r->slow && 2 * run <= RUN_LONGEST && 2 * run * body <= RUN_NODES) {
			run *= 2;
			r->raised = true; /* look again, at more iterations */
		}
	} while (r->raised);
	return MR_OK;
}

static void count_passing(mr_raise *r)
{
	for (uint64_t m = 0; m < r->once->n_micro; m++)
		if (r->once->f[m] != MR_NO_NODE)
			r->passing[r->once->at[r->once->f[m]].in->pipe]++;
}

mr_status mr_lower_raise(mr_plan *plan, const mr_lower_opts *opts)
{
	mr_raise r = {.plan = plan, .n_costs = opts->n_costs + N_RATIOS};
	uint32_t steady = mr_plan_steady(plan);
	mr_stage_cost *stages = malloc(N_RATIOS * plan->n_stages * sizeof(*stages));
	mr_cost *costs = malloc(r.n_costs * sizeof(*costs));
	mr_status st = stages && costs ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u cost tables", r.n_costs);

	for (uint32_t c = 0; st == MR_OK && c < N_RATIOS; c++)
		mr_cost_share(plan, ratios[c][0], ratios[c][1], ratios[c][2], stages + (size_t)c * plan->n_stages,
			      &costs[c]);
	for (uint32_t c = 0; st == MR_OK && c < opts->n_costs; c++) {
		costs[N_RATIOS + c] = opts->costs[c];
		if (opts->costs[c].n_stages != plan->n_stages)
			st = mr_fail(MR_EINVAL, "a cost table of %u stages for a plan of %u", opts->costs[c].n_stages,
				     plan->n_stages);
	}
	if (st == MR_OK) {
		r.costs = costs;
		st = mr_unroll_create(plan, plan->storage == MR_STORED && steady ? 1 : steady,
				     &(mr_unroll_opts){.no_storage = true}, &r.once);
	}
	if (st == MR_OK) {
		count_passing(&r);
		st = raise_all(&r);
	}
	if (opts->visits)
		*opts->visits += r.visits;
	mr_unroll_destroy(r.once);
	free(costs);
	free(stages);
	return st;
}
