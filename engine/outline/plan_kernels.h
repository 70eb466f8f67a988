/*
 * plan_kernels.h - the operations that each stage of a plan calls and what executes them, for `millrace plan`.
 */
#ifndef MR_OUTLINE_PLAN_KERNELS_H
#define MR_OUTLINE_PLAN_KERNELS_H

#include "base/json.h"
#include "session/session_forecast.h"
#include "stage/flops_by.h"
#include "stage/stage_calls.h"

typedef struct mr_plan_kernels {
	mr_stage_calls *stage; /* [n]; a stage on several pipes has equal teams, or is shown as the first one's */
	uint32_t n;
} mr_plan_kernels;

/** For the plan of @f. The caller calls fini, also after an error. Errors: MR_ERESOURCE. */
mr_status mr_plan_kernels_init(mr_plan_kernels *k, const mr_session *s, const mr_forecast *f) MR_MUST_USE;
void mr_plan_kernels_fini(mr_plan_kernels *k);

/** Everything of the plan for other programs: one JSON object. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_forecast_print_json(const mr_session *s, const mr_forecast *f, FILE *out) MR_MUST_USE;

#endif
