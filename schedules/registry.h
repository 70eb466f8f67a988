/*
 * registry.h - the pipeline systems of this build, by name and in the order of schedules.def.
 *
 * A system is one file in this folder that defines `const mr_sched_ops mr_sched_<id>`, and one line in schedules.def.
 * The command line, the planner, the law tests and the reports find it here. All tables are constant; any thread may
 * read.
 */
#ifndef MR_SCHEDULES_REGISTRY_H
#define MR_SCHEDULES_REGISTRY_H

#include "ir/sched.h"

/** System number @i from 0; NULL beyond the last. */
const mr_sched_ops *mr_schedule_at(size_t i);

/** The system called @name, or by another of its names; or NULL. */
const mr_sched_ops *mr_schedule_find(const char *name);

/* A published name that is no system of its own here (names.def). */
typedef struct mr_sched_name {
	const char *name, *nearest; /* the system that comes nearest */
	const char *text;           /* what the name stands for, and what of it is here */
} mr_sched_name;

/** The row of @name; NULL: there is none. */
const mr_sched_name *mr_schedule_name_find(const char *name);

/**
 * Emit a plan of @ops: fills in the system's default options where @args->options is NULL and its chunks where they
 * are 0, checks the counts that hold for every system, and calls its emit. Chunks that are not 0 win over the system's
 * option. The caller destroys *@out. The plan is compute only: lower it next. Errors: MR_ECONFIG with a message that
 * names the system.
 */
mr_status mr_schedule_emit(const mr_sched_ops *ops, const mr_sched_args *args, mr_plan **out) MR_MUST_USE;

/** Micro-batches of a step of @ops, which is asynchronous and does not accumulate, with the options @values; 1 of
 * others. */
uint32_t mr_schedule_step_micro(const mr_sched_ops *ops, const mr_values *values);

/** Stages that mr_schedule_emit would make for @args; 0: known only after it (or @args are wrong). */
uint32_t mr_schedule_stages(const mr_sched_ops *ops, const mr_sched_args *args);

/** Does the order of @ops follow from costs, with the options of @args? Does not depend on the costs in @args. */
bool mr_schedule_orders_by_costs(const mr_sched_ops *ops, const mr_sched_args *args);

/**
 * The claims of @ops over @args, completed as for mr_schedule_emit, for costs @f, @i, @w of a worker's whole share;
 * all "no claim" where it makes none.
 */
mr_status mr_schedule_claims(const mr_sched_ops *ops, const mr_sched_args *args, double f, double i, double w,
			     mr_sched_claims *out) MR_MUST_USE;

#endif
