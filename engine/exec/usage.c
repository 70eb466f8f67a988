#include "exec/usage.h"

#include <stdlib.h>

#include "ir/liveness.h"

/* The storage of a stage in one pipe, in numbers. */
typedef struct numbers {
	uint32_t versions, buffers, slots, in, grad;
} numbers;

static mr_usage usage_of(const mr_run *run, uint8_t pipe, uint16_t s, const numbers *n)
{
	const mr_stage_weights *b = mr_run_weights(run, pipe, s);
	const mr_links_stage *st = mr_links_at(&run->train, pipe, s);
	uint8_t shard = mr_run_shard(run, pipe, s);
	bool has_weights = (mr_run_leads(run, pipe, s) && mr_weights_home(b, shard) == shard) || b->private_weights;

	return (mr_usage){
		.versions = n->versions,
		.buffers = n->buffers,
		.slots = n->slots,
		.boundaries = n->in + n->grad,
		.weight_bytes = has_weights ? mr_weights_version_bytes(b, n->buffers) : 0,
		.activation_bytes = n->slots * (uint64_t)st->slot_bytes,
		.boundary_bytes = n->in * (uint64_t)st->in.bytes + n->grad * (uint64_t)st->grad.bytes,
	};
}

mr_status mr_usage_predict(const mr_run *run, mr_usage *out)
{
	uint16_t *live = calloc(run->n_stages, sizeof(*live));
	mr_status st = live ? mr_plan_liveness(run->c.plan, live)
			    : mr_fail(MR_ERESOURCE, "no memory for the live versions of %u stages", run->n_stages);

	for (unsigned p = 0; st == MR_OK && p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++) {
			const mr_links_stage *ls = mr_links_at(&run->train, (uint8_t)p, s);
			const mr_stage_weights *b = mr_run_weights(run, (uint8_t)p, s);
			numbers n = {
				/* the lists of an endless plan do not stand for all */
				.versions = run->c.plan->endless ? b->cap : live[s],
				.buffers = b->cap,
				.slots = ls->n_slots,
				.in = s ? ls->in.n : 0,
				.grad = ls->grad.n,
			};
			uint32_t used = 0;

			MR_EACH_FEATURE(run, f, count_buffers)
				(*f)->count_buffers(run, (uint8_t)p, s, &n.buffers, &used);
			out[mr_plan_at(run->c.plan, (uint8_t)p, s)] = usage_of(run, (uint8_t)p, s, &n);
		}
	free(live);
	return st;
}

void mr_usage_count(const mr_run *run, mr_usage *out)
{
	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++) {
			const mr_links_stage *ls = mr_links_at(&run->train, (uint8_t)p, s);
			const mr_stage_weights *b = mr_run_weights(run, (uint8_t)p, s);
			numbers n = {
				.versions = b->version_count.live,
				.buffers = b->version_count.n_buffers,
				.slots = ls->most_taken,
				.in = s ? ls->in.n_used : 0,
				.grad = ls->grad.n_used,
			};
			uint32_t planned = 0;

			MR_EACH_FEATURE(run, f, count_buffers)
				(*f)->count_buffers(run, (uint8_t)p, s, &planned, &n.buffers);
			out[mr_plan_at(run->c.plan, (uint8_t)p, s)] = usage_of(run, (uint8_t)p, s, &n);
		}
}
