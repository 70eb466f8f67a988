#include "planner/make_plan.h"

#include <stdlib.h>
#include <string.h>

#include "timing/walk.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "planner/merge_w.h"
#include "planner/plan_identity.h"
#include "schedules/registry.h"

/* Tables of costs for the lowering: of the stages, and with slow handoffs between nodes. */
typedef struct tables {
	mr_stage_cost *row, *far;
	mr_cost cost[2];
	uint32_t n;
} tables;

static void tables_fini(tables *t)
{
	free(t->row);
	free(t->far);
}

static const mr_stage_cost equal = {.f = 1, .i = 1, .w = 1};
const mr_cost mr_plan_equal_costs = {1, &equal};

/* Time @plan, of a system that chooses among plans without a model, as it is timed when it is finished: with the steps
 * of the optimizer, which an order does not have yet. */
static mr_status look(void *arg, const mr_plan *plan, mr_sched_verdict *out)
{
	const mr_plan_question *q = *(const mr_plan_question *const *)arg;
	mr_stage_cost *row = calloc(plan->n_stages, sizeof(*row));
	mr_plan *copy = NULL;
	mr_walk *walk = NULL;
	mr_status st = row ? mr_plan_copy(plan, &copy)
			   : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);

	if (st == MR_OK)
		st = mr_plan_finish(q, &copy, NULL);
	if (st == MR_OK)
		st = q->costs.of(q->costs.arg, copy, row);
	if (st == MR_OK)
		st = mr_plan_walk(copy, &(mr_cost){copy->n_stages, row}, 1, NULL, &walk);
	if (st == MR_OK)
		*out = (mr_sched_verdict){
			.step = walk->makespan, .makespan = walk->makespan, .period = walk->period, .fits = true};
	mr_walk_destroy(walk);
	mr_plan_destroy(copy);
	free(row);
	return st;
}

mr_status mr_plan_draft(const mr_plan_question *q, mr_plan **out)
{
	mr_sched_judge bare = {.look = look, .bare = true, .arg = &q};
	mr_sched_args args = q->args;

	if (q->system->judged && !args.judge && q->costs.of)
		args.judge = &bare;
	return mr_schedule_emit(q->system, &args, out);
}

/* --- costs --- */

/* Let the handoffs of @plan between workers of two nodes take q->costs.far. */
static void lengthen(const mr_plan_question *q, const mr_plan *plan, mr_stage_cost *row)
{
	const uint16_t *node = q->costs.node;

	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 1; s < plan->n_stages; s++)
			if (node[mr_plan_worker(plan, (uint8_t)p, s)] !=
			    node[mr_plan_worker(plan, (uint8_t)p, (uint16_t)(s - 1))])
				row[s - 1].c = row[s].c = q->costs.far;
}

static mr_status fill_tables(const mr_plan_question *q, const mr_plan *plan, tables *t)
{
	size_t n = plan->n_stages;

	if (!t->row)
		t->row = calloc(n, sizeof(*t->row));
	if (!t->far)
		t->far = calloc(n, sizeof(*t->far));
	if (!t->row || !t->far)
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %zu stages", n);
	MR_TRY(q->costs.of(q->costs.arg, plan, t->row));
	t->cost[0] = (mr_cost){(uint16_t)n, t->row};
	t->n = 1;
	if (!q->costs.node)
		return MR_OK;
	memcpy(t->far, t->row, n * sizeof(*t->far));
	lengthen(q, plan, t->far);
	t->cost[1] = (mr_cost){(uint16_t)n, t->far};
	t->n = 2;
	return MR_OK;
}

/* Order again, for the costs of the stages. */
static mr_status order_again(const mr_plan_question *q, mr_plan **plan, tables *t)
{
	uint16_t n = (*plan)->n_stages;
	mr_sched_args a = q->args;
	mr_plan *again;

	a.costs = &t->cost[0];
	MR_TRY(mr_schedule_emit(q->system, &a, &again));
	mr_plan_destroy(*plan);
	*plan = again;
	if (again->n_stages != n)
		return mr_fail(MR_ECONFIG, "%s makes %u stages for the costs of %u", again->system, again->n_stages, n);
	return fill_tables(q, again, t); /* its placement may differ; boundaries cost between workers only */
}

static mr_status use_costs(const mr_plan_question *q, mr_plan **plan, tables *t)
{
	bool by_costs = q->system && mr_schedule_orders_by_costs(q->system, &q->args);

	if (!q->costs.of && by_costs && !q->args.costs)
		return mr_fail(MR_EINVAL, "%s: the order follows from costs, and none are given", q->system->name);
	if (!q->costs.of || (q->costs.nominal && !by_costs))
		return MR_OK;
	MR_TRY(fill_tables(q, *plan, t));
	if (!q->system || q->system->judged || q->args.costs)
		return MR_OK;
	return order_again(q, plan, t);
}

/* --- the plan --- */

/* If no step needs a whole gradient of several stages, each layer's step goes right after its gradient. */
static mr_status lower(const mr_plan_question *q, mr_plan *plan, const tables *t)
{
	if (plan->lowered)
		return MR_OK;
	return mr_plan_lower(plan, &(mr_lower_opts){.update_inside = q->steps_inside,
						    .handoff_first = true,
						    .room = q->room,
						    .host = q->args.host,
						    .costs = t->cost,
						    .n_costs = t->n});
}

/* Merge W as @q says. *@identity, which may be NULL, becomes that of the plan before, if it has changed. */
static mr_status merge(const mr_plan_question *q, mr_plan *plan, bool *merged, uint64_t *identity)
{
	mr_plan *before = NULL;
	mr_status st;

	*merged = false;
	if (!q->merges || plan->lowered)
		return MR_OK;
	if (identity)
		MR_TRY(mr_plan_copy(plan, &before));
	st = mr_plan_merge_w(plan, q->merges, merged);
	if (st == MR_OK && before && *merged)
		st = mr_plan_lower(before, NULL);
	if (st == MR_OK && before && *merged)
		st = mr_plan_identity(before, identity);
	mr_plan_destroy(before);
	return st;
}

static mr_status finish(const mr_plan_question *q, mr_plan **plan, tables *t, uint64_t *identity)
{
	bool merged;

	MR_TRY(use_costs(q, plan, t));
	if (q->trains)
		MR_TRY(mr_plan_take_terms(*plan, &q->terms));
	MR_TRY(merge(q, *plan, &merged, identity));
	MR_TRY(lower(q, *plan, t));
	MR_TRY(mr_plan_check(*plan));
	return merged || !identity ? MR_OK : mr_plan_identity(*plan, identity);
}

mr_status mr_plan_finish(const mr_plan_question *q, mr_plan **plan, uint64_t *identity)
{
	tables t = {0};
	mr_status st = finish(q, plan, &t, identity);

	tables_fini(&t);
	return st;
}

mr_status mr_plan_make(const mr_plan_question *q, mr_plan **out, uint64_t *identity)
{
	mr_status st;

	*out = NULL;
	MR_TRY(mr_plan_draft(q, out));
	st = mr_plan_finish(q, out, identity);
	if (st != MR_OK) {
		mr_plan_destroy(*out);
		*out = NULL;
	}
	return st;
}
