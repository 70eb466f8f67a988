/*
 * forecast.h - the step time and the memory of a session's plan, predicted before anything runs.
 *
 * Sizes are those of the engine: the run is built (mr_run_create) but none of its memory is touched. Times come from
 * walking the lowered plan with the costs of its stages.
 */
#ifndef MR_SESSION_FORECAST_H
#define MR_SESSION_FORECAST_H

#include "timing/walk.h"
#include "session/costs.h"
#include "sim/shared.h"

typedef struct mr_forecast {
	const mr_session *s; /* borrowed */
	mr_run *run;         /* built, not started */
	mr_costs costs;
	double share;        /* of the nodes' memories and links, where another run has the rest; 0: all. Sequential
	                        training: another run like it has as much */
	mr_stage_cost *stage;  /* [stages] */
	mr_walk *walk;
	mr_shared_use use;     /* of memory and links, where the costs have bytes */
	double step_s;         /* seconds from commit to commit */
	double bound_s;        /* no order of this cut and placement is faster (timing/bound.h), nor are the nodes'
	                          memories, nor cores that several workers share */
	double busy_s;         /* computing time of a step: mean over the workers */
	double busiest_s;      /* computing time of a step of the busiest worker */
	uint64_t *node_bytes;  /* [nodes of the topology] planned in their memory */
	uint64_t *memory_bytes; /* [memories of the topology] planned, of spare memory alone */
	uint64_t bytes;        /* planned in all */
} mr_forecast;

/** Build all of it for an open session, with measured costs, or else those of a model (cost_model.h). The caller calls
 * fini, also after an error. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_forecast_init(mr_forecast *f, const mr_session *s) MR_MUST_USE;
void mr_forecast_fini(mr_forecast *f);

/** The two halves of the forecast, for one whose s, costs and share are set and all else zero. Errors: MR_ECONFIG,
 * MR_ERESOURCE.
 */
mr_status mr_forecast_time(mr_forecast *f) MR_MUST_USE;
mr_status mr_forecast_memory(mr_forecast *f) MR_MUST_USE;

/** Number of bodies of @p that represent the run: one, or for a plan that never drains enough for it to settle. */
uint32_t mr_forecast_bodies(const mr_plan *p);

/** Steps of a body of @p, or of its list where that ends. */
double mr_forecast_steps(const mr_plan *p);

/**
 * Check that the workers fit into the memory of their nodes and into s->workers_limit, and the whole process into the
 * limits of mr_session_open (memory_plan.h). Errors: MR_ERESOURCE with the figures.
 */
mr_status mr_forecast_fits(const mr_forecast *f) MR_MUST_USE;

#endif
