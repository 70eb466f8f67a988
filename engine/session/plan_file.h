/*
 * plan_file.h - reads a plan from a file, in its text form or as JSON.
 */
#ifndef MR_SESSION_PLAN_FILE_H
#define MR_SESSION_PLAN_FILE_H

#include "base/result.h"
#include "ir/plan.h"
#include "millrace/job.h"

/** Read the plan in @path ("-": standard input, which is kept for the next call) as it is: it may need lowering, and is
 * not checked. The caller destroys it. Errors: MR_ECONFIG with the path and the place; MR_ERESOURCE. */
mr_status mr_plan_file_read(const char *path, mr_plan **out) MR_MUST_USE;

/** Read how many workers, stages and micro-batches a step the plan in @path has. Errors: those of mr_plan_file_read. */
mr_status mr_plan_file_size(const char *path, mr_job_order *out) MR_MUST_USE;

/** Write @plan to @path as text. Errors: those of mr_result_begin (base/result.h) for @kind. */
mr_status mr_plan_file_write(const mr_plan *plan, const char *path, mr_result_kind kind) MR_MUST_USE;

#endif
