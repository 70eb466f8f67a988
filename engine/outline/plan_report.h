/*
 * plan_report.h - reports the forecast of a configuration on its machine (costs/forecast.h): tables and a picture.
 */
#ifndef MR_OUTLINE_PLAN_REPORT_H
#define MR_OUTLINE_PLAN_REPORT_H

#include <stdio.h>

#include "session/session_forecast.h"

/** Everything as text. Measures the distance between cores and their bandwidth unless the machine is synthetic. Errors:
 * MR_EIO, MR_ERESOURCE. */
mr_status mr_forecast_print(const mr_session *s, const mr_forecast *f, FILE *out) MR_MUST_USE;

/** The schedule as a picture, SVG or text. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_forecast_draw(const mr_session *s, const mr_forecast *f, bool svg, FILE *out) MR_MUST_USE;

/**
 * Write the table (planner/layer_table.h): seconds of each layer for one micro-batch by the costs of @f, its step with
 * its backward pass; bytes of all values that are live behind it, and of the parameters that it stores. The loss
 * belongs to the layer before it, as in every cut. A line before it has the levels of the machine and its hosts.
 * Errors: MR_ERESOURCE.
 */
mr_status mr_plan_layers_print(const mr_session *s, const mr_forecast *f, FILE *out) MR_MUST_USE;

/* --- stage_table.c --- */

struct mr_plan_kernels;

/** The table of stages (report/run_tables.h) of @run, with @kernels unless that
 * is NULL. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_stage_table_print(const mr_session *s, const mr_run *run, const struct mr_plan_kernels *kernels,
			       FILE *out) MR_MUST_USE;

#endif
