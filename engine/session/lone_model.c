#include "session/lone_model.h"

#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "stage/boundary.h"
#include "stage/stage.h"

static void *take(mr_arena *a, size_t bytes)
{
	return mr_arena_take(a, bytes, MR_CACHE_LINE);
}

static mr_status map(const mr_session *s, size_t bytes, mr_region *out)
{
	const mr_place_worker *place = &s->place.worker[0];

	return mr_region_map(out, bytes, place->bindable ? &place->memory : NULL);
}

/* --- a stage ------------------------------------------------------------------------------------------------------ */

static void layout(mr_lone_model *m, mr_arena *a)
{
	const mr_stage_sizes *z = mr_stage_size(m->stage);

	m->input = take(a, z->in_bytes);
	m->io.in = m->input;
	m->io.out = take(a, z->out_bytes);
	m->io.slot = take(a, z->slot_bytes);
	m->io.scratch = take(a, z->scratch_bytes);
}

/* Where the value that enters the loss lies in what leaves the stage. */
static mr_status find_logits(mr_lone_model *m, mr_dtype type)
{
	const mr_graph *g = m->graph;
	const mr_boundary_part *part;
	mr_boundary b;

	MR_TRY(mr_boundary_make(g, g->n_nodes - 1, m->io.samples, type, &b));
	part = mr_boundary_find(&b, g->nodes[g->n_nodes - 1].in[0]);
	m->logits = part ? (char *)m->io.out + part->at : NULL;
	mr_boundary_fini(&b);
	return part ? MR_OK : mr_fail(MR_EINVAL, "no value of the model enters its loss");
}

mr_status mr_lone_model_init(mr_lone_model *m, const mr_session *s, const mr_graph *g, int64_t samples)
{
	mr_arena a;

	*m = (mr_lone_model){.graph = g, .io = {.samples = samples, .seed = (uint64_t)s->job->train.seed},
		.input_bytes = mr_shape_bytes(g->input, s->kernels->types.activations)};
	MR_TRY(mr_stage_create(g, 0, g->n_nodes - 1, samples, s->kernels, false, NULL, &m->stage));
	mr_arena_init(&a, NULL, 0);
	layout(m, &a);
	MR_TRY(map(s, a.used, &m->region));
	mr_arena_init(&a, m->region.base, m->region.bytes);
	layout(m, &a);
	return find_logits(m, s->kernels->types.activations);
}

void mr_lone_model_fini(mr_lone_model *m)
{
	mr_region_unmap(&m->region);
	mr_stage_destroy(m->stage);
	*m = (mr_lone_model){0};
}

void mr_lone_model_use(mr_lone_model *m, const mr_lone_weights *w, mr_kctx *kc)
{
	m->io.weights = w->weights;
	m->io.layer_state = w->layer_state;
	m->io.kc = kc;
}

mr_status mr_lone_model_forward(void *m)
{
	const mr_lone_model *model = m;

	return mr_stage_forward(model->stage, &model->io);
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static void layout_weights(mr_lone_weights *w, const mr_stage_sizes *z, mr_arena *a)
{
	w->weights = take(a, z->weight_bytes);
	w->layer_state = take(a, z->layer_state_bytes);
}

/* The next tensor of @model, if it is that. */
static mr_status next(const mr_state_list *model, size_t *at, const char *name, size_t bytes, const void **data)
{
	const mr_saved_tensor *t = *at < model->n ? &model->at[(*at)++] : NULL;

	if (!t || strcmp(t->name, name) || t->bytes != bytes)
		return mr_fail(MR_EINVAL, "the weights at hand are not those of this model (%s)", name);
	*data = t->data;
	return MR_OK;
}

/* @from[rows, cols], elements of @size bytes, to @to[cols, rows]. */
static void transpose(int64_t rows, int64_t cols, size_t size, const char *from, char *to)
{
	enum { TILE = 32 }; /* on both sides, in the cache */

	for (int64_t r = 0; r < rows; r += TILE)
		for (int64_t c = 0; c < cols; c += TILE)
			for (int64_t i = r; i < rows && i < r + TILE; i++)
				for (int64_t j = c; j < cols && j < c + TILE; j++)
					memcpy(to + (size_t)(j * rows + i) * size,
					       from + (size_t)(i * cols + j) * size, size);
}

static void put(const mr_param *from, const mr_param *to, size_t size, const void *data, void *place)
{
	if (from->dim[0] == to->dim[0])
		memcpy(place, data, (size_t)from->n * size);
	else
		transpose(from->dim[0], from->dim[1], size, data, place);
}

static mr_status take_model(mr_lone_weights *w, const mr_session *s, const mr_lone_model *m, const mr_state_list *model)
{
	const mr_graph *g = mr_session_model(s);
	size_t size = mr_dtype_bytes(s->kernels->types.weights), wide = mr_dtype_bytes(s->kernels->types.compute);
	uint32_t end, end_state, first;
	size_t at = 0;
	const void *data;

	mr_stage_params(m->stage, &first, &end);
	for (uint32_t p = 0; p < g->n_params; p++) {
		if (g->params[p].tied_to >= 0)
			continue;
		MR_TRY(next(model, &at, g->params[p].name, (size_t)g->params[p].n * size, &data));
		if (p < end)
			put(&g->params[p], &m->graph->params[p], size, data,
			    (char *)w->weights + mr_stage_weight_at(m->stage, p));
	}
	mr_stage_layer_states(m->stage, &first, &end_state);
	for (uint32_t i = 0; i < g->n_states; i++) {
		MR_TRY(next(model, &at, g->states[i].name, (size_t)g->states[i].n * wide, &data));
		if (i < end_state)
			memcpy((char *)w->layer_state + mr_stage_layer_state_at(m->stage, i), data,
			       (size_t)g->states[i].n * wide);
	}
	return MR_OK;
}

mr_status mr_lone_weights_init(mr_lone_weights *w, const mr_session *s, const mr_lone_model *m,
			       const mr_state_list *model)
{
	const mr_stage_sizes *z = mr_stage_size(m->stage);
	mr_arena a;

	*w = (mr_lone_weights){0};
	mr_arena_init(&a, NULL, 0);
	layout_weights(w, z, &a);
	MR_TRY(map(s, a.used, &w->region));
	mr_arena_init(&a, w->region.base, w->region.bytes);
	layout_weights(w, z, &a);
	return take_model(w, s, m, model);
}

void mr_lone_weights_fini(mr_lone_weights *w)
{
	mr_region_unmap(&w->region);
	*w = (mr_lone_weights){0};
}
