/*
 * fused.c - the backend `fused`: the vector kernels of vec.h execute most products (gemm.h) and all other operations;
 * oneDNN executes the other products.
 *
 * This file distributes the work over threads. A call goes through team(), which cuts the range of its kernel into one
 * piece for each thread; contexts with one thread, and calls too small to share, never enter OpenMP.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/bf16.h"
#include "nn/kernels/backend.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/blocks/products_bf16.h"
#include "nn/kernels/step_rules.h"
#include "nn/kernels/fused/vec/team.h"
#include "nn/kernels/fused/vec/vec_neon.h"
#include "nn/kernels/fused/images/columns.h"
#include "nn/kernels/fused/images/winograd.h"

/* Rows whose losses are held on the stack at a time, to be added in order. */
#define LOSS_ROWS 1024

/* Columns whose sums over rows are held on the stack. */
#define NORM_COLS 1024

/* NULL: there are no kernels for this CPU. Each of aarch64 has NEON. */
static const mr_vec *vec_of_cpu(void)
{
#ifdef __x86_64__
	if (mr_onednn_avx512() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		return &mr_vec_avx512;
	if (mr_onednn_avx2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("bmi2"))
		return &mr_vec_avx2;
#elif defined(__aarch64__)
	return &mr_vec_neon;
#endif
	return NULL;
}

/* The same on activations of type @t. */
static const mr_vec_ops *ops_of_cpu(const mr_vec *vec, mr_dtype t)
{
#ifdef __x86_64__
	if (vec && t == MR_BF16)
		return vec != &mr_vec_avx512 ? &mr_vec_ops_bf16_avx2
		       : mr_onednn_bf16() && __builtin_cpu_supports("avx512bf16")
			       ? &mr_vec_ops_bf16_avx512_bf16
			       : &mr_vec_ops_bf16_avx512;
#elif defined(__aarch64__)
	if (vec && t == MR_BF16)
		return &mr_vec_ops_bf16_neon;
#endif
	(void)t;
	return vec ? &vec->ops : NULL;
}

static const char needs[] = "it needs a CPU with AVX2 and FMA, or of Arm with 64 bits; use backend reference";

const char *mr_kernels_fused_refusal(void)
{
	return vec_of_cpu() ? NULL : needs;
}

const char *mr_kernels_fused_bf16_refusal(void)
{
	const char *why = mr_kernels_fused_refusal(), *engine;

	return why || mr_block_engine_find(&engine) ? why : engine;
}

const char *mr_kernels_fused_isa(mr_dtype dtype)
{
#ifdef __x86_64__
	const char *why;
	const mr_block_engine *e = dtype == MR_BF16 ? mr_block_engine_find(&why) : NULL;

	if (e && strcmp(e->name, "f32") != 0)
		return e->name;
	return vec_of_cpu() == &mr_vec_avx512 ? "avx512" : vec_of_cpu() == &mr_vec_avx2 ? "avx2" : "none";
#else
	(void)dtype;
	return vec_of_cpu() ? "neon" : "none";
#endif
}

/* Returns MR_OK: kernels cannot fail. */
static mr_status team(const mr_kctx *kc, mr_vec_fn *fn, const void *args, int64_t n, int64_t step, int64_t weight)
{
	mr_team_run(kc->n_threads, fn, args, n, step, weight);
	return MR_OK;
}

/* --- context ------------------------------------------------------------------------------------------------------ */

static void ctx_destroy(mr_kctx *kc)
{
	if (!kc)
		return;
	mr_onednn_destroy(kc->onednn);
	free(kc->attn.at);
	mr_angles_destroy(kc->angles);
	free(kc->gemm.room.at);
	mr_bf16_products_fini(kc);
	mr_f32_inside_destroy(kc->inside);
	free(kc->ones.at);
	free(kc->room.at);
	free(kc->gradients.at);
	free(kc);
}

static mr_status ctx_create(const mr_kernels *k, uint32_t n_threads, mr_kctx **out)
{
	mr_kctx *kc = calloc(1, sizeof(*kc));
	mr_status st;

	*out = NULL;
	if (!kc)
		return mr_fail(MR_ERESOURCE, "no memory for a kernel context");
	kc->n_threads = n_threads ? n_threads : 1;
	kc->vec = vec_of_cpu();
	kc->ops = ops_of_cpu(kc->vec, k->types.activations);
	kc->loops = mr_loops_of(&k->types);
	kc->pure = mr_types_pure(&k->types);
	kc->chooses = k->choices;
	if (k->choices)
		mr_choices_select(k->choices, mr_kernels_fused_isa(k->types.weights), k->types.weights, kc->n_threads,
				  &kc->chosen);
	st = kc->vec ? mr_onednn_create(kc->n_threads, &kc->onednn)
		     : mr_fail(MR_ECONFIG, "backend fused: %s", needs);
	if (st == MR_OK && k->types.weights == MR_BF16)
		st = mr_bf16_products_init(kc, k);
	if (st == MR_OK && k->types.weights == MR_BF16 && kc->chooses)
		st = mr_f32_inside_create(kc->n_threads, &kc->inside);
	if (st == MR_OK)
		*out = kc;
	else
		ctx_destroy(kc);
	return st;
}

static size_t ctx_bytes(const mr_kctx *kc)
{
	return sizeof(*kc) + mr_onednn_bytes(kc->onednn) + mr_scratch_touched(&kc->attn) +
	       mr_scratch_touched(&kc->gemm.room) + kc->ones.bytes + kc->room.bytes + kc->gradients.bytes +
	       mr_angles_bytes(kc->angles) + mr_bf16_products_bytes(kc) + mr_f32_inside_bytes(kc->inside);
}

mr_status mr_fused_room(mr_kctx *kc, int64_t n, float **out)
{
	MR_TRY(mr_scratch_grow(&kc->room, (size_t)n * sizeof(**out)));
	*out = kc->room.at;
	return MR_OK;
}

/* --- gemm, sum, activations, norm --------------------------------------------------------------------------------- */

#define MR_OPERATION_VEC(id, onednn, bf16, wide, choice, units, step, weight, what) \
	static mr_status id(mr_kctx *kc, const mr_##id##_args *o) \
	{ \
		return team(kc, kc->ops->id, o, units, step, weight); \
	}
#include "nn/kernels.def"

static mr_status sum_gradients(mr_kctx *kc, const mr_sum_gradients_args *o)
{
	mr_sum_args a = {.a = o->a, .b = o->b, .y = o->y};

	return team(kc, kc->vec->ops.sum, &a, o->n, 64, 1);
}

static mr_status act(mr_kctx *kc, const mr_act_args *o)
{
	mr_vec_act a = {.act = o->act, .in = o->x, .out = o->y};

	return team(kc, kc->ops->activate, &a, o->n, 64, o->act == MR_ACT_RELU ? 1 : 4);
}

static mr_status act_backward(mr_kctx *kc, const mr_act_backward_args *o)
{
	mr_vec_act a = {.act = o->act, .in = o->aux, .dy = o->dy, .out = o->dz};

	return team(kc, kc->ops->act_backward, &a, o->n, 64, 1);
}

/* Is this product computed here? Else by oneDNN. */
static bool is_ours(const mr_kctx *kc, const mr_gemm *g, bool step)
{
	return mr_gemm_has_kernel(g, kc->n_threads, step) && !(kc->chooses && mr_chosen_gemm(&kc->chosen, g));
}

size_t mr_fused_packed_bytes(const mr_kernels *k, const mr_gemm *g)
{
	(void)k;
	return mr_gemm_packed_bytes(vec_of_cpu(), g);
}

/* By oneDNN; GELU and the sums of columns are computed after it. */
static mr_status library_gemm(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const void *bias, void *c,
			      void *aux)
{
	mr_vec_act act = {.act = g->act, .in = c, .out = c, .slope = aux};
	mr_gemm product = *g;

	product.act = MR_ACT_NONE;
	MR_TRY(mr_onednn_gemm(kc->onednn, &product, a, b, bias, c));
	if (g->act != MR_ACT_NONE)
		team(kc, kc->vec->act, &act, g->m * g->n, 64, g->act == MR_ACT_GELU ? 4 : 1);
	mr_gemm_sums(kc->vec, kc->n_threads, g, a, b);
	return MR_OK;
}

/* In f32, as all products of this file: also where activations are not. */
static mr_status gemm(mr_kctx *kc, const mr_gemm_args *o)
{
	const mr_gemm *g = o->g;
	bool ours = is_ours(kc, g, false);
	mr_vec_act through;
	mr_gemm now = *g;

	if (g->addend && !(ours && mr_gemm_adds(g, kc->n_threads)))
		now.addend = NULL;
	if (!(ours && mr_gemm_fuses_act_backward(g, kc->n_threads)))
		now.fuse_act_backward = MR_ACT_NONE;
	if (ours)
		MR_TRY(mr_gemm_run(kc->vec, kc->n_threads, &kc->gemm, &now, o->a, o->b, o->bias, o->c, o->aux, NULL));
	else
		MR_TRY(library_gemm(kc, &now, o->a, o->b, o->bias, o->c, o->aux));
	if (g->addend && !now.addend)
		MR_TRY(sum_gradients(kc, &(mr_sum_gradients_args){.n = g->m * g->n, .a = o->c, .b = g->addend,
								  .y = o->c}));
	if (g->fuse_act_backward == now.fuse_act_backward)
		return MR_OK;
	through = (mr_vec_act){.act = g->fuse_act_backward, .in = g->fuse_act_backward_aux, .dy = o->c, .out = o->c};
	return team(kc, kc->vec->ops.act_backward, &through, g->m * g->n, 64, 1);
}

static mr_status colsum(mr_kctx *kc, const mr_colsum_args *o)
{
	mr_gemm_colsum(kc->ops, kc->n_threads, o->rows, o->cols, o->x, o->y, o->add);
	return MR_OK;
}

static mr_status norm(mr_kctx *kc, const mr_norm_args *o)
{
	mr_vec_norm a = {.rows = o->rows, .cols = o->cols, .eps = (float)o->eps, .x = o->x, .gain = o->gain,
			 .shift = o->shift, .y = o->y, .mean = o->mean, .rstd = o->rstd};

	return team(kc, kc->ops->norm, &a, o->rows, 1, o->cols);
}

static mr_status norm_backward_input(mr_kctx *kc, const mr_norm_backward_input_args *o)
{
	mr_vec_norm a = {.rows = o->rows, .cols = o->cols, .x = o->x, .gain = o->gain, .saved_mean = o->mean,
			 .saved_rstd = o->rstd, .dy = o->dy, .dx = o->dx, .add = o->add};

	return team(kc, kc->ops->norm_backward_input, &a, o->rows, 1, o->cols);
}

static mr_status norm_backward_weight(mr_kctx *kc, const mr_norm_backward_weight_args *o)
{
	mr_vec_norm a = {.rows = o->rows, .cols = o->cols, .x = o->x, .saved_mean = o->mean, .saved_rstd = o->rstd,
			 .dy = o->dy, .dgain = o->dgain, .dshift = o->dshift, .add_weight = o->add_weight};

	return team(kc, kc->ops->norm_backward_weight, &a, o->cols, 16, o->rows);
}

/*
 * An element of dgain is one chain of additions over all rows: the thread that has the first rows begins the chain
 * while they are in its cache, and the pass over columns continues it with the rows of the other threads.
 */
static mr_status norm_backward(mr_kctx *kc, const mr_norm_backward_args *o)
{
	int64_t rows = o->rows, cols = o->cols;
	float sums[2 * NORM_COLS] = {0};
	int64_t pieces = mr_team_pieces(kc->n_threads, rows, 1, cols);
	mr_vec_norm a = {.rows = rows, .cols = cols, .x = o->x, .gain = o->gain, .saved_mean = o->mean,
			 .saved_rstd = o->rstd, .dy = o->dy, .dx = o->dx, .dgain = o->dgain, .dshift = o->dshift,
			 .add = o->add, .add_weight = o->add_weight,
			 .first = cols <= NORM_COLS ? rows / pieces : 0, .sums = sums};

	mr_team_run_pieces(pieces, kc->ops->norm_backward_input, &a, rows, 1);
	return team(kc, kc->ops->norm_backward_weight, &a, cols, 16, rows - a.first);
}

/* --- batch normalisation ------------------------------------------------------------------------------------------ */

static mr_status batch_norm(mr_kctx *kc, const mr_batch_norm_args *o)
{
	const mr_batch_norm *b = o->b;
	mr_vec_batch_norm a = {.rows = b->rows, .cols = b->cols, .eps = (float)b->eps, .relu = b->act == MR_ACT_RELU,
			       .given = b->given, .x = o->x, .gain = o->gain, .shift = o->shift, .y = o->y,
			       .mean = o->mean, .variance = o->variance};

	return team(kc, kc->ops->batch_norm, &a, b->cols, 16, 2 * b->rows);
}

static mr_status batch_norm_backward(mr_kctx *kc, const mr_batch_norm_backward_args *o)
{
	const mr_batch_norm *b = o->b;
	mr_vec_batch_norm a = {.rows = b->rows, .cols = b->cols, .eps = (float)b->eps, .relu = b->act == MR_ACT_RELU,
			       .x = o->x, .out = o->y, .gain = o->gain, .mean = (float *)(uintptr_t)o->mean,
			       .variance = (float *)(uintptr_t)o->variance, .dy = o->dy, .dx = o->dx, .add = o->add,
			       .dgain = o->dgain, .dshift = o->dshift};

	return team(kc, kc->ops->batch_norm_backward, &a, b->cols, 16, 2 * b->rows);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

static void attn_saved(const mr_attn *a, mr_saved *out)
{
	mr_saved_add(out, "largest scaled scores and 1 / sums of exponentials, a row of each for every head",
		     (size_t)(a->samples * a->heads * a->t * 2) * sizeof(float));
}

/* The caller gives no scratch: it belongs to the context, because its size depends on the number of threads. */
static size_t attn_scratch_bytes(const mr_attn *a)
{
	(void)a;
	return 0;
}

static mr_status attn_reserve(mr_kctx *kc, const mr_attn *a, bool backward, mr_vec_attn *args)
{
	const mr_block_engine *engine = kc->engine.block ? &kc->engine : NULL;
	size_t floats = (kc->ops->attn_scratch_floats(a, engine, backward) + 1023) & ~(size_t)1023;

	MR_TRY(mr_scratch_grow(&kc->attn, kc->n_threads * floats * sizeof(float)));
	args->a = *a;
	args->engine = engine;
	args->scratch = kc->attn.at;
	args->scratch_floats = floats;
	return MR_OK;
}

static mr_status attn(mr_kctx *kc, const mr_attn_args *o)
{
	const mr_attn *a = o->a;
	mr_vec_attn args = {.qkv = o->qkv, .y = o->y, .saved = o->saved};

	MR_TRY(attn_reserve(kc, a, false, &args));
	return team(kc, kc->ops->attn, &args, a->samples * a->heads, 1, a->t * a->t * a->dim / 8);
}

static mr_status attn_backward(mr_kctx *kc, const mr_attn_backward_args *o)
{
	const mr_attn *a = o->a;
	mr_vec_attn args = {.qkv = o->qkv, .dy = o->dy, .dqkv = o->dqkv, .saved_in = o->saved};

	MR_TRY(attn_reserve(kc, a, true, &args));
	return team(kc, kc->ops->attn_backward, &args, a->samples * mr_attn_kv_heads(a), 1,
	     mr_attn_group(a) * a->t * a->t * a->dim / 4);
}

#include "nn/kernels/fused/images/fused_images.inc"

/* --- rotary positions --------------------------------------------------------------------------------------------- */

static mr_status rope(mr_kctx *kc, const mr_rope_args *o)
{
	const mr_rope *r = o->r;
	mr_vec_rope a = {.r = *r, .x = {o->q, o->k, o->v}, .y = o->y};

	MR_TRY(mr_angles_find(&kc->angles, r, &a.angles, &a.pitch));
	return team(kc, kc->ops->rope, &a, mr_rope_rows(r), 1, mr_rope_width(r));
}

static mr_status rope_backward(mr_kctx *kc, const mr_rope_backward_args *o)
{
	const mr_rope *r = o->r;
	mr_vec_rope a = {.r = *r, .dy = o->dy, .dx = {o->dq, o->dk, o->dv}};

	MR_TRY(mr_angles_find(&kc->angles, r, &a.angles, &a.pitch));
	return team(kc, kc->ops->rope_backward, &a, mr_rope_rows(r), 1, mr_rope_width(r));
}

/* --- dropout ------------------------------------------------------------------------------------------------------ */

static mr_status dropout(mr_kctx *kc, const mr_dropout_args *o)
{
	mr_vec_dropout a = {.samples = o->samples, .per_sample = o->per_sample, .first = o->first,
			    .threshold = mr_dropout_threshold(o->rate), .scale = (float)(1 / (1 - o->rate)),
			    .key = *o->key, .x = o->x, .y = o->y};
	int64_t group = kc->ops->dropout_group;

	return team(kc, kc->ops->dropout, &a, o->samples * ((o->per_sample + group - 1) / group), 1, 2 * group);
}

/* --- losses ------------------------------------------------------------------------------------------------------- */

static double loss(const mr_kctx *kc, mr_vec_fn *fn, mr_vec_loss *a)
{
	double row_loss[LOSS_ROWS], total = 0;
	int64_t rows = a->rows;

	for (int64_t r = 0; r < rows; r += LOSS_ROWS) {
		int64_t n = rows - r < LOSS_ROWS ? rows - r : LOSS_ROWS;

		a->first = r;
		a->row_loss = row_loss;
		team(kc, fn, a, n, 1, 4 * a->cols);
		for (int64_t i = 0; i < n; i++)
			total += row_loss[i];
	}
	return total;
}

static mr_status xent(mr_kctx *kc, const mr_xent_args *o)
{
	mr_vec_loss a = {.rows = o->rows, .cols = o->classes, .x = o->logits, .targets = o->targets,
			 .exps_pitch = (o->classes + 31) / 16 * 16}; /* apart by a line at least */

	if (kc->engine.block)
		MR_TRY(mr_fused_room(kc, kc->n_threads * a.exps_pitch, &a.exps));
	*o->loss = loss(kc, kc->ops->xent, &a) / (double)o->rows;
	return MR_OK;
}

static mr_status mse(mr_kctx *kc, const mr_mse_args *o)
{
	mr_vec_loss a = {.rows = o->rows, .cols = o->cols, .x = o->a, .y = o->y};

	*o->loss = loss(kc, kc->ops->mse, &a) / (2 * (double)o->rows);
	return MR_OK;
}

/* On one thread: it reaches 85 % of the memory bandwidth, and the order of the sum is guaranteed. */
static mr_status sumsq(mr_kctx *kc, const mr_sumsq_args *o)
{
	*o->sum = kc->vec->sumsq(o->n, o->x);
	return MR_OK;
}

/* --- optimizer steps ---------------------------------------------------------------------------------------------- */

mr_vec_step mr_fused_vec_step(const mr_step *s)
{
	int states = mr_step_states(s->kind);
	double rate, rate_g;

	mr_step_rates(s, &rate, &rate_g);
	return (mr_vec_step){
		.kind = s->kind,
		.src = s->src,
		.dst = s->dst,
		.m = states > 0 ? s->m : NULL,
		.v = states > 1 ? s->v : NULL,
		.gscale = (float)s->gscale,
		.couple = (float)s->couple,
		.rate = (float)rate,
		.rate_g = (float)rate_g,
		.keep = (float)(1 - s->decay),
		.mu = (float)s->mu,
		.nesterov = s->nesterov,
		.b1 = (float)s->b1,
		.a1 = (float)(1 - s->b1),
		.b2 = (float)s->b2,
		.a2 = (float)(1 - s->b2),
		.root = s->c2 > 0 ? (float)(1 / sqrt(s->c2)) : 1,
		.eps = (float)s->eps,
	};
}

static mr_status step(mr_kctx *kc, const mr_step_args *o)
{
	const mr_step *s = o->s;
	mr_vec_step a = mr_fused_vec_step(s);

	a.g = o->g;
	return team(kc, kc->vec->step[s->kind], &a, o->n, 64, mr_step_states(s->kind) > 1 ? 2 : 1);
}

static mr_status mix(mr_kctx *kc, const mr_mix_args *o)
{
	const mr_averaging *m = o->m;
	mr_vec_mix a = {.n = m->n,
			.src = (const float *const *)m->src,
			.dst = (float *const *)m->dst,
			.reference = m->reference,
			.velocity = m->velocity,
			.mean = m->mean,
			.alpha = m->alpha,
			.lr = m->lr,
			.mu = m->mu};
	mr_vec_fn *fn = m->kind == MR_AVERAGING_MEAN	  ? kc->vec->mix_mean
			: m->kind == MR_AVERAGING_OUTER ? kc->vec->mix_outer
						  : kc->vec->mix_pull;

	return team(kc, fn, &a, o->n, 64, m->n);
}

static void range_piece(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_ranges_args *o = args;

	(void)worker;
	o->fn(o->args, lo, hi);
}

static mr_status ranges(mr_kctx *kc, const mr_ranges_args *o)
{
	return o->weight ? team(kc, range_piece, o, o->n, 1, o->weight) : team(kc, range_piece, o, o->n, 64, 1);
}

#define MR_OPERATION_LOOPS(id, units, weight, what) MR_LOOPS_CALL(kc->loops, id, units, weight)
#include "nn/kernels.def"

static mr_status gemm_step(mr_kctx *kc, const mr_gemm_step_args *o)
{
	const mr_gemm *g = o->g;
	const mr_step *s = o->s;
	mr_vec_step fused = mr_fused_vec_step(s);

	if (is_ours(kc, g, true))
		return mr_gemm_run(kc->vec, kc->n_threads, &kc->gemm, g, o->a, o->b, NULL, o->c, NULL, &fused);
	MR_TRY(gemm(kc, &(mr_gemm_args){.g = g, .a = o->a, .b = o->b, .c = o->c}));
	return step(kc, &(mr_step_args){.n = g->m * g->n, .s = s, .g = o->c});
}

static mr_status gemm_sum(mr_kctx *kc, const mr_gemm_sum_args *o)
{
	const mr_gemm *g = o->g;
	const mr_step *s = o->s;
	uint32_t last = s ? o->n - 1 : o->n;
	mr_gemm part = *g;
	mr_vec_step fused;

	if (is_ours(kc, g, s != NULL)) {
		if (s)
			fused = mr_fused_vec_step(s);
		return mr_gemm_run_sum(kc->vec, kc->n_threads, &kc->gemm, g, o->n, (const float *const *)o->a,
				       (const float *const *)o->b, o->c, s ? &fused : NULL);
	}
	for (uint32_t j = 0; j < last; j++, part.add = true)
		MR_TRY(gemm(kc, &(mr_gemm_args){.g = &part, .a = o->a[j], .b = o->b[j], .c = o->c}));
	return s ? gemm_step(kc, &(mr_gemm_step_args){.g = &part, .a = o->a[last], .b = o->b[last], .c = o->c, .s = s})
		 : MR_OK;
}

/* Columns of A, which make rows of C. */
typedef struct picking {
	const mr_gemm_rows *r;
	int64_t m;
	const float *a;
} picking;

static void pick(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const picking *p = args;
	float *to = (float *)p->r->room + lo * p->r->n;

	(void)worker;
	for (int64_t l = lo; l < hi; l++)
		for (int64_t i = 0; i < p->r->n; i++)
			*to++ = p->a[l * p->m + p->r->row[i]];
}

/* The kernels here do not write C, but an element has the same bits for any number of rows: the rows that are needed
 * are computed once more. oneDNN may sum in another order for fewer rows, but it has written C. */
static mr_status gemm_step_rows(mr_kctx *kc, const mr_gemm_step_rows_args *o)
{
	const mr_gemm *g = o->g;
	const mr_step *s = o->s;
	const mr_gemm_rows *r = o->r;
	picking p = {.r = r, .m = g->m, .a = o->a};
	size_t bytes = (size_t)g->n * sizeof(float);
	mr_gemm few = *g;

	few.m = r->n;
	few.colsum_a = few.colsum_b = NULL;
	if (is_ours(kc, g, true)) {
		team(kc, pick, &p, g->k, 1, r->n);
		MR_TRY(mr_gemm_run(kc->vec, kc->n_threads, &kc->gemm, &few, r->room, o->b, NULL, r->out, NULL, NULL));
		return gemm_step(kc, &(mr_gemm_step_args){.g = g, .a = o->a, .b = o->b, .c = o->c, .s = s});
	}
	MR_TRY(gemm(kc, &(mr_gemm_args){.g = g, .a = o->a, .b = o->b, .c = o->c}));
	for (int64_t i = 0; i < r->n; i++)
		memcpy((char *)r->out + (size_t)i * bytes, (const char *)o->c + (size_t)r->row[i] * bytes, bytes);
	return step(kc, &(mr_step_args){.n = g->m * g->n, .s = s, .g = o->c});
}

mr_kernel_by mr_fused_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	enum { OURS, ONEDNN, BOTH };
	static const int by[MR_N_KERNELS] = {
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) fused,
#define MR_OPERATION_WHOLE(id, what) ONEDNN,
#include "nn/kernels.def"
	};

	if (c->is_gemm)
		return mr_gemm_has_kernel(&c->gemm, n_threads, c->steps) ? MR_BY_FUSED : MR_BY_ONEDNN;
	if (c->is_conv && k->types.weights == MR_F32 && mr_winograd_takes(&c->conv))
		return MR_BY_FUSED;
	return by[c->id] == OURS ? MR_BY_FUSED : MR_BY_ONEDNN;
}

const mr_kernels mr_kernels_fused_f32 = {
	.name = "fused",
	.types = MR_TYPES_ALL(MR_F32),
	.refusal = mr_kernels_fused_refusal,
	.gelu_aux = "slope of GELU",
	.executor = mr_fused_executor,
	.packed_bytes = mr_fused_packed_bytes,
#define MR_KERNEL_PART(type, id, args) .id = id,
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) .id = id,
#include "nn/kernels.def"
};

/* The same functions under the names of fused.h. */
#define MR_KERNEL_PART(type, id, args) extern __typeof__(id) mr_fused_##id __attribute__((alias(#id)));
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) MR_KERNEL_PART(mr_status, id, )
#include "nn/kernels.def"
