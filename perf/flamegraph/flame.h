/*
 * flame.h - a flame graph: boxes for functions, as wide as their share of the samples, above their callers.
 *
 * The input is folded stacks, a line each: frames from the outermost to the innermost, joined by semicolons, a blank,
 * the number of samples. Boxes have the colours of the instructions that they are part of, by the functions' names:
 * linear_forward, linear_backward_input, linear_backward_weight, and what these call; such layers' names get their
 * product (x W, dz W^T, dW).
 */
#ifndef MR_PERF_FLAME_H
#define MR_PERF_FLAME_H

#include <stdio.h>

#include "report/svg.h"

typedef struct mr_flame mr_flame;

/** Read folded stacks from @in until its end. The caller destroys *@out. Errors: MR_EDATA with the line that is none,
 * or when there is no stack; MR_ERESOURCE. */
mr_status mr_flame_read(FILE *in, mr_flame **out) MR_MUST_USE;
void mr_flame_destroy(mr_flame *f);

/** Draw it; frames of less than @least of all samples are left out. Errors: MR_EIO. */
mr_status mr_flame_svg(const mr_flame *f, const char *title, double least, const mr_svg *v) MR_MUST_USE;

#endif
