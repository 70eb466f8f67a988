/*
 * merge_w.h - weight gradients of several micro-batches as one product: a plan whose W come late and in spans.
 *
 * Only I delays other workers. So a worker of a system that flushes may carry out all its F and I first, in the
 * system's order, and then the W of each stage, of up to 255 micro-batches at once (ir/plan.h, "Span"). The sum of
 * gradients is then written once a commit and not read again, and products of few rows become one of many. With costs
 * f, i, w and one stage a worker, 1f1b's bubble becomes (D - 1)(f + i). The activations of all micro-batches of a
 * commit are kept until then. Gradients are added in the same order, so no bit of a weight changes.
 */
#ifndef MR_PLANNER_MERGE_W_H
#define MR_PLANNER_MERGE_W_H

#include "ir/plan.h"

/** May the W of @plan come late? A body that flushes, trains, sums in ascending order, and whose W have not been
 * arranged otherwise: no stealing, no joint gradients, no replicas of the model, no span. */
bool mr_plan_may_merge(const mr_plan *plan);

/** Move the W of each stage with @merges [n_stages] behind all other instructions of its worker, micro-batches that
 * follow each other as one. Stages that recompute, and those without two such micro-batches in one pipe, stay as they
 * are; so does a plan that may not. @plan is not lowered. *@merged: has any stage changed? Errors: MR_ERESOURCE. */
mr_status mr_plan_merge_w(mr_plan *plan, const bool *merges, bool *merged) MR_MUST_USE;

#endif
