#include "schedules/common/search_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schedules/registry.h"

/* What is tried for a system's own option `cap`: its default, and at last the cap of the search. */
#define N_CAPS 4u
static const char *const caps[N_CAPS - 1] = {NULL, "2D", "none"};

/*
 * Options of @name's system with which a worker hosts its chunks, if another option than chunks decides that; else the
 * defaults, with its cap. *@out: NULL if the system has no options.
 */
static mr_status choose_options(const mr_search_name *name, mr_values **out)
{
	const mr_sched_ops *ops = name->ops;
	uint16_t chunks = name->chunks;

	*out = NULL;
	if (!ops->options)
		return MR_OK;
	MR_TRY(mr_values_create(ops->options, out));
	if (name->cap && strcmp(name->cap, "memory") != 0)
		MR_TRY(mr_values_set_text(*out, "cap", name->cap));
	for (const mr_option *o = ops->options; ops->chunks_of && o->name; o++) {
		int64_t usual = o->type == MR_OPT_INT ? mr_values_int(*out, o->name) : 0;

		if (o->type != MR_OPT_INT)
			continue;
		for (int64_t x = (int64_t)o->min; (double)x <= o->max && x <= chunks; x++) {
			MR_TRY(mr_values_set_int(*out, o->name, x));
			if (ops->chunks_of(*out) == chunks)
				return MR_OK;
		}
		MR_TRY(mr_values_set_int(*out, o->name, usual));
	}
	return MR_OK;
}

/* Emit the plan once more, in an order for the stage costs that follow from the first plan's placement. */
static mr_status order_again(const mr_search_judge *j, const mr_sched_ops *ops, mr_sched_args *args, mr_plan **plan)
{
	mr_stage_cost *stage = malloc((*plan)->n_stages * sizeof(*stage));
	mr_cost cost = {(*plan)->n_stages, stage};
	mr_status st = stage ? mr_search_costs(j, *plan, stage)
			     : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", (*plan)->n_stages);

	mr_plan_destroy(*plan);
	*plan = NULL;
	args->costs = &cost;
	if (st == MR_OK)
		st = mr_schedule_emit(ops, args, plan);
	free(stage);
	return st;
}

mr_status mr_search_emit_name(const mr_search_judge *j, const mr_search_name *name, mr_plan **out)
{
	mr_sched_args args = *j->args;
	mr_stage_cost share;
	mr_cost own = {1, &share};
	mr_values *values = NULL;
	mr_status st = choose_options(name, &values);

	args.chunks = name->chunks;
	args.options = values;
	args.judge = NULL;
	if (st == MR_OK && j->own_costs) {
		st = mr_cost_read(mr_values_string(j->args->options, "costs"), &share);
		args.costs = &own;
	}
	if (st == MR_OK)
		st = mr_schedule_emit(name->ops, &args, out);
	if (st == MR_OK && j->model && !j->own_costs && name->ops->by_costs && name->ops->by_costs(values))
		st = order_again(j, name->ops, &args, out);
	/* Whether there is a barrier is up to the run, for all alike. */
	if (st == MR_OK && (*out)->contract.flush == MR_FLUSH_LOCAL)
		(*out)->contract.flush = MR_FLUSH_BARRIER;
	mr_values_destroy(values);
	return st;
}

static bool comparable(const mr_search_judge *j, const mr_plan *plan, uint16_t chunks)
{
	return plan->n_pipes == 1 && plan->n_stages == (uint32_t)j->args->n_workers * chunks &&
	       plan->contract.flush == MR_FLUSH_BARRIER && plan->contract.coverage == MR_COVER_TRAIN;
}

static mr_status try_one(const mr_search_judge *j, mr_search_name *name)
{
	mr_plan *plan = NULL;
	mr_status st = mr_search_emit_name(j, name, &plan);

	name->sight = INFINITY;
	if (st != MR_OK)
		return st == MR_ECONFIG ? MR_OK : st;
	if (comparable(j, plan, name->chunks))
		st = mr_search_sight(j, plan, &name->sight);
	mr_plan_destroy(plan);
	return st;
}

/* Stable: of equals the first of the registry stays first. */
static void put_in(mr_search_name *names, uint32_t n, const mr_search_name *one)
{
	while (n > 0 && names[n - 1].sight > one->sight) {
		names[n] = names[n - 1];
		n--;
	}
	names[n] = *one;
}

mr_status mr_search_names(const mr_search_judge *j, const uint16_t *chunks, uint32_t n, mr_search_name **out,
			  uint32_t *n_out)
{
	size_t n_systems = 0;

	while (mr_schedule_at(n_systems))
		n_systems++;
	*n_out = 0;
	*out = calloc(N_CAPS * n_systems * n + 1, sizeof(**out));
	if (!*out)
		return mr_fail(MR_ERESOURCE, "no memory for %zu candidates", N_CAPS * n_systems * n);
	for (uint32_t k = 0; k < n; k++)
		for (size_t i = 0; i < n_systems; i++) {
			mr_search_name one = {.ops = mr_schedule_at(i), .chunks = chunks[k]};
			const mr_option *o = one.ops->options;

			if (one.ops->judged || one.ops->asynchronous)
				continue;
			for (uint32_t c = 0; c < (o && mr_option_find(o, "cap") ? N_CAPS : 1); c++) {
				one.cap = c + 1 < N_CAPS ? caps[c] : mr_values_string(j->args->options, "cap");
				MR_TRY(try_one(j, &one));
				if (one.sight < INFINITY)
					put_in(*out, (*n_out)++, &one);
			}
		}
	return MR_OK;
}
