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
 * GELU of numbers beyond 1e19 is NaN: the library squares them. Bits depend on the number of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/kernels/backend.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/vec/team.h"
#include "nn/kernels/onednn/onednn.h"

/* --- products ----------------------------------------------------------------------------------------------------- */

static mr_status column_sums(mr_kctx *kc, int64_t rows, int64_t cols, const float *x, float *y, bool add)
{
	mr_gemm g = {.m = 1, .n = cols, .k = rows, .add = add};
	size_t had = kc->ones.bytes;

	MR_TRY(mr_scratch_grow(&kc->ones, (size_t)rows * sizeof(float)));
	for (size_t i = 0; had != kc->ones.bytes && i < kc->ones.bytes / sizeof(float); i++)
		((float *)kc->ones.at)[i] = 1;
	return mr_onednn_gemm(kc->onednn, &g, kc->ones.at, x, NULL, y);
}

static mr_status colsum(mr_kctx *kc, const mr_colsum_args *o)
{
	return column_sums(kc, o->rows, o->cols, o->x, o->y, o->add);
}

static mr_status sum(mr_kctx *kc, const mr_sum_args *o)
{
	return mr_onednn_sum(kc->onednn, o->n, o->a, o->b, o->y);
}

static mr_status sum_gradients(mr_kctx *kc, const mr_sum_gradients_args *o)
{
	return sum(kc, &(mr_sum_args){.n = o->n, .a = o->a, .b = o->b, .y = o->y});
}

static mr_status act_backward(mr_kctx *kc, const mr_act_backward_args *o)
{
	return o->act == MR_ACT_GELU ? mr_onednn_gelu_backward(kc->onednn, o->n, o->aux, o->dy, o->dz)
				     : mr_fused_act_backward(kc, o);
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

static mr_status gemm(mr_kctx *kc, const mr_gemm_args *o)
{
	const mr_gemm *g = o->g;
	bool apart = g->act == MR_ACT_GELU && o->aux; /* act_backward needs the input of GELU */
	float *z = apart ? o->aux : o->c;
	mr_gemm product = *g;

	product.act = apart ? MR_ACT_NONE : g->act;
	MR_TRY(mr_onednn_gemm(kc->onednn, &product, o->a, o->b, o->bias, z));
	if (apart || g->act == MR_ACT_RELU)
		MR_TRY(activate(kc, g->act, g->m * g->n, z, o->c));
	if (g->colsum_a)
		MR_TRY(column_sums(kc, g->k, g->m, o->a, g->colsum_a, g->add));
	if (g->colsum_b)
		MR_TRY(column_sums(kc, g->k, g->n, o->b, g->colsum_b, g->add));
	if (g->fuse_act_backward != MR_ACT_NONE)
		MR_TRY(act_backward(kc, &(mr_act_backward_args){.act = g->fuse_act_backward, .n = g->m * g->n,
								.aux = g->fuse_act_backward_aux, .dy = o->c,
								.dz = o->c}));
	return MR_OK;
}

/* y[cols] = the column sums of x[rows, cols] in bf16. */
static mr_status column_sums_bf16(mr_kctx *kc, int64_t rows, int64_t cols, const uint16_t *x, float *y, bool add)
{
	mr_gemm g = {.m = 1, .n = cols, .k = rows, .add = add};
	uint16_t *ones;

	MR_TRY(mr_scratch_grow(&kc->room, (size_t)rows * sizeof(*ones)));
	ones = kc->room.at;
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
	return MR_OK;
}

mr_status mr_onednn_product_bf16(mr_kctx *kc, const mr_gemm *g, const uint16_t *a, const uint16_t *b, const float *bias,
				 float *c, float *aux)
{
	float *z = g->act == MR_ACT_GELU && aux ? aux : c;

	MR_TRY(mr_onednn_gemm_bf16(kc->onednn, g, a, b, bias, z));
	MR_TRY(activate(kc, g->act, g->m * g->n, z, c));
	return all_column_sums_bf16(kc, g, a, b);
}

mr_status mr_onednn_product_rounded(mr_kctx *kc, const mr_gemm *g, const uint16_t *a, const uint16_t *b, uint16_t *c)
{
	MR_TRY(mr_onednn_gemm_rounded(kc->onednn, g, a, b, c));
	return all_column_sums_bf16(kc, g, a, b);
}

/* --- convolutions ------------------------------------------------------------------------------------------------- */

static mr_status conv(mr_kctx *kc, const mr_conv_args *o)
{
	return mr_library_conv(kc, o);
}

static mr_status conv_backward_input(mr_kctx *kc, const mr_conv_backward_input_args *o)
{
	return mr_library_conv_backward_input(kc, o);
}

static mr_status conv_backward_weight(mr_kctx *kc, const mr_conv_backward_weight_args *o)
{
	return mr_library_conv_backward_weight(kc, o);
}

static mr_status conv_step(mr_kctx *kc, const mr_conv_step_args *o)
{
	return mr_library_conv_step(kc, o);
}

#define CONV_STEP
#define STEP_BY mr_fused_step
#define GRADIENT_BYTES(kc) sizeof(float)
#include "nn/kernels/composed_steps.inc"

/* --- layer norm --------------------------------------------------------------------------------------------------- */

static mr_status norm(mr_kctx *kc, const mr_norm_args *o)
{
	float *rstd = o->rstd, eps = (float)o->eps;

	if (!o->mean)
		return mr_fused_norm(kc, o);
	MR_TRY(mr_onednn_norm(kc->onednn, o->rows, o->cols, eps, o->x, o->gain, o->shift, o->y, o->mean, rstd));
	for (int64_t i = 0; i < o->rows; i++)
		rstd[i] = 1 / sqrtf(rstd[i] + eps);
	return MR_OK;
}

/* Both gradients; dx or gain and dgain may be NULL. One primitive computes both halves, so that each half has the bits
 * of both at once. */
static mr_status norm_backward(mr_kctx *kc, const mr_norm_backward_args *o)
{
	int64_t rows = o->rows, cols = o->cols;
	const float *rstd = o->rstd;
	bool in_place = o->dgain && !o->add_weight;
	float *variance, *input, *weight;

	if (!o->mean)
		return mr_fused_norm_backward(kc, o);
	MR_TRY(mr_fused_room(kc, rows + 3 * cols + rows * cols, &variance));
	weight = variance + rows; /* gradient of the gain, then of the shift, then a gain of ones if none is given */
	input = o->dx && !o->add ? o->dx : weight + 3 * cols;
	for (int64_t i = 0; i < rows; i++)
		variance[i] = 1 / (rstd[i] * rstd[i]);
	for (int64_t j = 0; !o->gain && j < cols; j++)
		weight[2 * cols + j] = 1;
	MR_TRY(mr_onednn_norm_backward(kc->onednn, rows, cols, o->x, o->gain ? o->gain : weight + 2 * cols, o->mean,
				       variance, o->dy, input, in_place ? o->dgain : weight,
				       in_place ? o->dshift : weight + cols));
	if (o->dx && o->add)
		MR_TRY(mr_onednn_sum(kc->onednn, rows * cols, o->dx, input, o->dx));
	if (!o->dgain || !o->add_weight)
		return MR_OK;
	MR_TRY(mr_onednn_sum(kc->onednn, cols, o->dgain, weight, o->dgain));
	return mr_onednn_sum(kc->onednn, cols, o->dshift, weight + cols, o->dshift);
}

static mr_status norm_backward_input(mr_kctx *kc, const mr_norm_backward_input_args *o)
{
	return o->mean ? norm_backward(kc, &(mr_norm_backward_args){.rows = o->rows, .cols = o->cols, .x = o->x,
								    .gain = o->gain, .mean = o->mean, .rstd = o->rstd,
								    .dy = o->dy, .dx = o->dx, .add = o->add})
		       : mr_fused_norm_backward_input(kc, o);
}

static mr_status norm_backward_weight(mr_kctx *kc, const mr_norm_backward_weight_args *o)
{
	return o->mean ? norm_backward(kc, &(mr_norm_backward_args){.rows = o->rows, .cols = o->cols, .x = o->x,
								    .mean = o->mean, .rstd = o->rstd, .dy = o->dy,
								    .dgain = o->dgain, .dshift = o->dshift,
								    .add_weight = o->add_weight})
		       : mr_fused_norm_backward_weight(kc, o);
}

/* --- batch normalisation ------------------------------------------------------------------------------------------ */

static mr_status batch_norm(mr_kctx *kc, const mr_batch_norm_args *o)
{
	const mr_batch_norm *b = o->b;

	MR_TRY(mr_onednn_batch_norm(kc->onednn, b, o->x, o->gain, o->shift, o->y, o->mean, o->variance));
	return activate(kc, b->act, b->rows * b->cols, o->y, o->y);
}

static mr_status batch_norm_backward(mr_kctx *kc, const mr_batch_norm_backward_args *o)
{
	int64_t n = o->b->rows * o->b->cols;
	const float *dy = o->dy;
	float *made = o->dx;

	if (!o->dx || o->add)
		MR_TRY(mr_fused_room(kc, n, &made));
	if (o->b->act == MR_ACT_RELU) {
		MR_TRY(mr_fused_act_backward(kc, &(mr_act_backward_args){.act = o->b->act, .n = n, .aux = o->y,
									 .dy = dy, .dz = made}));
		dy = made;
	}
	MR_TRY(mr_onednn_batch_norm_backward(kc->onednn, o->b, o->x, o->gain, o->mean, o->variance, dy, made, o->dgain,
					     o->dshift));
	return o->dx && o->add ? mr_onednn_sum(kc->onednn, n, o->dx, made, o->dx) : MR_OK;
}

/* --- recurrence --------------------------------------------------------------------------------------------------- */

static mr_status recurrence(mr_kctx *kc, const mr_recurrence_args *o)
{
	return mr_onednn_recurrence(kc->onednn, o->r, o->q);
}

static mr_status recurrence_backward(mr_kctx *kc, const mr_recurrence_backward_args *o)
{
	return mr_onednn_recurrence_backward(kc->onednn, o->r, o->q);
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

static mr_status pool(mr_kctx *kc, const mr_pool_args *o)
{
	return mr_onednn_has_pool(o->w, o->kind) ? mr_onednn_pool(kc->onednn, o->w, o->kind, o->x, o->y)
						 : mr_fused_pool(kc, o);
}

/* Adds the gradient @made to @dx, if it is another tensor. */
static mr_status add_made(mr_kctx *kc, int64_t n, float *dx, const float *made)
{
	return made == dx ? MR_OK : mr_onednn_sum(kc->onednn, n, dx, made, dx);
}

static mr_status pool_backward(mr_kctx *kc, const mr_pool_backward_args *o)
{
	int64_t n = mr_window_in_pixels(o->w) * o->w->c;
	float *made = o->dx;

	if (!mr_onednn_has_pool(o->w, o->kind))
		return mr_fused_pool_backward(kc, o);
	if (o->add)
		MR_TRY(mr_fused_room(kc, n, &made));
	MR_TRY(mr_onednn_pool_backward(kc->onednn, o->w, o->kind, o->dy, made));
	return add_made(kc, n, o->dx, made);
}

static mr_status lrn(mr_kctx *kc, const mr_lrn_args *o)
{
	return mr_onednn_has_lrn(o->l) ? mr_onednn_lrn(kc->onednn, o->l, o->x, o->y) : mr_fused_lrn(kc, o);
}

static mr_status lrn_backward(mr_kctx *kc, const mr_lrn_backward_args *o)
{
	int64_t n = o->l->pixels * o->l->c;
	float *room, *made;

	if (!mr_onednn_has_lrn(o->l))
		return mr_fused_lrn_backward(kc, o);
	MR_TRY(mr_fused_room(kc, 4 * n, &room));
	made = o->add ? room + 3 * n : o->dx;
	MR_TRY(mr_onednn_lrn_backward(kc->onednn, o->l, o->x, o->dy, made, room));
	return add_made(kc, n, o->dx, made);
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

#if defined(__aarch64__)
static const bool takes_softmax = false;
#else
static const bool takes_softmax = true;
#endif

static mr_status xent(mr_kctx *kc, const mr_xent_args *o)
{
	softmax_rows s = {.rows = o->rows, .classes = o->classes, .targets = o->targets, .x = o->logits};
	double total = 0;

	if (!takes_softmax)
		return mr_fused_xent(kc, o);
	MR_TRY(mr_fused_room(kc, 2 * o->rows, &s.most));
	s.at = s.most + o->rows;
	mr_team_run(kc->n_threads, look_at_logits, &s, o->rows, 1, o->classes);
	MR_TRY(mr_onednn_softmax(kc->onednn, o->rows, o->classes, o->logits, o->logits));
	mr_team_run(kc->n_threads, make_gradient, &s, o->rows, 1, o->classes);
	for (int64_t r = 0; r < o->rows; r++)
		total += s.at[r];
	*o->loss = total / (double)o->rows;
	return MR_OK;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

mr_kernel_by mr_onednn_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	enum { OURS, ONEDNN, BOTH };
	static const int by[MR_N_KERNELS] = {
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) onednn,
#define MR_OPERATION_WHOLE(id, what) ONEDNN,
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
	.types = MR_TYPES_ALL(MR_F32),
	.refusal = mr_kernels_fused_refusal,
	.gelu_aux = "argument of GELU",
	.executor = mr_onednn_executor,
	.recurrence_room = mr_by_onednn_recurrence_room,
	.takes_recurrence = takes_recurrence,
#define MR_KERNEL_PART(type, id, args) .id = mr_fused_##id,
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) .id = BY_##onednn(id),
#define MR_OPERATION_WHOLE(id, what) .id = id,
#include "nn/kernels.def"
};

/* Declares the same functions under the names of onednn.h. */
#define ALIAS(id, of) extern __typeof__(of) mr_by_onednn_##id __attribute__((alias(#of)));
#define NAME_OURS(id)
#define NAME_ONEDNN(id) ALIAS(id, id)
#define NAME_BOTH(id) ALIAS(id, id)
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) NAME_##onednn(id)
#define MR_OPERATION_WHOLE(id, what) ALIAS(id, id)
#include "nn/kernels.def"
