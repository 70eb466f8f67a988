/* run_memory.c - the memory of a run, by purpose. */
#include "exec/run.h"
#include "weights/owned.h"
#include "weights/stored_states.h"

/* Is stage @s of @pipe the first of its worker? Memory that the worker has for all its stages counts there. */
static bool is_first(const mr_run *run, uint8_t pipe, uint16_t s)
{
	size_t at = mr_plan_at(run->c.plan, pipe, s);

	for (size_t i = 0; i < at; i++)
		if (run->c.plan->worker_of[i] == run->c.plan->worker_of[at])
			return false;
	return true;
}

/* Outside of regions of workers. */
static uint64_t owned_here(const mr_stage_weights *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; b->owned && i < b->n_shards; i++)
		sum += b->shard[i].here ? mr_owned_bytes(b, i) + mr_owned_weight_bytes(b, i) : 0;
	return sum;
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
	uint64_t rooms = leads && b->sharded && !b->room_of ? mr_stagger(b->room_bytes) : 0;
	uint64_t own = copy ? mr_weights_stride_of(b, shard) : 0;
	uint64_t weights = b->sharded ? 0 : whole || b->private_weights ? z->weight_bytes : own;
	uint64_t tables = whole || b->private_weights ? 0 : z->table_bytes; /* that the copy does not have */

	*out = (mr_run_memory){
		.weights = weights + rooms + (leads ? mr_owned_weight_bytes(b, shard) : 0),
		.stashes = weights ? mr_weights_version_bytes(b, b->cap) - b->cap * tables - weights : 0,
		.grads = leads ? mr_weights_sum_bytes(b) : 0,
		.optimizer = leads ? mr_owned_bytes(b, shard) : 0,
		.scratch =
			(leads ? mr_weights_shard_work_bytes(b, (uint8_t)shard) + mr_states_room(b, (uint8_t)shard)
			       : 0) +
			(is_first(run, pipe, s) ? run->worker[mr_plan_worker(run->c.plan, pipe, s)].scratch_bytes : 0),
	};
	MR_EACH_FEATURE(run, f, memory)
		(*f)->memory(run, pipe, s, out);
	for (int i = 0; i < (pipe < run->eval_plan->n_pipes ? 2 : 1); i++) {
		const mr_links_stage *st = mr_links_at(both[i], pipe, s);

		out->activations += st->borrows_slots ? 0 : (uint64_t)st->n_slots * st->slot_bytes;
		out->boundaries += mr_link_bytes(&st->in) + mr_link_bytes(&st->grad) + mr_link_bytes(&st->target) +
				   st->n_halves * st->half_bytes;
	}
}

uint64_t mr_run_mapped_bytes(const mr_run *run)
{
	uint64_t sum = 0;

	for (uint16_t w = 0; w < run->n_workers; w++)
		sum += mr_run_is_here(&run->c, w) ? run->worker[w].region.bytes : 0;
	for (uint32_t i = 0; i < mr_run_n_weights(run); i++)
		sum += owned_here(&run->weights[i]);
	MR_EACH_FEATURE(run, f, mapped)
		sum += (*f)->mapped(run);
	return sum;
}
