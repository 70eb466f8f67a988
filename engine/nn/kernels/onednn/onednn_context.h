/*
 * onednn_context.h - what the files that call oneDNN share: a context with its primitives, and the differences between
 * the library's C interfaces 2.6 and 3.x.
 *
 * A primitive is found by (m, n, k, flags) in an open-addressing table (convolutions in a list of their own); engine,
 * threads and ISA are fixed for a context. Its memory objects live as long as the primitive and get the addresses of
 * each call, so our code neither allocates nor locks when the primitive is found.
 */
#ifndef MR_KERNELS_ONEDNN_CONTEXT_H
#define MR_KERNELS_ONEDNN_CONTEXT_H

#include <dnnl.h>

#include "nn/kernels/onednn/onednn_primitives.h"
#include "nn/kernels/scratch.h"

#if DNNL_VERSION_MAJOR < 2 || (DNNL_VERSION_MAJOR == 2 && DNNL_VERSION_MINOR < 6)
#error "oneDNN 2.6 or newer is needed"
#endif

enum { ONEDNN_ARGS = 20 };

/* The meaning of the low bits of flags depends on the kind. The kind is never 0, which marks a free place in the
 * table. */
enum { ONEDNN_MATMUL = 1 << 8, ONEDNN_SUM = 2 << 8, ONEDNN_GELU = 3 << 8, ONEDNN_NORM = 4 << 8,
       ONEDNN_SOFTMAX = 5 << 8, ONEDNN_BATCH_NORM = 6 << 8, ONEDNN_POOL = 7 << 8, ONEDNN_LRN = 8 << 8 };

typedef struct onednn_primitive {
	int64_t m, n, k;
	uint32_t flags;
	uint32_t n_args;                     /* the scratchpad is the last one */
	size_t scratch_bytes;                /* what it declares to need of it */
	dnnl_primitive_t primitive;
	dnnl_exec_arg_t arg[ONEDNN_ARGS];
} onednn_primitive;

struct mr_onednn {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	int n_threads;
#ifndef MR_OPENMP
	void (*set_num_threads)(int); /* from the OpenMP runtime that the library, but not this program, is linked with;
					 NULL: none */
#endif
	uint32_t n_used, n_places;    /* n_places: a power of two */
	onednn_primitive *table;
	struct onednn_conv *convs;    /* [n_convs]; room for the next power of two (onednn_conv.c) */
	uint32_t n_convs;
	struct onednn_recurrent *recurrents; /* [n_recurrents] (onednn_recurrent.c) */
	uint32_t n_recurrents;
	mr_scratch weights;           /* weights of one convolution in the primitive's format */
	mr_scratch scratch;
};

/* A memory descriptor: an owned handle in 3.x, a value in 2.6; md_arg is how calls take it. */
#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t md_t;
typedef const_dnnl_memory_desc_t md_arg;
#else
typedef dnnl_memory_desc_t md_t;
typedef const dnnl_memory_desc_t *md_arg;
#endif

/* One argument of a primitive. */
typedef struct onednn_arg {
	int id; /* DNNL_ARG_... */
	md_arg md;
} onednn_arg;

/** Returns MR_EDNN with the failed step @what if @st is an error. */
mr_status mr_onednn_check(dnnl_status_t st, const char *what) MR_MUST_USE;

/** Describe a matrix of f32 or of @type with these strides, and a vector of @n f32. Free them with
 * mr_onednn_md_free. */
mr_status mr_onednn_md_matrix(md_t *md, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) MR_MUST_USE;
mr_status mr_onednn_md_matrix_of(md_t *md, dnnl_data_type_t type, int64_t rows, int64_t cols, int64_t row_stride,
				 int64_t col_stride) MR_MUST_USE;
mr_status mr_onednn_md_row(md_t *md, int64_t n) MR_MUST_USE;
md_arg mr_onednn_md(const md_t *md); /* NULL: there is none */
void mr_onednn_md_free(md_t *md);

/* Operations on the result of a primitive before it is stored, in this order. */
typedef struct onednn_post_ops {
	bool add;      /* the previous content of the destination is added */
	md_arg addend; /* this tensor is added; the caller passes it as argument ONEDNN_ADDEND; NULL: none. Not with
			  add */
	bool gelu;
} onednn_post_ops;

#define ONEDNN_ADDEND (DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1)

/** Creates attributes with a caller-provided scratchpad and these operations. */
mr_status mr_onednn_attr(const onednn_post_ops *after, dnnl_primitive_attr_t *attr) MR_MUST_USE;

/** Makes the primitive of @p from its description, and its memory objects: @arg[@n], then the scratchpad. */
mr_status mr_onednn_finish(mr_onednn *d, onednn_primitive *p, dnnl_primitive_desc_t pd, const onednn_arg *arg,
			   uint32_t n) MR_MUST_USE;

/** Fills @p, whose key is set, by mr_onednn_finish. */
typedef mr_status onednn_build_fn(mr_onednn *d, onednn_primitive *p);

/** Executes the primitive of @p, on @data in the order of its arguments. */
mr_status mr_onednn_execute(mr_onednn *d, onednn_primitive *p, const void *const *data) MR_MUST_USE;
/** Sets the library's team size for primitives that are built or executed next on this thread. */
void mr_onednn_set_threads(const mr_onednn *d);
void mr_onednn_primitive_free(onednn_primitive *p); /* frees its members; a zeroed one has none */
void mr_onednn_convs_free(mr_onednn *d);
void mr_onednn_recurrents_free(mr_onednn *d);

/** Executes the primitive with the key of @key, which @build makes on the first call, on @data, in the order of its
 * arguments. */
mr_status mr_onednn_run(mr_onednn *d, const onednn_primitive *key, onednn_build_fn *build,
			const void *const *data) MR_MUST_USE;

#endif
