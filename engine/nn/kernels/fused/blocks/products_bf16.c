#include "nn/kernels/fused/blocks/products_bf16.h"

#include <stdlib.h>
#include <string.h>

#include "nn/kernels/backend.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/gradients_bf16.h"
#include "nn/kernels/fused/vec/team.h"
#include "nn/kernels/fused/vec/vec_neon.h"
#include "nn/kernels/fused/images/columns.h"
#include "nn/kernels/fused/images/winograd.h"

/* Masters that are averaged at a time. */
enum { PIECE = 16384 };

static const mr_vec_blocks *blocks_for(const mr_vec *vec)
{
#ifdef __x86_64__
	if (vec != &mr_vec_avx512)
		return &mr_vec_blocks_avx2;
	return mr_onednn_bf16() && __builtin_cpu_supports("avx512bf16") ? &mr_vec_blocks_avx512_bf16
									: &mr_vec_blocks_avx512;
#elif defined(__aarch64__)
	return vec ? &mr_vec_blocks_neon : NULL;
#else
	(void)vec;
	return NULL;
#endif
}

mr_status mr_bf16_products_init(mr_kctx *kc, const mr_kernels *k)
{
	const char *why;
	const mr_block_engine *found = mr_block_engine_find(&why);

	kc->blocks = blocks_for(kc->vec);
	/* If none is found, the context is used for f32 only: see mr_kernels_fused_bf16_refusal. */
	kc->engine = found ? *found : (mr_block_engine){.name = "f32", .pairs = 1};
	if (!kc->engine.block)
		kc->engine.block = kc->blocks->block;
	kc->block.l2_bytes = k->l2_bytes ? (int64_t)k->l2_bytes : MR_BLOCK_L2;
	kc->masters = malloc((PIECE + MR_AVERAGING_MOST + 1) * sizeof(float));
	return kc->masters ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a kernel context");
}

void mr_bf16_products_fini(mr_kctx *kc)
{
	mr_block_scratch_fini(&kc->block);
	free(kc->masters);
}

size_t mr_bf16_products_bytes(const mr_kctx *kc)
{
	return mr_block_scratch_bytes(&kc->block) +
	       (kc->masters ? (PIECE + MR_AVERAGING_MOST + 1) * sizeof(float) : 0);
}

static void team(const mr_kctx *kc, mr_vec_fn *fn, const void *args, int64_t n, int64_t weight)
{
	mr_team_run(kc->n_threads, fn, args, n, 64, weight);
}

/* --- products ----------------------------------------------------------------------------------------------------- */

static bool by_onednn(const mr_kctx *kc, const mr_gemm *g)
{
	return kc->chooses && mr_chosen_gemm(&kc->chosen, g);
}

/* A product computed by oneDNN in f32, whose epilogue is still to be applied. */
typedef struct finishing {
	const mr_vec_blocks *vec;
	const mr_block_out *out;
	const float *sum;
} finishing;

static void finish_rows(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const finishing *f = args;
	int64_t n = f->out->n;

	(void)worker;
	f->vec->finish(f->out, f->sum + lo * n, n, MR_BLOCK, lo, 0, hi - lo, n);
}

static mr_status library_product(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const mr_block_out *out)
{
	mr_gemm plain = {.of = g->of, .m = g->m, .n = g->n, .k = g->k, .ta = g->ta, .tb = g->tb};
	finishing f = {kc->blocks, out, out->c};
	int64_t n = g->m * g->n;
	float *room;

	if (out->gradient) {
		plain.add = g->add;
		MR_TRY(mr_onednn_gemm_bf16(kc->onednn, &plain, a, b, NULL, out->c));
		if (out->step)
			team(kc, finish_rows, &f, g->m, g->n);
		return MR_OK;
	}
	MR_TRY(mr_fused_room(kc, n, &room));
	f.sum = room;
	MR_TRY(mr_onednn_gemm_bf16(kc->onednn, &plain, a, b, NULL, room));
	mr_team_run(kc->n_threads, finish_rows, &f, g->m, 1, g->n);
	return MR_OK;
}

/* Computes the sum of @n products of one shape; with @out->add it is added to the previous C. */
static mr_status our_product(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b,
			     const mr_block_out *out)
{
	mr_block_gemm all = {.vec = kc->blocks,
			     .engine = &kc->engine,
			     .m = g->m,
			     .n = g->n,
			     .k = g->k,
			     .ta = g->ta,
			     .tb = g->tb,
			     .pieces = n,
			     .as = (const uint16_t *const *)a,
			     .bs = (const uint16_t *const *)b,
			     .packed = g->packed,
			     .packs = g->packs,
			     .backward = g->backward,
			     .out = *out};

	return mr_block_gemm_run(&all, kc->n_threads, &kc->block);
}

size_t mr_bf16_packed_bytes(const mr_kernels *k, const mr_gemm *g)
{
	const char *why;
	const mr_block_engine *engine = mr_block_engine_find(&why);
	mr_block_gemm of = {.engine = engine, .m = g->m, .n = g->n, .k = g->k, .ta = g->ta, .tb = g->tb, .pieces = 1};

	(void)k;
	return engine ? mr_block_packed_bytes(&of) : 0;
}

size_t mr_bf16_panel_bytes(const mr_kernels *k, const mr_gemm *g)
{
	const char *why;
	const mr_block_engine *engine = mr_block_engine_find(&why);

	return engine && g->m <= engine->kept_most ? mr_bf16_packed_bytes(k, g) : 0;
}

/* The same by what the table of choices names for this shape. */
static mr_status product(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b,
			 const mr_block_out *out)
{
	mr_gemm part = *g;

	if (!by_onednn(kc, g))
		return our_product(kc, g, n, a, b, out);
	for (uint32_t j = 0; j < n; j++) {
		mr_block_out o = *out;

		if (j + 1 < n)
			o.step = NULL;
		MR_TRY(library_product(kc, &part, a[j], b[j], &o));
		part.add = true;
	}
	return MR_OK;
}

static mr_status column_sums(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b)
{
	mr_colsum_args of_a = {.rows = g->k, .cols = g->m, .x = a, .y = g->colsum_a, .add = g->add};
	mr_colsum_args of_b = {.rows = g->k, .cols = g->n, .x = b, .y = g->colsum_b, .add = g->add};

	if (of_a.y)
		MR_TRY((kc->pure ? mr_pure_colsum : mr_fused_colsum)(kc, &of_a));
	return of_b.y ? (kc->pure ? mr_pure_colsum : mr_fused_colsum)(kc, &of_b) : MR_OK;
}

static mr_block_out out_of(const mr_kctx *kc, const mr_gemm *g, void *c)
{
	return (mr_block_out){.n = g->n, .c = c, .gradient = g->of == MR_GEMM_GRADIENTS && !kc->pure, .add = g->add};
}

mr_status mr_bf16_gemm(mr_kctx *kc, const mr_gemm_args *o)
{
	const mr_gemm *g = o->g;
	mr_block_out out = out_of(kc, g, o->c);

	if (g->of == MR_GEMM_STATE && !kc->pure)
		return mr_fused_gemm(kc, o);
	out.bias = g->bias ? o->bias : NULL;
	out.act = g->act;
	out.aux = o->aux;
	out.addend = g->addend;
	out.through = g->fuse_act_backward;
	out.through_aux = g->fuse_act_backward_aux;
	MR_TRY(product(kc, g, 1, &o->a, &o->b, &out));
	return column_sums(kc, g, o->a, o->b);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

mr_block_step mr_bf16_step_of(const mr_kctx *kc, const mr_step *s, const void *g)
{
	return (mr_block_step){.rule = mr_fused_vec_step(s),
			       .src = s->src,
			       .dst = s->dst,
			       .src_rest = s->src_rest,
			       .dst_rest = s->dst_rest,
			       .g = g,
			       .along = s->along_weights,
			       .rounding = kc->pure ? &s->rounding : NULL};
}

mr_status mr_bf16_step(mr_kctx *kc, const mr_step_args *o)
{
	const mr_step *s = o->s;
	mr_block_step step = mr_bf16_step_of(kc, s, o->g);

	team(kc, kc->pure ? kc->blocks->step_rounded[s->kind] : kc->blocks->step[s->kind], &step, o->n, 2);
	return MR_OK;
}

mr_status mr_bf16_gemm_sum(mr_kctx *kc, const mr_gemm_sum_args *o)
{
	const mr_gemm *g = o->g;
	uint32_t n = o->n;
	const mr_step *s = o->s;
	mr_block_out out = out_of(kc, g, o->c);
	mr_gemm part = *g;
	mr_block_step step;

	/* One after the other: each addition is rounded. */
	for (uint32_t j = 0; kc->pure && n > 1 && j < n; j++, part.add = true)
		MR_TRY(mr_bf16_gemm_sum(kc, &(mr_gemm_sum_args){.g = &part, .n = 1, .a = &o->a[j], .b = &o->b[j],
								.c = o->c, .s = j + 1 < n ? NULL : s}));
	if (kc->pure && n > 1)
		return MR_OK;
	if (s) {
		step = mr_bf16_step_of(kc, s, NULL);
		out.step = &step;
	}
	MR_TRY(product(kc, g, n, o->a, o->b, &out));
	for (uint32_t j = 0; j < n; j++, part.add = true)
		MR_TRY(column_sums(kc, &part, o->a[j], o->b[j]));
	return MR_OK;
}

mr_status mr_bf16_gemm_step(mr_kctx *kc, const mr_gemm_step_args *o)
{
	return mr_bf16_gemm_sum(kc, &(mr_gemm_sum_args){.g = o->g, .n = 1, .a = &o->a, .b = &o->b, .c = o->c,
							.s = o->s});
}

/* The columns of A that produce the requested rows of C. */
typedef struct picking {
	const mr_gemm_rows *r;
	int64_t m;
	const uint16_t *a;
} picking;

static void pick(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const picking *p = args;
	uint16_t *to = (uint16_t *)p->r->room + lo * p->r->n;

	(void)worker;
	for (int64_t l = lo; l < hi; l++)
		for (int64_t i = 0; i < p->r->n; i++)
			*to++ = p->a[l * p->m + p->r->row[i]];
}

/* The requested rows are computed a second time, since an element has the same bits whatever the number of rows, as
 * long as our kernels compute both: the table of choices, which may name oneDNN for the fewer rows, is not asked about
 * them. But oneDNN may sum in another order when there are fewer rows: then C is stored and its rows are copied. */
mr_status mr_bf16_gemm_step_rows(mr_kctx *kc, const mr_gemm_step_rows_args *o)
{
	const mr_gemm *g = o->g;
	const mr_step *s = o->s;
	const mr_gemm_rows *r = o->r;
	picking p = {.r = r, .m = g->m, .a = o->a};
	mr_block_out out = out_of(kc, g, r->out);
	const void *columns = r->room;
	mr_gemm few = *g;

	if (by_onednn(kc, g)) {
		size_t row = (size_t)g->n * (kc->pure ? sizeof(uint16_t) : sizeof(float));

		MR_TRY(mr_bf16_gemm(kc, &(mr_gemm_args){.g = g, .a = o->a, .b = o->b, .c = o->c}));
		for (int64_t i = 0; i < r->n; i++)
			memcpy((char *)r->out + (size_t)i * row, (const char *)o->c + (size_t)r->row[i] * row, row);
		return mr_bf16_step(kc, &(mr_step_args){.n = g->m * g->n, .s = s, .g = o->c});
	}
	few.m = r->n;
	mr_team_run(kc->n_threads, pick, &p, g->k, 1, r->n);
	if (r->n)
		MR_TRY(our_product(kc, &few, 1, &columns, &o->b, &out));
	return mr_bf16_gemm_step(kc, &(mr_gemm_step_args){.g = g, .a = o->a, .b = o->b, .c = o->c, .s = s});
}

/* --- averages of weights ------------------------------------------------------------------------------------------ */

static void *at(const void *tensor, int64_t i, size_t bytes)
{
	return tensor ? (char *)(uintptr_t)tensor + (size_t)i * bytes : NULL;
}

static void join(const mr_kctx *kc, int64_t n, const void *from, const void *rest, int64_t i, float *wide)
{
	team(kc, kc->blocks->join,
	     &(mr_block_masters){.from = at(from, i, 2), .from_rest = at(rest, i, 2), .wide = wide}, n, 1);
}

static void split(const mr_kctx *kc, int64_t n, float *wide, const void *to, const void *rest, int64_t i)
{
	team(kc, kc->blocks->split,
	     &(mr_block_masters){.to = at(to, i, 2), .to_rest = at(rest, i, 2), .wide = wide}, n, 1);
}

/* Averages @len elements from @i on of all copies that @m names. */
static mr_status mix_piece(mr_kctx *kc, const mr_averaging *m, int64_t i, int64_t len)
{
	const void *src[MR_AVERAGING_MOST];
	void *dst[MR_AVERAGING_MOST];
	float *reference = kc->masters + m->n * len;
	mr_averaging piece = *m;

	for (uint32_t r = 0; r < m->n; r++) {
		src[r] = dst[r] = kc->masters + r * len;
		join(kc, len, m->src[r], m->rest ? m->rest[r] : NULL, i, dst[r]);
	}
	if (m->reference)
		join(kc, len, m->reference, m->reference_rest, i, reference);
	piece.src = src;
	piece.dst = dst;
	piece.reference = m->reference ? reference : NULL;
	piece.velocity = at(m->velocity, i, sizeof(float));
	piece.mean = at(m->mean, i, sizeof(float));
	MR_TRY(mr_fused_mix(kc, &(mr_mix_args){.n = len, .m = &piece}));
	if (m->reference)
		split(kc, len, reference, m->reference, m->reference_rest, i);
	for (uint32_t r = 0; r < m->n; r++)
		split(kc, len, dst[r], m->dst[r], m->rest ? m->rest[r] : NULL, i);
	return MR_OK;
}

mr_status mr_bf16_mix(mr_kctx *kc, const mr_mix_args *o)
{
	const mr_averaging *m = o->m;
	int64_t piece = PIECE / (m->n + 1) + 1;

	if (!m->weights)
		return mr_fused_mix(kc, o);
	for (int64_t i = 0; i < o->n; i += piece)
		MR_TRY(mix_piece(kc, m, i, o->n - i < piece ? o->n - i : piece));
	return MR_OK;
}

mr_kernel_by mr_bf16_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	const char *why;
	const mr_block_engine *engine = mr_block_engine_find(&why);
	mr_chosen chosen;

	if (c->is_conv) {
		mr_conv_pass pass = c->id == MR_KERNEL_conv ? MR_CONV_FORWARD
				    : c->id == MR_KERNEL_conv_backward_input ? MR_CONV_INPUT : MR_CONV_WEIGHT;
		const char *name = engine ? engine->name : "f32";

		return mr_columns_takes(&c->conv, name, pass) || mr_winograd_takes_bf16(&c->conv, name, pass)
			       ? MR_BY_FUSED : MR_BY_ONEDNN;
	}
	if (!c->is_gemm)
		return MR_BY_FUSED;
	if (c->gemm.of == MR_GEMM_STATE && !mr_types_pure(&k->types))
		return mr_fused_executor(k, n_threads, c);
	if (!k->choices)
		return MR_BY_FUSED;
	mr_choices_select(k->choices, mr_kernels_fused_isa(MR_BF16), MR_BF16, n_threads, &chosen);
	return mr_chosen_gemm(&chosen, &c->gemm) ? MR_BY_ONEDNN : MR_BY_FUSED;
}
