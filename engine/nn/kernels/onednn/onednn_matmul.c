/*
 * onednn_matmul.c - the matmul primitive behind mr_onednn_gemm, and the differences between oneDNN 2.6 and 3.x.
 *
 * All matrices are plain row-major; a transpose is a pair of strides. Bias is fused, `add` is a sum post-op. Activations are the
 * caller's: the library's ReLU makes 0 of NaN.
 * A primitive is found by (m, n, k, flags) in an open-addressing table; engine, threads and ISA are fixed for a
 * context. Its memory objects live as long as it does and get this call's addresses, so a hit neither allocates nor
 * locks in our code.
 */
#include "nn/kernels/onednn/onednn_matmul.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef MR_OPENMP
#include <omp.h>
#else
#include <dlfcn.h>
#endif

#include "nn/kernels/backend.h"
#include "nn/kernels/touched.h"

#if DNNL_VERSION_MAJOR < 2 || (DNNL_VERSION_MAJOR == 2 && DNNL_VERSION_MINOR < 6)
#error "oneDNN 2.6 or newer is needed"
#endif

enum { ARG_A, ARG_B, ARG_C, ARG_BIAS, ARG_SCRATCH, N_ARGS };

static const int arg_id[N_ARGS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS, DNNL_ARG_SCRATCHPAD};

typedef struct matmul {
	int64_t m, n, k;
	uint32_t flags;               /* 0: free place in the table */
	uint32_t n_args;
	dnnl_primitive_t primitive;
	dnnl_exec_arg_t arg[N_ARGS];  /* the ones in use, in the order of the enum */
} matmul;

struct mr_onednn {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	int n_threads;
#ifndef MR_OPENMP
	void (*set_num_threads)(int); /* of the runtime that the library is linked with, though we are not; NULL: none */
#endif
	uint32_t n_used, n_places;    /* n_places: a power of two */
	matmul *table;
	void *scratch;
	size_t scratch_bytes;
};

static mr_status check(dnnl_status_t st, const char *what)
{
	return st == dnnl_success ? MR_OK : mr_fail(MR_EDNN, "oneDNN: %s failed with status %d", what, (int)st);
}

/* --- the two interfaces ------------------------------------------------------------------------------------------- */

#if DNNL_VERSION_MAJOR >= 3

typedef dnnl_memory_desc_t md_t;        /* an owned handle */
typedef const_dnnl_memory_desc_t md_arg; /* how calls take it */

static dnnl_status_t md_matrix(md_t *md, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride)
{
	dnnl_dims_t dims = {rows, cols}, strides = {row_stride, col_stride};

	return dnnl_memory_desc_create_with_strides(md, 2, dims, dnnl_f32, strides);
}

static md_arg md_pass(const md_t *md)
{
	return *md;
}

static void md_free(md_t *md)
{
	if (*md)
		(void)dnnl_memory_desc_destroy(*md);
}

static dnnl_status_t ops_add_sum(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
}

static dnnl_status_t matmul_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg a, md_arg b, md_arg bias,
			       md_arg c, dnnl_primitive_attr_t attr)
{
	return dnnl_matmul_primitive_desc_create(pd, engine, a, b, bias, c, attr);
}

#else

typedef dnnl_memory_desc_t md_t;
typedef const dnnl_memory_desc_t *md_arg;

static dnnl_status_t md_matrix(md_t *md, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride)
{
	dnnl_dims_t dims = {rows, cols}, strides = {row_stride, col_stride};

	return dnnl_memory_desc_init_by_strides(md, 2, dims, dnnl_f32, strides);
}

static md_arg md_pass(const md_t *md)
{
	return md->ndims ? md : NULL;
}

static void md_free(md_t *md)
{
	(void)md;
}

static dnnl_status_t ops_add_sum(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_sum(ops, 1.0f);
}

static dnnl_status_t matmul_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, md_arg a, md_arg b, md_arg bias,
			       md_arg c, dnnl_primitive_attr_t attr)
{
	dnnl_matmul_desc_t desc;
	dnnl_status_t st = dnnl_matmul_desc_init(&desc, a, b, bias, c);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, NULL) : st;
}

#endif

/* The library asks OpenMP for the calling thread's team size, when a primitive is built and again when it runs. */
static void set_threads(const mr_onednn *d)
{
#ifdef MR_OPENMP
	if (omp_get_max_threads() != d->n_threads)
		omp_set_num_threads(d->n_threads);
#else
	if (d->set_num_threads)
		d->set_num_threads(d->n_threads);
#endif
}

/* --- building a primitive ----------------------------------------------------------------------------------------- */

enum { HAS_KEY = 1, TA = 2, TB = 4, ADD = 8, BIAS = 16 };

static uint32_t flags_of(const mr_gemm *g)
{
	return HAS_KEY | (g->ta ? TA : 0u) | (g->tb ? TB : 0u) | (g->add ? ADD : 0u) | (g->bias ? BIAS : 0u);
}

static mr_status make_attr(uint32_t flags, dnnl_primitive_attr_t *attr)
{
	dnnl_post_ops_t ops = NULL;
	mr_status st = check(dnnl_primitive_attr_create(attr), "attr_create");

	if (st == MR_OK)
		st = check(dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user),
			   "set_scratchpad_mode");
	if (st == MR_OK)
		st = check(dnnl_post_ops_create(&ops), "post_ops_create");
	if (st == MR_OK && (flags & ADD))
		st = check(ops_add_sum(ops), "append_sum");
	if (st == MR_OK)
		st = check(dnnl_primitive_attr_set_post_ops(*attr, ops), "set_post_ops");
	if (ops)
		(void)dnnl_post_ops_destroy(ops);
	return st;
}

static mr_status reserve_scratch(mr_onednn *d, size_t bytes)
{
	void *p;

	if (bytes <= d->scratch_bytes)
		return MR_OK;
	bytes = (bytes + 4095) & ~(size_t)4095;
	p = aligned_alloc(4096, bytes);
	if (!p)
		return mr_fail(MR_ERESOURCE, "no memory for a oneDNN scratchpad of %zu bytes", bytes);
	free(d->scratch);
	d->scratch = p;
	d->scratch_bytes = bytes;
	return MR_OK;
}

static mr_status add_arg(mr_onednn *d, matmul *p, int which, md_arg md)
{
	dnnl_exec_arg_t *arg = &p->arg[p->n_args];

	arg->arg = arg_id[which];
	arg->memory = NULL;
	MR_TRY(check(dnnl_memory_create(&arg->memory, md, d->engine, DNNL_MEMORY_NONE), "memory_create"));
	p->n_args++;
	return MR_OK;
}

static mr_status add_args(mr_onednn *d, matmul *p, const md_t md[4], dnnl_primitive_desc_t pd)
{
	md_arg scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);

	for (int i = ARG_A; i <= ARG_C; i++)
		MR_TRY(add_arg(d, p, i, md_pass(&md[i])));
	if (p->flags & BIAS)
		MR_TRY(add_arg(d, p, ARG_BIAS, md_pass(&md[ARG_BIAS])));
	MR_TRY(add_arg(d, p, ARG_SCRATCH, scratch));
	return reserve_scratch(d, dnnl_memory_desc_get_size(scratch));
}

static void matmul_free(matmul *p)
{
	for (uint32_t i = 0; i < p->n_args; i++)
		(void)dnnl_memory_destroy(p->arg[i].memory);
	if (p->primitive)
		(void)dnnl_primitive_destroy(p->primitive);
	memset(p, 0, sizeof(*p));
}

/* Fills @p, whose key is set. On failure @p is a free place again. */
static mr_status matmul_build(mr_onednn *d, matmul *p)
{
	bool ta = p->flags & TA, tb = p->flags & TB;
	md_t md[4];
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_status_t s;
	mr_status st;

	memset(md, 0, sizeof(md));
	s = md_matrix(&md[ARG_A], p->m, p->k, ta ? 1 : p->k, ta ? p->m : 1);
	if (s == dnnl_success)
		s = md_matrix(&md[ARG_B], p->k, p->n, tb ? 1 : p->n, tb ? p->k : 1);
	if (s == dnnl_success)
		s = md_matrix(&md[ARG_C], p->m, p->n, p->n, 1);
	if (s == dnnl_success && (p->flags & BIAS))
		s = md_matrix(&md[ARG_BIAS], 1, p->n, p->n, 1);
	st = check(s, "memory_desc");
	if (st == MR_OK)
		st = make_attr(p->flags, &attr);
	if (st == MR_OK)
		st = check(matmul_pd(&pd, d->engine, md_pass(&md[ARG_A]), md_pass(&md[ARG_B]),
				     p->flags & BIAS ? md_pass(&md[ARG_BIAS]) : NULL, md_pass(&md[ARG_C]), attr),
			   "matmul description");
	if (st == MR_OK)
		st = check(dnnl_primitive_create(&p->primitive, pd), "primitive_create");
	if (st == MR_OK)
		st = add_args(d, p, md, pd);
	for (int i = 0; i < 4; i++)
		md_free(&md[i]);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	if (attr)
		(void)dnnl_primitive_attr_destroy(attr);
	if (st != MR_OK) {
		st = mr_fail_in(st, "gemm m=%lld n=%lld k=%lld", (long long)p->m, (long long)p->n, (long long)p->k);
		matmul_free(p);
	}
	return st;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static matmul *find_place(matmul *table, uint32_t n_places, int64_t m, int64_t n, int64_t k, uint32_t flags)
{
	uint64_t h = (uint64_t)m * 0x9E3779B97F4A7C15u ^ (uint64_t)n * 0xC2B2AE3D27D4EB4Fu ^
		     (uint64_t)k * 0x165667B19E3779F9u ^ flags * 0x85EBCA77u;

	for (uint64_t i = h ^ (h >> 32);; i++) {
		matmul *p = &table[i & (n_places - 1)];

		if (p->flags == 0 || (p->flags == flags && p->m == m && p->n == n && p->k == k))
			return p;
	}
}

static mr_status grow(mr_onednn *d)
{
	uint32_t n = d->n_places ? 2 * d->n_places : 64;
	matmul *table = calloc(n, sizeof(*table));

	if (!table)
		return mr_fail(MR_ERESOURCE, "no memory for a table of %u primitives", n);
	for (uint32_t i = 0; i < d->n_places; i++) {
		const matmul *p = &d->table[i];

		if (p->flags)
			*find_place(table, n, p->m, p->n, p->k, p->flags) = *p;
	}
	free(d->table);
	d->table = table;
	d->n_places = n;
	return MR_OK;
}

mr_status mr_onednn_gemm(mr_onednn *d, const mr_gemm *g, const float *a, const float *b, const float *bias, float *c)
{
	uint32_t flags = flags_of(g);
	matmul *p = find_place(d->table, d->n_places, g->m, g->n, g->k, flags);
	const void *data[N_ARGS];

	set_threads(d);
	if (p->flags == 0) {
		if (2 * d->n_used >= d->n_places) {
			MR_TRY(grow(d));
			p = find_place(d->table, d->n_places, g->m, g->n, g->k, flags);
		}
		*p = (matmul){.m = g->m, .n = g->n, .k = g->k, .flags = flags};
		MR_TRY(matmul_build(d, p));
		d->n_used++;
	}
	data[0] = a;
	data[1] = b;
	data[2] = c;
	data[3] = flags & BIAS ? bias : d->scratch;
	data[4] = d->scratch;
	for (uint32_t i = 0; i < p->n_args; i++)
		MR_TRY(check(dnnl_memory_set_data_handle(p->arg[i].memory, (void *)(uintptr_t)data[i]),
			     "set_data_handle"));
	return check(dnnl_primitive_execute(p->primitive, d->stream, (int)p->n_args, p->arg), "matmul");
}

/* --- context and library ------------------------------------------------------------------------------------------ */

mr_status mr_onednn_create(uint32_t n_threads, mr_onednn **out)
{
	mr_onednn *d = calloc(1, sizeof(*d));
	mr_status st;

	*out = NULL;
	if (!d)
		return mr_fail(MR_ERESOURCE, "no memory for a oneDNN context");
	d->n_threads = (int)n_threads;
#ifndef MR_OPENMP
	*(void **)&d->set_num_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
#endif
	set_threads(d);
	st = check(dnnl_engine_create(&d->engine, dnnl_cpu, 0), "engine_create");
	if (st == MR_OK)
		st = check(dnnl_stream_create(&d->stream, d->engine, dnnl_stream_default_flags), "stream_create");
	if (st == MR_OK)
		st = grow(d);
	if (st == MR_OK)
		*out = d;
	else
		mr_onednn_destroy(d);
	return st;
}

void mr_onednn_destroy(mr_onednn *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->n_places; i++)
		if (d->table[i].flags)
			matmul_free(&d->table[i]);
	free(d->table);
	free(d->scratch);
	if (d->stream)
		(void)dnnl_stream_destroy(d->stream);
	if (d->engine)
		(void)dnnl_engine_destroy(d->engine);
	free(d);
}

size_t mr_onednn_bytes(const mr_onednn *d)
{
	return sizeof(*d) + d->n_places * sizeof(matmul) + mr_touched_bytes(d->scratch, d->scratch_bytes) + d->n_used * (size_t)75 * 1024;
}

bool mr_onednn_avx512(void)
{
	return ((unsigned)dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

bool mr_onednn_avx2(void)
{
	return ((unsigned)dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;
}

const char *mr_kernels_onednn_library(void)
{
	static _Thread_local char text[64];
	const dnnl_version_t *v = dnnl_version();

	snprintf(text, sizeof(text), "oneDNN %d.%d.%d (%s)", v->major, v->minor, v->patch,
		 mr_onednn_avx512() ? "AVX-512" : mr_onednn_avx2() ? "AVX2" : "below AVX2");
	return text;
}
