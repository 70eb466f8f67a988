#include "models/compose.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void mr_compose_init(mr_compose *m, const mr_model_data *data)
{
	*m = (mr_compose){0};
	m->status = mr_graph_create(data->input, data->target, &m->graph);
}

uint16_t mr_compose_gather(mr_compose *m, const char *layer, const char *name, const mr_layer_cfg *cfg,
			   const uint16_t *x, uint32_t n)
{
	const mr_layer_ops *ops = mr_layer_find(layer);
	char full[96]; /* mr_graph_add refuses a name that is too long */
	uint16_t out = 0;

	assert(ops);
	if (m->status != MR_OK)
		return 0;
	snprintf(full, sizeof(full), "%s%s%s", m->stem ? m->stem : "", m->stem ? "." : "", name);
	m->status = mr_graph_add(m->graph, ops, full, cfg, x, n, &out);
	return out;
}

uint16_t mr_compose_add(mr_compose *m, const char *layer, const char *name, const mr_layer_cfg *cfg, uint16_t x)
{
	return mr_compose_gather(m, layer, name, cfg, &x, 1);
}

uint16_t mr_compose_join(mr_compose *m, const char *layer, const char *name, uint16_t a, uint16_t b)
{
	return mr_compose_gather(m, layer, name, &(mr_layer_cfg){0}, (uint16_t[]){a, b}, 2);
}

void mr_compose_classify(mr_compose *m, const mr_values *values, const mr_layer_cfg *cfg, uint16_t x)
{
	mr_layer_cfg loss = *cfg;

	loss.smoothing = mr_values_float(values, "smoothing");
	mr_compose_add(m, "softmax_xent", "loss", &loss, x);
}

uint32_t mr_compose_narrow(mr_compose *m, uint16_t *v, uint32_t n)
{
	char name[32];

	for (uint32_t i = 0; n > MR_LAYER_INPUTS; i++) {
		uint32_t over = n - MR_LAYER_INPUTS + 1, first = over < MR_LAYER_INPUTS ? over : MR_LAYER_INPUTS;

		snprintf(name, sizeof(name), "join.%u", i);
		v[0] = mr_compose_gather(m, "concat", name, &(mr_layer_cfg){.parts = first}, v, first);
		memmove(v + 1, v + first, (n - first) * sizeof(*v));
		n -= first - 1;
	}
	return n;
}

void mr_compose_tie(mr_compose *m, const char *param, const char *owner)
{
	uint32_t p, o;

	if (m->status != MR_OK)
		return;
	p = mr_graph_find_param(m->graph, param);
	o = mr_graph_find_param(m->graph, owner);
	assert(p != UINT32_MAX && o != UINT32_MAX);
	m->status = mr_graph_tie(m->graph, p, o);
}

mr_status mr_compose_finish(mr_compose *m, mr_graph **out)
{
	if (m->status == MR_OK)
		m->status = mr_graph_finish(m->graph);
	if (m->status != MR_OK) {
		mr_graph_destroy(m->graph);
		m->graph = NULL;
	}
	*out = m->graph;
	return m->status;
}
