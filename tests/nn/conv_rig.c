#include "conv_rig.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "step_variants.h"

outputs conv_results(const mr_kernels *k, uint32_t n_threads, const mr_conv *g, bool add)
{
	int64_t n = mr_conv_weights(g);
	void *x = make_input(k, mr_conv_in(g), 1, -1, 1), *w = make_input(k, n, 2, -1, 1);
	void *bias = make_input(k, g->out, 3, -1, 1), *dy = make_input(k, mr_conv_out(g), 4, -1, 1);
	void *y = make_output(k, mr_conv_out(g)), *dx = make_output(k, mr_conv_in(g));
	void *dw = make_room(k->types.gradients, n);
	outputs o = {0};
	mr_kctx *kc;

	MR_CHECK_OK(k->ctx_create(k, n_threads, &kc));
	MR_CHECK_OK(k->conv(kc, &(mr_conv_args){.g = g, .x = x, .w = w, .bias = bias, .y = y}));
	MR_CHECK_OK(k->conv_backward_input(kc, &(mr_conv_backward_input_args){.g = g, .dy = dy, .w = w, .dx = dx,
									      .add = add}));
	MR_CHECK_OK(k->conv_backward_weight(kc, &(mr_conv_backward_weight_args){.g = g, .x = x, .dy = dy, .dw = dw,
										.add = add}));
	put(&o, k, y, mr_conv_out(g)), put(&o, k, dx, mr_conv_in(g));
	put_of(&o, k->types.gradients, dw, n);
	k->ctx_destroy(kc);
	free(x), free(w), free(bias), free(dy), free(y), free(dx), free(dw);
	return o;
}

enum { WEIGHTS, GRADIENT, FIRST, REST, SECOND, BUFFERS, MOST = 4 };

/* What a step reads and writes. */
typedef struct stepped {
	void *of[BUFFERS];
	mr_dtype type[BUFFERS];
	mr_step step;
} stepped;

static void stepped_make(stepped *s, const mr_kernels *k, mr_step_kind kind, int64_t n)
{
	mr_dtype types[BUFFERS] = {k->types.weights, k->types.gradients, k->types.state, MR_BF16, k->types.state};

	for (int i = 0; i < BUFFERS; i++)
		s->of[i] = make_room(s->type[i] = types[i], n);
	s->step = step_variant(kind, s->of[WEIGHTS], s->of[WEIGHTS], s->of[FIRST], s->of[SECOND]);
	if (mr_types_rest_bytes(&k->types))
		s->step.src_rest = s->step.dst_rest = s->of[REST];
}

static void stepped_free(stepped *s)
{
	for (int i = 0; i < BUFFERS; i++)
		free(s->of[i]);
}

/* @n gradients one after the other, and the step behind them if @steps. */
static void apart(const mr_kernels *k, mr_kctx *kc, const mr_conv *g, uint32_t n, void *const *x, void *const *dy,
		  bool add, bool steps, stepped *to)
{
	for (uint32_t j = 0; j < n; j++)
		MR_CHECK_OK(k->conv_backward_weight(kc, &(mr_conv_backward_weight_args){
								.g = g, .x = x[j], .dy = dy[j],
								.dw = to->of[GRADIENT], .add = add || j}));
	if (steps)
		MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = mr_conv_weights(g), .s = &to->step,
							.g = to->of[GRADIENT]}));
}

/* At once: by conv_sum, or one gradient and its step by conv_step. */
static void together(const mr_kernels *k, mr_kctx *kc, const mr_conv *g, uint32_t n, void *const *x, void *const *dy,
		     bool add, bool steps, bool sum, stepped *to)
{
	if (sum)
		MR_CHECK_OK(k->conv_sum(kc, &(mr_conv_sum_args){.g = g, .n = n, .x = (const void *const *)x,
								.dy = (const void *const *)dy,
								.dw = to->of[GRADIENT], .add = add,
								.s = steps ? &to->step : NULL}));
	else
		MR_CHECK_OK(k->conv_step(kc, &(mr_conv_step_args){.g = g, .x = x[0], .dy = dy[0],
								  .dw = to->of[GRADIENT], .add = add,
								  .s = &to->step}));
}

void conv_check_sums(const mr_kernels *k, uint32_t n_threads, const mr_conv *g, mr_step_kind kind, bool add)
{
	int64_t n = mr_conv_weights(g);
	void *x[MOST], *dy[MOST];
	mr_kctx *kc;

	for (uint32_t j = 0; j < MOST; j++) {
		x[j] = make_input(k, mr_conv_in(g), 1 + 2 * j, -1, 1);
		dy[j] = make_input(k, mr_conv_out(g), 2 + 2 * j, -1, 1);
	}
	MR_CHECK_OK(k->ctx_create(k, n_threads, &kc));
	for (uint32_t products = 0; products <= MOST; products++)
		for (int steps = products ? 0 : 1; steps < 2; steps++) { /* 0 products: one, by conv_step */
			uint32_t some = products ? products : 1;
			stepped a, b;

			stepped_make(&a, k, kind, n), stepped_make(&b, k, kind, n);
			together(k, kc, g, some, x, dy, add, steps, products, &a);
			apart(k, kc, g, some, x, dy, add, steps, &b);
			for (int i = 0; i < BUFFERS; i++)
				CU_ASSERT((steps ? i == GRADIENT : i != GRADIENT) ||
					  !memcmp(a.of[i], b.of[i], (size_t)n * mr_dtype_bytes(a.type[i])));
			stepped_free(&a), stepped_free(&b);
		}
	k->ctx_destroy(kc);
	for (uint32_t j = 0; j < MOST; j++)
		free(x[j]), free(dy[j]);
}
