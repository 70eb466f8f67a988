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
#include "nn/kernels/fused/products_bf16.h"
#include "nn/kernels/step_rules.h"
#include "nn/kernels/fused/team.h"
#include "nn/kernels/fused/vec_neon.h"
#include "nn/kernels/fused/winograd.h"
#include "nn/kernels/touched.h"

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

static void team(const mr_kctx *kc, mr_vec_fn *fn, const void *args, int64_t n, int64_t step, int64_t weight)
{
	mr_team_run(kc->n_threads, fn, args, n, step, weight);
}

/* --- context ------------------------------------------------------------------------------------------------------ */

static void ctx_destroy(mr_kctx *kc)
{
	if (!kc)
		return;
	mr_onednn_destroy(kc->onednn);
	free(kc->attn_scratch);
	mr_angles_destroy(kc->angles);
	free(kc->gemm.data);
	mr_bf16_products_fini(kc);
	mr_f32_inside_destroy(kc->inside);
	free(kc->ones);
	free(kc->room);
	free(kc->gradients);
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
	kc->pure = mr_types_pure(&k->types);
	kc->chooses = k->choices;
	if (k->choices)
		mr_choices_select(k->choices, mr_kernels_fused_isa(k->dtype), k->dtype, kc->n_threads, &kc->chosen);
	st = kc->vec ? mr_onednn_create(kc->n_threads, &kc->onednn)
		     : mr_fail(MR_ECONFIG, "backend fused: %s", needs);
	if (st == MR_OK && k->dtype == MR_BF16)
		st = mr_bf16_products_init(kc, k);
	if (st == MR_OK && k->dtype == MR_BF16 && kc->chooses)
		st = mr_f32_inside_create(kc->n_threads, &kc->inside);
	if (st == MR_OK)
		*out = kc;
	else
		ctx_destroy(kc);
	return st;
}

static mr_status ctx_status(const mr_kctx *kc)
{
	return kc->failed == MR_OK ? MR_OK : mr_fail(kc->failed, "%s", kc->why);
}

static size_t ctx_bytes(const mr_kctx *kc)
{
	size_t attn = kc->n_threads * kc->attn_floats * sizeof(float),
	       gemm = kc->n_threads * kc->gemm.floats * sizeof(float);

	return sizeof(*kc) + mr_onednn_bytes(kc->onednn) + mr_touched_bytes(kc->attn_scratch, attn) +
	       mr_touched_bytes(kc->gemm.data, gemm) +
	       (kc->n_ones + kc->room_floats + kc->gradient_floats) * sizeof(float) + mr_angles_bytes(kc->angles) +
	       mr_bf16_products_bytes(kc) + mr_f32_inside_bytes(kc->inside);
}

/* --- gemm, sum, activations, norm --------------------------------------------------------------------------------- */

static void sum_of(const mr_kctx *kc, const mr_vec_ops *ops, int64_t n, const void *x, const void *x2, void *y)
{
	mr_vec_sum a = {.a = x, .b = x2, .y = y};

	team(kc, ops->sum, &a, n, 64, 1);
}

static void sum(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	sum_of(kc, kc->ops, n, a, b, y);
}

static void sum_gradients(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	sum_of(kc, &kc->vec->ops, n, a, b, y);
}

static void act(mr_kctx *kc, mr_act act, int64_t n, const void *x, void *y)
{
	mr_vec_act a = {.act = act, .in = x, .out = y};

	team(kc, kc->ops->activate, &a, n, 64, act == MR_ACT_RELU ? 1 : 4);
}

static void sum_relu(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	mr_vec_sum s = {.a = a, .b = b, .y = y};

	team(kc, kc->ops->sum_relu, &s, n, 64, 1);
}

static void act_backward_of(const mr_kctx *kc, const mr_vec_ops *ops, mr_act act, int64_t n, const void *aux,
			    const void *dy, void *dz)
{
	mr_vec_act a = {.act = act, .in = aux, .dy = dy, .out = dz};

	team(kc, ops->act_backward, &a, n, 64, 1);
}

static void act_backward(mr_kctx *kc, mr_act act, int64_t n, const void *aux, const void *dy, void *dz)
{
	act_backward_of(kc, kc->ops, act, n, aux, dy, dz);
}

/* Is this product computed here? Else by oneDNN. */
static bool is_ours(const mr_kctx *kc, const mr_gemm *g, bool step)
{
	return mr_gemm_has_kernel(g, kc->n_threads, step) && !(kc->chooses && mr_chosen_gemm(&kc->chosen, g));
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
static mr_status gemm(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const void *bias, void *c, void *aux)
{
	bool ours = is_ours(kc, g, false);
	mr_gemm now = *g;

	if (g->addend && !(ours && mr_gemm_adds(g, kc->n_threads)))
		now.addend = NULL;
	if (!(ours && mr_gemm_fuses_act_backward(g, kc->n_threads)))
		now.fuse_act_backward = MR_ACT_NONE;
	if (ours)
		MR_TRY(mr_gemm_run(kc->vec, kc->n_threads, &kc->gemm, &now, a, b, bias, c, aux, NULL));
	else
		MR_TRY(library_gemm(kc, &now, a, b, bias, c, aux));
	if (g->addend && !now.addend)
		sum_gradients(kc, g->m * g->n, c, g->addend, c);
	if (g->fuse_act_backward != now.fuse_act_backward)
		act_backward_of(kc, &kc->vec->ops, g->fuse_act_backward, g->m * g->n, g->fuse_act_backward_aux, c, c);
	return MR_OK;
}

static void colsum(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, void *y, bool add)
{
	mr_gemm_colsum(kc->ops, kc->n_threads, rows, cols, x, y, add);
}

static void norm(mr_kctx *kc, int64_t rows, int64_t cols, double eps, const void *x, const void *gain,
		 const void *shift, void *y, void *mean, void *rstd)
{
	mr_vec_norm a = {.rows = rows, .cols = cols, .eps = (float)eps, .x = x, .gain = gain, .shift = shift,
			 .y = y, .mean = mean, .rstd = rstd};

	team(kc, kc->ops->norm, &a, rows, 1, cols);
}

static void norm_backward_input(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain,
				const void *mean, const void *rstd, const void *dy, void *dx, bool add)
{
	mr_vec_norm a = {.rows = rows, .cols = cols, .x = x, .gain = gain, .saved_mean = mean, .saved_rstd = rstd,
			 .dy = dy, .dx = dx, .add = add};

	team(kc, kc->ops->norm_backward_input, &a, rows, 1, cols);
}

static void norm_backward_weight(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *mean,
				 const void *rstd, const void *dy, void *dgain, void *dshift, bool add)
{
	mr_vec_norm a = {.rows = rows, .cols = cols, .x = x, .saved_mean = mean, .saved_rstd = rstd, .dy = dy,
			 .dgain = dgain, .dshift = dshift, .add_weight = add};

	team(kc, kc->ops->norm_backward_weight, &a, cols, 16, rows);
}

/*
 * An element of dgain is one chain of additions over all rows: the thread that has the first rows begins the chain
 * while they are in its cache, and the pass over columns continues it with the rows of the other threads.
 */
static void norm_backward(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain, const void *mean,
			  const void *rstd, const void *dy, void *dx, bool add, void *dgain, void *dshift,
			  bool add_weight)
{
	float sums[2 * NORM_COLS] = {0};
	int64_t pieces = mr_team_pieces(kc->n_threads, rows, 1, cols);
	mr_vec_norm a = {.rows = rows, .cols = cols, .x = x, .gain = gain, .saved_mean = mean, .saved_rstd = rstd,
			 .dy = dy, .dx = dx, .dgain = dgain, .dshift = dshift, .add = add, .add_weight = add_weight,
			 .first = cols <= NORM_COLS ? rows / pieces : 0, .sums = sums};

	mr_team_run_pieces(pieces, kc->ops->norm_backward_input, &a, rows, 1);
	team(kc, kc->ops->norm_backward_weight, &a, cols, 16, rows - a.first);
}

/* --- batch normalisation ------------------------------------------------------------------------------------------ */

static void batch_norm(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *gain, const void *shift, void *y,
		       void *mean, void *variance)
{
	mr_vec_batch_norm a = {.rows = b->rows, .cols = b->cols, .eps = (float)b->eps, .relu = b->act == MR_ACT_RELU,
			       .given = b->given, .x = x, .gain = gain, .shift = shift, .y = y, .mean = mean,
			       .variance = variance};

	team(kc, kc->ops->batch_norm, &a, b->cols, 16, 2 * b->rows);
}

static void batch_norm_backward(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *y, const void *gain,
				const void *mean, const void *variance, const void *dy, void *dx, bool add, void *dgain,
				void *dshift)
{
	mr_vec_batch_norm a = {.rows = b->rows, .cols = b->cols, .eps = (float)b->eps, .relu = b->act == MR_ACT_RELU,
			       .x = x, .out = y, .gain = gain, .mean = (float *)mean, .variance = (float *)variance,
			       .dy = dy, .dx = dx, .add = add, .dgain = dgain, .dshift = dshift};

	team(kc, kc->ops->batch_norm_backward, &a, b->cols, 16, 2 * b->rows);
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
	size_t floats = kc->ops->attn_scratch_floats(a, engine, backward);

	if (floats > kc->attn_floats) {
		size_t bytes = kc->n_threads * (floats = (floats + 1023) & ~(size_t)1023) * sizeof(float);
		float *p = aligned_alloc(4096, bytes);

		if (!p)
			return mr_fail(MR_ERESOURCE, "no memory for %zu bytes of attention scratch", bytes);
		free(kc->attn_scratch);
		kc->attn_scratch = p;
		kc->attn_floats = floats;
	}
	args->a = *a;
	args->engine = engine;
	args->scratch = kc->attn_scratch;
	args->scratch_floats = kc->attn_floats;
	return MR_OK;
}

static mr_status attn(mr_kctx *kc, const mr_attn *a, const void *qkv, void *y, void *saved, void *scratch)
{
	mr_vec_attn args = {.qkv = qkv, .y = y, .saved = saved};

	(void)scratch;
	MR_TRY(attn_reserve(kc, a, false, &args));
	team(kc, kc->ops->attn, &args, a->samples * a->heads, 1, a->t * a->t * a->dim / 8);
	return MR_OK;
}

static mr_status attn_backward(mr_kctx *kc, const mr_attn *a, const void *qkv, const void *saved, const void *dy,
			       void *dqkv, void *scratch)
{
	mr_vec_attn args = {.qkv = qkv, .dy = dy, .dqkv = dqkv, .saved_in = saved};

	(void)scratch;
	MR_TRY(attn_reserve(kc, a, true, &args));
	team(kc, kc->ops->attn_backward, &args, a->samples * mr_attn_kv_heads(a), 1,
	     mr_attn_group(a) * a->t * a->t * a->dim / 4);
	return MR_OK;
}

#include "nn/kernels/fused/fused_images.inc"

/* --- rotary positions, SwiGLU, GELU ------------------------------------------------------------------------------- */

static mr_status rope(mr_kctx *kc, const mr_rope *r, const void *const *x, void *y)
{
	mr_vec_rope a = {.r = *r, .x = {x[0], x[1], x[2]}, .y = y};

	MR_TRY(mr_angles_find(&kc->angles, r, &a.angles, &a.pitch));
	team(kc, kc->ops->rope, &a, r->samples * r->t, 1, (r->heads + 2 * r->kv_heads) * r->dim);
	return MR_OK;
}

static mr_status rope_backward(mr_kctx *kc, const mr_rope *r, const void *dy, void *const *dx)
{
	mr_vec_rope a = {.r = *r, .dy = dy, .dx = {dx[0], dx[1], dx[2]}};

	MR_TRY(mr_angles_find(&kc->angles, r, &a.angles, &a.pitch));
	team(kc, kc->ops->rope_backward, &a, r->samples * r->t, 1, (r->heads + 2 * r->kv_heads) * r->dim);
	return MR_OK;
}

static void swiglu(mr_kctx *kc, int64_t n, const void *gate, const void *up, void *y)
{
	mr_vec_swiglu a = {.gate = gate, .up = up, .y = y};

	team(kc, kc->ops->swiglu, &a, n, 64, 4);
}

static void swiglu_backward(mr_kctx *kc, int64_t n, const void *gate, const void *up, const void *dy, void *dgate,
			    void *dup)
{
	mr_vec_swiglu a = {.gate = gate, .up = up, .dy = dy, .dgate = dgate, .dup = dup};

	team(kc, kc->ops->swiglu_backward, &a, n, 64, 4);
}

static void gelu_erf(mr_kctx *kc, int64_t n, const void *x, void *y)
{
	mr_vec_gelu_erf a = {.x = x, .y = y};

	team(kc, kc->ops->gelu_erf, &a, n, 64, 4);
}

static void gelu_erf_backward(mr_kctx *kc, int64_t n, const void *x, const void *dy, void *dx)
{
	mr_vec_gelu_erf a = {.x = x, .dy = dy, .dx = dx};

	team(kc, kc->ops->gelu_erf_backward, &a, n, 64, 4);
}

/* --- recurrent cells ---------------------------------------------------------------------------------------------- */

#include "nn/kernels/fused/fused_cell.inc"

/* --- embedding, dropout ------------------------------------------------------------------------------------------- */

static void embed(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, const int32_t *tokens, const void *wte,
		  const void *wpe, void *y)
{
	mr_vec_embed a = {.rows = rows, .t = t, .cols = cols, .tokens = tokens, .wte = wte, .wpe = wpe, .y = y};

	team(kc, kc->ops->embed, &a, rows, 1, cols);
}

static void embed_backward(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, int64_t vocab, const int32_t *tokens,
			   const void *dy, void *dwte, void *dwpe, bool add)
{
	mr_vec_embed a = {.rows = rows, .t = t, .cols = cols, .vocab = vocab, .tokens = tokens, .dy = dy, .dwte = dwte,
			  .dwpe = dwpe, .add = add};

	team(kc, kc->ops->embed_backward, &a, cols, 16, rows);
}

static void dropout(mr_kctx *kc, int64_t samples, int64_t per_sample, double rate, const mr_mask_key *key,
		    const void *x, void *y)
{
	mr_vec_dropout a = {.samples = samples, .per_sample = per_sample, .threshold = mr_dropout_threshold(rate),
			    .scale = (float)(1 / (1 - rate)), .key = *key, .x = x, .y = y};
	int64_t group = kc->ops->dropout_group;

	team(kc, kc->ops->dropout, &a, samples * ((per_sample + group - 1) / group), 1, 2 * group);
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

static double xent(mr_kctx *kc, int64_t rows, int64_t classes, void *logits, const int32_t *targets)
{
	mr_vec_loss a = {.rows = rows, .cols = classes, .x = logits, .targets = targets,
			 .exps_pitch = (classes + 31) / 16 * 16}; /* apart by a line at least */

	if (kc->engine.block && mr_fused_reserve(&kc->room, &kc->room_floats, kc->n_threads * a.exps_pitch) == MR_OK)
		a.exps = kc->room;
	return loss(kc, kc->ops->xent, &a) / (double)rows;
}

static double mse(mr_kctx *kc, int64_t rows, int64_t cols, void *x, const void *y)
{
	mr_vec_loss a = {.rows = rows, .cols = cols, .x = x, .y = y};

	return loss(kc, kc->ops->mse, &a) / (2 * (double)rows);
}

/* On one thread: it reaches 85 % of the memory bandwidth, and the order of the sum is guaranteed. */
static double sumsq(mr_kctx *kc, int64_t n, const void *x)
{
	return kc->vec->sumsq(n, x);
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

static void step(mr_kctx *kc, int64_t n, const mr_step *s, const void *g)
{
	mr_vec_step a = mr_fused_vec_step(s);

	a.g = g;
	team(kc, kc->vec->step[s->kind], &a, n, 64, mr_step_states(s->kind) > 1 ? 2 : 1);
}

static void mix(mr_kctx *kc, int64_t n, const mr_averaging *m)
{
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

	team(kc, fn, &a, n, 64, m->n);
}

typedef struct range_work {
	mr_range_fn *fn;
	const void *args;
} range_work;

static void range_piece(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const range_work *w = args;

	(void)worker;
	w->fn(w->args, lo, hi);
}

static void ranges(mr_kctx *kc, int64_t n, mr_range_fn *fn, const void *args)
{
	range_work w = {fn, args};

	team(kc, range_piece, &w, n, 64, 1);
}

static mr_status gemm_step(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s)
{
	mr_vec_step fused = mr_fused_vec_step(s);

	if (is_ours(kc, g, true))
		return mr_gemm_run(kc->vec, kc->n_threads, &kc->gemm, g, a, b, NULL, c, NULL, &fused);
	MR_TRY(gemm(kc, g, a, b, NULL, c, NULL));
	step(kc, g->m * g->n, s, c);
	return MR_OK;
}

static mr_status gemm_sum(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b,
			  void *c, const mr_step *s)
{
	mr_gemm part = *g;
	mr_vec_step fused;

	if (is_ours(kc, g, s != NULL)) {
		if (s)
			fused = mr_fused_vec_step(s);
		return mr_gemm_run_sum(kc->vec, kc->n_threads, &kc->gemm, g, n, (const float *const *)a,
				       (const float *const *)b, c, s ? &fused : NULL);
	}
	for (uint32_t j = 0; j < n; j++) {
		MR_TRY(s && j + 1 == n ? gemm_step(kc, &part, a[j], b[j], c, s)
				       : gemm(kc, &part, a[j], b[j], NULL, c, NULL));
		part.add = true;
	}
	return MR_OK;
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
static mr_status gemm_step_rows(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s,
				const mr_gemm_rows *r)
{
	picking p = {.r = r, .m = g->m, .a = a};
	size_t bytes = (size_t)g->n * sizeof(float);
	mr_gemm few = *g;

	few.m = r->n;
	few.colsum_a = few.colsum_b = NULL;
	if (is_ours(kc, g, true)) {
		team(kc, pick, &p, g->k, 1, r->n);
		MR_TRY(mr_gemm_run(kc->vec, kc->n_threads, &kc->gemm, &few, r->room, b, NULL, r->out, NULL, NULL));
		return gemm_step(kc, g, a, b, c, s);
	}
	MR_TRY(gemm(kc, g, a, b, NULL, c, NULL));
	for (int64_t i = 0; i < r->n; i++)
		memcpy((char *)r->out + (size_t)i * bytes, (const char *)c + (size_t)r->row[i] * bytes, bytes);
	step(kc, g->m * g->n, s, c);
	return MR_OK;
}

mr_kernel_by mr_fused_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	enum { OURS, ONEDNN, BOTH };
	static const int by[MR_N_KERNELS] = {
#define MR_KERNEL_PART(type, id, args)
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) fused,
#define MR_KERNEL_WHOLE(type, id, args, what) ONEDNN,
#include "nn/kernels.def"
	};

	if (c->is_gemm)
		return mr_gemm_has_kernel(&c->gemm, n_threads, c->steps) ? MR_BY_FUSED : MR_BY_ONEDNN;
	if (c->is_conv && k->dtype == MR_F32 && mr_winograd_takes(&c->conv))
		return MR_BY_FUSED;
	return by[c->id] == OURS ? MR_BY_FUSED : MR_BY_ONEDNN;
}

const mr_kernels mr_kernels_fused_f32 = {
	.name = "fused",
	.dtype = MR_F32,
	.types = MR_TYPES_ALL(MR_F32),
	.gelu_aux = "slope of GELU",
	.executor = mr_fused_executor,
#define MR_KERNEL_PART(type, id, args) .id = id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = id,
#include "nn/kernels.def"
};

/* The same functions under the names of fused.h. */
#define MR_KERNEL_PART(type, id, args) extern __typeof__(id) mr_fused_##id __attribute__((alias(#id)));
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) MR_KERNEL_PART(type, id, args)
#include "nn/kernels.def"
