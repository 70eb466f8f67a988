/* kernels_losses.c - losses, sums of gradients and of their squares, and ranges, for the list of kernels_ops.c. */
#include "check.h"
#include "kernels_ops.h"

/* dims rows, classes */
void run_xent(const op_case *c)
{
	void *x = make_input(c->k, c->dim[0] * c->dim[1], 1, -9, 9);
	int32_t *targets = make_tokens(c->dim[0], c->dim[1], 2);
	double loss = 0;

	MR_CHECK_OK(c->k->xent(c->kc, &(mr_xent_args){.rows = c->dim[0], .classes = c->dim[1], .logits = x,
						      .targets = targets, .loss = &loss}));
	put_number(c->out, loss);
	put(c->out, c->k, x, c->dim[0] * c->dim[1]);
	free(x), free(targets);
}

void run_mse(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	void *a = make_input(c->k, n, 1, -1, 1), *y = make_of(c->k->types.compute, n, 2, -1, 1);
	double loss = 0;

	MR_CHECK_OK(c->k->mse(c->kc, &(mr_mse_args){.rows = c->dim[0], .cols = c->dim[1], .a = a, .y = y,
						    .loss = &loss}));
	put_number(c->out, loss);
	put(c->out, c->k, a, n);
	free(a), free(y);
}

void run_sumsq(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	void *x = make_of(c->k->types.gradients, n, 1, -1, 1);
	double sum = 0;

	MR_CHECK_OK(c->k->sumsq(c->kc, &(mr_sumsq_args){.n = n, .x = x, .sum = &sum}));
	put_number(c->out, sum / (double)n);
	free(x);
}

/* variant 1: in place */
void run_sum_gradients(const op_case *c)
{
	mr_dtype type = c->k->types.gradients;
	int64_t n = c->dim[0] * c->dim[1];
	void *a = make_of(type, n, 1, -1, 1), *b = make_of(type, n, 2, -1, 1), *y = c->variant ? b : make_room(type, n);

	MR_CHECK_OK(c->k->sum_gradients(c->kc, &(mr_sum_gradients_args){.n = n, .a = a, .b = b, .y = y}));
	put_of(c->out, type, y, n);
	free(a), free(b);
	if (y != b)
		free(y);
}

static void triple(const void *args, int64_t lo, int64_t hi)
{
	double *x = (double *)(uintptr_t)args;

	for (int64_t i = lo; i < hi; i++)
		x[i] = 3 * (double)i;
}

void run_ranges(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	double *x = calloc((size_t)n, sizeof(*x));

	MR_CHECK_OK(c->k->ranges(c->kc, &(mr_ranges_args){.n = n, .fn = triple, .args = x}));
	for (int64_t i = 0; i < n; i++)
		put_number(c->out, x[i]);
	free(x);
}
