#include "schedules/common/looped.h"

#include <stdio.h>
#include <string.h>

mr_status mr_looped_create(const mr_sched_args *args, const char *name, uint32_t per_micro, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_sched_create(args, name, (uint32_t)args->n_workers * args->chunks, 1, per_micro, &plan));
	for (uint16_t s = 0; s < plan->n_stages; s++)
		plan->worker_of[mr_plan_at(plan, 0, s)] = s % plan->n_workers;
	*out = plan;
	return MR_OK;
}

static bool fits(uint32_t n_workers, uint32_t n_micro, uint64_t group)
{
	return group >= n_workers && group <= n_micro && (n_micro % group == 0 || n_micro % group >= n_workers);
}

static uint32_t wanted_group(const mr_sched_args *args)
{
	int64_t wanted = mr_values_int(args->options, "group");

	return wanted ? (uint32_t)wanted : args->n_workers;
}

uint32_t mr_looped_group(const mr_sched_args *args)
{
	uint32_t d = args->n_workers, t = args->n_micro, near = wanted_group(args);

	if (t < d)
		return t;
	near = near < d ? d : near > t ? t : near;
	for (uint32_t off = 0;; off++) { /* ends: one group of all T fits */
		if (off <= near && fits(d, t, near - off))
			return near - off;
		if (fits(d, t, (uint64_t)near + off))
			return near + off;
	}
}

void mr_looped_name_group(mr_plan *plan, const mr_sched_args *args)
{
	uint32_t group = mr_looped_group(args);
	size_t n = strlen(plan->system);

	if (group != wanted_group(args))
		snprintf(plan->system + n, sizeof(plan->system) - n, "+group%u", group);
}

bool mr_looped_validates(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "optimizer"), "validated");
}

mr_looped_step mr_looped_at(const mr_plan *plan, uint16_t worker, uint32_t group, bool forward, uint32_t k)
{
	uint32_t v = plan->n_stages / plan->n_workers;
	uint32_t first = k / (v * group) * group;
	uint32_t in_group = k % (v * group);
	uint32_t size = plan->n_micro - first < group ? plan->n_micro - first : group;
	uint32_t chunk = in_group / size;

	if (!forward)
		chunk = v - 1 - chunk;
	return (mr_looped_step){first + in_group % size, (uint16_t)(chunk * plan->n_workers + worker)};
}

mr_status mr_looped_emit(mr_plan *plan, uint16_t worker, uint32_t group, mr_op op, uint32_t k)
{
	mr_looped_step step = mr_looped_at(plan, worker, group, op == MR_OP_F, k);

	return mr_sched_emit(plan, worker, MR_BODY, op, step.micro, step.stage, 0);
}

mr_status mr_looped_emit_split(mr_plan *plan, uint16_t worker, uint32_t group, uint64_t first, uint32_t lag)
{
	uint32_t all = plan->n_stages / plan->n_workers * plan->n_micro;
	uint32_t forwards = first < all ? (uint32_t)first : all;

	for (uint32_t k = 0; k < forwards; k++)
		MR_TRY(mr_looped_emit(plan, worker, group, MR_OP_F, k));
	for (uint32_t k = 0; k < all; k++) {
		MR_TRY(mr_looped_emit(plan, worker, group, MR_OP_I, k));
		if (k >= lag)
			MR_TRY(mr_looped_emit(plan, worker, group, MR_OP_W, k - lag));
		if (forwards < all)
			MR_TRY(mr_looped_emit(plan, worker, group, MR_OP_F, forwards++));
	}
	for (uint32_t k = all > lag ? all - lag : 0; k < all; k++)
		MR_TRY(mr_looped_emit(plan, worker, group, MR_OP_W, k));
	return MR_OK;
}

double mr_looped_bubble(const mr_sched_args *args, double f, double i, double w)
{
	double d = args->n_workers, t = args->n_micro, v = args->chunks;

	return (t < d ? d - t + (t - 1) / v : (d - 1) / v) * (f + i + w);
}
