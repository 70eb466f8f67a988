#include "profile/tune_recurrent.h"

#include <stdlib.h>

#include "host/memory.h"
#include "nn/layer.h"

#define SAMPLES 16 /* at most */

struct mr_tune_recurrent {
	const mr_layer_ops *ops;
	mr_layer_cfg cfg;
	mr_shape in, out;
	mr_layer_call call;
	uint32_t n_params;
	mr_param_spec spec[MR_LAYER_PARAMS];
	mr_layer_needs needs;
	const void *w[MR_LAYER_PARAMS];
	void *dw[MR_LAYER_PARAMS];
	mr_step step[MR_LAYER_PARAMS];
	mr_region memory;
};

/* The next @n bytes of the memory; before there is memory they are only counted. */
static void *take(const mr_tune_recurrent *t, size_t *used, size_t n)
{
	void *at = t->memory.base ? (char *)t->memory.base + *used : NULL;

	*used += (n + 4095) & ~(size_t)4095;
	return at;
}

static size_t lay_out(mr_tune_recurrent *t)
{
	mr_layer_call *c = &t->call;
	size_t used = 0, bytes = (size_t)(c->samples * t->in.rows * t->cfg.out) * sizeof(float);

	c->x[0] = take(t, &used, bytes), c->y[0] = take(t, &used, bytes);
	c->dy[0] = take(t, &used, bytes), c->dx[0] = take(t, &used, bytes);
	c->aux_i = take(t, &used, t->needs.aux_i.bytes);
	c->kept = take(t, &used, t->needs.kept.bytes);
	c->scratch = take(t, &used, t->needs.scratch);
	for (uint32_t i = 0; i < t->n_params; i++) {
		size_t n = (size_t)mr_param_count(&t->spec[i]) * sizeof(float);
		void *w = take(t, &used, n);

		t->w[i] = w, t->dw[i] = take(t, &used, n);
		t->step[i] = (mr_step){.kind = MR_STEP_MOMENTUM, .src = w, .dst = w, .m = take(t, &used, n),
				       .gscale = 1, .lr = 1e-30, .mu = 0.9};
	}
	return used;
}

/* Small numbers, of many values. */
static void fill(const void *to, int64_t n)
{
	float *x = (float *)(uintptr_t)to;

	for (int64_t i = 0; i < n; i++)
		x[i] = ((float)((uint64_t)i * 2654435761u >> 8 & 1023) - 512) * 1e-4f;
}

mr_status mr_tune_recurrent_create(const char *name, const mr_kernels *k, mr_kctx *kc, int64_t rows, int64_t width,
				   mr_tune_recurrent **out)
{
	mr_tune_recurrent *t = calloc(1, sizeof(*t));
	int64_t samples = rows < SAMPLES ? rows : SAMPLES;
	mr_status st;

	*out = NULL;
	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory for a layer that is measured");
	t->ops = mr_layer_find(name);
	t->cfg.out = width;
	t->in = (mr_shape){.rows = rows / samples, .cols = width};
	t->call = (mr_layer_call){.k = k, .kc = kc, .cfg = &t->cfg, .in = &t->in, .out = &t->out, .samples = samples,
				  .w = t->w, .dw = t->dw, .step = t->step, .train = true};
	st = t->ops->shape(&t->cfg, &t->in, &t->out);
	if (st == MR_OK) {
		t->n_params = t->ops->params(&t->cfg, &t->in, t->spec);
		t->ops->needs(&t->cfg, &t->in, samples, k, &t->needs);
		st = mr_region_map(&t->memory, lay_out(t), NULL);
	}
	if (st != MR_OK) {
		free(t);
		return st;
	}
	(void)lay_out(t);
	fill(t->call.x[0], rows * width), fill(t->call.dy[0], rows * width);
	for (uint32_t i = 0; i < t->n_params; i++)
		fill(t->w[i], mr_param_count(&t->spec[i]));
	*out = t;
	return MR_OK;
}

void mr_tune_recurrent_destroy(mr_tune_recurrent *t)
{
	if (!t)
		return;
	mr_region_unmap(&t->memory);
	free(t);
}

mr_status mr_tune_recurrent_run(mr_tune_recurrent *t)
{
	MR_TRY(t->ops->forward(&t->call));
	MR_TRY(t->ops->backward_input(&t->call));
	return mr_layer_weight(t->ops, &t->call);
}
