/*
 * op.h - classes of ops.
 */
#ifndef MR_IR_OP_H
#define MR_IR_OP_H

#include "ir/plan.h"

/* Does the op work on a micro-batch, with a version that it reads (F, R, B, I, W)? Only these are emitted by systems;
 * the others are added by the lowering and work on a stage's sum. */
static inline bool mr_op_is_compute(unsigned op)
{
	return op == MR_OP_F || op == MR_OP_R || op == MR_OP_B || op == MR_OP_I || op == MR_OP_W;
}

#endif
