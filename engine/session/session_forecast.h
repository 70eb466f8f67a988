/* session_forecast.h - the forecast (forecast.h) of a session's plan, and whether its memory is there. */
#ifndef MR_SESSION_SESSION_FORECAST_H
#define MR_SESSION_SESSION_FORECAST_H

#include "costs/forecast.h"
#include "session/session.h"

/** Forecast time and memory of the open session @s, with measured costs, or else those of a model (cost_model.h). The
 * caller calls mr_forecast_fini, also after an error. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_session_forecast(const mr_session *s, mr_forecast *f) MR_MUST_USE;

/** The memory alone, for an @f of the workload of @s. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_session_forecast_memory(const mr_session *s, mr_forecast *f) MR_MUST_USE;

/**
 * Check that the workers fit into the memory of their nodes and into s->workers_limit, and the whole process into the
 * limits of mr_session_open (memory_plan.h). Errors: MR_ERESOURCE with the figures.
 */
mr_status mr_session_forecast_fits(const mr_session *s, const mr_forecast *f) MR_MUST_USE;

#endif
