/*
 * predict.h - weights that aim at another version than the one they are made from, and learning rates that know their
 * stage's age.
 *
 * AHEAD (plan.h, mr_predict): the latest weights, moved along the direction of the optimizer's last step by the rate of
 * the next one times the horizon. Optimizer state is zero before the first commit, so there is nothing to move along
 * then.
 *
 * BACK: a stage keeps delta, the running mean of its steps; R and B work on the weights less tau times that, made once
 * a version. To know a step when it has overwritten its source, the old weights are kept in the buffer of the aimed
 * ones, which nobody needs between the last B of a commit and the first of the next.
 *
 * BACK and STEPS go by versions, not by masters (nn/tensor.h): by what steps do to the weights that stages read.
 *
 * STEPS: version v moved on by the difference to version v - 1, times the horizon. It needs no optimizer state: so it
 * is what predicts for optimizers that keep no direction, from other versions than the latest, and beside parts that
 * step (ir/plan.h, "Turns").
 *
 * No arithmetic of its own: w - h lr m is a step of sgd along m, and Adam's w - h lr (m / c1) / (sqrt(v / c2) + eps) is
 * a step of Adam that remembers all (b1 = b2 = 1) of a gradient times 0, which leaves its state as it is. So all
 * kernels have it already.
 *
 * Thread: the owner of the block.
 */
#ifndef MR_EXEC_PREDICT_H
#define MR_EXEC_PREDICT_H

#include "ir/plan.h"
#include "exec/stage_weights.h"

/** What the plan says of stage @s, before mr_weights_layout; its ages are those of @steady. */
void mr_predict_open(mr_stage_weights *b, const mr_plan *plan, const mr_plan *steady, uint16_t s);

/** Take the block's aimed weights and delta (or measure them). */
void mr_predict_layout(mr_stage_weights *b, mr_arena *a);

/**
 * The weights of @b's latest version, moved @horizon commits ahead, or (@horizon < 0) as far back as the stage's
 * gradients are late; @lr: of the next commit. Good until the next call or commit.
 */
const void *mr_predict_weights(mr_stage_weights *b, mr_kctx *kc, const mr_optim *o, double lr, int32_t horizon);

/** The same where B takes what was made for its F (same_version_b): into the buffer of the micro-batch's slot, where B
 * finds it. */
const void *mr_predict_keep(mr_stage_weights *b, mr_kctx *kc, const mr_optim *o, double lr, int32_t horizon,
			    uint32_t slot);
void *mr_predict_kept(const mr_stage_weights *b, uint8_t pipe, uint32_t slot);

/**
 * STEPS: version @version of the weights, moved on by @horizon steps like the one that made it, into the buffer of slot
 * @slot of @pipe; where B reads another version than F, of @pipe. Version 0 has no step behind it and stays. Thread:
 * the worker of the part.
 */
const void *mr_predict_steps(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, uint64_t version, int32_t horizon,
			     uint32_t slot);

#define MR_PREDICT_HOLDS_NONE UINT64_MAX

/** The same for an F whose weights are held (MR_READ_FIRST), from @version: made when it is met for the first time. */
const void *mr_predict_held(mr_stage_weights *b, mr_kctx *kc, const mr_optim *o, double lr, int32_t horizon,
			    uint64_t version);

/** Around a commit, before mr_weights_step and after it: let delta follow. Nothing where there is none. */
void mr_predict_before_step(mr_stage_weights *b);
void mr_predict_after_step(mr_stage_weights *b, mr_kctx *kc);

/** The learning rate of commit @version (from 1) at @b's stage: @lr, lower during a slow start, which begins behind a
 * synchronous one. */
double mr_predict_lr(const mr_stage_weights *b, const mr_lr *lr, uint64_t version);

#endif
