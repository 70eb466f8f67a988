/*
 * plan_report.h - what a configuration will do on its machine, before it does it: tables, a picture and a forecast.
 *
 * Sizes are those of the engine: the run is built (mr_run_create) but none of its memory is touched. Times come from
 * walking the lowered plan with the costs of its stages.
 */
#ifndef MR_CLI_PLAN_REPORT_H
#define MR_CLI_PLAN_REPORT_H

#include <stdio.h>

#include "session/costs.h"
#include "ir/walk.h"

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
	uint64_t bytes, limit; /* planned in all, and allowed (0: no limit) */
} mr_forecast;

/** Build all of it for an open session. @costs: a file of millrace profile; "": nominal costs. The caller calls fini,
 * also after an error. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_forecast_init(mr_forecast *f, const mr_session *s, const char *costs) MR_MUST_USE;
void mr_forecast_fini(mr_forecast *f);

/** The two halves of it, for a forecast whose s and costs are set and all else zero. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_forecast_time(mr_forecast *f) MR_MUST_USE;
mr_status mr_forecast_memory(mr_forecast *f) MR_MUST_USE;

/** Does the plan fit into the memory of its nodes, and into the limit? MR_ERESOURCE with the figures. */
mr_status mr_forecast_fits(const mr_forecast *f) MR_MUST_USE;

/** Everything as text. Measures the distance between cores unless the machine is synthetic. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_forecast_print(const mr_forecast *f, FILE *out) MR_MUST_USE;

/** The schedule as a picture, SVG or text. Errors: MR_ECONFIG sequential has none; MR_EIO, MR_ERESOURCE. */
mr_status mr_forecast_draw(const mr_forecast *f, bool svg, FILE *out) MR_MUST_USE;

/* --- stage_table.c --- */

/** The table of stages (report/table.h) of @run, or of sequential training when it is NULL. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_stage_table_print(const mr_session *s, const mr_run *run, FILE *out) MR_MUST_USE;

#endif
