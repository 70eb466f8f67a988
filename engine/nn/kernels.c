#include "nn/kernels.h"

#include <string.h>

#include "nn/kernels/backend.h"

static const mr_kernels *find_dnnl(mr_dtype dtype)
{
#ifdef MR_DNNL
	const char *why = mr_kernels_dnnl_refusal();

	if (dtype != MR_F32)
		why = "it computes in f32 only; use backend reference";
	if (!why)
		return &mr_kernels_dnnl_f32;
	(void)mr_fail(MR_ECONFIG, "backend dnnl cannot be used with dtype %s: %s", mr_dtype_name(dtype), why);
#else
	(void)mr_fail(MR_ECONFIG,
		      "backend dnnl with dtype %s: this program was built without oneDNN; use backend reference",
		      mr_dtype_name(dtype));
#endif
	return NULL;
}

const mr_kernels *mr_kernels_find(const char *backend, mr_dtype dtype)
{
	if (strcmp(backend, "dnnl") == 0)
		return find_dnnl(dtype);
	if (strcmp(backend, "reference") != 0) {
		(void)mr_fail(MR_ECONFIG, "unknown backend \"%s\"; expected dnnl or reference", backend);
		return NULL;
	}
	if (dtype == MR_F32)
		return &mr_kernels_reference_f32;
	if (dtype == MR_F64)
		return &mr_kernels_reference_f64;
	(void)mr_fail(MR_ECONFIG, "backend reference computes in f32 or f64, not in %s", mr_dtype_name(dtype));
	return NULL;
}

const char *mr_kernels_library(void)
{
#ifdef MR_DNNL
	return mr_kernels_dnnl_library();
#else
	return "none";
#endif
}
