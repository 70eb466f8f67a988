/* layer_states.c - states that layers have beside weights, and what micro-batches contribute to them
 * (weights/layer_states.h). */
#include "exec/exec_internal.h"
#include "exec/state.h"
#include "weights/layer_states.h"

/* All pipes evaluate and train with the states of the first. */
static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	const mr_stage_weights *b = mr_run_weights(w->run, 0, t->in->stage);

	(void)slot;
	io->layer_state = b->layer_states ? b->layer_states->state : NULL;
	return MR_OK;
}

/* The gradient of the micro-batch is in the sum of @t's stage, or, where any worker may take W, will be. */
static mr_status note(mr_worker *w, const mr_task *t, const mr_slot *slot)
{
	mr_stage_weights *b = mr_run_weights(w->run, t->in->pipe, t->in->stage);
	bool by_owner = t->in->op == (w->run->facts & MR_ANY_WORKER ? MR_OP_I : MR_OP_W);

	if (!b->layer_states || !(by_owner || t->in->op == MR_OP_B))
		return MR_OK;
	return mr_layer_states_note(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), slot->micro, slot->memory);
}

static mr_status fold(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	(void)w;
	(void)t;
	if (b->layer_states)
		mr_layer_states_fold(b);
	return MR_OK;
}

/* --- the feature --- */

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)run;
	(void)s;
	return mr_layer_states_open(b);
}

static const char *why_shared(const mr_run *run)
{
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		if (run->weights[i].apart && run->weights[i].layer_states)
			return "what the micro-batches of several pipes have seen for the states of a layer is put "
			       "together in place";
	return NULL;
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	const mr_stage_weights *b = mr_run_weights(run, pipe, s);
	uint8_t shard = mr_run_shard(run, pipe, s);

	if (!mr_run_leads(run, pipe, s))
		return;
	out->weights += shard == 0 ? mr_layer_states_bytes(b) : 0;
	out->grads += mr_layer_states_list_bytes(b, shard);
}

static void init(mr_run *run, uint8_t pipe, uint16_t s)
{
	if (mr_run_shard(run, pipe, s) == 0)
		mr_layer_states_init(mr_run_weights(run, pipe, s));
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)run;
	(void)s;
	mr_layer_states_reset(b);
}

/* A state of a layer. */
static mr_saved_tensor of_state(const mr_graph_state *s, mr_dtype dtype, void *data)
{
	mr_saved_tensor t = {
		.dtype = dtype,
		.n_dims = s->spec.rank,
		.data = data,
		.bytes = (uint64_t)s->n * mr_dtype_bytes(dtype),
	};

	for (uint32_t i = 0; i < s->spec.rank; i++)
		t.shape[i] = s->spec.dim[i];
	return t;
}

/* Replicas that diverge have averaged theirs at every pause. */
static mr_status save_end(const mr_run *run, uint16_t s, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	uint32_t first, end;

	mr_stage_layer_states(b->stage, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		const mr_graph_state *of = &run->c.graph->states[i];
		mr_saved_tensor t = of_state(of, run->c.kernels->types.compute,
						   b->layer_states->state + mr_stage_layer_state_at(b->stage, i));

		MR_TRY(mr_state_add(&out->model, &t, "%s", of->name));
	}
	return MR_OK;
}

const mr_feature mr_feature_layer_states = {
	.why_shared = why_shared,
	.open = open_stage,
	.memory = memory,
	.init = init,
	.reset_stage = reset_stage,
	.pass = pass,
	.entered = note,
	.whole = fold,
	.save_end = save_end,
};
