#include "nn/kernel_room.h"

#include <stdlib.h>
#include <string.h>

#include "nn/window.h"

/* Measured: a primitive of oneDNN 2.6 (code, descriptors), with those of another micro-batch of a sum, of which the
 * record has one; packed panels of products in f32, a thread; of products in bf16, all threads; scratch of attention, a
 * thread; transformed tiles of a convolution, a thread, of which the pixels are counted where they are few. */
#define PRIMITIVE ((uint64_t)100 << 10)
#define PANELS ((uint64_t)640 << 10)
#define PANELS_NARROW ((uint64_t)2048 << 10)
#define ATTENTION ((uint64_t)288 << 10)
#define TILES ((uint64_t)640 << 10)

/* Measured: pages of oneDNN's code that its calls touch, and code that it makes once a process; more for recurrences,
 * whose products are its own generated ones. */
#define LIBRARY_CODE ((uint64_t)2 << 20)
#define LIBRARY_CODE_AVX2 ((uint64_t)9 << 19) /* its paths without AVX-512 touch more pages */
#define RECURRENCE_CODE ((uint64_t)7 << 20)

/* What makes two calls one primitive. */
typedef struct key {
	int64_t of[12];
} key;

static key key_of(const mr_kernel_call *c)
{
	const mr_window *w = &c->conv.window;

	if (c->is_gemm)
		return (key){{c->gemm.m, c->gemm.n, c->gemm.k, c->gemm.ta, c->gemm.tb, c->gemm.bias, c->gemm.act,
			      c->gemm.addend != NULL, c->id}};
	if (c->is_conv)
		return (key){{w->samples, w->h, w->w, w->c, w->kernel_h, w->kernel_w, w->stride_h, w->stride_w,
			      c->conv.out, c->conv.groups, c->conv.bias, -(int64_t)c->id}};
	return (key){{c->rows, c->cols, c->id, c->act, c->no_mean, 0, 0, 0, 0, 0, 0, 1}};
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(key));
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Different primitives; a convolution has a reorder besides. */
static uint64_t primitives(const mr_recorded *call, size_t n)
{
	key *all = malloc((n + 1) * sizeof(*all));
	uint64_t found = 0, used = 0;

	for (size_t i = 0; i < n; i++)
		if (call[i].by == MR_BY_ONEDNN) {
			if (all)
				all[used] = key_of(&call[i].call);
			used++;
		}
	if (!all)
		return used;
	if (used)
		qsort(all, used, sizeof(*all), by_bytes);
	for (uint64_t i = 0; i < used; i++)
		if (i == 0 || memcmp(&all[i], &all[i - 1], sizeof(*all)) != 0)
			found += all[i].of[11] < 0 ? 2 : 1;
	free(all);
	return found;
}

/* As many fit one block of tiles (nn/kernels/fused/images), whose transformed weights are no more than a part of them.
 * Widest are its blocks of outputs with AVX-512, of which each thread needs one. */
#define FEW_TILES 48
#define WIDEST_BLOCK 64

/* What a convolution by tiles takes, or a gradient. */
static uint64_t tiles_room(const mr_conv *g, uint32_t n_threads)
{
	const mr_window *v = &g->window;
	uint64_t h = most((uint64_t)v->h, (uint64_t)v->out_h), w = most((uint64_t)v->w, (uint64_t)v->out_w);
	uint64_t tiles = (uint64_t)v->samples * ((h + 1) / 2) * ((w + 1) / 2);
	uint64_t c = (uint64_t)v->c, out = (uint64_t)g->out, narrowest = c < out ? c : out;

	if (tiles > FEW_TILES || narrowest / WIDEST_BLOCK < n_threads)
		return 16 * sizeof(float) * c * out + n_threads * TILES;
	return n_threads * (16 * sizeof(float) * tiles * most(c, out) + TILES);
}

/* Pairs of a product's round (nn/kernels/fused/blocks/block_gemm.h). */
#define ROUND 2048

/* What a convolution takes as a product of bf16 numbers, or a gradient, besides the panels of a product: the operand
 * that threads share, sums between rounds, and pixels that strides leave apart. */
static uint64_t columns_room(const mr_kernel_call *c)
{
	const mr_window *w = &c->conv.window;
	bool weight = c->id != MR_KERNEL_conv && c->id != MR_KERNEL_conv_backward_input;
	bool input = c->id == MR_KERNEL_conv_backward_input;
	uint64_t pixels = (uint64_t)(input ? mr_window_in_pixels(w) : mr_window_out_pixels(w));
	uint64_t columns = (uint64_t)(mr_conv_weights(&c->conv) / (input ? w->c : c->conv.out));
	uint64_t m = weight ? columns : pixels, n = (uint64_t)(input ? w->c : c->conv.out);
	uint64_t all = (uint64_t)(c->flops / (2 * (double)mr_conv_weights(&c->conv))); /* pixels of a sum */
	uint64_t pairs = ((weight ? all : columns) + 1) / 2;
	uint64_t shared = sizeof(uint32_t) * (m < n ? m : n) * (pairs < ROUND ? pairs : ROUND);
	uint64_t carry = weight || pairs <= ROUND ? 0 : sizeof(float) * m * n;

	return shared + carry + (input && (w->stride_h > 1 || w->stride_w > 1) ? sizeof(uint16_t) * m * n / 2 : 0);
}

/* Does that compute what our kernels have of convolutions? Else it is tiles of pixels. */
static bool as_columns(const mr_kernels *k)
{
	const char *engine = mr_dtype_is_narrow(k->types.weights) ? mr_kernels_bf16_engine(k) : NULL;

	return engine && (!strcmp(engine, "amx") || !strcmp(engine, "model"));
}

/* Buffers of the largest convolution: @own that oneDNN's format takes, @shared for operands and sums. */
static void convolutions(const mr_kernels *k, uint32_t n_threads, const mr_recorded *call, size_t n, uint64_t *own,
			 uint64_t *shared)
{
	bool narrow = mr_dtype_is_narrow(k->types.weights), columns = as_columns(k);

	*own = *shared = 0;
	for (size_t i = 0; i < n; i++) {
		const mr_conv *g = &call[i].call.conv;
		uint64_t w, in, out;

		if (!call[i].call.is_conv || call[i].by == MR_BY_REFERENCE)
			continue;
		if (call[i].by != MR_BY_ONEDNN) {
			*shared = most(*shared, columns ? PANELS_NARROW + columns_room(&call[i].call)
							: tiles_room(g, n_threads));
			continue;
		}
		w = sizeof(float) * (uint64_t)mr_conv_weights(g);
		in = sizeof(float) * (uint64_t)mr_conv_in(g);
		out = sizeof(float) * (uint64_t)mr_conv_out(g);
		*own = most(*own, w);
		*shared = most(*shared, narrow ? 2 * w + in + out : most(w, in));
	}
}

/* The reference's turned operand of the largest product. */
static uint64_t turned(const mr_kernels *k, const mr_recorded *call, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		if (call[i].call.is_gemm && call[i].by == MR_BY_REFERENCE && call[i].call.gemm.tb)
			bytes = most(bytes, (uint64_t)(call[i].call.gemm.k * call[i].call.gemm.n) *
						    mr_dtype_bytes(k->types.compute));
	return bytes;
}

/* Packed operands of our products: panels, and of small products no more than all their operands. */
static uint64_t panels(const mr_kernels *k, uint32_t n_threads, const mr_recorded *call, size_t n)
{
	uint64_t whole = 0, cut = mr_dtype_is_narrow(k->types.weights) ? PANELS_NARROW : n_threads * PANELS;

	for (size_t i = 0; i < n; i++) {
		const mr_gemm *g = &call[i].call.gemm;

		if (call[i].call.is_gemm && call[i].by != MR_BY_REFERENCE)
			whole = most(whole, sizeof(float) * (uint64_t)(g->m * g->k + g->k * g->n + g->m * g->n));
	}
	return whole < cut ? whole : cut;
}

/* Operands and result of the largest product in bf16 that oneDNN computes in f32. */
static uint64_t widened(const mr_recorded *call, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		const mr_gemm *g = &call[i].call.gemm;

		if (call[i].call.is_gemm && call[i].by == MR_BY_F32)
			bytes = most(bytes, sizeof(float) * (uint64_t)(g->m * g->k + g->k * g->n + g->m * g->n));
	}
	return bytes;
}

uint64_t mr_kernel_room(const mr_kernels *k, uint32_t n_threads, const mr_recorded *call, size_t n)
{
	uint64_t own, shared, attention = 0, recurrence = 0;

	for (size_t i = 0; i < n; i++)
		recurrence = most(recurrence, call[i].call.library);
	for (size_t i = 0; i < n; i++)
		if (call[i].call.id == MR_KERNEL_attn && call[i].by != MR_BY_REFERENCE)
			attention = n_threads * ATTENTION;
	convolutions(k, n_threads, call, n, &own, &shared);
	return turned(k, call, n) + primitives(call, n) * PRIMITIVE + own + shared + panels(k, n_threads, call, n) +
	       widened(call, n) + attention + recurrence;
}

uint64_t mr_kernel_code(const mr_recorded *call, size_t n)
{
	bool avx512 = !strcmp(mr_kernels_isa(MR_F32), "avx512");
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		if (call[i].call.library)
			bytes = RECURRENCE_CODE;
		else if (call[i].by == MR_BY_ONEDNN || call[i].by == MR_BY_F32)
			bytes = most(bytes, avx512 ? LIBRARY_CODE : LIBRARY_CODE_AVX2);
	return bytes;
}
