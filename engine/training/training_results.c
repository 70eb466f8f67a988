/* training_results.c - what a training of the library can do with its present weights, and what it says of itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "nn/element.h"
#include "session/sample.h"
#include "training/training_internal.h"

const char *mr_training_figure_name(size_t i)
{
	return i < MR_N_FIGURES ? mr_figure_table[i].name : NULL;
}

static mr_status figure(const mr_training *t, const char *name, double *value)
{
	mr_figures now = mr_train_figures(t->train);

	for (int f = 0; f < MR_N_FIGURES; f++)
		if (!strcmp(mr_figure_table[f].name, name)) {
			*value = now.at[f];
			return MR_OK;
		}
	return mr_fail(MR_EINVAL, "mr_training_figure: no figure is called \"%.60s\" (millrace list figures)", name);
}

mr_status mr_training_figure(mr_training *t, const char *name, double *value)
{
	mr_status st;

	if (value)
		*value = NAN;
	if (!name || !value)
		return mr_fail(MR_EINVAL, "mr_training_figure: the %s is NULL", name ? "place for the value" : "name");
	if (mr_training_calls_back(t))
		return figure(t, name, value);
	MR_TRY(mr_training_enter(t, "mr_training_figure"));
	st = figure(t, name, value);
	return mr_training_leave(t, st);
}

/* A predictor of the present weights. */
static mr_status make_predictor(mr_training *t)
{
	mr_state state;
	mr_status st;

	if (t->predictor)
		return MR_OK;
	MR_TRY(mr_executor_state(&t->train->s.executor, &state));
	st = mr_logits_create(&t->train->s, &state.model, 1, &t->predictor);
	mr_state_fini(&state);
	return st;
}

static mr_training_shape shape_of(mr_shape s)
{
	mr_training_shape out = {.tokens = s.tokens, .n_dims = mr_shape_dims(s), .n = (size_t)(s.rows * s.cols)};

	_Static_assert(MR_MAX_DIMS <= sizeof(out.dim) / sizeof(out.dim[0]), "room for all dimensions");
	for (uint32_t d = 0; d < out.n_dims; d++)
		out.dim[d] = mr_shape_dim(s, d);
	return out;
}

static mr_status shapes(const mr_training *t, mr_training_shape *input, mr_training_shape *output)
{
	if (!input || !output)
		return mr_fail(MR_EINVAL, "mr_training_shapes: the place for a shape is NULL");
	*input = shape_of(mr_logits_input(&t->train->s));
	*output = shape_of(mr_logits_output(&t->train->s));
	return MR_OK;
}

mr_status mr_training_shapes(mr_training *t, mr_training_shape *input, mr_training_shape *output)
{
	MR_TRY(mr_training_enter(t, "mr_training_shapes"));
	return mr_training_leave(t, shapes(t, input, output));
}

/* Tokens that the network's tables do not have would be read from elsewhere. */
static mr_status check_tokens(const mr_session *s, const int32_t *tokens, size_t n, uint64_t sample)
{
	int64_t most = s->data->source_classes > s->data->classes ? s->data->source_classes : s->data->classes;

	for (size_t i = 0; i < n; i++)
		if (tokens[i] < 0 || tokens[i] >= most)
			return mr_fail(MR_EINVAL, "mr_training_predict: token %zu of sample %llu is %d, expected 0 to "
						  "%lld", i, (unsigned long long)sample, tokens[i],
				       (long long)most - 1);
	return MR_OK;
}

/* Row @i of @in as the network takes it, into @one. */
static mr_status convert(const mr_session *s, const mr_training_shape *in, const void *inputs, uint64_t i, void *one)
{
	mr_dtype type = s->kernels->types.activations;
	const double *x = (const double *)inputs + i * in->n;

	if (in->tokens) {
		memcpy(one, (const int32_t *)inputs + i * in->n, in->n * sizeof(int32_t));
		return s->data->frames || s->data->numbers ? MR_OK : check_tokens(s, one, in->n, i);
	}
	for (size_t k = 0; k < in->n; k++)
		mr_element_put(type, one, (int64_t)k, x[k]);
	return MR_OK;
}

static mr_status predict_all(mr_training *t, const void *inputs, uint64_t n, double *outputs, void *one)
{
	const mr_session *s = &t->train->s;
	const void *result;
	mr_training_shape in = shape_of(mr_logits_input(s)), out = shape_of(mr_logits_output(s));

	for (uint64_t i = 0; i < n; i++) {
		if (!mr_training_wanted(t))
			return mr_fail(MR_ESTOPPED, "mr_training_predict: stopped");
		MR_TRY(convert(s, &in, inputs, i, one));
		MR_TRY(mr_logits_of(t->predictor, one, 1, &result));
		for (size_t k = 0; k < out.n; k++)
			outputs[i * out.n + k] = mr_element(s->kernels->types.activations, result, (int64_t)k);
	}
	return MR_OK;
}

static mr_status predict(mr_training *t, const void *inputs, uint64_t n, double *outputs)
{
	void *one;
	mr_status st;

	MR_TRY(mr_training_usable(t, "mr_training_predict"));
	if (!inputs || !outputs)
		return mr_fail(MR_EINVAL, "mr_training_predict: the %s are NULL", inputs ? "outputs" : "inputs");
	atomic_store_explicit(&t->stop, false, memory_order_relaxed);
	MR_TRY(make_predictor(t));
	one = calloc(1, (size_t)mr_shape_bytes(mr_logits_input(&t->train->s), MR_F64));
	st = one ? predict_all(t, inputs, n, outputs, one) : mr_fail(MR_ERESOURCE, "no memory to predict");
	free(one);
	return st;
}

mr_status mr_training_predict(mr_training *t, const void *inputs, uint64_t n, double *outputs)
{
	MR_TRY(mr_training_enter(t, "mr_training_predict"));
	return mr_training_leave(t, predict(t, inputs, n, outputs));
}

static mr_status sample(mr_training *t, const char **text)
{
	mr_state state;
	size_t bytes;
	FILE *out;
	mr_status st;

	MR_TRY(mr_training_usable(t, "mr_training_sample"));
	if (!text)
		return mr_fail(MR_EINVAL, "mr_training_sample: the place for the text is NULL");
	free(t->text);
	t->text = NULL;
	MR_TRY(mr_executor_state(&t->train->s.executor, &state));
	out = open_memstream(&t->text, &bytes);
	st = out ? mr_sample_write(&t->train->s, &state.model, out) : mr_fail(MR_ERESOURCE, "no memory for a text");
	if (out && fclose(out) && st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for a text");
	mr_state_fini(&state);
	if (st == MR_OK)
		*text = t->text;
	return st;
}

mr_status mr_training_sample(mr_training *t, const char **text)
{
	MR_TRY(mr_training_enter(t, "mr_training_sample"));
	return mr_training_leave(t, sample(t, text));
}

/* --- its plan --- */

static mr_status plan(mr_training *t, const char **text)
{
	const mr_plan *p = t->train->s.plan;
	mr_strbuf out = {0};
	mr_status st;

	if (!text)
		return mr_fail(MR_EINVAL, "mr_training_plan: the place for the text is NULL");
	if (!p)
		return mr_fail(MR_ECONFIG, "%s has no plan", t->train->s.job->system.name);
	st = mr_text_print(p, &out);
	if (st == MR_OK) {
		free(t->text);
		*text = t->text = mr_strbuf_take(&out);
	}
	mr_strbuf_fini(&out);
	return st == MR_OK && !t->text ? mr_fail(MR_ERESOURCE, "no memory for a plan") : st;
}

mr_status mr_training_plan(mr_training *t, const char **text)
{
	MR_TRY(mr_training_enter(t, "mr_training_plan"));
	return mr_training_leave(t, plan(t, text));
}
