/* exec_commit.c - reductions, norms and optimizer steps. */
#include "exec/exec_internal.h"

#include <math.h>

#include "base/usdt.h"
#include "host/clock.h"
#include "ir/stage_ops.h"
#include "exec/rank_losses.h"
#include "exec/shares.h"
#include "weights/norm_parts.h"
#include "weights/reduction.h"

bool mr_exec_asks_norm(const mr_run *run, const mr_stage_weights *b, uint64_t version)
{
	uint64_t step;

	if (!run->norms || !run->norms->every)
		return false;
	step = mr_weights_step_of(b, version);
	if (step % b->in_step || step / b->in_step % run->norms->every)
		return false;
	if (run->facts & MR_COPIES) /* whose records may come from any of them */
		return (uint32_t)(b - run->weights) % run->n_stages == run->last_trained;
	return run->norms->global || b == mr_run_weights(run, 0, run->last_trained);
}

/* Of the run. */
static uint64_t step_of(const mr_stage_weights *b, uint64_t version)
{
	return mr_weights_step_of(b, version) / b->in_step;
}

/* Over ranks: what is here of the norm is left for rank 0. Shards that are apart have left theirs. */
static void leave_norm(mr_run *run, mr_stage_weights *b, uint64_t version)
{
	mr_run_norms *x = run->norms;

	if (!b->apart)
		mr_norm_parts_of_stage(b, version, step_of(b, version));
	if (mr_weights_last_of(&x->n_stages, x->n_here))
		atomic_store_explicit(&x->last, step_of(b, version), memory_order_release); /* W4: rank_norms.c */
}

/*
 * Every stage steps before any stage has the gradient of the next version, since that gradient needs weights of this
 * version from each: so counts do not overlap, and no stage is two versions ahead of the one that reads its sums here.
 */
double mr_exec_take_norm(mr_run *run, mr_stage_weights *b, uint64_t version)
{
	mr_run_norms *x = run->norms;

	if (b->unchanged)
		mr_norms_clear(b, version);
	if (b->norms->parts) {
		leave_norm(run, b, version);
		return NAN;
	}
	if (!x->global)
		return mr_norms_all(b, 1, version, MR_NORMS_OWN) / b->sum;
	if (mr_weights_last_of(&x->n_stages, run->n_trained)) {
		x->at[version % x->n] = mr_exec_norm(run, version, MR_NORMS_OWN);
		/* W4; pairs with the acquire load in mr_run_next_step */
		atomic_store_explicit(&x->last, version, memory_order_release);
	}
	return NAN;
}

/* Step @version is done in all pipes: write its one record, with the losses of all its micro-batches. */
static mr_status record_step(mr_run *run, uint64_t version, double lr, double norm)
{
	uint32_t need = run->c.plan->contract.need;
	uint64_t at = atomic_load_explicit(&run->n_steps, memory_order_relaxed);
	uint64_t first = (version - 1) * need;
	double sum = 0;

	if (run->part_losses)
		mr_rank_losses_take(run, version);
	for (uint32_t i = 0; i < need; i++) {
		double loss = run->losses[(first + i) % run->n_losses];

		if (run->part_losses)
			loss = mr_rank_losses_of(run, version)[i];
		if (run->part_losses && mr_is_elsewhere(loss))
			continue;
		if (!isfinite(loss) && !run->c.skip_nonfinite)
			return mr_exec_bad_loss(first + i, loss, version - 1);
		sum += loss;
	}
	mr_usdt_step(version, sum / need, norm);
	run->step[at % MR_STEP_RING] = (mr_step_rec){
		.step = version,
		.loss = sum / need,
		.lr = lr,
		.norm = run->c.plan->contract.clip ? norm : (double)NAN,
		.stage_norm = run->c.plan->contract.clip ? (double)NAN : norm,
		.time_ns = run->stamp ? run->start_ns + run->stamp->end_ns : mr_clock_ns(),
	};
	/* pairs with the acquire load in mr_run_next_step: the record is written before its number is seen; seq_cst, as
	 * the look at the sleeper follows (host/pause.h) */
	atomic_store_explicit(&run->n_steps, at + 1, memory_order_seq_cst);
	mr_parker_wake(&run->listener);
	return MR_OK;
}

mr_status mr_exec_check_next(const mr_stage_weights *b, const mr_task *t, uint64_t version)
{
	if (version == b->latest + 1)
		return MR_OK;
	return mr_fail(MR_EINVAL, "stage %u commits version %llu after %llu", t->in->stage, (unsigned long long)version,
		       (unsigned long long)b->latest);
}

/* The last stage that trains, with weights @b, has made @step. */
static mr_status finish_step(mr_run *run, const mr_stage_weights *b, uint64_t step, double lr, double norm)
{
	const mr_instead *h = &run->hooks.instead;

	if (step % b->in_step || (h->completes && !h->completes(run, b, step, &norm)))
		return MR_OK;
	return record_step(run, step / b->in_step, lr / b->rate, norm);
}

mr_status mr_exec_publish(mr_worker *w, mr_stage_weights *b, uint16_t stage, uint64_t version, double lr, double norm)
{
	mr_run *run = w->run;

	/* The record comes first: with several pipes another worker may write the next one. */
	if (stage == run->last_trained)
		MR_TRY(finish_step(run, b, mr_weights_step_of(b, version), lr, norm));
	mr_usdt_commit(w->id, stage, (uint32_t)(b - run->weights) / run->n_stages, version);
	if (!(run->facts & MR_OVERWRITES && run->c.observer))
		mr_counter_raise(&b->published, w->id, (uint32_t)version);
	return MR_OK;
}

void mr_exec_observed(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = mr_run_weights(w->run, t->in->pipe, t->in->stage);
	bool commits = t->in->op == MR_OP_U ? w->made : t->in->flags & MR_INSTR_UPDATE;

	if (w->run->facts & MR_OVERWRITES && commits)
		mr_counter_raise(&b->published, w->id, (uint32_t)b->latest);
}

bool mr_exec_clips_by_shard(const mr_run *run, const mr_stage_weights *b)
{
	return b->apart && run->facts & MR_REDUCED_STEPS && run->c.clip > 0;
}

double mr_exec_lr(const mr_run *run, const mr_stage_weights *b, uint64_t version)
{
	uint64_t step = mr_weights_step_of(b, version);
	double lr = mr_weights_lr(b, run->c.lr, step);

	for (uint32_t i = 0; run->hooks.rate[i]; i++)
		lr *= run->hooks.rate[i](b, step);
	return lr;
}

double mr_exec_norm(const mr_run *run, uint64_t version, uint16_t worker)
{
	return mr_norms_all(run->weights, run->n_stages, version, worker) / run->c.plan->contract.need;
}

/* Does the step to @version add up the sums of the shards as it goes? */
static bool sums_in_step(const mr_run *run, const mr_stage_weights *b, uint8_t shard, uint64_t version)
{
	return b->shard[shard].piece && !b->apart && !mr_exec_asks_norm(run, b, version);
}

mr_status mr_exec_apply(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double lr, double scale)
{
	if (sums_in_step(w->run, b, shard, version))
		return mr_reduction_step(b, shard, w->kc, lr, scale);
	return mr_weights_step(b, shard, w->kc, lr, scale);
}

mr_status mr_exec_step(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double norm)
{
	mr_run *run = w->run;
	double scale = 1 / (double)b->sum, lr = mr_exec_lr(run, b, version);

	if (run->c.clip > 0 && !isfinite(norm)) {
		if (!run->c.skip_nonfinite)
			return mr_fail(MR_EDIVERGED, "the gradient norm of step %llu is not finite",
				       (unsigned long long)version);
		mr_weights_skip(b, shard);
		return MR_OK;
	}
	if (run->c.clip > 0)
		scale = mr_clip_factor(norm, run->c.clip) / b->sum;
	MR_TRY_HOOKS(run, before_step, w, b);
	MR_TRY(run->hooks.instead.apply(w, b, shard, version, lr, scale));
	MR_TRY_HOOKS(run, after_step, w, b);
	return MR_OK;
}

static mr_status compute_norms(mr_worker *w, mr_stage_weights *b, uint64_t version)
{
	MR_TRY(mr_norms_compute(b, w->kc, version));
	return mr_shares_add_norms(w, b, version);
}

/* The norm by which a step is clipped, or that is requested: the global one, the stage's own, or none. */
static mr_status norm_of(mr_worker *w, const mr_task *t, mr_stage_weights *b, uint8_t shard, double *out)
{
	bool reduced = mr_stage_has(t->links->plan, t->in->stage, MR_OP_AR); /* then that has left them for all parts */

	*out = NAN;
	if (w->run->c.clip <= 0 && !mr_exec_asks_norm(w->run, b, t->version))
		return MR_OK;
	if (b->apart && w->run->c.clip <= 0) /* AR has left it */
		return MR_OK;
	if (t->links->plan->contract.clip) {
		*out = b->unchanged ? 0 : mr_exec_norm(w->run, t->version, w->id);
	} else if (mr_exec_clips_by_shard(w->run, b)) {
		*out = 0;
		if (b->unchanged)
			return MR_OK;
		MR_TRY(mr_norms_of_shard(b, shard, w->kc, out));
		*out /= b->sum;
	} else {
		if (!reduced && !b->unchanged)
			MR_TRY(compute_norms(w, b, t->version));
		if (!reduced || !w->run->norms->global)
			*out = mr_exec_take_norm(w->run, b, t->version);
	}
	return MR_OK;
}

/* Note the largest gradient, while the sum of @b is whole and nobody writes to it. */
static mr_status measure(mr_worker *w, mr_stage_weights *b)
{
	if (!w->run->c.measures || b->unchanged || b->apart)
		return MR_OK;
	return mr_norms_measure(b, w->kc, b->sum);
}

mr_status mr_exec_begin_commit(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = mr_run_weights(run, t->in->pipe, t->in->stage);

	MR_TRY(mr_exec_check_next(b, t, t->version));
	MR_TRY_HOOKS(run, complete, w, t, b);
	if (b->n_shards > 1) /* the reduction has */
		return MR_OK;
	MR_TRY_HOOKS(run, whole, w, t, b);
	return measure(w, b);
}

mr_status mr_exec_end_commit(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = mr_run_weights(run, t->in->pipe, t->in->stage);
	uint8_t shard = mr_run_shard(run, t->in->pipe, t->in->stage);
	double norm;

	if (!b->unchanged && b->n_shards == 1) /* likewise */
		MR_TRY_HOOKS(run, reduced, w, t, b);
	MR_TRY(norm_of(w, t, b, shard, &norm));
	if (b->unchanged)
		mr_weights_skip(b, shard);
	else
		MR_TRY(run->hooks.instead.step(w, b, shard, t->version, norm));
	MR_TRY_HOOKS(run, stepped, w, t, b);
	w->made = mr_weights_last_of(&b->n_stepped, b->n_here);
	if (!w->made)
		return MR_OK;
	mr_weights_committed(b);
	return mr_exec_publish(w, b, t->in->stage, t->version, mr_exec_lr(run, b, t->version), norm);
}

mr_status mr_exec_commit(mr_worker *w, const mr_task *t)
{
	MR_TRY(mr_exec_begin_commit(w, t));
	return mr_exec_end_commit(w, t);
}

mr_status mr_exec_settle(mr_worker *w)
{
	MR_EACH_FEATURE(w->run, f, settle)
		MR_TRY((*f)->settle(w));
	return MR_OK;
}

mr_status mr_exec_norms(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	MR_TRY_HOOKS(w->run, complete, w, t, b);
	MR_TRY(compute_norms(w, b, t->version));
	mr_counter_raise(&b->norms->known, w->id, (uint32_t)t->version);
	return MR_OK;
}

mr_status mr_exec_reduce(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = &run->weights[t->in->stage];
	uint8_t shard = mr_run_shard(run, t->in->pipe, t->in->stage);
	bool asked = mr_exec_asks_norm(run, b, t->version);

	if (!sums_in_step(run, b, shard, t->version))
		MR_TRY(mr_reduction_range(b, t->in->pipe, w->kc));
	if (b->n_shards > 1)
		MR_TRY_HOOKS(run, reduced, w, t, b);
	if (asked && b->apart)
		MR_TRY(mr_norm_parts_of_shard(b, shard, w->kc, step_of(b, t->version)));
	else if (asked || run->c.clip > 0)
		MR_TRY(mr_norms_note(b, shard, w->kc));
	if (!mr_weights_last_of(&b->reduction->n_reduced, b->n_here))
		return MR_OK;
	if (b->n_shards > 1) {
		MR_TRY_HOOKS(run, whole, w, t, b);
		MR_TRY(measure(w, b));
	}
	if ((asked && !b->apart) || (run->facts & MR_REDUCED_STEPS && run->c.clip > 0 && !b->apart))
		MR_TRY(compute_norms(w, b, t->version));
	if (asked && (run->norms->global || b->apart))
		mr_exec_take_norm(run, b, t->version);
	mr_counter_raise(&b->reduction->reduced, w->id, (uint32_t)t->version);
	return MR_OK;
}
