#include "nn/thread_bits.h"

/* oneDNN computes each element, or each row, of these in one thread, whatever the number of threads. */
static const bool row_by_row[MR_N_KERNELS] = {
	[MR_KERNEL_act_backward] = true, [MR_KERNEL_sum] = true,          [MR_KERNEL_xent] = true,
	[MR_KERNEL_lrn] = true,          [MR_KERNEL_lrn_backward] = true, [MR_KERNEL_norm] = true,
	[MR_KERNEL_norm_backward_input] = true,
};

static mr_kernel_by executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	return k->executor ? k->executor(k, n_threads, c) : MR_BY_REFERENCE;
}

mr_thread_bits mr_thread_bits_of(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	mr_thread_bits b = {.by = executor(k, n_threads, c), .by_one = executor(k, 1, c)};

	b.depend = b.by != b.by_one || (n_threads > 1 && b.by == MR_BY_ONEDNN && !row_by_row[c->id]);
	return b;
}
