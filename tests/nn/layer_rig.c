#include "layer_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "check.h"

int rig_n_in(const layer_rig *r)
{
	return (int)mr_layer_inputs(r->ops, &r->what->cfg);
}

int64_t rig_n_x(const layer_rig *r, int i)
{
	return r->samples * r->what->in[i].rows * r->what->in[i].cols;
}

int64_t rig_n_y(const layer_rig *r, uint32_t i)
{
	return i < r->n_out ? r->samples * mr_shape_count(r->out[i]) : 0;
}

int64_t rig_n_w(const layer_rig *r, uint32_t i)
{
	return mr_param_count(&r->spec[i]);
}

bool rig_has_dx(const layer_rig *r, int i)
{
	return !r->what->in[i].tokens;
}

double rig_get(const layer_rig *r, const void *buffer, int64_t i)
{
	return r->k->types.weights == MR_F64 ? ((const double *)buffer)[i] : ((const float *)buffer)[i];
}

void rig_set(const layer_rig *r, void *buffer, int64_t i, double x)
{
	if (r->k->types.weights == MR_F64)
		((double *)buffer)[i] = x;
	else
		((float *)buffer)[i] = (float)x;
}

void rig_poison(const layer_rig *r, void *buffer, int64_t n)
{
	for (int64_t i = 0; buffer && i < n; i++)
		rig_set(r, buffer, i, NAN);
}

static void *take(size_t bytes)
{
	void *p = NULL;

	if (bytes)
		CU_ASSERT_EQUAL_FATAL(posix_memalign(&p, MR_CACHE_LINE, bytes), 0);
	return p;
}

static void *take_numbers(const layer_rig *r, int64_t n, uint64_t seed, uint32_t what)
{
	void *p = take((size_t)n * mr_dtype_bytes(r->k->types.weights));
	double many[MR_RNG_MANY];

	for (int64_t i = 0; i < n; i++) {
		if (i % MR_RNG_MANY == 0)
			mr_rng_normals(seed, MR_RNG_TEST, 0, what, (uint64_t)i / 4, many);
		rig_set(r, p, i, (float)many[i % MR_RNG_MANY]);
	}
	return p;
}

static int32_t *take_tokens(int64_t n, int64_t below, uint64_t seed, uint32_t what)
{
	int32_t *p = take((size_t)n * sizeof(*p));

	for (int64_t i = 0; i < n; i++)
		p[i] = (int32_t)(mr_rng_u32(seed, MR_RNG_TEST, 0, what, (uint64_t)i) % below);
	return p;
}

/* Aux, kept and scratch begin as NaN of the dtype, whatever they hold later. */
static void *take_raw(size_t bytes)
{
	void *p = take(bytes);

	if (p)
		memset(p, 0xff, bytes);
	return p;
}

/* Input @i of tokens. */
static void *take_token_input(const layer_rig *r, int i, uint64_t seed)
{
	int64_t n = rig_n_x(r, i);
	int32_t *p = take_tokens(n, r->what->cfg.vocab, seed, 1);

	for (int64_t k = 0; r->what->empty && k < n; k++)
		p[k] = k % 3 == 1 || k < r->what->in[i].cols ? -1 - (int32_t)k : p[k];
	return p;
}

static void take_ends(layer_rig *r, uint64_t seed)
{
	for (int i = 0; i < rig_n_in(r); i++) {
		int64_t n = rig_n_x(r, i);
		/* from the third on streams behind those of the outputs */
		uint32_t what = (uint32_t)i + (i < 2 ? 2 : 9 + 2 * MR_LAYER_PARAMS + 2 * MR_LAYER_OUTPUTS);

		r->x[i] = r->what->in[i].tokens ? take_token_input(r, i, seed) : take_numbers(r, n, seed, what);
		r->dx[i] = rig_has_dx(r, i) ? take_numbers(r, n, seed, what + (i < 2 ? 2 : MR_LAYER_INPUTS)) : NULL;
	}
	for (uint32_t i = 0; i < r->n_out; i++) { /* streams behind those of the parameters, but for the first */
		uint32_t what = i ? 9 + 2 * MR_LAYER_PARAMS + 2 * i : 6;

		r->y[i] = take_numbers(r, rig_n_y(r, i), seed, what);
		r->dy[i] = take_numbers(r, rig_n_y(r, i), seed, what + 1);
	}
	if (r->what->target.rows) {
		int64_t n = r->samples * r->what->target.rows * r->what->target.cols;

		r->target = r->what->target.tokens ? take_tokens(n, r->what->in[0].cols, seed, 8)
						   : take_numbers(r, n, seed, 8);
	}
	for (uint32_t i = 0; i < r->n_params; i++) {
		r->w[i] = take_numbers(r, rig_n_w(r, i), seed, 9 + i);
		r->dw[i] = take_numbers(r, rig_n_w(r, i), seed, 9 + MR_LAYER_PARAMS + i);
	}
}

static void take_states(layer_rig *r)
{
	if (r->ops->states)
		r->n_states = r->ops->states(&r->what->cfg, r->what->in, r->state_spec);
	for (uint32_t i = 0; i < r->n_states; i++) {
		int64_t n = r->state_spec[i].dim[0];

		CU_ASSERT_EQUAL_FATAL(r->state_spec[i].rank, 1);
		r->call.state[i] = r->state[i] = take((size_t)n * mr_dtype_bytes(r->k->types.weights));
		r->call.seen[i] = r->seen[i] = take((size_t)n * mr_dtype_bytes(r->k->types.weights));
		for (int64_t k = 0; k < n; k++)
			rig_set(r, r->state[i], k, r->state_spec[i].value);
		rig_poison(r, r->seen[i], n);
	}
}

/* The values with which the micro-batch begins are random numbers. */
static void take_carried(layer_rig *r, uint64_t seed)
{
	mr_layer_carried spec[MR_LAYER_CARRIED];

	r->n_carried = mr_layer_n_carried(r->ops, &r->what->cfg, spec);
	for (uint32_t i = 0; i < r->n_carried; i++) {
		int64_t n = r->samples * spec[i].cols;

		r->call.begin[i] = r->begin[i] = take_numbers(r, n, seed, 500 + i);
		r->call.end[i] = r->end[i] = take_numbers(r, n, seed, 510 + i);
		rig_poison(r, r->end[i], n);
	}
}

/* Of losses whose classes weigh. */
static const double class_weight[64] = {0.5, 2, 0, 1.25, 3, 0.75};

void rig_init(layer_rig *r, const layer_case *what, const mr_kernels *k, int64_t samples, uint64_t seed)
{
	*r = (layer_rig){.what = what, .k = k, .samples = samples, .ops = mr_layer_find(what->layer)};
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->ops);
	MR_CHECK_OK(k->ctx_create(k, 1, &r->kc));
	MR_CHECK_OK(r->ops->shape(&what->cfg, what->in, r->out));
	r->n_out = mr_layer_outputs(r->ops, &what->cfg);
	if (r->ops->params)
		r->n_params = r->ops->params(&what->cfg, what->in, r->spec);
	r->ops->needs(&what->cfg, what->in, samples, k, &r->needs);
	take_ends(r, seed);
	r->call = (mr_layer_call){
		.k = k,
		.kc = r->kc,
		.cfg = &what->cfg,
		.in = what->in,
		.out = r->out,
		.samples = samples,
		.w = (const void *const *)r->w,
		.dw = r->dw,
		.aux_i = take_raw(r->needs.aux_i.bytes),
		.aux_w = take_raw(r->needs.aux_w.bytes),
		.kept = take_raw(r->needs.kept.bytes),
		.scratch = take_raw(r->needs.scratch),
		.target = r->target,
		.loss = &r->loss,
		.class_weight = class_weight,
		.train = !what->eval,
		.mask = {.seed = seed, .first_sample = 1000, .layer = 5},
	};
	for (int i = 0; i < rig_n_in(r); i++) {
		r->call.x[i] = r->x[i];
		r->call.dx[i] = r->dx[i];
	}
	for (uint32_t i = 0; i < r->n_out; i++) {
		r->call.y[i] = r->y[i];
		r->call.dy[i] = r->dy[i];
	}
	take_states(r);
	take_carried(r, seed);
}

void rig_fini(layer_rig *r)
{
	for (int i = 0; i < MR_LAYER_INPUTS; i++) {
		free(r->x[i]);
		free(r->dx[i]);
	}
	for (int i = 0; i < MR_LAYER_PARAMS; i++) {
		free(r->w[i]);
		free(r->dw[i]);
	}
	for (uint32_t i = 0; i < r->n_states; i++) {
		free(r->state[i]);
		free(r->seen[i]);
	}
	for (uint32_t i = 0; i < r->n_carried; i++) {
		free(r->begin[i]);
		free(r->end[i]);
	}
	for (uint32_t i = 0; i < r->n_out; i++) {
		free(r->y[i]);
		free(r->dy[i]);
	}
	free(r->target);
	free(r->call.aux_i);
	free(r->call.aux_w);
	free(r->call.kept);
	free(r->call.scratch);
	r->k->ctx_destroy(r->kc);
}

static void spoil_bytes(void *p, size_t bytes)
{
	if (p)
		memset(p, 0xff, bytes);
}

static void spoil_y(layer_rig *r)
{
	for (uint32_t i = 0; i < r->n_out; i++)
		rig_poison(r, r->y[i], rig_n_y(r, i));
}

void rig_forward(layer_rig *r)
{
	size_t bytes = (size_t)rig_n_x(r, 0) * mr_dtype_bytes(r->k->types.weights);

	spoil_y(r);
	spoil_bytes(r->call.scratch, r->needs.scratch);
	if (r->ops->loss) {
		memcpy(r->dx[0], r->x[0], bytes);
		r->call.x[0] = r->dx[0];
		r->loss = NAN;
	}
	MR_CHECK_OK(r->ops->forward(&r->call));
	if (r->ops->loss)
		r->call.x[0] = r->x[0];
}

void rig_input(layer_rig *r)
{
	if (r->ops->loss)
		return;
	spoil_bytes(r->call.scratch, r->needs.scratch);
	spoil_bytes(r->call.kept, r->needs.kept.bytes);
	for (int i = 0; i < rig_n_in(r); i++)
		if (!r->call.dx_add[i])
			rig_poison(r, r->call.dx[i], rig_n_x(r, i));
	MR_CHECK_OK(r->ops->backward_input(&r->call));
}

void rig_weight(layer_rig *r)
{
	if (!r->ops->backward_weight)
		return;
	spoil_bytes(r->call.scratch, r->needs.scratch);
	if (!r->call.dw_add)
		for (uint32_t i = 0; i < r->n_params; i++)
			rig_poison(r, r->call.dw[i], rig_n_w(r, i));
	MR_CHECK_OK(r->ops->backward_weight(&r->call));
}

void rig_backward(layer_rig *r)
{
	if (r->ops->loss)
		return;
	spoil_bytes(r->call.scratch, r->needs.scratch);
	spoil_bytes(r->call.kept, r->needs.kept.bytes);
	for (int i = 0; i < rig_n_in(r); i++)
		rig_poison(r, r->call.dx[i], rig_n_x(r, i));
	for (uint32_t i = 0; i < r->n_params; i++)
		rig_poison(r, r->call.dw[i], rig_n_w(r, i));
	MR_CHECK_OK(mr_layer_backward(r->ops, &r->call));
}

static void spoil_x(layer_rig *r)
{
	for (int i = 0; i < rig_n_in(r); i++) {
		if (r->what->in[i].tokens)
			memset(r->x[i], 0, (size_t)rig_n_x(r, i) * sizeof(int32_t));
		else
			rig_poison(r, r->x[i], rig_n_x(r, i));
	}
}

void rig_spoil_after_forward(layer_rig *r)
{
	if (!r->needs.x_i && !r->needs.x_w)
		spoil_x(r);
	if (!r->needs.y_i && !r->needs.y_w)
		spoil_y(r);
}

void rig_spoil_after_input(layer_rig *r)
{
	spoil_bytes(r->call.aux_i, r->needs.aux_i.bytes);
	if (!r->needs.x_w)
		spoil_x(r);
	if (!r->needs.y_w)
		spoil_y(r);
	for (uint32_t i = 0; i < r->n_out && !r->needs.dy_w; i++)
		rig_poison(r, r->dy[i], rig_n_y(r, i));
}

/* What an activation_penalty adds to the objective without adding it to its output. */
static double penalty(const layer_rig *r)
{
	int64_t rows = r->what->in[0].rows, cols = r->what->in[0].cols, n = rig_n_x(r, 0);
	double size = 0, change = 0;

	for (int64_t i = 0; i < n; i++) {
		double x = rig_get(r, r->x[0], i);
		double next = i / cols % rows + 1 < rows ? rig_get(r, r->x[0], i + cols) : x;

		size += x * x;
		change += (next - x) * (next - x);
	}
	return r->what->cfg.alpha * size / (double)n +
	       (rows > 1 ? r->what->cfg.beta * change / (double)(n / rows * (rows - 1)) : 0);
}

double rig_objective(layer_rig *r)
{
	double sum = strcmp(r->ops->name, "activation_penalty") != 0 ? 0 : penalty(r);

	rig_forward(r);
	if (r->ops->loss)
		return r->loss;
	for (uint32_t k = 0; k < r->n_out; k++)
		for (int64_t i = 0; i < rig_n_y(r, k); i++)
			sum += rig_get(r, r->dy[k], i) * rig_get(r, r->y[k], i);
	return sum;
}
