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

void conv_check_step(const mr_kernels *k, uint32_t n_threads, const mr_conv *g, mr_step_kind kind, bool add)
{
	int64_t n = mr_conv_weights(g);
	mr_dtype types[] = {k->types.weights, k->types.gradients, k->types.state, MR_BF16, k->types.state};
	void *x = make_input(k, mr_conv_in(g), 1, -1, 1), *dy = make_input(k, mr_conv_out(g), 4, -1, 1);
	void *a[5], *b[5]; /* weights, gradient, state, rests, second state */
	mr_step at_once, apart;
	mr_kctx *kc;

	for (int i = 0; i < 5; i++)
		a[i] = make_room(types[i], n), b[i] = make_room(types[i], n);
	at_once = step_variant(kind, a[0], a[0], a[2], a[4]);
	apart = step_variant(kind, b[0], b[0], b[2], b[4]);
	if (mr_types_rest_bytes(&k->types)) {
		at_once.src_rest = at_once.dst_rest = a[3];
		apart.src_rest = apart.dst_rest = b[3];
	}
	MR_CHECK_OK(k->ctx_create(k, n_threads, &kc));
	MR_CHECK_OK(k->conv_step(kc, &(mr_conv_step_args){.g = g, .x = x, .dy = dy, .dw = a[1], .add = add,
							  .s = &at_once}));
	MR_CHECK_OK(k->conv_backward_weight(kc, &(mr_conv_backward_weight_args){.g = g, .x = x, .dy = dy, .dw = b[1],
										.add = add}));
	MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = n, .s = &apart, .g = b[1]}));
	k->ctx_destroy(kc);
	for (int i = 0; i < 5; i++) {
		CU_ASSERT(i == 1 || !memcmp(a[i], b[i], (size_t)n * mr_dtype_bytes(types[i])));
		free(a[i]), free(b[i]);
	}
	free(x), free(dy);
}
