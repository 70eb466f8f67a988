/*
 * forecast.h - how long a step of a session's plan takes and what memory it needs, before anything runs.
 *
 * Sizes are those of the engine: the run is built (mr_run_create) but none of its memory is touched. Times come from
 * walking the lowered plan with the costs of its stages.
 */
#ifndef MR_SESSION_FORECAST_H
#define MR_SESSION_FORECAST_H

#include "ir/walk.h"
#include "session/costs.h"

typedef struct mr_forecast {
	const mr_session *s; /* borrowed */
	mr_run *run;         /* built, not started; NULL for sequential */
	mr_costs costs;
	mr_stage_cost *stage;  /* [stages] */
	mr_walk *walk;         /* NULL for sequential */
	double step_s;         /* seconds from commit to commit */
	double busy_s;         /* of them, computing: mean over the workers */
	double busiest_s;      /* and of the worker that computes longest */
	uint64_t *node_bytes;  /* [nodes of the topology] planned */
	uint64_t bytes;        /* planned in all */
} mr_forecast;

/** Build all of it for an open session, with the costs at hand (costs.h). The caller calls fini, also after an error.
 * Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_forecast_init(mr_forecast *f, const mr_session *s) MR_MUST_USE;
void mr_forecast_fini(mr_forecast *f);

/** The two halves of it, for a forecast whose s and costs are set and all else zero. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_forecast_time(mr_forecast *f) MR_MUST_USE;
mr_status mr_forecast_memory(mr_forecast *f) MR_MUST_USE;

/** Bodies of @p that show how it goes on: one, or of a plan that never drains enough to see it settle. */
uint32_t mr_forecast_bodies(const mr_plan *p);

/** Steps of a body of @p, or of its list where that ends. */
double mr_forecast_steps(const mr_plan *p);

/**
 * Do the workers fit into the memory of their nodes and into s->workers_limit, and the whole process into what
 * mr_session_open compares it with (memory_plan.h)? MR_ERESOURCE with the figures.
 */
mr_status mr_forecast_fits(const mr_forecast *f) MR_MUST_USE;

#endif
