#include "nn/kernels/onednn/onednn_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef MR_OPENMP
#include <omp.h>
#else
#include <dlfcn.h>
#endif

#include "nn/kernels/backend.h"

mr_status mr_onednn_check(dnnl_status_t st, const char *what)
{
	return st == dnnl_success ? MR_OK : mr_fail(MR_EDNN, "oneDNN: %s failed with status %d", what, (int)st);
}

/* --- memory descriptors and attributes, in both interfaces -------------------------------------------------------- */

static dnnl_status_t md_strided(md_t *md, dnnl_data_type_t type, int n_dims, const dnnl_dims_t dims,
				const dnnl_dims_t strides)
{
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_memory_desc_create_with_strides(md, n_dims, dims, type, strides);
#else
	return dnnl_memory_desc_init_by_strides(md, n_dims, dims, type, strides);
#endif
}

mr_status mr_onednn_md_matrix_of(md_t *md, dnnl_data_type_t type, int64_t rows, int64_t cols, int64_t row_stride,
				 int64_t col_stride)
{
	dnnl_dims_t dims = {rows, cols}, strides = {row_stride, col_stride};

	return mr_onednn_check(md_strided(md, type, 2, dims, strides), "memory_desc");
}

mr_status mr_onednn_md_matrix(md_t *md, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride)
{
	return mr_onednn_md_matrix_of(md, dnnl_f32, rows, cols, row_stride, col_stride);
}

mr_status mr_onednn_md_row(md_t *md, int64_t n)
{
	dnnl_dims_t dims = {n}, strides = {1};

	return mr_onednn_check(md_strided(md, dnnl_f32, 1, dims, strides), "memory_desc");
}

md_arg mr_onednn_md(const md_t *md)
{
#if DNNL_VERSION_MAJOR >= 3
	return *md;
#else
	return md->ndims ? md : NULL;
#endif
}

void mr_onednn_md_free(md_t *md)
{
#if DNNL_VERSION_MAJOR >= 3
	if (*md)
		(void)dnnl_memory_desc_destroy(*md);
#else
	(void)md;
#endif
}

static dnnl_status_t append(dnnl_post_ops_t ops, const onednn_post_ops *after)
{
	dnnl_status_t st = dnnl_success;

#if DNNL_VERSION_MAJOR >= 3
	if (after->add)
		st = dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
	if (st == dnnl_success && after->addend)
		st = dnnl_post_ops_append_binary(ops, dnnl_binary_add, after->addend);
	if (st == dnnl_success && after->gelu)
		st = dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_gelu_tanh, 0, 0);
#else
	if (after->add)
		st = dnnl_post_ops_append_sum(ops, 1.0f);
	if (st == dnnl_success && after->addend)
		st = dnnl_post_ops_append_binary(ops, dnnl_binary_add, after->addend);
	if (st == dnnl_success && after->gelu)
		st = dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_gelu_tanh, 0, 0);
#endif
	return st;
}

mr_status mr_onednn_attr(const onednn_post_ops *after, dnnl_primitive_attr_t *attr)
{
	dnnl_post_ops_t ops = NULL;
	mr_status st = mr_onednn_check(dnnl_primitive_attr_create(attr), "attr_create");

	if (st == MR_OK)
		st = mr_onednn_check(dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user),
				     "set_scratchpad_mode");
	if (st == MR_OK)
		st = mr_onednn_check(dnnl_post_ops_create(&ops), "post_ops_create");
	if (st == MR_OK)
		st = mr_onednn_check(append(ops, after), "post-operations");
	if (st == MR_OK)
		st = mr_onednn_check(dnnl_primitive_attr_set_post_ops(*attr, ops), "set_post_ops");
	if (ops)
		(void)dnnl_post_ops_destroy(ops);
	return st;
}

/* The library reads the calling thread's team size from OpenMP when a primitive is built and again when it runs. */
void mr_onednn_set_threads(const mr_onednn *d)
{
#ifdef MR_OPENMP
	if (omp_get_max_threads() != d->n_threads)
		omp_set_num_threads(d->n_threads);
#else
	if (d->set_num_threads)
		d->set_num_threads(d->n_threads);
#endif
}

/* --- making a primitive ------------------------------------------------------------------------------------------- */

/* The library has primitives that write beyond the scratchpad that they declare. In builds with fault points the bytes
 * behind it hold a pattern, which every execution must leave as it is; the room
 * keeps what follows from harm. */
#ifdef MR_FAULTS
enum { GUARD_BYTES = 256, GUARD_ROOM = 65536, GUARD = 0xA5 };

static void set_guard(const mr_onednn *d, const onednn_primitive *p)
{
	memset((char *)d->scratch.at + p->scratch_bytes, GUARD, GUARD_BYTES);
}

static mr_status check_guard(const mr_onednn *d, const onednn_primitive *p)
{
	const unsigned char *guard = (const unsigned char *)d->scratch.at + p->scratch_bytes;

	for (size_t i = 0; i < GUARD_BYTES; i++)
		if (guard[i] != GUARD)
			return mr_fail(MR_EDNN, "oneDNN wrote beyond the %zu bytes of a primitive's scratchpad",
				       p->scratch_bytes);
	return MR_OK;
}
#else
enum { GUARD_ROOM = 0 };

static void set_guard(const mr_onednn *d, const onednn_primitive *p)
{
	(void)d, (void)p;
}

static mr_status check_guard(const mr_onednn *d, const onednn_primitive *p)
{
	(void)d, (void)p;
	return MR_OK;
}
#endif

static mr_status add_arg(mr_onednn *d, onednn_primitive *p, onednn_arg a)
{
	dnnl_exec_arg_t *arg = &p->arg[p->n_args];

	arg->arg = a.id;
	arg->memory = NULL;
	MR_TRY(mr_onednn_check(dnnl_memory_create(&arg->memory, a.md, d->engine, DNNL_MEMORY_NONE), "memory_create"));
	p->n_args++;
	return MR_OK;
}

mr_status mr_onednn_finish(mr_onednn *d, onednn_primitive *p, dnnl_primitive_desc_t pd, const onednn_arg *arg,
			   uint32_t n)
{
	md_arg scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);

	MR_TRY(mr_onednn_check(dnnl_primitive_create(&p->primitive, pd), "primitive_create"));
	for (uint32_t i = 0; i < n; i++)
		MR_TRY(add_arg(d, p, arg[i]));
	MR_TRY(add_arg(d, p, (onednn_arg){DNNL_ARG_SCRATCHPAD, scratch}));
	p->scratch_bytes = dnnl_memory_desc_get_size(scratch);
	return mr_scratch_grow(&d->scratch, p->scratch_bytes + GUARD_ROOM);
}

void mr_onednn_primitive_free(onednn_primitive *p)
{
	for (uint32_t i = 0; i < p->n_args; i++)
		(void)dnnl_memory_destroy(p->arg[i].memory);
	if (p->primitive)
		(void)dnnl_primitive_destroy(p->primitive);
	memset(p, 0, sizeof(*p));
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static onednn_primitive *find_place(onednn_primitive *table, uint32_t n_places, const onednn_primitive *key)
{
	uint64_t h = (uint64_t)key->m * 0x9E3779B97F4A7C15u ^ (uint64_t)key->n * 0xC2B2AE3D27D4EB4Fu ^
		     (uint64_t)key->k * 0x165667B19E3779F9u ^ key->flags * 0x85EBCA77u;

	for (uint64_t i = h ^ (h >> 32);; i++) {
		onednn_primitive *p = &table[i & (n_places - 1)];

		if (p->flags == 0 || (p->flags == key->flags && p->m == key->m && p->n == key->n && p->k == key->k))
			return p;
	}
}

static mr_status grow(mr_onednn *d)
{
	uint32_t n = d->n_places ? 2 * d->n_places : 64;
	onednn_primitive *table = calloc(n, sizeof(*table));

	if (!table)
		return mr_fail(MR_ERESOURCE, "no memory for a table of %u primitives", n);
	for (uint32_t i = 0; i < d->n_places; i++) {
		const onednn_primitive *p = &d->table[i];

		if (p->flags)
			*find_place(table, n, p) = *p;
	}
	free(d->table);
	d->table = table;
	d->n_places = n;
	return MR_OK;
}

mr_status mr_onednn_execute(mr_onednn *d, onednn_primitive *p, const void *const *data)
{
	mr_onednn_set_threads(d);
	for (uint32_t i = 0; i < p->n_args; i++)
		MR_TRY(mr_onednn_check(dnnl_memory_set_data_handle(p->arg[i].memory, i + 1 < p->n_args
							      ? (void *)(uintptr_t)data[i] : d->scratch.at),
				       "set_data_handle"));
	set_guard(d, p);
	MR_TRY(mr_onednn_check(dnnl_primitive_execute(p->primitive, d->stream, (int)p->n_args, p->arg), "execute"));
	return check_guard(d, p);
}

mr_status mr_onednn_run(mr_onednn *d, const onednn_primitive *key, onednn_build_fn *build, const void *const *data)
{
	onednn_primitive *p = find_place(d->table, d->n_places, key);

	mr_onednn_set_threads(d);
	if (p->flags == 0) {
		mr_status st;

		if (2 * d->n_used >= d->n_places) {
			MR_TRY(grow(d));
			p = find_place(d->table, d->n_places, key);
		}
		*p = (onednn_primitive){.m = key->m, .n = key->n, .k = key->k, .flags = key->flags};
		st = build(d, p);
		if (st != MR_OK) {
			mr_onednn_primitive_free(p);
			return st;
		}
		d->n_used++;
	}
	return mr_onednn_execute(d, p, data);
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
	mr_onednn_set_threads(d);
	st = mr_onednn_check(dnnl_engine_create(&d->engine, dnnl_cpu, 0), "engine_create");
	if (st == MR_OK)
		st = mr_onednn_check(dnnl_stream_create(&d->stream, d->engine, dnnl_stream_default_flags),
				     "stream_create");
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
			mr_onednn_primitive_free(&d->table[i]);
	mr_onednn_convs_free(d);
	mr_onednn_recurrents_free(d);
	free(d->table);
	free(d->scratch.at);
	if (d->stream)
		(void)dnnl_stream_destroy(d->stream);
	if (d->engine)
		(void)dnnl_engine_destroy(d->engine);
	free(d);
}

size_t mr_onednn_bytes(const mr_onednn *d)
{
	size_t primitives = d->n_used + 2 * d->n_convs + 6 * d->n_recurrents;

	return sizeof(*d) + d->n_places * sizeof(onednn_primitive) + mr_scratch_touched(&d->scratch) +
	       primitives * 75 * 1024 + mr_scratch_touched(&d->weights);
}

/* On Arm the same numbers have other meanings. */
static bool has_isa(dnnl_cpu_isa_t isa)
{
#ifdef __x86_64__
	return ((unsigned)dnnl_get_effective_cpu_isa() & isa) == isa;
#else
	(void)isa;
	return false;
#endif
}

bool mr_onednn_avx512(void)
{
	return has_isa(dnnl_cpu_isa_avx512_core);
}

bool mr_onednn_bf16(void)
{
	return has_isa(dnnl_cpu_isa_avx512_core_bf16);
}

bool mr_onednn_amx(void)
{
	return has_isa(dnnl_cpu_isa_avx512_core_amx);
}

bool mr_onednn_avx2(void)
{
	return has_isa(dnnl_cpu_isa_avx2);
}

const char *mr_kernels_onednn_library(void)
{
	static _Thread_local char text[64];
	const dnnl_version_t *v = dnnl_version();
#ifdef __aarch64__
	const char *isa = "Arm";
#else
	const char *isa = mr_onednn_avx512() ? "AVX-512" : mr_onednn_avx2() ? "AVX2" : "below AVX2";
#endif

	snprintf(text, sizeof(text), "oneDNN %d.%d.%d (%s)", v->major, v->minor, v->patch, isa);
	return text;
}
