/*
 * auto.c - the backend `auto`: every operation that a table of choices gives to oneDNN by the functions of `onednn`,
 * the rest by those of `fused`, in the one context that both have.
 *
 * Products choose in fused.c: the sums of columns, GELU and everything else that goes with a product is then done as
 * `fused` does it after oneDNN's product, so that the column sums of any product have the bits of colsum, and GELU
 * keeps the input that act_backward needs. The tables of bf16 are in fused_bf16.c.
 */
#include "nn/kernels/backend.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/onednn/onednn.h"

static bool by_onednn(const mr_kctx *kc, mr_choice_kind kind, int64_t rows, int64_t size)
{
	return mr_chosen_onednn(&kc->chosen, kind, rows, size);
}

static void chosen_sum(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	(by_onednn(kc, MR_CHOICE_sum, 1, n) ? mr_by_onednn_sum : mr_fused_sum)(kc, n, a, b, y);
}

static void chosen_norm(mr_kctx *kc, int64_t rows, int64_t cols, double eps, const void *x, const void *gain,
		 const void *shift, void *y, void *mean, void *rstd)
{
	bool other = by_onednn(kc, MR_CHOICE_norm, rows, rows * cols);

	(other ? mr_by_onednn_norm : mr_fused_norm)(kc, rows, cols, eps, x, gain, shift, y, mean, rstd);
}

static void chosen_norm_backward_input(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain,
				const void *mean, const void *rstd, const void *dy, void *dx, bool add)
{
	bool other = by_onednn(kc, MR_CHOICE_norm_backward, rows, rows * cols);

	(other ? mr_by_onednn_norm_backward_input
	       : mr_fused_norm_backward_input)(kc, rows, cols, x, gain, mean, rstd, dy, dx, add);
}

static void chosen_norm_backward_weight(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *mean,
				 const void *rstd, const void *dy, void *dgain, void *dshift, bool add)
{
	bool other = by_onednn(kc, MR_CHOICE_norm_backward, rows, rows * cols);

	(other ? mr_by_onednn_norm_backward_weight
	       : mr_fused_norm_backward_weight)(kc, rows, cols, x, mean, rstd, dy, dgain, dshift, add);
}

static void chosen_norm_backward(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain,
				 const void *mean, const void *rstd, const void *dy, void *dx, bool add,
				 void *dgain, void *dshift, bool add_weight)
{
	bool other = by_onednn(kc, MR_CHOICE_norm_backward, rows, rows * cols);

	(other ? mr_by_onednn_norm_backward : mr_fused_norm_backward)(kc, rows, cols, x, gain, mean, rstd, dy, dx, add,
								     dgain, dshift, add_weight);
}

static double chosen_xent(mr_kctx *kc, int64_t rows, int64_t classes, void *logits, const int32_t *targets)
{
	bool other = by_onednn(kc, MR_CHOICE_xent, rows, rows * classes);

	return (other ? mr_by_onednn_xent : mr_fused_xent)(kc, rows, classes, logits, targets);
}

static void chosen_batch_norm(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *gain, const void *shift,
			      void *y, void *mean, void *variance)
{
	bool other = by_onednn(kc, MR_CHOICE_batch_norm, b->rows, b->rows * b->cols);

	(other ? mr_by_onednn_batch_norm : mr_fused_batch_norm)(kc, b, x, gain, shift, y, mean, variance);
}

static void chosen_batch_norm_backward(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *y,
				       const void *gain, const void *mean, const void *variance, const void *dy,
				       void *dx, bool add, void *dgain, void *dshift)
{
	bool other = by_onednn(kc, MR_CHOICE_batch_norm, b->rows, b->rows * b->cols);

	(other ? mr_by_onednn_batch_norm_backward : mr_fused_batch_norm_backward)(kc, b, x, y, gain, mean, variance, dy,
										  dx, add, dgain, dshift);
}

static bool pool_by_onednn(const mr_kctx *kc, const mr_window *w)
{
	return by_onednn(kc, MR_CHOICE_pool, mr_window_in_pixels(w), mr_window_in_pixels(w) * w->c);
}

static void chosen_pool(mr_kctx *kc, const mr_window *w, mr_pool_kind kind, const void *x, void *y, void *which)
{
	(pool_by_onednn(kc, w) ? mr_by_onednn_pool : mr_fused_pool)(kc, w, kind, x, y, which);
}

static void chosen_pool_backward(mr_kctx *kc, const mr_window *w, mr_pool_kind kind, const void *which, const void *dy,
				 void *dx, bool add)
{
	(pool_by_onednn(kc, w) ? mr_by_onednn_pool_backward : mr_fused_pool_backward)(kc, w, kind, which, dy, dx, add);
}

static void chosen_lrn(mr_kctx *kc, const mr_lrn *l, const void *x, void *y)
{
	bool other = by_onednn(kc, MR_CHOICE_lrn, l->pixels, l->pixels * l->c);

	(other ? mr_by_onednn_lrn : mr_fused_lrn)(kc, l, x, y);
}

static void chosen_lrn_backward(mr_kctx *kc, const mr_lrn *l, const void *x, const void *dy, void *dx, bool add)
{
	bool other = by_onednn(kc, MR_CHOICE_lrn, l->pixels, l->pixels * l->c);

	(other ? mr_by_onednn_lrn_backward : mr_fused_lrn_backward)(kc, l, x, dy, dx, add);
}

static bool conv_by_onednn(const mr_chosen *c, mr_choice_kind kind, const mr_conv *g)
{
	return mr_chosen_onednn(c, kind, mr_window_out_pixels(&g->window), mr_conv_weights(g));
}

static mr_status chosen_conv(mr_kctx *kc, const mr_conv *g, const void *x, const void *w, const void *bias, void *y)
{
	bool other = conv_by_onednn(&kc->chosen, MR_CHOICE_conv, g);

	return (other ? mr_by_onednn_conv : mr_fused_conv)(kc, g, x, w, bias, y);
}

static mr_status chosen_conv_backward_input(mr_kctx *kc, const mr_conv *g, const void *dy, const void *w, void *dx,
					    bool add)
{
	bool other = conv_by_onednn(&kc->chosen, MR_CHOICE_conv_input, g);

	return (other ? mr_by_onednn_conv_backward_input : mr_fused_conv_backward_input)(kc, g, dy, w, dx, add);
}

static mr_status chosen_conv_backward_weight(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw,
					     bool add)
{
	bool other = conv_by_onednn(&kc->chosen, MR_CHOICE_conv_weight, g);

	return (other ? mr_by_onednn_conv_backward_weight : mr_fused_conv_backward_weight)(kc, g, x, dy, dw, add);
}

static mr_status chosen_conv_step(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw, bool add,
				  const mr_step *s)
{
	bool other = conv_by_onednn(&kc->chosen, MR_CHOICE_conv_weight, g);

	return (other ? mr_by_onednn_conv_step : mr_fused_conv_step)(kc, g, x, dy, dw, add, s);
}

/* Of these everything is decided there. */
#define chosen_gemm mr_fused_gemm
#define chosen_gemm_step mr_fused_gemm_step
#define chosen_gemm_sum mr_fused_gemm_sum
#define chosen_gemm_step_rows mr_fused_gemm_step_rows

static mr_kernel_by executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	static const mr_choice_kind kinds[MR_N_KERNELS] = {
		[MR_KERNEL_sum] = MR_CHOICE_sum,
		[MR_KERNEL_norm] = MR_CHOICE_norm,
		[MR_KERNEL_norm_backward] = MR_CHOICE_norm_backward,
		[MR_KERNEL_norm_backward_input] = MR_CHOICE_norm_backward,
		[MR_KERNEL_norm_backward_weight] = MR_CHOICE_norm_backward,
		[MR_KERNEL_xent] = MR_CHOICE_xent,
		[MR_KERNEL_batch_norm] = MR_CHOICE_batch_norm,
		[MR_KERNEL_batch_norm_backward] = MR_CHOICE_batch_norm,
		[MR_KERNEL_pool] = MR_CHOICE_pool,
		[MR_KERNEL_pool_backward] = MR_CHOICE_pool,
		[MR_KERNEL_lrn] = MR_CHOICE_lrn,
		[MR_KERNEL_lrn_backward] = MR_CHOICE_lrn,
		[MR_KERNEL_conv] = MR_CHOICE_conv,
		[MR_KERNEL_conv_backward_input] = MR_CHOICE_conv_input,
		[MR_KERNEL_conv_backward_weight] = MR_CHOICE_conv_weight,
		[MR_KERNEL_conv_step] = MR_CHOICE_conv_weight,
	};
	mr_chosen chosen;

	mr_choices_select(k->choices, mr_kernels_fused_isa(k->dtype), k->dtype, n_threads, &chosen);
	if (c->is_gemm)
		return mr_chosen_gemm(&chosen, &c->gemm) ? MR_BY_ONEDNN : mr_fused_executor(k, n_threads, c);
	if (c->is_conv)
		return conv_by_onednn(&chosen, kinds[c->id], &c->conv) ? MR_BY_ONEDNN
								       : mr_fused_executor(k, n_threads, c);
	return kinds[c->id] && mr_chosen_onednn(&chosen, kinds[c->id], c->rows, c->rows * c->cols)
		       ? mr_onednn_executor(k, n_threads, c)
		       : mr_fused_executor(k, n_threads, c);
}

static mr_choice_kind recurrence_kind(const mr_recurrence *r)
{
	return r->kind == MR_CELL_LSTM ? MR_CHOICE_lstm : MR_CHOICE_gru;
}

static bool chosen_for_recurrence(const mr_chosen *c, const mr_recurrence *r)
{
	return mr_chosen_onednn(c, recurrence_kind(r), r->samples * r->t,
				mr_cell_gates(r->kind) * r->width * (r->in + r->width));
}

static bool takes_recurrence(const mr_kctx *kc, const mr_recurrence *r)
{
	return chosen_for_recurrence(&kc->chosen, r);
}

static bool recurrence_room(const mr_kernels *k, const mr_recurrence *r, mr_recurrence_room *out)
{
	mr_chosen chosen;

	mr_choices_select(k->choices, mr_kernels_fused_isa(MR_F32), MR_F32, 1, &chosen);
	return chosen_for_recurrence(&chosen, r) && mr_by_onednn_recurrence_room(k, r, out);
}

#define BY_FUSED(id) mr_fused_##id
#define BY_CHOSEN(id) chosen_##id

const mr_kernels mr_kernels_auto_f32 = {
	.name = "auto",
	.dtype = MR_F32,
	.types = MR_TYPES_ALL(MR_F32),
	.gelu_aux = "slope of GELU", /* as fused */
	.choices = &mr_choices_built_in,
	.executor = executor,
	.recurrence_room = recurrence_room,
	.takes_recurrence = takes_recurrence,
#define MR_KERNEL_PART(type, id, args) .id = mr_fused_##id,
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) .id = BY_##chosen(id),
#define MR_KERNEL_WHOLE(type, id, args, what) .id = mr_by_onednn_##id,
#include "nn/kernels.def"
};
