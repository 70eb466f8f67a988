/* layer_states.c - states that layers have beside weights, and what micro-batches contribute to them
 * (weights/layer_states.h). */
#include "exec/exec_internal.h"
#include "exec/state.h"
#include "weights/layer_states.h"
#include "weights/replicas.h"

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
	if (b->layer_states)
		mr_layer_states_fold(b, mr_run_shard(w->run, t->in->pipe, t->in->stage));
	return MR_OK;
}

/* AR: what the other shards' micro-batches contribute comes with their sums. */
static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = mr_run_weights(w->run, t->in->pipe, t->in->stage);
	uint8_t shard = mr_run_shard(w->run, t->in->pipe, t->in->stage);

	return t->in->op != MR_OP_AR || mr_layer_states_have(b, shard, t->version) ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

static mr_status send(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	if (b->ranges)
		mr_layer_states_send(b, mr_run_shard(w->run, t->in->pipe, t->in->stage),
				     b->ranges->n_sums[mr_run_shard(w->run, t->in->pipe, t->in->stage)]);
	return MR_OK;
}

/* --- the feature --- */

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)run;
	(void)s;
	return mr_layer_states_open(b);
}

static mr_status choose(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++) {
		uint16_t worker[UINT8_MAX + 1];

		mr_run_workers_of(run, s, worker);
		MR_TRY(mr_layer_states_choose(&run->weights[s], s, worker, run->c.links));
	}
	return MR_OK;
}

static mr_status open_links(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		MR_TRY(mr_layer_states_open_links(&run->weights[s]));
	return MR_OK;
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
	if (mr_run_shard(run, pipe, s) == mr_run_weights(run, pipe, s)->first_here)
		mr_layer_states_init(mr_run_weights(run, pipe, s));
	if (run->replicas && pipe == run->replicas[s].first_here) /* those that are evaluated */
		mr_layer_states_init(&run->weights[s]);
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	mr_parker *parker[UINT8_MAX + 1];

	mr_layer_states_reset(b);
	if (!b->layer_states || !b->layer_states->lists)
		return;
	mr_run_parkers_of(run, s, parker);
	mr_layer_states_reset_links(b, parker);
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
	.open = open_stage,
	.choose = choose,
	.open_links = open_links,
	.memory = memory,
	.init = init,
	.reset_stage = reset_stage,
	.ready = ready,
	.summed = send,
	.pass = pass,
	.entered = note,
	.whole = fold,
	.save_end = save_end,
};
