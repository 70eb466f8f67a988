/*
 * onednn.c - the backend `onednn`: an operation for which oneDNN has a primitive is executed by that primitive, the
 * others by the functions of `fused`. The column `onednn` of nn/kernels.def says which.
 *
 *	products        matmul with bias and sum; GELU by eltwise, addends by binary. ReLU is ours: the library's turns
 *	                NaN into 0
 *	column sums     matmul with a row of ones: the library's reduction over rows takes some hundred times as long
 *	convolutions	convolution (onednn_conv.c); ReLU and the accumulation of gradients are ours
 *	average pools   pooling (onednn_pool.c); maxima are ours, since the library's ignore NaN
 *	lrn             lrn, for odd numbers of channels: of an even number the library takes one less
 *	layer norm      layer_normalization; oneDNN 2.6 has none without a mean, so RMS norm is ours
 *	batch norm      batch_normalization, channels last; ReLU is ours
 *	LSTM, GRU       lstm and lbr_gru over all rows (onednn_recurrent.c)
 *	cross-entropy   softmax; our code computes the loss and the gradient from it. On Arm ours alone: the library's
 *	                exponential is good to 4e-6 there, and that of minus infinity is not 0
 *	attention       ours: with whole score matrices a masked pair would add 0 times NaN
 *
 * GELU of numbers beyond 1e19 is NaN: the library squares them. Bits depend on the number of threads. A failure of an
 * operation that returns nothing is reported by ctx_status, and by the next one that returns a status.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/kernels/backend.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/team.h"
#include "nn/kernels/onednn/onednn.h"

static void note(mr_kctx *kc, mr_status st)
{
	if (st == MR_OK || kc->failed != MR_OK)
		return;
	kc->failed = st;
	snprintf(kc->why, sizeof(kc->why), "%s", mr_error_text());
}

/* --- products ----------------------------------------------------------------------------------------------------- */

static mr_status column_sums(mr_kctx *kc, int64_t rows, int64_t cols, const float *x, float *y, bool add)
{
	mr_gemm g = {.m = 1, .n = cols, .k = rows, .add = add};

	if ((size_t)rows > kc->n_ones) {
		MR_TRY(mr_fused_reserve(&kc->ones, &kc->n_ones, rows));
		for (size_t i = 0; i < kc->n_ones; i++)
			kc->ones[i] = 1;
	}
	return mr_onednn_gemm(kc->onednn, &g, kc->ones, x, NULL, y);
}

static void colsum(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, void *y, bool add)
{
	note(kc, column_sums(kc, rows, cols, x, y, add));
}

static void sum(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	note(kc, mr_onednn_sum(kc->onednn, n, a, b, y));
}

static void sum_gradients(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	sum(kc, n, a, b, y);
}

static void act_backward(mr_kctx *kc, mr_act act, int64_t n, const void *aux, const void *dy, void *dz)
{
	if (act == MR_ACT_GELU)
		note(kc, mr_onednn_gelu_backward(kc->onednn, n, aux, dy, dz));
	else
		mr_fused_act_backward(kc, act, n, aux, dy, dz);
}

/* Applies @act to @z and stores to @c, which may be @z. */
static mr_status activate(mr_kctx *kc, mr_act act, int64_t n, const float *z, float *c)
{
	mr_vec_act relu = {.act = act, .in = z, .out = c};

	if (act == MR_ACT_GELU)
		return mr_onednn_gelu(kc->onednn, n, z, c);
	if (act == MR_ACT_RELU)
		mr_team_run(kc->n_threads, kc->vec->act, &relu, n, 64, 1);
	return MR_OK;
}

static mr_status gemm(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const void *bias, void *c, void *aux)
{
	bool apart = g->act == MR_ACT_GELU && aux; /* act_backward needs the input of GELU */
	float *z = apart ? aux : c;
	mr_gemm product = *g;

	product.act = apart ? MR_ACT_NONE : g->act;
	MR_TRY(mr_fused_ctx_status(kc));
	MR_TRY(mr_onednn_gemm(kc->onednn, &product, a, b, bias, z));
	if (apart || g->act == MR_ACT_RELU)
		MR_TRY(activate(kc, g->act, g->m * g->n, z, c));
	if (g->colsum_a)
		MR_TRY(column_sums(kc, g->k, g->m, a, g->colsum_a, g->add));
	if (g->colsum_b)
		MR_TRY(column_sums(kc, g->k, g->n, b, g->colsum_b, g->add));
	if (g->fuse_act_backward != MR_ACT_NONE)
		act_backward(kc, g->fuse_act_backward, g->m * g->n, g->fuse_act_backward_aux, c, c);
	return mr_fused_ctx_status(kc);
}

/* y[cols] = the column sums of x[rows, cols] in bf16. */
static mr_status column_sums_bf16(mr_kctx *kc, int64_t rows, int64_t cols, const uint16_t *x, float *y, bool add)
{
	mr_gemm g = {.m = 1, .n = cols, .k = rows, .add = add};
	uint16_t *ones;

	MR_TRY(mr_fused_reserve(&kc->room, &kc->room_floats, (rows + 1) / 2));
	ones = (uint16_t *)(void *)kc->room;
	for (int64_t i = 0; i < rows; i++)
		ones[i] = 0x3f80;
	return mr_onednn_gemm_bf16(kc->onednn, &g, ones, x, NULL, y);
}

/* Computes the column sums that @g requests. */
static mr_status all_column_sums_bf16(mr_kctx *kc, const mr_gemm *g, const uint16_t *a, const uint16_t *b)
{
	if (g->colsum_a)
		MR_TRY(column_sums_bf16(kc, g->k, g->m, a, g->colsum_a, g->add));
	if (g->colsum_b)
		MR_TRY(column_sums_bf16(kc, g->k, g->n, b, g->colsum_b, g->add));
	return mr_fused_ctx_status(kc);
}

mr_status mr_onednn_product_bf16(mr_kctx *kc, const mr_gemm *g, const uint16_t *a, const uint16_t *b, const float *bias,
				 float *c, float *aux)
{
	float *z = g->act == MR_ACT_GELU && aux ? aux : c;

	MR_TRY(mr_fused_ctx_status(kc));
	MR_TRY(mr_onednn_gemm_bf16(kc->onednn, g, a, b, bias, z));
	MR_TRY(activate(kc, g->act, g->m * g->n, z, c));
	return all_column_sums_bf16(kc, g, a, b);
}

mr_status mr_onednn_product_rounded(mr_kctx *kc, const mr_gemm *g, const uint16_t *a, const uint16_t *b, uint16_t *c)
{
	MR_TRY(mr_fused_ctx_status(kc));
	MR_TRY(mr_onednn_gemm_rounded(kc->onednn, g, a, b, c));
	return all_column_sums_bf16(kc, g, a, b);
}

static mr_status gemm_step(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s)
{
	MR_TRY(gemm(kc, g, a, b, NULL, c, NULL));
	mr_fused_step(kc, g->m * g->n, s, c);
	return MR_OK;
}

static mr_status gemm_sum(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b,
			  void *c, const mr_step *s)
{
	mr_gemm part = *g;

	for (uint32_t j = 0; j < n; j++, part.add = true)
		MR_TRY(gemm(kc, &part, a[j], b[j], NULL, c, NULL));
	if (s)
		mr_fused_step(kc, g->m * g->n, s, c);
	return MR_OK;
}

static mr_status gemm_step_rows(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s,
				const mr_gemm_rows *r)
{
	float *out = r->out;

	MR_TRY(gemm(kc, g, a, b, NULL, c, NULL));
	for (int64_t i = 0; i < r->n; i++)
		memcpy(out + i * g->n, (const float *)c + r->row[i] * g->n, (size_t)g->n * sizeof(float));
	mr_fused_step(kc, g->m * g->n, s, c);
	return MR_OK;
}

/* --- convolutions ------------------------------------------------------------------------------------------------- */

static mr_status conv(mr_kctx *kc, const mr_conv *g, const void *x, const void *w, const void *bias, void *y)
{
	MR_TRY(mr_fused_ctx_status(kc));
	return mr_library_conv(kc, g, x, w, bias, y);
}

static mr_status conv_backward_input(mr_kctx *kc, const mr_conv *g, const void *dy, const void *w, void *dx, bool add)
{
	MR_TRY(mr_fused_ctx_status(kc));
	return mr_library_conv_backward_input(kc, g, dy, w, dx, add);
}

static mr_status conv_backward_weight(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw, bool add)
{
	MR_TRY(mr_fused_ctx_status(kc));
	return mr_library_conv_backward_weight(kc, g, x, dy, dw, add);
}

static mr_status conv_step(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw, bool add,
			   const mr_step *s)
{
	MR_TRY(mr_fused_ctx_status(kc));
	return mr_library_conv_step(kc, g, x, dy, dw, add, s);
}

/* --- layer norm --------------------------------------------------------------------------------------------------- */

static void norm(mr_kctx *kc, int64_t rows, int64_t cols, double eps, const void *x, const void *gain,
		 const void *shift, void *y, void *mean, void *rstd_)
{
	float *rstd = rstd_;

	if (!mean) {
		mr_fused_norm(kc, rows, cols, eps, x, gain, shift, y, mean, rstd);
		return;
	}
	note(kc, mr_onednn_norm(kc->onednn, rows, cols, (float)eps, x, gain, shift, y, mean, rstd));
	for (int64_t i = 0; i < rows; i++)
		rstd[i] = 1 / sqrtf(rstd[i] + (float)eps);
}

/* Computes @dx and, with @dgain, dgain and dshift. dx or dgain may be NULL. Each is accumulated when its flag says so.
 * One primitive computes both halves, so that each half has the bits of both at once. */
static mr_status norm_gradients(mr_kctx *kc, int64_t rows, int64_t cols, const float *x, const float *gain,
				const float *mean, const float *rstd, const float *dy, float *dx, bool add,
				float *dgain, float *dshift, bool add_weight)
{
	float *variance, *input, *weight;

	MR_TRY(mr_fused_reserve(&kc->room, &kc->room_floats, rows + 3 * cols + rows * cols));
	variance = kc->room;
	weight = variance + rows; /* gradient of the gain, then of the shift, then a gain of ones if none is given */
	input = dx && !add ? dx : weight + 3 * cols;
	for (int64_t i = 0; i < rows; i++)
		variance[i] = 1 / (rstd[i] * rstd[i]);
	for (int64_t j = 0; !gain && j < cols; j++)
		weight[2 * cols + j] = 1;
	MR_TRY(mr_onednn_norm_backward(kc->onednn, rows, cols, x, gain ? gain : weight + 2 * cols, mean, variance, dy,
				       input, dgain && !add_weight ? dgain : weight,
				       dgain && !add_weight ? dshift : weight + cols));
	if (dx && add)
		MR_TRY(mr_onednn_sum(kc->onednn, rows * cols, dx, input, dx));
	if (dgain && add_weight) {
		MR_TRY(mr_onednn_sum(kc->onednn, cols, dgain, weight, dgain));
		MR_TRY(mr_onednn_sum(kc->onednn, cols, dshift, weight + cols, dshift));
	}
	return MR_OK;
}

static void norm_backward_input(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain,
				const void *mean, const void *rstd, const void *dy, void *dx, bool add)
{
	if (!mean)
		mr_fused_norm_backward_input(kc, rows, cols, x, gain, mean, rstd, dy, dx, add);
	else
		note(kc, norm_gradients(kc, rows, cols, x, gain, mean, rstd, dy, dx, add, NULL, NULL, false));
}

static void norm_backward_weight(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *mean,
				 const void *rstd, const void *dy, void *dgain, void *dshift, bool add)
{
	if (!mean)
		mr_fused_norm_backward_weight(kc, rows, cols, x, mean, rstd, dy, dgain, dshift, add);
	else
		note(kc, norm_gradients(kc, rows, cols, x, NULL, mean, rstd, dy, NULL, false, dgain, dshift, add));
}

static void norm_backward(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain, const void *mean,
			  const void *rstd, const void *dy, void *dx, bool add, void *dgain, void *dshift,
			  bool add_weight)
{
	if (!mean)
		mr_fused_norm_backward(kc, rows, cols, x, gain, mean, rstd, dy, dx, add, dgain, dshift, add_weight);
	else
		note(kc, norm_gradients(kc, rows, cols, x, gain, mean, rstd, dy, dx, add, dgain, dshift, add_weight));
}

/* --- batch normalisation ------------------------------------------------------------------------------------------ */

static void batch_norm(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *gain, const void *shift, void *y,
		       void *mean, void *variance)
{
	mr_status st = mr_onednn_batch_norm(kc->onednn, b, x, gain, shift, y, mean, variance);

	note(kc, st == MR_OK ? activate(kc, b->act, b->rows * b->cols, y, y) : st);
}

static mr_status batch_norm_gradients(mr_kctx *kc, const mr_batch_norm *b, const float *x, const float *y,
				      const float *gain, const float *mean, const float *variance, const float *dy,
				      float *dx, bool add, float *dgain, float *dshift)
{
	int64_t n = b->rows * b->cols;
	float *made = dx;

	if (!dx || add) {
		MR_TRY(mr_fused_reserve(&kc->room, &kc->room_floats, n));
		made = kc->room;
	}
	if (b->act == MR_ACT_RELU) {
		mr_fused_act_backward(kc, b->act, n, y, dy, made);
		dy = made;
	}
	MR_TRY(mr_onednn_batch_norm_backward(kc->onednn, b, x, gain, mean, variance, dy, made, dgain, dshift));
	return dx && add ? mr_onednn_sum(kc->onednn, n, dx, made, dx) : MR_OK;
}

static void batch_norm_backward(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *y, const void *gain,
				const void *mean, const void *variance, const void *dy, void *dx, bool add, void *dgain,
				void *dshift)
{
	note(kc, batch_norm_gradients(kc, b, x, y, gain, mean, variance, dy, dx, add, dgain, dshift));
}

/* --- recurrence --------------------------------------------------------------------------------------------------- */

static mr_status recurrence(mr_kctx *kc, const mr_recurrence *r, const mr_recurrence_call *q)
{
	MR_TRY(mr_fused_ctx_status(kc));
	return mr_onednn_recurrence(kc->onednn, r, q);
}

static mr_status recurrence_backward(mr_kctx *kc, const mr_recurrence *r, const mr_recurrence_call *q)
{
	MR_TRY(mr_fused_ctx_status(kc));
	return mr_onednn_recurrence_backward(kc->onednn, r, q);
}

/* One that the library does not describe has no room, and its first call says why. */
bool mr_by_onednn_recurrence_room(const mr_kernels *k, const mr_recurrence *r, mr_recurrence_room *out)
{
	(void)k;
	if (mr_onednn_recurrence_room(r, out) != MR_OK)
		*out = (mr_recurrence_room){0};
	return true;
}

static bool takes_recurrence(const mr_kctx *kc, const mr_recurrence *r)
{
	(void)kc, (void)r;
	return true;
}

/* --- average pools and local response normalisation --------------------------------------------------------------- */

static void pool(mr_kctx *kc, const mr_window *w, mr_pool_kind kind, const void *x, void *y, void *which)
{
	if (mr_onednn_has_pool(w, kind))
		note(kc, mr_onednn_pool(kc->onednn, w, kind, x, y));
	else
		mr_fused_pool(kc, w, kind, x, y, which);
}

/* Adds the gradient @made to @dx, if it is another tensor. */
static mr_status add_made(mr_kctx *kc, int64_t n, float *dx, const float *made)
{
	return made == dx ? MR_OK : mr_onednn_sum(kc->onednn, n, dx, made, dx);
}

static mr_status pool_gradient(mr_kctx *kc, const mr_window *w, mr_pool_kind kind, const void *dy, float *dx, bool add)
{
	int64_t n = mr_window_in_pixels(w) * w->c;
	float *made = dx;

	if (add) {
		MR_TRY(mr_fused_reserve(&kc->room, &kc->room_floats, n));
		made = kc->room;
	}
	MR_TRY(mr_onednn_pool_backward(kc->onednn, w, kind, dy, made));
	return add_made(kc, n, dx, made);
}

static void pool_backward(mr_kctx *kc, const mr_window *w, mr_pool_kind kind, const void *which, const void *dy,
			  void *dx, bool add)
{
	if (mr_onednn_has_pool(w, kind))
		note(kc, pool_gradient(kc, w, kind, dy, dx, add));
	else
		mr_fused_pool_backward(kc, w, kind, which, dy, dx, add);
}

static void lrn(mr_kctx *kc, const mr_lrn *l, const void *x, void *y)
{
	if (mr_onednn_has_lrn(l))
		note(kc, mr_onednn_lrn(kc->onednn, l, x, y));
	else
		mr_fused_lrn(kc, l, x, y);
}

static mr_status lrn_gradient(mr_kctx *kc, const mr_lrn *l, const float *x, const float *dy, float *dx, bool add)
{
	int64_t n = l->pixels * l->c;
	float *made;

	MR_TRY(mr_fused_reserve(&kc->room, &kc->room_floats, 4 * n));
	made = add ? kc->room + 3 * n : dx;
	MR_TRY(mr_onednn_lrn_backward(kc->onednn, l, x, dy, made, kc->room));
	return add_made(kc, n, dx, made);
}

static void lrn_backward(mr_kctx *kc, const mr_lrn *l, const void *x, const void *dy, void *dx, bool add)
{
	if (mr_onednn_has_lrn(l))
		note(kc, lrn_gradient(kc, l, x, dy, dx, add));
	else
		mr_fused_lrn_backward(kc, l, x, dy, dx, add);
}

/* --- softmax cross-entropy ---------------------------------------------------------------------------------------- */

typedef struct softmax_rows {
	int64_t rows, classes;
	const int32_t *targets;
	float *x;          /* logits, then softmax, then the gradient of the mean loss */
	float *most, *at;  /* per row: the largest logit, or NaN if the row has one; the target's logit, then the
			      loss */
} softmax_rows;

static void look_at_logits(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const softmax_rows *s = args;

	(void)worker;
	for (int64_t r = lo; r < hi; r++) {
		const float *x = s->x + r * s->classes;
		float most = x[0];
		int32_t lost = 0;

		for (int64_t i = 0; i < s->classes; i++) {
			lost |= x[i] != x[i];
			most = x[i] > most ? x[i] : most;
		}
		s->most[r] = lost ? NAN : most;
		s->at[r] = x[s->targets[r]];
	}
}

/* The loss is the largest logit minus the target's minus the log of the largest probability, not minus the log of the
 * target's probability, so that losses of impossible targets are finite. */
static void make_gradient(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const softmax_rows *s = args;
	float each = 1 / (float)s->rows;

	(void)worker;
	for (int64_t r = lo; r < hi; r++) {
		float *p = s->x + r * s->classes, most = 0;
		bool finite = isfinite(s->most[r]); /* otherwise the library's exponential has turned NaN into a
						       number */

		for (int64_t i = 0; i < s->classes; i++)
			most = p[i] > most ? p[i] : most;
		s->at[r] = finite ? s->most[r] - s->at[r] - logf(most) : NAN;
		p[s->targets[r]] -= 1;
		for (int64_t i = 0; i < s->classes; i++)
			p[i] = finite ? p[i] * each : NAN;
	}
}

static mr_status softmax_loss(mr_kctx *kc, int64_t rows, int64_t classes, float *logits, const int32_t *targets,
			      double *loss)
{
	softmax_rows s = {.rows = rows, .classes = classes, .targets = targets, .x = logits};
	double total = 0;

	MR_TRY(mr_fused_reserve(&kc->room, &kc->room_floats, 2 * rows));
	s.most = kc->room;
	s.at = kc->room + rows;
	mr_team_run(kc->n_threads, look_at_logits, &s, rows, 1, classes);
	MR_TRY(mr_onednn_softmax(kc->onednn, rows, classes, logits, logits));
	mr_team_run(kc->n_threads, make_gradient, &s, rows, 1, classes);
	for (int64_t r = 0; r < rows; r++)
		total += s.at[r];
	*loss = total / (double)rows;
	return MR_OK;
}

#if defined(__aarch64__)
static const bool takes_softmax = false;
#else
static const bool takes_softmax = true;
#endif

static double xent(mr_kctx *kc, int64_t rows, int64_t classes, void *logits, const int32_t *targets)
{
	double loss = NAN;

	if (!takes_softmax)
		return mr_fused_xent(kc, rows, classes, logits, targets);
	note(kc, softmax_loss(kc, rows, classes, logits, targets, &loss));
	return loss;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

mr_kernel_by mr_onednn_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	enum { OURS, ONEDNN, BOTH };
	static const int by[MR_N_KERNELS] = {
#define MR_KERNEL_PART(type, id, args)
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) onednn,
#define MR_KERNEL_WHOLE(type, id, args, what) ONEDNN,
#include "nn/kernels.def"
	};

	(void)k;
	(void)n_threads;
	if (by[c->id] == OURS || c->no_mean || c->no_primitive || (c->id == MR_KERNEL_xent && !takes_softmax) ||
	    (c->id == MR_KERNEL_act_backward && c->act != MR_ACT_GELU))
		return MR_BY_FUSED;
	return MR_BY_ONEDNN;
}

#define BY_OURS(id) mr_fused_##id
#define BY_ONEDNN(id) id
#define BY_BOTH(id) id

const mr_kernels mr_kernels_onednn_f32 = {
	.name = "onednn",
	.dtype = MR_F32,
	.types = MR_TYPES_ALL(MR_F32),
	.gelu_aux = "argument of GELU",
	.executor = mr_onednn_executor,
	.recurrence_room = mr_by_onednn_recurrence_room,
	.takes_recurrence = takes_recurrence,
#define MR_KERNEL_PART(type, id, args) .id = mr_fused_##id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = BY_##onednn(id),
#define MR_KERNEL_WHOLE(type, id, args, what) .id = id,
#include "nn/kernels.def"
};

/* Declares the same functions under the names of onednn.h. */
#define ALIAS(id, of) extern __typeof__(of) mr_by_onednn_##id __attribute__((alias(#of)));
#define NAME_OURS(id)
#define NAME_ONEDNN(id) ALIAS(id, id)
#define NAME_BOTH(id) ALIAS(id, id)
#define MR_KERNEL_PART(type, id, args)
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) NAME_##onednn(id)
#define MR_KERNEL_WHOLE(type, id, args, what) ALIAS(id, id)
#include "nn/kernels.def"
