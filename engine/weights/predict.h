/*
 * predict.h - weights predicted from one version in place of another one, on which F or B then works.
 *
 * AHEAD (plan.h, mr_predict): the latest weights, moved along the direction of the optimizer's last step by the rate of
 * the next one times the horizon. Optimizer state is zero before the first commit, and then nothing is moved.
 * then.
 *
 * BACK: a stage keeps delta, the running mean of its steps; R and B work on the weights less tau times delta, made once
 * a version. A step may overwrite its source, so the old weights are kept in the buffer of the predicted ones, which
 * no instruction reads between the last B of a commit and the first of the next.
 *
 * BACK and STEPS use the weights that stages read, and not their masters (nn/tensor.h).
 *
 * STEPS: version v plus the horizon times its difference to version v - 1. It needs no optimizer state, so it
 * serves optimizers that keep no direction, versions other than the latest, and stage replicas (ir/plan.h).
 *
 * The kernels' optimizer steps do all arithmetic: w - h lr m is a step of sgd along m, and Adam's
 * w - h lr (m / c1) / (sqrt(v / c2) + eps) is a step of Adam with b1 = b2 = 1 and a gradient times 0, which leaves its
 * state unchanged.
 *
 * Thread: the owner of the stage, where no other is named.
 */
#ifndef MR_WEIGHTS_PREDICT_H
#define MR_WEIGHTS_PREDICT_H

#include "ir/plan.h"
#include "weights/stage_weights.h"

#define MR_PREDICT_NO_VERSION UINT64_MAX

struct mr_prediction {
	uint32_t n_buffers; /* of predicted weights, over all pipes; 0: F and B work on what they read or on `held` */
	uint32_t n_each;         /* buffers of a pipe: one a slot where B takes the weights of its F, else 1 */
	uint8_t *weights;        /* [n_buffers] like one version each; NULL where there are none */
	bool holds;              /* F works on the same weights for all micro-batches of a commit */
	uint8_t *held;           /* those weights, like one version */
	uint64_t held_version;   /* the version that they are made from, or MR_PREDICT_NO_VERSION */
	uint8_t *delta;          /* running mean of the steps, like one state; NULL: none */
	double delta_keep;       /* the factor of the old delta at each commit */
	double back;             /* commits that R and B move back (tau); 0: none */
	uint64_t moved_back;     /* the version that `weights` holds moved back, or MR_PREDICT_NO_VERSION */
	uint32_t sync_steps;     /* synchronous commits at the start, which delta does not follow */
	_Alignas(MR_CACHE_LINE) _Atomic uint32_t n_used; /* buffers written since the reset: the highest number, plus
	                                                    1; any part writes it */
};

/** Give @b its prediction, where stage @s of @plan has one. Before mr_weights_layout. Errors: MR_ERESOURCE. */
mr_status mr_predict_open(mr_stage_weights *b, const mr_plan *plan, uint16_t s) MR_MUST_USE;

/** Take the memory of the predicted weights and of delta (or measure it). */
void mr_predict_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard);

/** Start at version 0, before any step. */
void mr_predict_init(mr_stage_weights *b);

/** Forget all predicted and held weights. While no worker runs. */
void mr_predict_reset(mr_stage_weights *b);

/** Buffers of the size of a version that the stage has for predictions; and how many were written since the reset. */
static inline uint32_t mr_predict_buffers(const mr_stage_weights *b)
{
	return b->prediction ? b->prediction->n_buffers + b->prediction->holds : 0;
}

uint32_t mr_predict_buffers_used(const mr_stage_weights *b);

/**
 * To @out the weights of @b's latest version, moved @horizon commits ahead, or (@horizon < 0) as far back as the
 * stage's gradients are late; @lr: of the next commit. Valid until the next call or commit.
 */
mr_status mr_predict_weights(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon,
			     const void **out) MR_MUST_USE;

/** The same if B takes the weights that were made for its F (same_version_b): into the buffer of the micro-batch's
 * slot, where mr_predict_kept finds them. */
mr_status mr_predict_keep(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon,
			  uint32_t slot, const void **out) MR_MUST_USE;
void *mr_predict_kept(const mr_stage_weights *b, uint8_t pipe, uint32_t slot);

/**
 * STEPS: version @version of the weights, moved on by @horizon steps like the one that made it, into the buffer of slot
 * @slot of @pipe; where B reads another version than F, of @pipe. Version 0 has no step behind it and stays. Thread:
 * the worker of the part.
 */
mr_status mr_predict_steps(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, uint64_t version, int32_t horizon,
			   uint32_t slot, const void **out) MR_MUST_USE;

/** The same for an F whose weights are held (MR_READ_FIRST), from @version: made at the first F that reads it. */
mr_status mr_predict_held(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon,
			  uint64_t version, const void **out) MR_MUST_USE;

/** Around a commit, before mr_weights_step and after it: update delta. Without delta both return at once. */
void mr_predict_before_step(mr_stage_weights *b);
mr_status mr_predict_after_step(mr_stage_weights *b, mr_kctx *kc) MR_MUST_USE;

#endif
