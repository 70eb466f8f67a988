/*
 * plan_terms.h - the terms that a training adds to a system's contract: clipping, shared parameters, predictions,
 * kept weights.
 */
#ifndef MR_PLANNER_PLAN_TERMS_H
#define MR_PLANNER_PLAN_TERMS_H

#include "ir/plan.h"

typedef struct mr_plan_terms {
	bool clips;    /* gradients are clipped: by the global norm if all stages commit at one moment, else by each
	                  stage's */
	bool tied;     /* the last stage uses a parameter of the first */
	bool predicts; /* if gradients are stale, F works on predicted weights */
	bool along;    /* the optimizer keeps a direction along which weights can be predicted */
	const uint8_t *frozen; /* [stages] mr_frozen of each; NULL: all train. Borrowed */
	bool corrects; /* if gradients are stale, they are corrected with the weights that F read, which are kept */
} mr_plan_terms;

/**
 * Write @terms into the contract of @plan. A lowered plan stays as it is, and its contract must agree with them.
 * Without clipping or stealing no stage waits for the others at the end of an iteration: the weights are the same.
 * Errors: MR_ECONFIG, also for a contract from a file that promises what @terms do not have; MR_ERESOURCE.
 */
mr_status mr_plan_take_terms(mr_plan *plan, const mr_plan_terms *terms) MR_MUST_USE;

#endif
