/*
 * plan_terms.h - what a training adds to the contract that a system states: clipping, shared parameters, predictions,
 * kept weights.
 */
#ifndef MR_PLANNER_PLAN_TERMS_H
#define MR_PLANNER_PLAN_TERMS_H

#include "ir/plan.h"

typedef struct mr_plan_terms {
	bool clips;    /* gradients are clipped: by the global norm where all stages commit at one moment, else by each
	                  stage's */
	bool tied;     /* the last stage uses a parameter of the first */
	bool predicts; /* where gradients are stale, F works on predicted weights */
	bool along;    /* the optimizer keeps a direction along which weights can be predicted */
	bool corrects; /* where gradients are stale, they are corrected with the weights that F read, which are kept */
} mr_plan_terms;

/**
 * Write @terms into the contract of @plan, which is not lowered (or the record of a run: then its versions stay as they
 * are, and it must predict already if @terms do). Without clipping or stealing no stage waits for the others at the end
 * of an iteration: the weights are the same. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_plan_take_terms(mr_plan *plan, const mr_plan_terms *terms) MR_MUST_USE;

#endif
