/*
 * vee.h - shared by the systems that place the stages down the workers and up again, so that worker w hosts the stages
 * w and 2D - 1 - w. A micro-batch's forward begins and ends at worker 0, which thus has its gradient first.
 *
 *	D = 3:   w0  s0         s5      leg 0: s0 s1 s2, down the workers
 *	         w1     s1   s4         leg 1: s3 s4 s5, up again; where the legs meet nothing is handed over
 *	         w2       s2 s3
 *
 * Each micro-batch passes a worker four times: F of leg 0, F of leg 1, the backward of leg 1, the backward of leg 0.
 * The first and third pass go from worker 0 to D - 1, the others from D - 1 to 0.
 */
#ifndef MR_SCHEDULES_VEE_H
#define MR_SCHEDULES_VEE_H

#include "ir/sched.h"

/**
 * Make an empty synchronous plan called @name with a V of 2 D stages and @per_micro instructions a micro-batch and
 * stage, whose gradients are summed in ascending order. Errors: MR_ECONFIG for more than a plan may hold.
 */
mr_status mr_vee_create(const mr_sched_args *args, const char *name, uint32_t per_micro, mr_plan **out) MR_MUST_USE;

/** The stage of @worker on @leg. */
uint16_t mr_vee_stage(const mr_plan *plan, uint16_t worker, unsigned leg);

/** Append @op of micro-batch @micro at @worker's stage of @leg. */
mr_status mr_vee_emit(mr_plan *plan, uint16_t worker, mr_op op, unsigned leg, uint32_t micro) MR_MUST_USE;

/* What a worker does next, where micro-batches go in order: the n-th pass of a kind is micro-batch n. */
typedef enum mr_vee_step { MR_VEE_F0, MR_VEE_F1, MR_VEE_I1, MR_VEE_I0, MR_VEE_W0, MR_VEE_W1, MR_VEE_N } mr_vee_step;

/** Append @n steps to the list of @worker; if @fused, each I becomes B and W are left out. */
mr_status mr_vee_emit_steps(mr_plan *plan, uint16_t worker, const uint8_t *steps, size_t n, bool fused) MR_MUST_USE;

#endif
