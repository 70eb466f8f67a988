#include "nn/kernels.h"

#include <stdio.h>
#include <string.h>

#include "nn/kernels/backend.h"
#include "nn/kernels/fused/blocks/block_engine.h"

typedef struct backend {
	const char *name, *summary;
	const mr_kernels *of[MR_N_PRECISIONS]; /* NULL: none in this build */
} backend;

/* The tables of a backend, by precisions.def. */
#ifdef MR_DNNL
#define OF_ALL(backend, id) &mr_kernels_##backend##_##id,
#else
#define OF_ALL(backend, id) NULL,
#endif
#define OF_REFERENCE(backend, id) NULL,

static const backend backends[] = {
	{"auto", "of fused and onednn the one that a table of choices names for the operation and its shape", {
#define MR_PRECISION(id, types, backends) OF_##backends(auto, id)
#include "nn/precisions.def"
	}},
	{"fused", "our AVX2, AVX-512 and NEON kernels; in f32 oneDNN executes the products that they leave out", {
#define MR_PRECISION(id, types, backends) OF_##backends(fused, id)
#include "nn/precisions.def"
	}},
	{"onednn",
	 "oneDNN's primitives wherever it has one that keeps NaN; fused executes the rest; in bf16 products and "
	 "convolutions alone are in bf16, and all else is computed in f32 on widened numbers", {
#define MR_PRECISION(id, types, backends) OF_##backends(onednn, id)
#include "nn/precisions.def"
	}},
	{"reference", "portable C, one thread, sums in textbook order; f32, f64 and bf16", {
#define MR_PRECISION(id, types, backends) &mr_kernels_reference_##id,
#include "nn/precisions.def"
	}},
};

enum { N_BACKENDS = sizeof(backends) / sizeof(backends[0]) };

static const backend *backend_of(const char *name)
{
	for (int i = 0; i < N_BACKENDS; i++)
		if (!strcmp(backends[i].name, name))
			return &backends[i];
	return NULL;
}

const mr_kernels *mr_kernels_of(const char *name, mr_precision precision)
{
	const backend *b = backend_of(name);
	const mr_kernels *k = b && precision < MR_N_PRECISIONS ? b->of[precision] : NULL;
	const char *why = k && k->refusal ? k->refusal() : NULL;

	if (k && !why)
		return k;
	if (!b)
		(void)mr_fail(MR_ECONFIG, "unknown backend \"%s\"; expected auto, fused, onednn or reference", name);
	else if (!b->of[0])
		(void)mr_fail(MR_ECONFIG, "backend %s: this program was built without oneDNN; use backend reference",
			      name);
	else
		(void)mr_fail(MR_ECONFIG, "backend %s cannot be used with %s: %s", name,
			      precision < MR_N_PRECISIONS ? mr_types_name(mr_types_at(precision)) : "such numbers",
			      why ? why : "it computes in f32 and bf16 only; use backend reference");
	return NULL;
}

const mr_kernels *mr_kernels_find(const char *name, mr_dtype dtype)
{
	mr_precision p = 0;

	while (p < MR_N_PRECISIONS && mr_types_at(p)->weights != dtype)
		p++;
	return mr_kernels_of(name, p);
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
