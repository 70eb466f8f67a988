/* run_memory.c - the memory of a run, by purpose. */
#include "weights/layer_states.h"
#include "weights/mitigated.h"
#include "weights/predict.h"
#include "weights/row_versions.h"
#include "weights/tied_links.h"
#include "exec/run.h"

/* Is stage @s of @pipe the first of its worker? Memory that the worker has for all its stages counts there. */
static bool is_first(const mr_run *run, uint8_t pipe, uint16_t s)
{
	size_t at = mr_plan_at(run->c.plan, pipe, s);

	for (size_t i = 0; i < at; i++)
		if (run->c.plan->worker_of[i] == run->c.plan->worker_of[at])
			return false;
	return true;
}

/* Bytes of the optimizer's states of @b, and of other data of the same form. */
static uint64_t state_bytes(const mr_run *run, const mr_stage_weights *b)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);
	uint64_t copies = b->validation ? 2 : 1;
	uint64_t n = copies * run->c.optim->ops->n_states + (b->prediction && b->prediction->delta) +
		     (b->mitigation && b->mitigation->state);

	return n * z->state_bytes + copies * z->rest_bytes;
}

/* Bytes of all versions of @b and of predictions, without @tables bytes of each. */
static uint64_t versions_bytes(const mr_stage_weights *b, uint64_t tables)
{
	return mr_weights_version_bytes(b, b->cap + mr_predict_buffers(b)) - b->cap * tables;
}

/* Bytes of the copy of tied parameters that @shard of stage @s has. */
static uint64_t tied_copy(const mr_run *run, uint32_t shard, uint16_t s, bool leads)
{
	bool uses = run->c.plan->contract.tied && s > 0 && s + 1 == run->n_stages;

	return uses && leads ? mr_tied_links_copy_bytes(&run->weights[0], shard) : 0;
}

void mr_run_memory_of_stage(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	const mr_stage_sizes *z = mr_stage_size(run->stage[s]);
	const mr_links *both[2] = {&run->train, &run->eval};
	const mr_stage_weights *b = mr_run_weights(run, pipe, s);
	bool leads = mr_run_leads(run, pipe, s);
	bool whole = leads && mr_run_shard(run, pipe, s) == 0; /* memory that all pipes of a stage share counts there */
	uint32_t shard = mr_run_shard(run, pipe, s);
	bool copy = b->private_weights || (leads && mr_weights_home(b, shard) == shard);
	uint64_t weights = whole || b->private_weights ? z->weight_bytes : copy ? mr_weights_stride_of(b, shard) : 0;
	uint64_t tables = whole || b->private_weights ? 0 : z->table_bytes; /* that the copy does not have */

	*out = (mr_run_memory){
		.weights = weights + tied_copy(run, shard, s, leads) + (whole ? mr_layer_states_bytes(b) : 0),
		.stashes = weights ? versions_bytes(b, tables) - weights : 0,
		.grads = leads ? z->grad_bytes + mr_layer_states_list_bytes(b, mr_run_shard(run, pipe, s)) : 0,
		.optimizer = whole ? state_bytes(run, b) : 0,
		.scratch =
			(leads ? mr_weights_shard_work_bytes(b, mr_run_shard(run, pipe, s), run->c.optim) : 0) +
			(is_first(run, pipe, s) ? run->worker[mr_plan_worker(run->c.plan, pipe, s)].scratch_bytes : 0),
	};
	if (pipe == 0)
		MR_EACH_FEATURE(run, f, memory)
			(*f)->memory(run, s, out);
	for (int i = 0; i < (pipe < run->eval_plan->n_pipes ? 2 : 1); i++) {
		const mr_links_stage *st = mr_links_at(both[i], pipe, s);

		out->activations += st->borrows_slots ? 0 : (uint64_t)st->n_slots * st->slot_bytes;
		out->boundaries += mr_link_bytes(&st->in) + mr_link_bytes(&st->grad) + mr_link_bytes(&st->target) +
				   st->n_halves * st->half_bytes;
	}
}

uint64_t mr_run_mapped_bytes(const mr_run *run)
{
	uint16_t last = (uint16_t)(run->n_stages - 1);
	uint64_t sum = 0;

	for (uint16_t w = 0; w < run->n_workers; w++)
		sum += run->worker[w].region.bytes;
	for (uint32_t j = 0; j < mr_run_weights(run, 0, last)->n_shards; j++)
		sum += tied_copy(run, j, last, true);
	return sum;
}
