/*
 * flops_by.h - which share of a step's floating-point operations each kind of code executes: oneDNN's primitives or the
 * kernels of this program.
 *
 * Those of products, convolutions, attention and recurrent layers count, of F and of both gradients of one micro-batch
 * at each stage, since those are nearly all; a stage that recomputes repeats its F in the same proportion. What goes
 * element by element and the optimizer's step do not count.
 */
#ifndef MR_STAGE_FLOPS_BY_H
#define MR_STAGE_FLOPS_BY_H

#include "stage/stage_calls.h"

typedef struct mr_flops_by {
	double of[MR_N_KERNEL_BY]; /* of a micro-batch */
} mr_flops_by;

/** Add those of a stage. */
void mr_flops_by_add(mr_flops_by *f, const mr_stage_calls *c);

/** 0 to 1; NAN: there are none. */
double mr_flops_by_share(const mr_flops_by *f, mr_kernel_by by);

/** "oneDNN 31.4 %, our kernels 68.6 %"; "none". Returns @text. */
const char *mr_flops_by_text(const mr_flops_by *f, char text[160]);

#endif
