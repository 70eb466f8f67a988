/* fused_gemm.h - which products have a kernel of ours; in a build without oneDNN none: it has no such kernels. */
#ifndef MR_TESTS_NN_FUSED_GEMM_H
#define MR_TESTS_NN_FUSED_GEMM_H

#include "nn/kernels/fused/gemm/gemm.h"

#ifndef MR_DNNL
static inline bool has_no_kernel(const mr_gemm *g, uint32_t n_threads, bool step)
{
	(void)g, (void)n_threads, (void)step;
	return false;
}
#define mr_gemm_has_kernel(...) has_no_kernel(__VA_ARGS__)
#endif

#endif
