#include "nn/kernels.h"

#include <stdio.h>
#include <string.h>

#include "nn/kernels/backend.h"
#include "nn/kernels/fused/blocks/block_engine.h"

#ifdef MR_DNNL
#define FUSED_F32 &mr_kernels_fused_f32
#define FUSED_BF16 &mr_kernels_fused_bf16
#define ONEDNN_F32 &mr_kernels_onednn_f32
#define ONEDNN_BF16 &mr_kernels_onednn_bf16
#define FUSED_PURE &mr_kernels_fused_bf16_pure
#define AUTO_PURE &mr_kernels_auto_bf16_pure
#define ONEDNN_PURE &mr_kernels_onednn_bf16_pure
#define AUTO_F32 &mr_kernels_auto_f32
#define AUTO_BF16 &mr_kernels_auto_bf16
#define FUSED_REFUSAL mr_kernels_fused_refusal
#define FUSED_BF16_REFUSAL mr_kernels_fused_bf16_refusal
#define BF16_REFUSAL mr_kernels_onednn_bf16_refusal
#else
#define FUSED_F32 NULL
#define FUSED_BF16 NULL
#define ONEDNN_F32 NULL
#define ONEDNN_BF16 NULL
#define FUSED_PURE NULL
#define AUTO_PURE NULL
#define ONEDNN_PURE NULL
#define AUTO_F32 NULL
#define AUTO_BF16 NULL
#define FUSED_REFUSAL NULL
#define FUSED_BF16_REFUSAL NULL
#define BF16_REFUSAL NULL
#endif

typedef struct backend {
	const char *name, *summary;
	const mr_kernels *f32, *f64, *bf16, *pure; /* NULL: none in this build */
	const char *(*refusal)(void), *(*bf16_refusal)(void); /* why this CPU cannot use it, or NULL */
} backend;

static const backend backends[] = {
	{"auto", "of fused and onednn the one that a table of choices names for the operation and its shape",
	 AUTO_F32, NULL, AUTO_BF16, AUTO_PURE, FUSED_REFUSAL, FUSED_BF16_REFUSAL},
	{"fused", "our AVX2, AVX-512 and NEON kernels; in f32 oneDNN executes the products that they leave out",
	 FUSED_F32, NULL, FUSED_BF16, FUSED_PURE, FUSED_REFUSAL, FUSED_BF16_REFUSAL},
	{"onednn",
	 "oneDNN's primitives wherever it has one that keeps NaN; fused executes the rest; in bf16 products and "
	 "convolutions alone are in bf16, and all else is computed in f32 on widened numbers",
	 ONEDNN_F32, NULL, ONEDNN_BF16, ONEDNN_PURE, FUSED_REFUSAL, BF16_REFUSAL},
	{"reference", "portable C, one thread, sums in textbook order; f32, f64 and bf16",
	 &mr_kernels_reference_f32, &mr_kernels_reference_f64, &mr_kernels_reference_bf16,
	 &mr_kernels_reference_bf16_pure, NULL, NULL},
};

enum { N_BACKENDS = sizeof(backends) / sizeof(backends[0]) };

static const backend *backend_of(const char *name)
{
	for (int i = 0; i < N_BACKENDS; i++)
		if (!strcmp(backends[i].name, name))
			return &backends[i];
	return NULL;
}

/* @k of backend @b, which was asked for by @name and @types; NULL with a sentence: @none where there is no @k. */
static const mr_kernels *usable(const backend *b, const mr_kernels *k, const char *(*refusal)(void), const char *name,
				const char *types, const char *none)
{
	const char *why = k && refusal ? refusal() : NULL;

	if (k && !why)
		return k;
	if (!b)
		(void)mr_fail(MR_ECONFIG, "unknown backend \"%s\"; expected auto, fused, onednn or reference", name);
	else if (!b->f32)
		(void)mr_fail(MR_ECONFIG, "backend %s: this program was built without oneDNN; use backend reference",
			      name);
	else
		(void)mr_fail(MR_ECONFIG, "backend %s cannot be used with %s: %s", name, types, why ? why : none);
	return NULL;
}

const mr_kernels *mr_kernels_find(const char *name, mr_dtype dtype)
{
	const backend *b = backend_of(name);
	const mr_kernels *k = !b		 ? NULL
			      : dtype == MR_BF16 ? b->bf16
			      : dtype == MR_F64	 ? b->f64
			      : dtype == MR_F32	 ? b->f32
						 : NULL;

	return usable(b, k, !b ? NULL : dtype == MR_BF16 ? b->bf16_refusal : b->refusal, name, mr_dtype_name(dtype),
		      "it computes in f32 and bf16 only; use backend reference");
}

const mr_kernels *mr_kernels_find_pure(const char *name)
{
	const backend *b = backend_of(name);

	return usable(b, b ? b->pure : NULL, b ? b->bf16_refusal : NULL, name, "bf16_pure",
		      "use backend reference");
}

bool mr_backend_at(uint32_t i, mr_backend *out)
{
	if (i >= N_BACKENDS)
		return false;
	*out = (mr_backend){.name = backends[i].name, .summary = backends[i].summary};
	return true;
}

bool mr_operation_at(uint32_t i, mr_operation *out)
{
#define BY_OURS "fused"
#define BY_ONEDNN "oneDNN"
#define BY_BOTH "fused, oneDNN"
#define PRIMITIVE_OURS "none: fused"
#define PRIMITIVE_ONEDNN "oneDNN"
#define PRIMITIVE_BOTH "oneDNN, fused"
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	{#id, what, "reference", BY_##fused, PRIMITIVE_##onednn, #choice},
#define MR_OPERATION_WHOLE(id, what) \
	{#id, what, "none: row by row", "none: row by row", PRIMITIVE_ONEDNN, "by table"},
	static const mr_operation operations[] = {
#include "nn/kernels.def"
	};

	if (i >= sizeof(operations) / sizeof(operations[0]))
		return false;
	*out = operations[i];
	out->chosen = strcmp(out->chosen, "none") ? "by table" : "fused";
	return true;
}

const char *mr_kernels_isa(mr_dtype dtype)
{
#ifdef MR_DNNL
	return mr_kernels_fused_isa(dtype);
#else
	(void)dtype;
	return "none";
#endif
}

const char *mr_kernels_bf16_engine(const mr_kernels *k)
{
#ifdef MR_DNNL
	static _Thread_local char text[128];
	const char *why;
	const mr_block_engine *e = k->step == mr_kernels_fused_bf16.step ? mr_block_engine_find(&why) : NULL;

	if (!e)
		return NULL;
	snprintf(text, sizeof(text), "%s%s%s", e->name, why ? ", not amx: " : "", why ? why : "");
	return text;
#else
	(void)k;
	return NULL;
#endif
}

const char *mr_kernels_library(void)
{
#ifdef MR_DNNL
	return mr_kernels_onednn_library();
#else
	return "none";
#endif
}
