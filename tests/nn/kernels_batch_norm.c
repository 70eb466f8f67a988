/* kernels_batch_norm.c - batch normalisation for kernels_ops.c. */
#include "check.h"
#include "kernels_ops.h"

#include <stdlib.h>

/* variant 1: with ReLU; 2: with given statistics, without backward; 4: in place */
void run_batch_norm(const op_case *c)
{
	const mr_kernels *k = c->k;
	mr_batch_norm b = {.rows = c->dim[0], .cols = c->dim[1], .eps = 1e-5, .given = c->variant == 2,
			   .act = c->variant & 1 ? MR_ACT_RELU : MR_ACT_NONE};
	int64_t n = b.rows * b.cols;
	void *x = make_input(k, n, 1, -1, 3), *gain = make_input(k, b.cols, 2, 0, 2);
	void *shift = make_input(k, b.cols, 3, -1, 1), *dy = make_input(k, n, 4, -1, 1);
	mr_dtype compute = k->types.compute, gradient = k->types.gradients;
	void *y = make_output(k, n), *out = make_output(k, n), *dx = c->variant & 4 ? dy : out;
	void *mean = make_of(compute, b.cols, 5, 0, 2), *variance = make_of(compute, b.cols, 6, 1, 2);
	void *dg = make_room(gradient, b.cols), *ds = make_room(gradient, b.cols);

	MR_CHECK_OK(k->batch_norm(c->kc, &(mr_batch_norm_args){.b = &b, .x = x, .gain = gain, .shift = shift, .y = y,
							       .mean = mean, .variance = variance}));
	put(c->out, k, y, n);
	put_of(c->out, compute, mean, b.cols);
	put_of(c->out, compute, variance, b.cols);
	if (!b.given) {
		MR_CHECK_OK(k->batch_norm_backward(
			c->kc, &(mr_batch_norm_backward_args){.b = &b, .x = x, .y = y, .gain = gain, .mean = mean,
							      .variance = variance, .dy = dy, .dx = dx, .add = c->add,
							      .dgain = dg, .dshift = ds}));
		put(c->out, k, dx, n);
		put_of(c->out, gradient, dg, b.cols);
		put_of(c->out, gradient, ds, b.cols);
		MR_CHECK_OK(k->batch_norm_backward(c->kc, &(mr_batch_norm_backward_args){.b = &b, .x = x, .y = y,
											 .gain = gain, .mean = mean,
											 .variance = variance, .dy = x,
											 .dgain = dg, .dshift = ds}));
		put_of(c->out, gradient, dg, b.cols);
	}
	free(x), free(gain), free(shift), free(dy), free(y), free(out), free(mean), free(variance), free(dg), free(ds);
}
