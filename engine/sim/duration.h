/*
 * duration.h - durations of single instructions in a simulation, for an executor that finds its order as it goes.
 *
 * The same times as those of mr_sim_run: the cost table, changed by jitter, stragglers and links.
 */
#ifndef MR_SIM_DURATION_H
#define MR_SIM_DURATION_H

#include "sim/sim.h"

typedef struct mr_sim_duration mr_sim_duration;

/** For @plan with the costs of its stages. Borrows all three until destroyed. Errors: as mr_sim_run. */
mr_status mr_sim_duration_create(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params,
				 mr_sim_duration **out) MR_MUST_USE;
void mr_sim_duration_destroy(mr_sim_duration *d);

/** The end of @in of micro-batch @micro on worker @worker, which begins at @begin. */
double mr_sim_duration_end(const mr_sim_duration *d, const mr_instr *in, uint64_t micro, uint16_t worker, double begin);

/** The transfer time of an output of @stage from worker @from to worker @to. */
double mr_sim_duration_hop(const mr_sim_duration *d, uint16_t stage, uint16_t from, uint16_t to);

#endif
