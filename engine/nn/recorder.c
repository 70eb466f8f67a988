#include "nn/recorder.h"

#include <stdlib.h>

/* The context of the table below. */
struct mr_kctx {
	const mr_kernels *of;
	uint32_t n_threads;
	mr_recorded *call;
	size_t n, room;
	bool failed;
};

struct mr_recorder {
	mr_kernels kernels;
	mr_kctx kc;
};

static void note(mr_kctx *kc, const mr_kernel_call *c)
{
	mr_kernel_by e = kc->of->executor ? kc->of->executor(kc->of, kc->n_threads, c) : MR_BY_REFERENCE;

	if (kc->n == kc->room) {
		size_t room = kc->room ? 2 * kc->room : 64;
		mr_recorded *more = realloc(kc->call, room * sizeof(*more));

		kc->failed = kc->failed || !more;
		if (!more)
			return;
		kc->call = more;
		kc->room = room;
	}
	kc->call[kc->n++] = (mr_recorded){*c, e};
}

static void note_rows(mr_kctx *kc, mr_kernel_id id, int64_t rows, int64_t cols)
{
	note(kc, &(mr_kernel_call){.id = id, .rows = rows, .cols = cols});
}

/* A sum of @n products. */
static mr_status note_gemm(mr_kctx *kc, mr_kernel_id id, const mr_gemm *g, uint32_t n, bool steps)
{
	note(kc, &(mr_kernel_call){.id = id, .is_gemm = true, .steps = steps, .gemm = *g,
				   .flops = 2.0 * (double)g->m * (double)g->n * (double)g->k * n});
	return MR_OK;
}

/* @products: of scores or gradients, each over the pairs of a query and a key that attention sees. */
static mr_status note_attn(mr_kctx *kc, mr_kernel_id id, const mr_attn *a, int products)
{
	double pairs = (double)a->t * (double)(a->bidirectional ? a->t : (a->t + 1)) / (a->bidirectional ? 1 : 2);

	note(kc, &(mr_kernel_call){.id = id, .rows = a->samples * a->t, .cols = a->heads * a->dim,
				   .flops = 2.0 * products * pairs * (double)(a->samples * a->heads * a->dim)});
	return MR_OK;
}

static mr_status ctx_status(const mr_kctx *kc)
{
	return kc->failed ? mr_fail(MR_ERESOURCE, "no memory for the calls of a stage") : MR_OK;
}

/* --- the operations ----------------------------------------------------------------------------------------------- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* tensors */

static mr_status gemm(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const void *bias, void *c, void *aux)
{
	return note_gemm(kc, MR_KERNEL_gemm, g, 1, false);
}

static mr_status gemm_step(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s)
{
	return note_gemm(kc, MR_KERNEL_gemm_step, g, 1, true);
}

static mr_status gemm_sum(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b,
			  void *c, const mr_step *s)
{
	return note_gemm(kc, MR_KERNEL_gemm_sum, g, n, s != NULL);
}

static mr_status gemm_step_rows(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s,
				const mr_gemm_rows *r)
{
	return note_gemm(kc, MR_KERNEL_gemm_step_rows, g, 1, true);
}

static void colsum(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, void *y, bool add)
{
	note_rows(kc, MR_KERNEL_colsum, rows, cols);
}

static void act(mr_kctx *kc, mr_act act, int64_t n, const void *x, void *y)
{
	note(kc, &(mr_kernel_call){.id = MR_KERNEL_act, .rows = 1, .cols = n, .act = act});
}

static void act_backward(mr_kctx *kc, mr_act act, int64_t n, const void *aux, const void *dy, void *dz)
{
	note(kc, &(mr_kernel_call){.id = MR_KERNEL_act_backward, .rows = 1, .cols = n, .act = act});
}

static void note_norm(mr_kctx *kc, mr_kernel_id id, int64_t rows, int64_t cols, const void *mean)
{
	note(kc, &(mr_kernel_call){.id = id, .rows = rows, .cols = cols, .no_mean = !mean});
}

static void norm(mr_kctx *kc, int64_t rows, int64_t cols, double eps, const void *x, const void *gain,
		 const void *shift, void *y, void *mean, void *rstd)
{
	note_norm(kc, MR_KERNEL_norm, rows, cols, mean);
}

static void norm_backward_input(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain,
				const void *mean, const void *rstd, const void *dy, void *dx, bool add)
{
	note_norm(kc, MR_KERNEL_norm_backward_input, rows, cols, mean);
}

static void norm_backward_weight(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *mean,
				 const void *rstd, const void *dy, void *dgain, void *dshift, bool add)
{
	note_norm(kc, MR_KERNEL_norm_backward_weight, rows, cols, mean);
}

static void norm_backward(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain, const void *mean,
			  const void *rstd, const void *dy, void *dx, bool add, void *dgain, void *dshift,
			  bool add_weight)
{
	note_norm(kc, MR_KERNEL_norm_backward, rows, cols, mean);
}

static void batch_norm(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *gain, const void *shift, void *y,
		       void *mean, void *variance)
{
	note_rows(kc, MR_KERNEL_batch_norm, b->rows, b->cols);
}

static void batch_norm_backward(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *y, const void *gain,
				const void *mean, const void *variance, const void *dy, void *dx, bool add, void *dgain,
				void *dshift)
{
	note_rows(kc, MR_KERNEL_batch_norm_backward, b->rows, b->cols);
}

static mr_status attn(mr_kctx *kc, const mr_attn *a, const void *qkv, void *y, void *saved, void *scratch)
{
	return note_attn(kc, MR_KERNEL_attn, a, 2);
}

static mr_status attn_backward(mr_kctx *kc, const mr_attn *a, const void *qkv, const void *saved, const void *dy,
			       void *dqkv, void *scratch)
{
	return note_attn(kc, MR_KERNEL_attn_backward, a, 4);
}

static mr_status rope(mr_kctx *kc, const mr_rope *r, const void *const *x, void *y)
{
	note_rows(kc, MR_KERNEL_rope, r->samples * r->t, (r->heads + 2 * r->kv_heads) * r->dim);
	return MR_OK;
}

static mr_status rope_backward(mr_kctx *kc, const mr_rope *r, const void *dy, void *const *dx)
{
	note_rows(kc, MR_KERNEL_rope_backward, r->samples * r->t, (r->heads + 2 * r->kv_heads) * r->dim);
	return MR_OK;
}

static void swiglu(mr_kctx *kc, int64_t n, const void *gate, const void *up, void *y)
{
	note_rows(kc, MR_KERNEL_swiglu, 1, n);
}

static void swiglu_backward(mr_kctx *kc, int64_t n, const void *gate, const void *up, const void *dy, void *dgate,
			    void *dup)
{
	note_rows(kc, MR_KERNEL_swiglu_backward, 1, n);
}

static void cell(mr_kctx *kc, const mr_cell *c, void *a, const void *b, const void *before, void *memory, void *y,
		 void *y_step)
{
	note_rows(kc, MR_KERNEL_cell, c->samples, c->width);
}

static void cell_backward(mr_kctx *kc, const mr_cell *c, const void *gates, const void *before, const void *memory,
			  const void *y_before, const mr_cell_gradients *d)
{
	note_rows(kc, MR_KERNEL_cell_backward, c->samples, c->width);
}

static bool takes_recurrence(const mr_kctx *kc, const mr_recurrence *r)
{
	mr_recurrence_room room;

	return kc->of->recurrence_room && kc->of->recurrence_room(kc->of, r, &room);
}

/* @products: forward 1; backward 2, of the gradients of what it multiplies. */
static mr_status note_recurrence(mr_kctx *kc, mr_kernel_id id, const mr_recurrence *r, int products)
{
	int64_t gates = mr_cell_gates(r->kind) * r->width;
	mr_recurrence_room room;

	(void)kc->of->recurrence_room(kc->of, r, &room);
	note(kc, &(mr_kernel_call){.id = id, .rows = r->samples * r->t, .cols = r->width, .library = room.library,
				   .flops = 2.0 * products * (double)(r->samples * r->t) * (double)gates *
					    (double)(r->in + r->width)});
	return MR_OK;
}

static mr_status recurrence(mr_kctx *kc, const mr_recurrence *r, const mr_recurrence_call *q)
{
	return note_recurrence(kc, MR_KERNEL_recurrence, r, 1);
}

static mr_status recurrence_backward(mr_kctx *kc, const mr_recurrence *r, const mr_recurrence_call *q)
{
	return note_recurrence(kc, MR_KERNEL_recurrence_backward, r, 2);
}

static void gelu_erf(mr_kctx *kc, int64_t n, const void *x, void *y)
{
	note_rows(kc, MR_KERNEL_gelu_erf, 1, n);
}

static void gelu_erf_backward(mr_kctx *kc, int64_t n, const void *x, const void *dy, void *dx)
{
	note_rows(kc, MR_KERNEL_gelu_erf_backward, 1, n);
}

static void embed(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, const int32_t *tokens, const void *wte,
		  const void *wpe, void *y)
{
	note_rows(kc, MR_KERNEL_embed, rows, cols);
}

static void embed_backward(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, int64_t vocab, const int32_t *tokens,
			   const void *dy, void *dwte, void *dwpe, bool add)
{
	note_rows(kc, MR_KERNEL_embed_backward, rows, cols);
}

static void note_conv(mr_kctx *kc, mr_kernel_id id, const mr_conv *g)
{
	double rows = (double)mr_window_out_pixels(&g->window), weights = (double)mr_conv_weights(g);

	note(kc, &(mr_kernel_call){.id = id, .rows = mr_window_out_pixels(&g->window), .cols = g->out, .is_conv = true,
				   .conv = *g, .flops = 2 * rows * weights});
}

static mr_status conv(mr_kctx *kc, const mr_conv *g, const void *x, const void *w, const void *bias, void *y)
{
	note_conv(kc, MR_KERNEL_conv, g);
	return MR_OK;
}

static mr_status conv_backward_input(mr_kctx *kc, const mr_conv *g, const void *dy, const void *w, void *dx, bool add)
{
	note_conv(kc, MR_KERNEL_conv_backward_input, g);
	return MR_OK;
}

static mr_status conv_backward_weight(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw, bool add)
{
	note_conv(kc, MR_KERNEL_conv_backward_weight, g);
	return MR_OK;
}

static mr_status conv_step(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw, bool add,
			   const mr_step *s)
{
	note_conv(kc, MR_KERNEL_conv_step, g);
	return MR_OK;
}

static void note_pool(mr_kctx *kc, mr_kernel_id id, const mr_window *w, mr_pool_kind kind)
{
	note(kc, &(mr_kernel_call){.id = id, .rows = mr_window_in_pixels(w), .cols = w->c,
				   .no_primitive = kind == MR_POOL_MAX || kind == MR_POOL_ADAPTIVE});
}

static void note_lrn(mr_kctx *kc, mr_kernel_id id, const mr_lrn *l)
{
	note(kc, &(mr_kernel_call){.id = id, .rows = l->pixels, .cols = l->c, .no_primitive = l->size % 2 == 0});
}

static void pool(mr_kctx *kc, const mr_window *w, mr_pool_kind kind, const void *x, void *y, void *which)
{
	note_pool(kc, MR_KERNEL_pool, w, kind);
}

static void pool_backward(mr_kctx *kc, const mr_window *w, mr_pool_kind kind, const void *which, const void *dy,
			  void *dx, bool add)
{
	note_pool(kc, MR_KERNEL_pool_backward, w, kind);
}

static void lrn(mr_kctx *kc, const mr_lrn *l, const void *x, void *y)
{
	note_lrn(kc, MR_KERNEL_lrn, l);
}

static void lrn_backward(mr_kctx *kc, const mr_lrn *l, const void *x, const void *dy, void *dx, bool add)
{
	note_lrn(kc, MR_KERNEL_lrn_backward, l);
}

static void sum(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	note_rows(kc, MR_KERNEL_sum, 1, n);
}

static void sum_relu(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	note_rows(kc, MR_KERNEL_sum_relu, 1, n);
}

static void sum_gradients(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y)
{
	note_rows(kc, MR_KERNEL_sum_gradients, 1, n);
}

static void dropout(mr_kctx *kc, int64_t samples, int64_t per_sample, double rate, const mr_mask_key *key,
		    const void *x, void *y)
{
	note_rows(kc, MR_KERNEL_dropout, samples, per_sample);
}

static double xent(mr_kctx *kc, int64_t rows, int64_t classes, void *logits, const int32_t *targets)
{
	note_rows(kc, MR_KERNEL_xent, rows, classes);
	return 0;
}

static double mse(mr_kctx *kc, int64_t rows, int64_t cols, void *a, const void *y)
{
	note_rows(kc, MR_KERNEL_mse, rows, cols);
	return 0;
}

static double sumsq(mr_kctx *kc, int64_t n, const void *x)
{
	note_rows(kc, MR_KERNEL_sumsq, 1, n);
	return 0;
}

static void ranges(mr_kctx *kc, int64_t n, mr_range_fn *fn, const void *args)
{
	note_rows(kc, MR_KERNEL_ranges, 1, n);
}

static void mix(mr_kctx *kc, int64_t n, const mr_averaging *m)
{
	note_rows(kc, MR_KERNEL_mix, 1, n);
}

static void step(mr_kctx *kc, int64_t n, const mr_step *s, const void *g)
{
	note_rows(kc, MR_KERNEL_step, 1, n);
}

#pragma GCC diagnostic pop

/* --- the recorder ------------------------------------------------------------------------------------------------- */

mr_status mr_recorder_create(const mr_kernels *of, uint32_t n_threads, mr_recorder **out)
{
	mr_recorder *r = malloc(sizeof(*r));

	*out = r;
	if (!r)
		return mr_fail(MR_ERESOURCE, "no memory for a recorder");
	*r = (mr_recorder){.kernels = *of, .kc = {.of = of, .n_threads = n_threads}};
#define MR_KERNEL_PART(type, id, args)
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) r->kernels.id = id;
#define MR_KERNEL_WHOLE(type, id, args, what) r->kernels.id = id;
#include "nn/kernels.def"
	r->kernels.ctx_status = ctx_status;
	r->kernels.takes_recurrence = takes_recurrence;
	return MR_OK;
}

void mr_recorder_destroy(mr_recorder *r)
{
	if (!r)
		return;
	free(r->kc.call);
	free(r);
}

const mr_kernels *mr_recorder_kernels(const mr_recorder *r)
{
	return &r->kernels;
}

mr_kctx *mr_recorder_context(mr_recorder *r)
{
	return &r->kc;
}

mr_status mr_recorder_calls(const mr_recorder *r, const mr_recorded **calls, size_t *n)
{
	*calls = r->kc.call;
	*n = r->kc.n;
	return ctx_status(&r->kc);
}

const char *mr_kernel_name(mr_kernel_id id)
{
	static const char *const names[MR_N_KERNELS] = {
#define MR_KERNEL_PART(type, id, args)
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) #id,
#define MR_KERNEL_WHOLE(type, id, args, what) #id,
#include "nn/kernels.def"
	};

	return names[id];
}

const char *mr_kernel_by_name(mr_kernel_by e)
{
	static const char *const names[MR_N_KERNEL_BY] = {"reference", "fused", "onednn", "f32 inside"};

	return names[e];
}
