/*
 * plan_bits.h - the operations of a plan whose bits may depend on the number of threads a worker, for `millrace plan`.
 */
#ifndef MR_OUTLINE_PLAN_BITS_H
#define MR_OUTLINE_PLAN_BITS_H

#include "base/str.h"
#include "outline/plan_kernels.h"

/** They, and what executes them: "conv_backward_weight (onednn), gemm (fused; onednn with one thread)". Empty: the bits
 * are those of one thread a worker. Also the optimizer's products. */
void mr_plan_bits_text(const mr_plan_kernels *k, const mr_session *s, const mr_forecast *f, mr_strbuf *out);

/** The line about it. None where each worker has one thread, or where some stage's operations are unknown. */
void mr_plan_bits_print(const mr_plan_kernels *k, const mr_session *s, const mr_forecast *f, FILE *out);

#endif
