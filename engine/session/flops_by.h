/*
 * flops_by.h - which share of a step's floating-point operations each kind of code executes: oneDNN's primitives or the
 * kernels of this program.
 *
 * Those of products, convolutions, attention and recurrent layers count, of F and of both gradients of one micro-batch
 * at each stage, since those are nearly all; a stage that recomputes repeats its F in the same proportion. What goes
 * element by element, layers with loops of their own, and the optimizer's step do not count.
 */
#ifndef MR_SESSION_FLOPS_BY_H
#define MR_SESSION_FLOPS_BY_H

#include "exec/run.h"
#include "session/session.h"
#include "stage/stage_calls.h"

typedef struct mr_flops_by {
	double of[MR_N_KERNEL_BY]; /* of a micro-batch */
	bool unknown;              /* of some stage nothing could be recorded */
} mr_flops_by;

void mr_flops_by_add(mr_flops_by *f, const mr_stage_calls *c);

/** The calls of stage @i of the plan of @s, which @run would carry out. The caller
 * calls mr_stage_calls_fini, also after an error. Errors: MR_ERESOURCE. */
mr_status mr_session_stage_calls(const mr_session *s, const mr_run *run, uint16_t i, mr_stage_calls *c) MR_MUST_USE;

/** Of all stages. Errors: MR_ERESOURCE. */
mr_status mr_flops_by_of(const mr_session *s, const mr_run *run, mr_flops_by *out) MR_MUST_USE;

/** 0 to 1; NAN: there are none, or it is unknown. */
double mr_flops_by_share(const mr_flops_by *f, mr_kernel_by by);

/** "oneDNN 31.4 %, our kernels 68.6 %"; "unknown". Returns @text. */
const char *mr_flops_by_text(const mr_flops_by *f, char text[160]);

#endif
