#include "exec/mitigated.h"

#include <assert.h>

#include "base/size.h"
#include "exec/aim.h"

void mr_mitigated_open(mr_block *b, const mr_mitigate *m, const mr_optim *optim, const mr_plan *plan)
{
	b->optim = *optim;
	b->mitigate = plan->contract.flush == MR_FLUSH_NONE ? m : NULL;
	if (!b->mitigate)
		return;
	if (m->ops->settle && b->age)
		m->ops->settle(m, b->age, plan->n_stages, &b->optim);
	if (m->slow_start)
		b->slow_start = m->slow_start;
	assert(!mr_mitigate_corrects(m) || plan->contract.keep_read);
}

static bool has_state(const mr_block *b)
{
	return b->mitigate && b->mitigate->keeps_state;
}

void mr_mitigated_layout(mr_block *b, mr_arena *a)
{
	b->softened = has_state(b) ? mr_arena_take(a, mr_stage_size(b->stage)->weight_bytes, MR_CACHE_LINE) : NULL;
}

void mr_mitigated_note(mr_block *b, uint64_t version, bool first)
{
	if (b->mitigate && (first || version < b->oldest))
		b->oldest = version;
}

static double rate(const mr_block *b, uint64_t age)
{
	return b->mitigate && b->mitigate->ops->rate ? b->mitigate->ops->rate(b->mitigate, age) : 1;
}

double mr_mitigated_lr(const mr_block *b, const mr_lr *lr, uint64_t version)
{
	return mr_aim_lr(b, lr, version) * rate(b, version - 1 - b->oldest);
}

double mr_mitigated_lr_ahead(const mr_block *b, const mr_lr *lr, uint64_t version)
{
	return mr_aim_lr(b, lr, version) * rate(b, b->age);
}

/* What the commit in hand knows of the parameter at byte @at. */
static mr_mitigate_call call_of(const mr_block *b, uint32_t p, size_t at)
{
	assert(b->latest - b->oldest < b->cap);
	return (mr_mitigate_call){
		.dtype = b->k->dtype,
		.n = mr_stage_graph(b->stage)->params[p].n,
		.now = (const uint8_t *)mr_block_weights(b, 0, b->latest) + at,
		.then = (const uint8_t *)mr_block_weights(b, 0, b->oldest) + at,
		.state = b->softened ? b->softened + at : NULL,
		.gscale = 1 / (double)b->share[0].need,
		.t = b->latest + 1,
	};
}

void mr_mitigated_correct(mr_block *b, mr_kctx *kc)
{
	uint32_t first, end;

	if (!b->mitigate || !b->mitigate->ops->correct)
		return;
	mr_tally_read(&b->tally, b->oldest);
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);
		mr_mitigate_call c;

		if (at == SIZE_MAX)
			continue;
		c = call_of(b, p, at);
		mr_mitigate_correct(b->mitigate, &c, b->k, kc, b->share[0].grads + mr_stage_grad_at(b->stage, p));
	}
}

void mr_mitigated_follow(mr_block *b, mr_kctx *kc)
{
	uint32_t first, end;

	/* With one buffer the step has overwritten what it started from; nothing there is ever stale. */
	if (!b->mitigate || !b->mitigate->ops->follow || b->cap == 1)
		return;
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);
		mr_mitigate_call c;

		if (at == SIZE_MAX)
			continue;
		c = call_of(b, p, at);
		mr_mitigate_follow(b->mitigate, &c, b->k, kc, (const uint8_t *)mr_block_weights(b, 0, b->latest + 1) + at);
	}
}
