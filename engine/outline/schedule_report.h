/*
 * schedule_report.h - the output of `schedule`: one simulated schedule as text, JSON or a picture.
 */
#ifndef MR_OUTLINE_SCHEDULE_REPORT_H
#define MR_OUTLINE_SCHEDULE_REPORT_H

#include <stdio.h>

#include "ir/sched.h"
#include "timing/sim_options.h"

typedef struct mr_schedule_job {
	const mr_plan *plan;           /* lowered */
	mr_cost cost;                  /* of its stages */
	const mr_sim_options *options;
	mr_walk_opts params;           /* complete */
	uint32_t n_bodies;             /* iterations to be shown */
	uint64_t identity;             /* mr_plan_identity, to be shown; 0: not shown */
	mr_sched_proof proof;          /* of the order; bound 0: nothing is proved */
	const char *ordered_for;       /* the costs for which the order was made; NULL: it depends on none. Borrowed */
} mr_schedule_job;

/** Write @job to @out in @format: text, json, ascii or svg. Errors: of the simulation; MR_EUSAGE when --straggler names
 * a worker that does not exist; MR_EIO, MR_ERESOURCE. */
mr_status mr_schedule_report(const mr_schedule_job *job, const char *format, FILE *out) MR_MUST_USE;

#endif
