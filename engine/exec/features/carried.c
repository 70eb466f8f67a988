/* carried.c - what layers carry from a micro-batch to the next one of its columns (weights/carried.h). */
#include "exec/run.h"
#include "exec/state.h"
#include "exec/exec.h"
#include "weights/carried.h"

#include <stdlib.h>

/* Windows of entries of one place that are needed at once: one that F reads, one that it writes, and those of
 * micro-batches between their F and the end of their backward. */
static uint32_t depth_of(const mr_plan *p, uint16_t s)
{
	uint32_t slots = 0, need = p->contract.need, under_way;

	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		if (p->n_slots[mr_plan_at(p, (uint8_t)pipe, s)] > slots)
			slots = p->n_slots[mr_plan_at(p, (uint8_t)pipe, s)];
	under_way = slots * p->n_pipes;
	for (uint16_t w = 0; w < p->n_workers; w++) /* micro-batches that are recomputed have no slot meanwhile */
		for (uint32_t i = 0; i < mr_plan_list(p, w, MR_BODY)->n; i++)
			if (mr_plan_list(p, w, MR_BODY)->at[i].op == MR_OP_R)
				under_way = slots * p->n_pipes + p->n_micro + 2u * p->n_workers;
	return 2 + (under_way + need - 1) / need;
}

static mr_status refuse(const mr_run_config *c)
{
	uint64_t step = c->plan->contract.need * (uint64_t)c->samples;

	if (c->data->columns == step)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "the model carries a state in %llu columns, and a step of the plan has %llu samples",
		       (unsigned long long)c->data->columns, (unsigned long long)step);
}

static mr_status create(mr_run *run)
{
	run->carried = calloc(run->n_stages, sizeof(*run->carried));
	return run->carried ? MR_OK
			    : mr_fail(MR_ERESOURCE, "no memory for the values that %u stages carry", run->n_stages);
}

static void destroy(mr_run *run)
{
	free(run->carried);
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	const mr_plan *p = run->c.plan;

	run->carried[s] = (mr_carried){
		.n_micro = p->contract.need,
		.depth = depth_of(p, s),
		.n_windows = run->c.data->n_train / (uint64_t)run->c.data->columns,
		.bytes = mr_stage_size(b->stage)->carried_bytes,
	};
	return MR_OK;
}

static void layout(mr_run *run, uint16_t s, mr_arena *a)
{
	mr_carried_layout(&run->carried[s], a);
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	if (pipe == 0)
		out->weights += mr_carried_bytes(&run->carried[s]);
}

static void init(mr_run *run, uint8_t pipe, uint16_t s)
{
	uint8_t first = 0; /* of this process */

	while (!mr_run_is_here(&run->c, mr_plan_worker(run->c.plan, first, s)))
		first++;
	if (pipe == first)
		mr_carried_init(&run->carried[s]);
}

static void stand(mr_run *run, uint64_t step)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		mr_carried_stand(&run->carried[s], step, run->c.plan->contract.flush != MR_FLUSH_NONE);
}

/* F reads the values with which its micro-batch begins and writes those of the next; all others read the former. */
static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	mr_carried *c = &w->run->carried[t->in->stage];

	if (!t->links->train)
		return MR_OK;
	MR_TRY(mr_carried_check(c, slot->micro, t->in->stage));
	io->begin = mr_carried_begin(c, slot->micro);
	if (t->in->op == MR_OP_F)
		io->end = mr_carried_end(c, slot->micro);
	return MR_OK;
}

/* The values that @node, in a stage or in all, carries into the micro-batch at place @place of a step: @entry, with @at
 * saying where each lies. */
static mr_status add_carried(const mr_graph *g, const mr_kernels *k, int64_t samples, uint32_t node, uint32_t place,
			     uint8_t *const at[MR_LAYER_CARRIED], mr_state *out)
{
	mr_layer_carried spec[MR_LAYER_CARRIED];
	uint32_t n = mr_layer_n_carried(g->nodes[node].ops, &g->nodes[node].cfg, spec);

	for (uint32_t i = 0; i < n; i++) {
		mr_saved_tensor t = {
			.dtype = spec[i].compute ? k->types.compute : k->types.activations,
			.n_dims = 2,
			.shape = {samples, spec[i].cols},
			.data = at[i],
			.bytes = (uint64_t)samples * mr_layer_carried_row(&spec[i], &k->types),
		};

		MR_TRY(mr_state_add(&out->optimizer, &t, "%s.carried_%s.%u", g->nodes[node].name, spec[i].suffix,
				    place));
	}
	return MR_OK;
}

/* A plan that drains has nothing but the values with which the next step begins. */
static mr_status save_end(const mr_run *run, uint16_t s, mr_state *out)
{
	mr_carried *c = &run->carried[s];
	uint32_t first, end;
	uint16_t w = 0; /* one of this process: all stand at the same step */

	while (!mr_run_is_here(&run->c, w))
		w++;
	if (run->c.plan->contract.flush == MR_FLUSH_NONE) {
		mr_saved_tensor entries = mr_state_bytes(c->entry, (size_t)c->depth * c->n_micro * c->bytes);
		mr_saved_tensor micros = mr_state_bytes(c->micro, (size_t)c->depth * c->n_micro * sizeof(*c->micro));

		if (!c->bytes)
			return MR_OK;
		MR_TRY(mr_state_add(&out->inflight, &entries, "carried.s%u", s));
		return mr_state_add(&out->inflight, &micros, "carried.s%u.micro", s);
	}
	mr_stage_nodes(run->stage[s], &first, &end);
	for (uint32_t i = first; i < end; i++)
		for (uint32_t j = 0; j < c->n_micro; j++) {
			uint8_t *entry = mr_carried_next(c, run->worker[w].train.step, j), *at[MR_LAYER_CARRIED];
			mr_layer_carried spec[MR_LAYER_CARRIED];
			const mr_node *nd = &run->c.graph->nodes[i];

			for (uint32_t k = 0; k < mr_layer_n_carried(nd->ops, &nd->cfg, spec); k++)
				at[k] = entry + mr_stage_carried_at(run->stage[s], i, k);
			MR_TRY(add_carried(run->c.graph, run->c.kernels, run->c.samples, i, j, at, out));
		}
	return MR_OK;
}

const mr_feature mr_feature_carried = {
	.refuse = refuse,
	.create = create,
	.destroy = destroy,
	.open = open_stage,
	.layout = layout,
	.memory = memory,
	.init = init,
	.stand = stand,
	.pass = pass,
	.save_end = save_end,
};
