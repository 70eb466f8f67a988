#include "weights/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/zeroed.h"
#include "weights/stored_states.h"

/* Slots of stage @s in any pipe. */
static uint32_t most_slots(const mr_plan *plan, uint16_t s)
{
	uint32_t most = 0;

	for (unsigned p = 0; p < plan->n_pipes; p++) {
		uint32_t n = plan->n_slots[mr_plan_at(plan, (uint8_t)p, s)];

		most = n > most ? n : most;
	}
	return most;
}

mr_status mr_predict_open(mr_stage_weights *b, const mr_plan *plan, uint16_t s)
{
	int32_t forward = mr_plan_horizon(plan, s, true), backward = mr_plan_horizon(plan, s, false);
	bool holds = plan->contract.read_f == MR_READ_FIRST;
	mr_prediction *x;

	if (!forward && !backward && !holds)
		return MR_OK;
	x = b->prediction = mr_zeroed(sizeof(*x));
	b->whole_sums = b->one_copy = true;
	if (!x)
		return mr_fail(MR_ERESOURCE, "no memory for the weight prediction of stage %u", s);
	x->n_each = plan->contract.same_version_b ? most_slots(plan, s) : 1;
	x->n_buffers = forward || backward ? plan->n_pipes * x->n_each : 0;
	x->holds = holds;
	x->back = plan->contract.predict == MR_PREDICT_BACK ? -(double)backward / plan->contract.need : 0;
	x->delta_keep = x->back > 0 ? pow(plan->contract.ema_decay_ppm / 1e6, 1.0 / x->back) : 0;
	x->sync_steps = plan->contract.sync_steps;
	mr_predict_reset(b);
	return MR_OK;
}

void mr_predict_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard)
{
	size_t bytes = mr_stage_size(b->stage)->weight_bytes, state = mr_stage_size(b->stage)->state_bytes;
	mr_prediction *x = b->prediction;

	if (shard)
		return;
	x->weights = x->n_buffers ? mr_arena_take(a, bytes * x->n_buffers, MR_CACHE_LINE) : NULL;
	x->held = x->holds ? mr_arena_take(a, bytes, MR_CACHE_LINE) : NULL;
	x->delta = x->delta_keep > 0 ? mr_arena_take(a, state, MR_CACHE_LINE) : NULL;
}

void mr_predict_init(mr_stage_weights *b)
{
	if (b->prediction->delta)
		memset(b->prediction->delta, 0, mr_stage_size(b->stage)->state_bytes);
}

void mr_predict_reset(mr_stage_weights *b)
{
	b->prediction->held_version = b->prediction->moved_back = MR_PREDICT_NO_VERSION;
	atomic_store_explicit(&b->prediction->n_used, 0, memory_order_relaxed);
}

uint32_t mr_predict_buffers_used(const mr_stage_weights *b)
{
	const mr_prediction *x = b->prediction;

	if (!x)
		return 0;
	return atomic_load_explicit(&x->n_used, memory_order_relaxed) +
	       (x->holds && x->held_version != MR_PREDICT_NO_VERSION);
}

/* Buffer @i is written. */
static void count_buffer(mr_prediction *x, uint32_t i)
{
	uint32_t n = atomic_load_explicit(&x->n_used, memory_order_relaxed);

	while (i >= n && !atomic_compare_exchange_weak_explicit(&x->n_used, &n, i + 1, memory_order_relaxed,
								memory_order_relaxed))
		;
}

/* dst = src - lr * m for one parameter, whose masters have @rest; @stored: how m is. */
static mr_status move_along(const mr_stage_weights *b, mr_kctx *kc, int64_t n, const uint8_t *src, const int16_t *rest,
			    uint8_t *dst, const uint8_t *m, mr_stored stored, double lr)
{
	mr_step s = {.kind = MR_STEP_SGD, .src = src, .dst = dst, .m = (void *)(uintptr_t)m, .src_rest = rest,
		     .gscale = 1, .lr = lr, .stored = stored};

	return mr_stored_look(b->k, kc, n, &s, NULL);
}

/* One parameter at byte @at of the weights, into @to. */
static mr_status move_ahead(mr_stage_weights *b, mr_kctx *kc, uint32_t p, size_t at, double lr, uint8_t *to)
{
	const uint8_t *src = (const uint8_t *)mr_weights_at(b, 0, b->latest) + at;
	const int16_t *rest = mr_weights_rest(b, at);
	int64_t n = mr_stage_graph(b->stage)->params[p].n;
	mr_optim_call c = {.src = src, .dst = to + at, .src_rest = rest, .lr = lr, .t = b->latest,
			   .stored = mr_states_stored(b, 0, p, 0)};
	mr_step s;

	if (b->optim.ops->along == MR_ALONG_MOMENTUM) {
		return move_along(b, kc, n, src, rest, to + at, mr_states_at(b, 0, p, 0), c.stored, lr);
	}
	for (uint32_t i = 0; i < b->optim.ops->n_states; i++)
		c.state[i] = mr_states_at(b, i, p, 0);
	b->optim.ops->fill(&b->optim, &c, &s);
	s.b1 = s.b2 = 1;
	return mr_stored_look(b->k, kc, n, &s, b->shard[0].grads + mr_stage_grad_at(b->stage, p));
}

static mr_status predict_into(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon, uint8_t *to)
{
	const uint8_t *src = mr_weights_at(b, 0, b->latest);
	const mr_prediction *x = b->prediction;
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);

		if (at == SIZE_MAX)
			continue;
		if (horizon > 0)
			MR_TRY(move_ahead(b, kc, p, at, lr * horizon, to));
		else
			MR_TRY(move_along(b, kc, mr_stage_graph(b->stage)->params[p].n, src + at,
					  mr_weights_rest(b, at), to + at, x->delta + mr_stage_state_at(b->stage, p),
					  (mr_stored){0}, x->back));
	}
	return MR_OK;
}

/* Which of the buffers: of @slot of @pipe, or the only one of @pipe. */
static uint32_t buffer_of(const mr_stage_weights *b, uint8_t pipe, uint32_t slot)
{
	return pipe * b->prediction->n_each + (b->prediction->n_each > 1 ? slot : 0);
}

mr_status mr_predict_weights(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon, const void **out)
{
	mr_prediction *x = b->prediction;

	*out = b->latest == 0 ? mr_weights_at(b, 0, 0) : x->weights;
	if (b->latest == 0)
		return MR_OK;
	count_buffer(x, 0);
	if (x->moved_back != b->latest)
		MR_TRY(predict_into(b, kc, lr, horizon, x->weights));
	if (horizon < 0)
		x->moved_back = b->latest; /* its sources do not change before the next step */
	return MR_OK;
}

void *mr_predict_kept(const mr_stage_weights *b, uint8_t pipe, uint32_t slot)
{
	return b->prediction->weights + (size_t)buffer_of(b, pipe, slot) * mr_stage_size(b->stage)->weight_bytes;
}

mr_status mr_predict_keep(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon, uint32_t slot, const void **out)
{
	uint8_t *to = mr_predict_kept(b, 0, slot);

	*out = to;
	count_buffer(b->prediction, buffer_of(b, 0, slot));
	if (b->latest > 0)
		return predict_into(b, kc, lr, horizon, to);
	memcpy(to, mr_weights_at(b, 0, 0), mr_stage_size(b->stage)->weight_bytes);
	return MR_OK;
}

mr_status mr_predict_steps(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, uint64_t version, int32_t horizon,
			   uint32_t slot, const void **out)
{
	const uint8_t *now = mr_weights_at(b, 0, version), *before;
	uint8_t *to = mr_predict_kept(b, pipe, slot);
	uint32_t first, end;

	*out = to;
	count_buffer(b->prediction, buffer_of(b, pipe, slot));
	if (version == 0) {
		memcpy(to, now, mr_stage_size(b->stage)->weight_bytes);
		return MR_OK;
	}
	before = mr_weights_at(b, 0, version - 1);
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);
		mr_step s = {
			.kind = MR_STEP_SGD, .along_weights = true, .gscale = 1, .lr = horizon, .decay = -horizon};

		if (at == SIZE_MAX)
			continue;
		s.src = now + at; /* w (1 + h) - h w_before */
		s.dst = to + at;
		MR_TRY(b->k->step(kc, &(mr_step_args){.n = mr_stage_graph(b->stage)->params[p].n, .s = &s,
						      .g = before + at}));
	}
	return MR_OK;
}

mr_status mr_predict_held(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon,
			  uint64_t version, const void **out)
{
	mr_prediction *x = b->prediction;

	*out = x->held;
	if (x->held_version == version)
		return MR_OK;
	if (b->latest == 0 || horizon == 0)
		memcpy(x->held, mr_weights_at(b, 0, b->latest), mr_stage_size(b->stage)->weight_bytes);
	else
		MR_TRY(predict_into(b, kc, lr, horizon, x->held));
	x->held_version = version;
	return MR_OK;
}

/* Does delta follow the current step? */
static bool follows(const mr_stage_weights *b)
{
	return b->prediction->delta && b->latest >= b->prediction->sync_steps;
}

void mr_predict_before_step(mr_stage_weights *b)
{
	mr_prediction *x = b->prediction;

	if (!follows(b))
		return;
	count_buffer(x, 0);
	memcpy(x->weights, mr_weights_at(b, 0, b->latest), mr_stage_size(b->stage)->weight_bytes);
	x->moved_back = MR_PREDICT_NO_VERSION;
}

mr_status mr_predict_after_step(mr_stage_weights *b, mr_kctx *kc)
{
	mr_prediction *x = b->prediction;
	uint8_t *w = mr_weights_at(b, 0, b->latest + 1);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end && follows(b); p++) {
		size_t at = mr_stage_weight_at(b->stage, p);
		int64_t n = mr_stage_graph(b->stage)->params[p].n;
		mr_step follow = {.kind = MR_STEP_MOMENTUM,
				  .along_weights = true,
				  .mu = x->delta_keep,
				  .gscale = x->delta_keep - 1};
		mr_step turn = {.kind = MR_STEP_SGD, .along_weights = true, .gscale = 1, .lr = 1};

		if (at == SIZE_MAX)
			continue;
		/* The old weights become old - new; delta takes 1 - keep of minus that, and w - 0 delta stays what it
		 * is. */
		turn.src = turn.dst = x->weights + at;
		MR_TRY(b->k->step(kc, &(mr_step_args){.n = n, .s = &turn, .g = w + at}));
		follow.src = w + at;
		follow.dst = w + at;
		follow.m = x->delta + mr_stage_state_at(b->stage, p);
		MR_TRY(b->k->step(kc, &(mr_step_args){.n = n, .s = &follow, .g = x->weights + at}));
	}
	return MR_OK;
}
