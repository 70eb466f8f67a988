/* own_loss.c - the loss of a caller (millrace/training.h) in the place of the model's: its numbers are doubles. */
#include <stdlib.h>

#include "nn/element.h"
#include "training/training_internal.h"

/* Numbers of one micro-batch, in one piece of memory. */
typedef struct numbers {
	size_t n_outputs, n_targets; /* of all samples */
	double *output, *target, *gradient;
} numbers;

static void take(const mr_layer_call *c, const mr_dataset *d, numbers *x)
{
	for (size_t i = 0; i < x->n_outputs; i++)
		x->output[i] = mr_element(c->k->types.activations, c->x[0], (int64_t)i);
	for (size_t i = 0; i < x->n_targets; i++)
		x->target[i] = d->target.tokens ? (double)((const int32_t *)c->target)[i]
						: mr_element(c->k->types.compute, c->target, (int64_t)i);
}

static mr_status find(mr_training *t, const mr_layer_call *c, numbers *x)
{
	mr_training_outputs o = {
		.n = (uint64_t)c->samples,
		.n_outputs = x->n_outputs / (size_t)c->samples,
		.n_targets = x->n_targets / (size_t)c->samples,
		.output = x->output,
		.target = x->target,
		.train = c->train,
	};

	take(c, t->train->s.data, x);
	if (!t->loss_of(t->loss_arg, &o, x->gradient, c->loss))
		return mr_fail(MR_EINVAL, "the own loss of this training has failed");
	for (size_t i = 0; i < x->n_outputs; i++)
		mr_element_put(c->k->types.activations, (void *)c->x[0], (int64_t)i, x->gradient[i]);
	return MR_OK;
}

mr_status mr_training_find_loss(void *arg, const mr_layer_call *call)
{
	mr_training *t = arg;
	size_t samples = (size_t)call->samples;
	numbers x = {.n_outputs = samples * (size_t)mr_shape_count(call->in[0]),
		     .n_targets = samples * (size_t)mr_shape_count(t->train->s.data->target)};
	mr_status st;

	x.output = calloc(2 * x.n_outputs + x.n_targets, sizeof(*x.output));
	if (!x.output)
		return mr_fail(MR_ERESOURCE, "no memory for the own loss of a micro-batch");
	x.gradient = x.output + x.n_outputs;
	x.target = x.gradient + x.n_outputs;
	st = find(t, call, &x);
	free(x.output);
	return st;
}
