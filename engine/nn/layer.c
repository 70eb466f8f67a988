#include "nn/layer.h"

#include "base/registry.h"
#include "nn/lazy_rows.h"
#include "nn/part_grads.h"
#include "nn/squares.h"
#include "nn/state_form.h"

#define MR_LAYER(id) extern const mr_layer_ops mr_layer_##id;
#include "nn/layers/layers.def"
#undef MR_LAYER

static const mr_layer_ops *const layers[] = {
#define MR_LAYER(id) &mr_layer_##id,
#include "nn/layers/layers.def"
#undef MR_LAYER
};

#define ENTRY(type, name) MR_FIELD_ENTRY(mr_layer_cfg, name)
const mr_field mr_layer_cfg_fields[] = {MR_LAYER_CFG(ENTRY) {0}};
#undef ENTRY

MR_REGISTRY(mr_layer_ops, layers, mr_layer_at, mr_layer_find)

/* The gradient of parameter 0, like @spec, of a call with sum_rows. */
static mr_row_sum sum_of(const mr_layer_call *c, const mr_param_spec *spec)
{
	return mr_row_sum_at(c->dw[0], c->sum_rows, mr_param_count(spec) / spec->dim[0], c->k->types.gradients);
}

/* Step @j of @c, of a parameter like @spec, with the gradient @g. */
static mr_status step(const mr_layer_call *c, uint32_t j, const mr_param_spec *spec, const void *g)
{
	int64_t n = mr_param_count(spec);
	mr_row_sum sum;

	if (c->sum_rows && !j) {
		sum = sum_of(c, spec);
		MR_TRY(mr_lazy_step_rows(c->k, c->kc, n, &c->step[j], &sum, c->old_rows));
	} else if (spec->lazy)
		MR_TRY(mr_lazy_step(c->k, c->kc, n / spec->dim[0], n, &c->step[j], g, j ? NULL : c->old_rows));
	else
		MR_TRY(mr_stored_step(c->k, c->kc, n, &c->step[j], g));
	return MR_OK;
}

/* Does W of @c, which carries out @steps (mr_layer_ops.steps), take step @j, of a parameter like @spec? Products step
 * no state that is stored in other numbers. */
static bool inside(uint32_t steps, const mr_layer_call *c, uint32_t j, const mr_param_spec *spec)
{
	return steps >> j & 1 && (spec->lazy || !c->step[j].stored.form);
}

static mr_status other_steps(const mr_layer_ops *ops, const mr_layer_call *c, uint32_t steps)
{
	mr_param_spec spec[MR_LAYER_PARAMS];
	uint32_t count = ops->params(c->cfg, c->in, spec);

	for (uint32_t j = 0; j < count; j++)
		if (!inside(steps, c, j, &spec[j]) && c->step[j].dst && !(j == 0 && c->sparse_rows))
			MR_TRY(step(c, j, &spec[j], c->dw[j]));
	return MR_OK;
}

/* Are the gradients of @c made whole, apart from their steps? */
static bool is_apart(const mr_layer_call *c)
{
	return c->step && c->sumsq;
}

/* @c without its steps. */
static mr_layer_call alone(const mr_layer_call *c)
{
	mr_layer_call a = *c;

	a.step = NULL;
	return a;
}

/* Norms and steps of gradients that are whole. That of a parameter which two layers share is so behind the second. */
static mr_status apart_steps(const mr_layer_ops *ops, const mr_layer_call *c)
{
	mr_param_spec spec[MR_LAYER_PARAMS];
	uint32_t count = ops->params(c->cfg, c->in, spec);

	for (uint32_t j = 0; j < count; j++) {
		bool sparse = j == 0 && c->sparse_rows;
		const void *grad = sparse ? c->sparse_rows->whole : c->dw[j];

		if (!c->step[j].dst || (sparse && ops->sparse_rows == MR_SPARSE_ROWS_FIRST))
			continue;
		if (c->sum_rows && !j) {
			mr_row_sum sum = sum_of(c, &spec[j]);

			MR_TRY(mr_row_sum_squares(&sum, c->k, c->kc, &c->sumsq[j]));
		} else {
			MR_TRY(mr_squares(c->k, c->kc, mr_param_count(&spec[j]), grad, &c->sumsq[j]));
		}
		MR_TRY(step(c, j, &spec[j], grad));
	}
	return MR_OK;
}

/* @pass of a layer that makes a part of its gradients, their sum over the shares, and its steps. */
static mr_status part_backward(const mr_layer_ops *ops, const mr_layer_call *c,
			       mr_status (*pass)(const mr_layer_call *c))
{
	mr_part_grads p;

	mr_part_grads_begin(&p, ops, c);
	MR_TRY(pass(&p.call));
	MR_TRY(mr_part_grads_end(&p, c));
	return is_apart(c) ? apart_steps(ops, c) : c->step ? other_steps(ops, c, 0) : MR_OK;
}

mr_status mr_layer_weight(const mr_layer_ops *ops, const mr_layer_call *c)
{
	if (!ops->backward_weight)
		return MR_OK;
	if (mr_part_grads_among(ops, c->cfg) > 1)
		return part_backward(ops, c, ops->backward_weight);
	if (is_apart(c)) {
		mr_layer_call a = alone(c);

		MR_TRY(ops->backward_weight(&a));
		return apart_steps(ops, c);
	}
	MR_TRY(ops->backward_weight(c));
	if (c->step)
		MR_TRY(other_steps(ops, c, ops->steps));
	return MR_OK;
}

mr_status mr_layer_backward(const mr_layer_ops *ops, const mr_layer_call *c)
{
	if (!ops->backward) {
		if (ops->backward_input)
			MR_TRY(ops->backward_input(c));
		return mr_layer_weight(ops, c);
	}
	if (mr_part_grads_among(ops, c->cfg) > 1)
		return part_backward(ops, c, ops->backward);
	if (is_apart(c)) {
		mr_layer_call a = alone(c);

		MR_TRY(ops->backward(&a));
		return apart_steps(ops, c);
	}
	MR_TRY(ops->backward(c));
	if (c->step)
		MR_TRY(other_steps(ops, c, ops->steps));
	return MR_OK;
}

mr_status mr_layer_weights(const mr_layer_ops *ops, const mr_layer_call *c, uint32_t n)
{
	if (n == 1 || !ops->backward_weights || is_apart(&c[n - 1]) || mr_part_grads_among(ops, c->cfg) > 1) {
		for (uint32_t j = 0; j < n; j++)
			MR_TRY(mr_layer_weight(ops, &c[j]));
		return MR_OK;
	}
	MR_TRY(ops->backward_weights(c, n));
	if (c[n - 1].step)
		MR_TRY(other_steps(ops, &c[n - 1], ops->steps));
	return MR_OK;
}
