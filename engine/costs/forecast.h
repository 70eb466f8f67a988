/*
 * forecast.h - the step time and the memory of a plan, predicted before anything runs.
 *
 * Sizes are those of the engine: the run is built (mr_run_create) but none of its memory is touched. Times come from
 * walking the lowered plan with the costs of its stages.
 */
#ifndef MR_COSTS_FORECAST_H
#define MR_COSTS_FORECAST_H

#include "exec/run.h"
#include "costs/costs.h"
#include "timing/walk.h"

typedef struct mr_forecast {
	mr_workload of;      /* which has a plan */
	mr_run *run;         /* built, not started; NULL: its memory was not asked for */
	mr_costs costs;
	double share;        /* of the nodes' memories and links, where another run has the rest; 0: all. Sequential
	                        training: another run like it has as much */
	mr_stage_cost *stage;  /* [stages] */
	mr_walk *walk;
	mr_shared_use use;     /* of memory and links, where the costs have bytes */
	double *sent;          /* [ranks * ranks] with hosts: bytes a step by sender, then receiver; else NULL */
	double step_s;         /* seconds from commit to commit */
	double bound_s;        /* no order of this cut and placement is faster (timing/bound.h), nor are the nodes'
	                          memories, nor cores that several workers share */
	double busy_s;         /* computing time of a step: mean over the workers */
	double busiest_s;      /* computing time of a step of the busiest worker */
	uint64_t *node_bytes;  /* [nodes of the topology] planned in their memory */
	uint64_t *memory_bytes; /* [memories of the topology] planned, of spare memory alone */
	uint64_t bytes;        /* planned in all */
} mr_forecast;

/** The two halves of the forecast, for one whose workload, costs and share are set and all else zero; @c: how the plan
 * would be run. The caller calls fini, also after an error. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_forecast_time(mr_forecast *f) MR_MUST_USE;
mr_status mr_forecast_memory(mr_forecast *f, const mr_run_config *c) MR_MUST_USE;
void mr_forecast_fini(mr_forecast *f);

/** With hosts: bytes a step between ranks, all in all. */
double mr_forecast_sent(const mr_forecast *f);

/** By what part a step of @of that took @step_s seconds was longer than @c predicts. Errors: MR_ECONFIG,
 * MR_ERESOURCE. */
mr_status mr_forecast_error(const mr_workload *of, const mr_costs *c, double step_s, double *error) MR_MUST_USE;

/** Number of bodies of @p that represent the run: one, or for a plan that never drains enough for it to settle. */
uint32_t mr_forecast_bodies(const mr_plan *p);

/** Steps of a body of @p, or of its list where that ends. */
double mr_forecast_steps(const mr_plan *p);
#endif
