/* exec_commit.c - reductions, norms and optimizer steps. */
#include "run/exec_parts.h"

#include <math.h>

#include "host/clock.h"
#include "ir/deps.h"

static void record_step(mr_run *run, const mr_task *t, uint64_t version, double lr, double norm)
{
	uint32_t need = t->lane->plan->contract.need;
	uint64_t at = atomic_load_explicit(&run->n_steps, memory_order_relaxed);
	uint64_t first = (version - 1) * need;
	double sum = 0;

	for (uint32_t i = 0; i < need; i++)
		sum += run->losses[(first + i) % run->n_losses];
	run->step[at % MR_STEP_RING] = (mr_step_rec){
		.step = version,
		.loss = sum / need,
		.lr = lr,
		.norm = t->lane->plan->contract.clip ? norm : (double)NAN,
		.time_ns = run->stamp ? run->start_ns + run->stamp->end_ns : mr_clock_ns(),
	};
	/* pairs with the acquire load in mr_engine_poll: the record is written before its number is seen */
	atomic_store_explicit(&run->n_steps, at + 1, memory_order_release);
}

mr_status mr_exec_check_next(const mr_block *b, const mr_task *t, uint64_t version)
{
	if (version == b->latest + 1)
		return MR_OK;
	return mr_fail(MR_EINVAL, "stage %u commits version %llu after %llu", t->in->stage, (unsigned long long)version,
		       (unsigned long long)b->latest);
}

void mr_exec_publish(mr_run *run, const mr_task *t, uint64_t version, double lr, double norm)
{
	/* The record first: with several pipes the next one may be another worker's to write. */
	if (t->in->stage + 1 == run->n_stages)
		record_step(run, t, version, lr, norm);
	mr_event_publish(&run->block[t->in->stage].published, (uint32_t)version);
}

/* Where there is no AR, the uses of one parameter within a stage are added by whoever looks at the gradient first. */
static void sum_tied(mr_worker *w, const mr_task *t, mr_block *b)
{
	if (mr_stage_has_ar(t->lane->plan, t->in->stage))
		return;
	if (!b->tied_summed)
		mr_stage_sum_tied(b->stage, w->kc, b->share[0].grads);
	b->tied_summed = true;
}

static double commit_scale(mr_run *run, const mr_task *t, mr_block *b, double *norm)
{
	double count = t->lane->plan->contract.need;
	bool global = t->lane->plan->contract.clip;

	*norm = NAN;
	if (run->c.clip <= 0)
		return 1 / count;
	*norm = (global ? mr_blocks_norm(run->block, run->n_stages) : mr_blocks_norm(b, 1)) / count;
	return mr_clip_factor(*norm, run->c.clip) / count;
}

mr_status mr_exec_commit(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_block *b = &run->block[t->in->stage];
	double lr = mr_lr_at(run->c.lr, t->version), norm, scale;

	MR_TRY(mr_exec_check_next(b, t, t->version));
	sum_tied(w, t, b);
	if (run->c.clip > 0 && !t->lane->plan->contract.clip)
		mr_block_norms(b, w->kc);
	scale = commit_scale(run, t, b, &norm);
	if (run->c.clip > 0 && !isfinite(norm))
		return mr_fail(MR_EDIVERGED, "the gradient norm of step %llu is not finite", (unsigned long long)t->version);
	MR_TRY(mr_block_step(b, t->in->pipe, w->kc, run->c.optim, lr, scale));
	if (!mr_block_last_of(&b->n_stepped, b->n_shares))
		return MR_OK;
	mr_block_committed(b);
	mr_exec_publish(run, t, t->version, lr, norm);
	return MR_OK;
}

void mr_exec_norms(mr_worker *w, const mr_task *t)
{
	mr_block *b = &w->run->block[t->in->stage];

	sum_tied(w, t, b);
	mr_block_norms(b, w->kc);
	mr_event_publish(&b->normed, (uint32_t)t->version);
}

void mr_exec_reduce(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_block *b = &run->block[t->in->stage];
	bool tied = t->lane->plan->contract.tied && t->in->stage == 0;

	mr_block_reduce(b, t->in->pipe, w->kc, tied ? &run->block[run->n_stages - 1] : NULL);
	if (mr_block_last_of(&b->n_reduced, b->n_shares))
		mr_event_publish(&b->reduced, (uint32_t)t->version);
}
