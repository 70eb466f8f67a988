#include "lower/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lower/check_internal.h"
#include "ir/contract.h"
#include "ir/endless.h"
#include "ir/op.h"
#include "ir/stage_ops.h"
#include "lower/window_check.h"

uint64_t mr_check_full(const mr_unroll *g)
{
	const mr_plan *p = g->plan;

	if (mr_plan_length(p, MR_EPILOGUE))
		return g->n_micro; /* the drain completes whatever was begun */
	if (!mr_plan_length(p, MR_BODY))
		return p->n_micro;
	return (uint64_t)g->n_bodies * p->n_micro + p->contract.sync_steps * (uint64_t)p->contract.need;
}

/* --- coverage --- */

static mr_status nothing_but_f(const mr_unroll *g)
{
	char name[MR_NODE_TEXT];

	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (g->at[i].in->op != MR_OP_F || g->at[i].in->flags)
			return mr_fail(MR_ECONFIG, "%s: a forward-only plan has nothing but F without flags",
				       mr_unroll_name(g, i, name));
	return MR_OK;
}

static mr_status missing(const char *op, uint64_t micro, size_t stage)
{
	return mr_fail(MR_ECONFIG,
		       "%s m%" PRIu64 " s%zu: missing; the contract says that every stage handles every micro-batch",
		       op, micro, stage);
}

static mr_status cover_one(const mr_unroll *g, uint64_t micro, size_t stage)
{
	size_t at = stage * (size_t)g->n_micro + (size_t)micro;
	uint32_t f = g->f[at], grad = g->grad[at], sum = g->sum[at], r = g->recompute[at];
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (f == MR_NO_NODE)
		return missing("F", micro, stage);
	if (g->at[f].in->pipe != g->at[g->f[micro]].in->pipe) /* g->f[micro]: at stage 0, seen before */
		return mr_fail(MR_ECONFIG, "%s: the micro-batch entered as %s", mr_unroll_name(g, f, a),
			       mr_unroll_name(g, g->f[micro], b));
	if (!mr_stage_has(g->plan, (uint16_t)stage, MR_OP_I))
		return MR_OK;
	if (grad == MR_NO_NODE)
		return missing("B or I", micro, stage);
	if (sum == MR_NO_NODE && mr_stage_has(g->plan, (uint16_t)stage, MR_OP_W))
		return missing("W", micro, stage);
	/* An R after the backward would save activations that no instruction reads. */
	if (r != MR_NO_NODE && (r < f || r > grad))
		return mr_fail(MR_ECONFIG, "%s: must stand between %s and its backward", mr_unroll_name(g, r, a),
			       mr_unroll_name(g, f, b));
	return MR_OK;
}

mr_status mr_check_coverage(const mr_unroll *g)
{
	const mr_plan *p = g->plan;
	uint64_t full = mr_check_full(g);
	bool flushes = p->contract.flush != MR_FLUSH_NONE, body = mr_plan_length(p, MR_BODY) > 0;

	if (p->contract.coverage == MR_COVER_FORWARD)
		MR_TRY(nothing_but_f(g));
	if (g->n_micro < full || (g->n_micro != full && (flushes || !body)))
		return mr_fail(MR_ECONFIG, "the lists hold %" PRIu64 " micro-batches%s, the header says %" PRIu64,
			       g->n_micro, body ? " in the iterations looked at" : "", full);
	for (size_t s = 0; s < p->n_stages; s++)
		for (uint64_t m = 0; m < full; m++)
			MR_TRY(cover_one(g, m, s));
	return MR_OK;
}

/* --- all parts --- */

static mr_status check_graph(const mr_unroll *g)
{
	uint32_t *order;
	mr_status st;

	MR_TRY(mr_check_coverage(g));
	order = malloc(((size_t)g->n_all + 1) * sizeof(*order));
	st = order ? mr_unroll_order(g, order)
		   : mr_fail(MR_ERESOURCE, "no memory to order %u instructions", g->n_all);
	free(order);
	MR_TRY(st);
	MR_TRY(mr_check_commits(g));
	MR_TRY(mr_check_pauses(g));
	MR_TRY(mr_check_versions(g));
	return mr_check_storage(g);
}

static mr_status check_unrolled(const mr_plan *plan, uint32_t n_bodies)
{
	mr_unroll *g;
	mr_status st;

	MR_TRY(mr_unroll_create(plan, n_bodies, NULL, &g));
	st = check_graph(g);
	mr_unroll_destroy(g);
	return st;
}

static mr_status check_tables(const mr_plan *plan)
{
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < plan->lists[i].n; k++) {
			const mr_instr *in = &plan->lists[i].at[k];

			if (mr_op_is_compute(in->op) && in->pipe < plan->n_pipes && in->stage < plan->n_stages &&
			    !plan->n_slots[mr_plan_at(plan, in->pipe, in->stage)])
				return mr_fail(MR_ECONFIG, "stage %u of pipe %u has no activation slot", in->stage,
					       in->pipe);
		}
	for (uint16_t s = 0; s < plan->n_stages; s++)
		if (plan->n_versions[s] < (plan->contract.flush == MR_FLUSH_VALIDATED ? 2 : 1))
			return mr_fail(MR_ECONFIG, "stage %u has %u version buffers, which are too few", s,
				       plan->n_versions[s]);
	return MR_OK;
}

/* Window 0 must equal the plan's lists without their drain; it is proved like all later windows. */
static mr_status check_first_window(const mr_plan *plan)
{
	mr_plan *window;
	mr_status st;

	MR_TRY(mr_window_create(plan, 0, &window));
	st = mr_window_check(plan, NULL, 0, window);
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers; w++) {
		const mr_list *a = mr_plan_list(plan, w, MR_PROLOGUE), *b = mr_plan_list(window, w, MR_BODY);

		for (uint32_t i = 0, k = 0; st == MR_OK && k < b->n; k++) {
			if (b->at[k].micro >= plan->n_micro) /* ahead of its window */
				continue;
			if (i == a->n || memcmp(&a->at[i], &b->at[k], sizeof(*a->at)))
				st = mr_fail(
					MR_ECONFIG,
					"worker %u, instruction %u: the first window does not begin as the plan does",
					w, i);
			i++;
		}
	}
	mr_plan_destroy(window);
	return st;
}

mr_status mr_plan_check(const mr_plan *plan)
{
	uint32_t steady = mr_plan_steady(plan);

	if (!plan->lowered)
		return mr_fail(MR_EINVAL, "only a lowered plan can be checked");
	MR_TRY(mr_contract_check(plan));
	MR_TRY(check_tables(plan));
	if (plan->endless)
		MR_TRY(check_first_window(plan));
	if (!steady)
		return check_unrolled(plan, 0);
	/* With a drain at the end, its meaning depends on the number of iterations. */
	for (uint32_t n = 0; n < steady && mr_plan_length(plan, MR_EPILOGUE); n++)
		MR_TRY(check_unrolled(plan, n));
	return check_unrolled(plan, mr_plan_distinct(plan) + 1);
}
