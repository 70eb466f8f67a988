#include "outline/stage_row.h"

#include "session/worker_text.h"

void mr_stage_row_of(const mr_session *s, const mr_run *run, uint8_t pipe, uint16_t stage, mr_stage_row *row,
		      mr_stage_bytes *bytes)
{
	mr_run_memory m;

	*row = (mr_stage_row){
		.stage = stage,
		.pipe = pipe,
		.worker = mr_plan_worker(s->plan, pipe, stage),
		.parameters = (uint64_t)mr_stage_size(run->stage[stage])->n_elements,
	};
	mr_stage_layers_text(s->graph, &s->partition, stage, row->layers, sizeof(row->layers));
	mr_run_memory_of_stage(run, pipe, stage, &m);
	bytes->row = (mr_stage_bytes_row){
		.weights = m.weights,
		.stashes = m.stashes,
		.gradients = m.grads,
		.optimizer = m.optimizer,
		.activations = m.activations,
		.boundaries = m.boundaries,
		.scratch = m.scratch,
	};
}
