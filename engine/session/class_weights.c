#include "session/class_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/element.h"
#include "planner/graph_objective.h"

static bool is_balanced(const mr_session *s)
{
	return !strcmp(s->job->train.class_weights, "balanced");
}

/* "1,2.5" */
static mr_status read_list(const char *text, mr_graph *g)
{
	uint32_t n = 0;
	double most = 0;

	for (const char *at = text; *at; n++) {
		char *end;
		double w = strtod(at, &end);

		if (end == at || (*end && *end != ',') || !isfinite(w) || w < 0)
			return mr_fail(MR_ECONFIG, "expected \"balanced\" or a list of weights of at least 0, got "
						   "\"%.60s\"", at);
		if (n < g->n_class_weights)
			g->class_weight[n] = w;
		most = fmax(most, w);
		at = *end ? end + 1 : end;
	}
	if (n != g->n_class_weights)
		return mr_fail(MR_ECONFIG, "%u weights for %u classes", n, g->n_class_weights);
	return most > 0 ? MR_OK : mr_fail(MR_ECONFIG, "the weights of all classes are 0");
}

mr_status mr_session_weigh_classes(mr_session *s)
{
	const char *text = s->job->train.class_weights;
	const mr_graph *other = s->beside ? s->beside->graph : NULL;

	if (!*text)
		return MR_OK;
	if (mr_graph_is_linear(s->graph))
		return mr_fail(MR_ECONFIG, "the objectives of the theory have no classes to weigh");
	MR_TRY(mr_graph_weigh(s->graph));
	if (!is_balanced(s))
		return read_list(text, s->graph);
	if (other && other->n_class_weights == s->graph->n_class_weights)
		memcpy(s->graph->class_weight, other->class_weight,
		       other->n_class_weights * sizeof(*other->class_weight));
	return MR_OK;
}

/* The class of each training sample, once. */
static mr_status count(const mr_dataset *d, mr_dtype dtype, uint64_t *n, uint32_t classes, void *input, void *target)
{
	for (uint64_t g = 0; g < d->n_train; g++) {
		double y;

		d->ops->train(d, g, d->ops->halves ? NULL : input, target);
		y = d->target.tokens ? ((const int32_t *)target)[0] : mr_element(dtype, target, 0);
		if (!d->target.tokens && y != 0 && y != 1)
			return mr_fail(MR_EDATA, "balanced weights need targets that are 0 or 1, and one is %g", y);
		if (y >= 0 && y < (double)classes)
			n[(uint32_t)y]++;
	}
	return mr_dataset_check(d);
}

mr_status mr_session_balance_classes(mr_session *s)
{
	mr_graph *g = s->graph;
	const mr_dataset *d = s->data;
	uint64_t *n;
	void *input, *target;
	uint32_t present = 0;
	mr_status st;

	if (!g->class_weight || !is_balanced(s))
		return MR_OK;
	n = calloc(g->n_class_weights, sizeof(*n));
	input = malloc(mr_shape_bytes(d->input, s->kernels->types.activations) + 1);
	target = malloc(mr_shape_bytes(d->target, s->kernels->types.compute) + sizeof(int32_t));
	st = n && input && target ? count(d, s->kernels->types.compute, n, g->n_class_weights, input, target)
				  : mr_fail(MR_ERESOURCE, "no memory to count classes");
	for (uint32_t c = 0; st == MR_OK && c < g->n_class_weights; c++)
		present += n[c] > 0;
	for (uint32_t c = 0; st == MR_OK && c < g->n_class_weights; c++)
		if (n[c])
			g->class_weight[c] = (double)d->n_train / ((double)present * (double)n[c]);
	free(n);
	free(input);
	free(target);
	return st;
}
