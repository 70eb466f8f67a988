#include "session/logits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "host/group.h"
#include "stage/boundary.h"
#include "stage/stage.h"

struct mr_logits {
	const mr_session *s;
	mr_stage *stage;
	mr_stage_io io;
	mr_region region;
	void *input, *weights, *layer_state;
	size_t input_bytes, logits_at; /* at: in the stage's output */
	mr_status (*job)(mr_logits *x); /* of the thread */
	mr_status status;
	char text[1024];
};

static void *take(mr_arena *a, size_t bytes)
{
	return mr_arena_take(a, bytes, MR_CACHE_LINE);
}

static void layout(mr_logits *x, mr_arena *a)
{
	const mr_stage_sizes *z = mr_stage_size(x->stage);

	x->weights = take(a, z->weight_bytes);
	x->layer_state = take(a, z->layer_state_bytes);
	x->input = take(a, z->in_bytes);
	x->io.in = x->input;
	x->io.out = take(a, z->out_bytes);
	x->io.slot = take(a, z->slot_bytes);
	x->io.scratch = take(a, z->scratch_bytes);
	x->io.weights = x->weights;
	x->io.layer_state = x->layer_state;
}

static mr_status make_memory(mr_logits *x)
{
	const mr_place_worker *place = &x->s->place.worker[0];
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	layout(x, &a);
	MR_TRY(mr_region_map(&x->region, a.used, place->bindable ? &place->memory : NULL));
	mr_arena_init(&a, x->region.base, x->region.bytes);
	layout(x, &a);
	return MR_OK;
}

/* Where the value that enters the loss lies in what leaves the stage. */
static mr_status find_logits(mr_logits *x)
{
	const mr_graph *g = x->s->graph;
	const mr_boundary_part *part;
	mr_boundary b;

	MR_TRY(mr_boundary_make(g, g->n_nodes - 1, 1, x->s->kernels->types.activations, &b));
	part = mr_boundary_find(&b, g->nodes[g->n_nodes - 1].in[0]);
	x->logits_at = part ? part->at : 0;
	mr_boundary_fini(&b);
	return part ? MR_OK : mr_fail(MR_EINVAL, "no value of the model enters its loss");
}

/* The next tensor of @model to @to (NULL: it is not needed), if it is that. */
static mr_status copy(const mr_state_list *model, size_t *next, const char *name, size_t bytes, void *to)
{
	const mr_saved_tensor *t = *next < model->n ? &model->at[(*next)++] : NULL;

	if (!t || strcmp(t->name, name) || t->bytes != bytes)
		return mr_fail(MR_EINVAL, "the weights at hand are not those of this model (%s)", name);
	if (to)
		memcpy(to, t->data, bytes);
	return MR_OK;
}

static mr_status take_model(mr_logits *x, const mr_state_list *model)
{
	const mr_graph *g = x->s->graph;
	const mr_types *types = &x->s->kernels->types;
	uint32_t end, end_state, first;
	size_t next = 0;

	mr_stage_params(x->stage, &first, &end);
	for (uint32_t p = 0; p < g->n_params; p++)
		if (g->params[p].tied_to < 0)
			MR_TRY(copy(model, &next, g->params[p].name,
				    (size_t)g->params[p].n * mr_dtype_bytes(types->weights),
				    p < end ? (char *)x->weights + mr_stage_weight_at(x->stage, p) : NULL));
	mr_stage_layer_states(x->stage, &first, &end_state);
	for (uint32_t i = 0; i < g->n_states; i++)
		MR_TRY(copy(model, &next, g->states[i].name, (size_t)g->states[i].n * mr_dtype_bytes(types->compute),
			    i < end_state ? (char *)x->layer_state + mr_stage_layer_state_at(x->stage, i) : NULL));
	return MR_OK;
}

/* --- the thread: a group set up like a leader carries out one job at a time --- */

static void thread(void *arg)
{
	mr_logits *x = arg;

	x->status = x->job(x);
	if (x->status != MR_OK)
		snprintf(x->text, sizeof(x->text), "%s", mr_error_text());
}

static mr_status on_group(mr_logits *x, mr_status (*job)(mr_logits *x))
{
	mr_group *g;

	x->job = job;
	MR_TRY(mr_group_start(&x->s->place.worker[0], "mr-w0", thread, x, &g));
	mr_group_join(g);
	return x->status == MR_OK ? MR_OK : mr_fail(x->status, "%s", x->text);
}

static mr_status set_up(mr_logits *x)
{
	return x->s->kernels->ctx_create(x->s->kernels, x->s->place.worker[0].n_threads, &x->io.kc);
}

static mr_status tear_down(mr_logits *x)
{
	x->s->kernels->ctx_destroy(x->io.kc);
	return MR_OK;
}

static mr_status forward(mr_logits *x)
{
	return mr_stage_forward(x->stage, &x->io);
}

/* --- the whole --- */

mr_status mr_logits_create(const mr_session *s, const mr_state_list *model, mr_logits **out)
{
	mr_logits *x = calloc(1, sizeof(*x));
	mr_status st;

	if (!x)
		return mr_fail(MR_ERESOURCE, "no memory for the model");
	*x = (mr_logits){.s = s, .io = {.samples = 1, .seed = (uint64_t)s->job->train.seed},
		.input_bytes = mr_shape_bytes(s->graph->input, s->kernels->types.activations)};
	st = mr_stage_create(s->graph, 0, s->graph->n_nodes - 1, 1, s->kernels, false, NULL, &x->stage);
	if (st == MR_OK)
		st = find_logits(x);
	if (st == MR_OK)
		st = make_memory(x);
	if (st == MR_OK)
		st = take_model(x, model);
	if (st == MR_OK)
		st = on_group(x, set_up);
	if (st != MR_OK) {
		mr_logits_destroy(x);
		return st;
	}
	*out = x;
	return MR_OK;
}

void mr_logits_destroy(mr_logits *x)
{
	if (!x)
		return;
	if (x->io.kc && on_group(x, tear_down) != MR_OK)
		x->io.kc = NULL; /* no thread to free it on: the process is ending */
	mr_region_unmap(&x->region);
	mr_stage_destroy(x->stage);
	free(x);
}

mr_status mr_logits_of(mr_logits *x, const void *input, const void **out)
{
	memcpy(x->input, input, x->input_bytes);
	MR_TRY(on_group(x, forward));
	*out = (char *)x->io.out + x->logits_at;
	return MR_OK;
}

mr_shape mr_logits_input(const mr_session *s)
{
	return s->graph->input;
}

mr_shape mr_logits_output(const mr_session *s)
{
	const mr_graph *g = s->graph;

	return g->values[g->nodes[g->n_nodes - 1].in[0]].shape;
}
