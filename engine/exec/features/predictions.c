/* predictions.c - F and B on weights that are predicted from the version read (weights/predict.h). */
#include "exec/exec_internal.h"
#include "exec/state.h"
#include "weights/mitigated.h"
#include "weights/predict.h"

/* The weights on which @t, with its micro-batch in slot @slot, works. */
static mr_status predict(mr_worker *w, const mr_task *t, mr_stage_weights *b, uint32_t slot, const void **out)
{
	const mr_run *run = w->run;
	int32_t horizon = mr_instr_horizon(t->links->plan, t->in);
	double lr;

	*out = mr_instr_takes_made(t->links->plan, t->in) ? mr_predict_kept(b, t->in->pipe, slot) : NULL;
	if (*out)
		return MR_OK;
	if (horizon && t->links->plan->contract.predict == MR_PREDICT_STEPS)
		return mr_predict_steps(b, t->in->pipe, w->kc, t->version, horizon, slot, out);
	/* One pipe from here on: only the owner reads `latest`. */
	lr = mr_mitigated_lr_ahead(b, run->c.lr, b->latest + 1);
	if (horizon && t->links->plan->contract.same_version_b)
		return mr_predict_keep(b, w->kc, lr, horizon, slot, out);
	if (b->prediction->holds && t->in->op == MR_OP_F)
		return mr_predict_held(b, w->kc, lr, horizon, t->version, out);
	if (horizon)
		return mr_predict_weights(b, w->kc, lr, horizon, out);
	*out = mr_weights_at(b, 0, t->version);
	return MR_OK;
}

static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	if (!t->links->train || !b->prediction ||
	    !(b->prediction->holds || mr_instr_horizon(t->links->plan, t->in)))
		return MR_OK;
	return predict(w, t, b, (uint32_t)(slot - t->st->slot), &io->weights);
}

/* Not where it works on weights that were made or held for its F. */
static bool reads(const mr_worker *w, const mr_task *t)
{
	const mr_prediction *x = w->run->weights[t->in->stage].prediction;

	return !x || !(mr_instr_takes_made(t->links->plan, t->in) ||
		       (x->holds && t->in->op == MR_OP_F && x->held_version == t->version));
}

static mr_status before_step(mr_worker *w, mr_stage_weights *b)
{
	(void)w;
	if (b->prediction)
		mr_predict_before_step(b);
	return MR_OK;
}

static mr_status after_step(mr_worker *w, mr_stage_weights *b)
{
	return b->prediction ? mr_predict_after_step(b, w->kc) : MR_OK;
}

/* --- the feature --- */

static mr_status refuse(const mr_run_config *c)
{
	if (c->plan->contract.predict != MR_PREDICT_AHEAD || c->optim->ops->along != MR_ALONG_NOTHING)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "the plan predicts weights along the optimizer's direction, and %s keeps none: take "
		       "momentum, ema, adam or adamw",
		       c->optim->ops->name);
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	return mr_predict_open(b, run->c.plan, s);
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	const mr_stage_weights *b = &run->weights[s];

	if (pipe || !b->prediction)
		return;
	out->stashes += mr_predict_buffers(b) * (uint64_t)mr_stage_size(b->stage)->weight_bytes;
	out->optimizer += b->prediction->delta ? mr_stage_size(b->stage)->state_bytes : 0;
}

static void init(mr_run *run, uint8_t pipe, uint16_t s)
{
	if (pipe == 0 && run->weights[s].prediction)
		mr_predict_init(&run->weights[s]);
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)run;
	(void)s;
	if (b->prediction)
		mr_predict_reset(b);
}

/* What is held was made for the last F. */
static mr_status stand_stage(mr_run *run, uint8_t pipe, uint16_t s)
{
	uint64_t f = mr_run_done(run, pipe, s, true);
	mr_prediction *x = run->weights[s].prediction;
	bool drops;

	if (!x || !x->holds || !f)
		return MR_OK;
	return mr_run_read(run, pipe, s, f - 1, &x->held_version, &drops);
}

static void count_buffers(const mr_run *run, uint8_t pipe, uint16_t s, uint32_t *planned, uint32_t *used)
{
	(void)pipe;
	*planned += mr_predict_buffers(&run->weights[s]);
	*used += mr_predict_buffers_used(&run->weights[s]);
}

static mr_status save_param(const mr_run *run, uint16_t s, uint32_t p, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	const mr_param *param = &run->c.graph->params[p];
	mr_saved_tensor t;

	if (!b->prediction || !b->prediction->delta)
		return MR_OK;
	t = mr_state_param(param, b->k->types.state, b->prediction->delta + mr_stage_state_at(b->stage, p));
	return mr_state_add(&out->optimizer, &t, "%s.delta", param->name);
}

/* The weights that were made for F, where B takes them too, and those that are held. */
static mr_status save_pipe(const mr_run *run, uint8_t pipe, uint16_t s, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	const mr_links_stage *st = mr_links_at(&run->train, pipe, s);
	const mr_prediction *x = b->prediction;
	size_t bytes = mr_stage_size(b->stage)->weight_bytes;
	mr_saved_tensor t;

	for (uint32_t i = 0; i < st->n_slots && x && x->n_buffers && run->c.plan->contract.same_version_b; i++) {
		t = mr_state_bytes(mr_predict_kept(b, pipe, i), bytes);
		if (st->slot[i].taken)
			MR_TRY(mr_state_add(&out->inflight, &t, "aimed.s%u.m%llu", s,
					    (unsigned long long)st->slot[i].micro));
	}
	if (!x || !x->holds || x->held_version == MR_PREDICT_NO_VERSION)
		return MR_OK;
	t = mr_state_bytes(x->held, bytes);
	return mr_state_add(&out->inflight, &t, "held.s%u", s);
}

const mr_feature mr_feature_predictions = {
	.refuse = refuse,
	.open = open_stage,
	.memory = memory,
	.init = init,
	.reset_stage = reset_stage,
	.stand_stage = stand_stage,
	.count_buffers = count_buffers,
	.pass = pass,
	.reads = reads,
	.before_step = before_step,
	.after_step = after_step,
	.save_param = save_param,
	.save_pipe = save_pipe,
};
