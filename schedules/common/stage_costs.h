/*
 * stage_costs.h - the costs by which a system orders its instructions: those of its option `costs`, those of the
 * caller, or 1 each.
 */
#ifndef MR_SCHEDULES_STAGE_COSTS_H
#define MR_SCHEDULES_STAGE_COSTS_H

#include "ir/sched.h"

/* The row of an option table for costs that the user gives. */
#define MR_STAGE_COSTS_OPTION \
	{"costs", MR_OPT_STRING, "", 0, 0, NULL, NULL, \
	 "order for these costs f,i,w[,c] of a worker's whole share; empty: for the costs at hand"}

/**
 * Fill @out [plan->n_stages] with what a micro-batch costs at each stage: from the option `costs` if it is not empty;
 * else from args->costs, where one row is a worker's whole share, of which each of its stages takes an equal part;
 * else f = i = w = 1 a share. A hand-over costs c whatever the share. Errors: MR_ECONFIG for a text that is no cost,
 * or for a table with another number of rows.
 */
mr_status mr_stage_costs(const mr_sched_args *args, const mr_plan *plan, mr_stage_cost *out) MR_MUST_USE;

#endif
