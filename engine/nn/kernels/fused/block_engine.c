#include "nn/kernels/fused/block_engine.h"

#include <stddef.h>

#include "nn/kernels/onednn/onednn_primitives.h"

const mr_block_engine *mr_block_engine_find(const char **why)
{
#ifdef __x86_64__
	static const mr_block_engine avx512 = {"avx512", mr_block_avx512, NULL, 1};

	*why = NULL;
	if (mr_onednn_bf16() && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return &avx512;
#endif
	*why = "this CPU has no avx512_bf16";
	return NULL;
}
