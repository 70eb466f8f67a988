/* kernels_images.c - convolutions, pools and normalisation of images as operations of kernels_ops.h. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels_ops.h"

static mr_window window_of(const op_case *c, mr_window w)
{
	w.samples = 2;
	w.h = c->dim[0], w.w = c->dim[1], w.c = c->dim[2];
	w.dilation_h += !w.dilation_h, w.dilation_w += !w.dilation_w;
	w.out_h = mr_window_out(w.h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h);
	w.out_w = mr_window_out(w.w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w);
	return w;
}

/* dims h, w, c, out; variant: the window; 6: three groups with c inputs and out outputs each, 7: one group per channel
 * with out outputs each */
void run_conv(const op_case *c)
{
	static const mr_window windows[] = {
		{.kernel_h = 3, .kernel_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1},
		{.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1},
		{.kernel_h = 1, .kernel_w = 1, .stride_h = 2, .stride_w = 2},
		{.kernel_h = 2, .kernel_w = 3, .stride_h = 1, .stride_w = 2, .pad_h = 1, .pad_w = 2, .dilation_h = 2},
		{.kernel_h = 5, .kernel_w = 1, .stride_h = 1, .stride_w = 1, .pad_h = 2},
		{.kernel_h = 3, .kernel_w = 3, .stride_h = 1, .stride_w = 1},
	};
	const mr_kernels *k = c->k;
	mr_conv g = {.window = window_of(c, windows[c->variant % 6]), .out = c->dim[3], .groups = 1,
		     .bias = c->variant & 1, .relu = c->variant == 1};
	mr_step step = {.kind = MR_STEP_SGD, .gscale = 1, .lr = 0.01};
	void *x, *w, *bias, *dy, *y, *dx, *dw;

	if (c->variant >= 6) {
		g.groups = c->variant == 6 ? 3 : g.window.c;
		g.window.c *= c->variant == 6 ? 3 : 1;
		g.out *= g.groups;
	}
	x = make_input(k, mr_conv_in(&g), 1, -1, 1), w = make_input(k, mr_conv_weights(&g), 2, -1, 1);
	bias = make_input(k, g.out, 3, -1, 1), dy = make_input(k, mr_conv_out(&g), 4, -1, 1);
	y = make_output(k, mr_conv_out(&g)), dx = make_output(k, mr_conv_in(&g));
	dw = make_room(k->types.gradients, mr_conv_weights(&g));
	step.src = step.dst = w;
	for (int i = 0; i < 2; i++) /* the second call uses the cached primitive */
		MR_CHECK_OK(k->conv(c->kc, &(mr_conv_args){.g = &g, .x = x, .w = w, .bias = g.bias ? bias : NULL,
							   .y = y}));
	MR_CHECK_OK(k->conv_backward_input(c->kc, &(mr_conv_backward_input_args){.g = &g, .dy = dy, .w = w, .dx = dx,
										 .add = c->add}));
	MR_CHECK_OK(k->conv_backward_weight(c->kc, &(mr_conv_backward_weight_args){.g = &g, .x = x, .dy = dy, .dw = dw,
										   .add = c->add}));
	put(c->out, k, y, mr_conv_out(&g));
	put(c->out, k, dx, mr_conv_in(&g));
	put_of(c->out, k->types.gradients, dw, mr_conv_weights(&g));
	MR_CHECK_OK(k->conv_step(c->kc, &(mr_conv_step_args){.g = &g, .x = x, .dy = dy, .dw = dw, .add = c->add,
							     .s = &step}));
	MR_CHECK_OK(k->conv_sum(c->kc, &(mr_conv_sum_args){.g = &g, .n = 2, .x = (const void *const[]){x, x},
							   .dy = (const void *const[]){dy, dy}, .dw = dw,
							   .s = &step}));
	put(c->out, k, w, mr_conv_weights(&g));
	/* bf16 products are added in pairs, and one may be 0 times NaN; oneDNN 3.7 multiplies padding by weights. */
	if (k->types.weights == MR_BF16 || strcmp(k->name, "reference") != 0)
		c->out->loose = c->out->n;
	free(x), free(w), free(bias), free(dy), free(y), free(dx), free(dw);
}

/* Fewer windows than pixels along one side, and more along the other. */
static mr_window adaptive_of(const op_case *c)
{
	mr_window w = window_of(c, (mr_window){.kernel_h = 1, .kernel_w = 1, .stride_h = 1, .stride_w = 1});

	w.out_h = w.h * 2 / 3 + 1;
	w.out_w = w.w * 3 / 2;
	return w;
}

/* dims h, w, c; variant: the kind + 3 * the window; 9: adaptive */
void run_pool(const op_case *c)
{
	static const mr_window windows[] = {
		{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2},
		{.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1},
		{.kernel_h = 3, .kernel_w = 2, .stride_h = 1, .stride_w = 1, .pad_w = 1},
	};
	const mr_kernels *k = c->k;
	bool adaptive = c->variant == 9;
	mr_pool_kind kind = adaptive ? MR_POOL_ADAPTIVE : (mr_pool_kind)(c->variant % 3);
	mr_window w = adaptive ? adaptive_of(c) : window_of(c, windows[c->variant / 3]);
	int64_t in = mr_window_in_pixels(&w) * w.c, out = mr_window_out_pixels(&w) * w.c;
	void *x = make_input(k, in, 1, -1, 1), *dy = make_input(k, out, 2, -1, 1), *y = make_output(k, out);
	void *dx = make_output(k, in), *which = make_output(k, out);

	MR_CHECK_OK(k->pool(c->kc, &(mr_pool_args){.w = &w, .kind = kind, .x = x, .y = y,
						   .which = kind == MR_POOL_MAX ? which : NULL}));
	MR_CHECK_OK(k->pool_backward(c->kc, &(mr_pool_backward_args){.w = &w, .kind = kind,
								     .which = kind == MR_POOL_MAX ? which : NULL,
								     .dy = dy, .dx = dx, .add = c->add}));
	put(c->out, k, y, out);
	put(c->out, k, which, out);
	put(c->out, k, dx, in);
	free(x), free(dy), free(y), free(dx), free(which);
}

/* dims pixels, c; variant: size 5 and beta 3/4, or 4 and another */
void run_lrn(const op_case *c)
{
	mr_lrn l = {.pixels = c->dim[0], .c = c->dim[1], .size = 5 - c->variant, .alpha = 0.4,
		    .beta = c->variant ? 0.6 : 0.75, .k = 1.5};
	const mr_kernels *k = c->k;
	int64_t n = l.pixels * l.c;
	void *x = make_input(k, n, 1, -2, 2), *dy = make_input(k, n, 2, -1, 1), *y = make_output(k, n);
	void *dx = make_output(k, n);

	MR_CHECK_OK(k->lrn(c->kc, &(mr_lrn_args){.l = &l, .x = x, .y = y}));
	MR_CHECK_OK(k->lrn_backward(c->kc, &(mr_lrn_backward_args){.l = &l, .x = x, .dy = dy, .dx = dx,
								   .add = c->add}));
	put(c->out, k, y, n);
	put(c->out, k, dx, n);
	free(x), free(dy), free(y), free(dx);
}
