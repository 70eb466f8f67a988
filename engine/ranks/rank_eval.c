/* rank_eval.c - an evaluation over ranks. */
#include "ranks/ranks_internal.h"

#include <stdlib.h>

#include "exec/rank_losses.h"
#include "exec/shares.h"
#include "host/clock.h"

mr_status mr_ranks_begin_eval(mr_engine *e)
{
	uint64_t until;

	mr_engine_spread(e);
	if (e->shares)
		mr_shares_reset(e->shares);
	for (uint32_t q = 0; q < e->n_runs; q++) {
		MR_TRY(mr_run_begin_eval(e->runs[q], &until));
		mr_loader_seek(e->eval_loader[q], 0, e->run->n_eval);
		MR_TRY(mr_loader_start(e->eval_loader[q]));
	}
	atomic_store_explicit(&e->limit, until, memory_order_relaxed);
	mr_engine_give_all(e, MR_ENGINE_EVAL);
	return MR_OK;
}

static void join_loaders(mr_engine *e)
{
	for (uint32_t q = 0; q < e->n_runs; q++)
		mr_loader_join(e->eval_loader[q]);
}

void mr_ranks_cut_eval(mr_engine *e)
{
	atomic_store_explicit(&e->limit, 0, memory_order_relaxed);
	for (uint32_t q = 0; q < e->n_runs; q++)
		mr_stop_raise(&e->runs[q]->stop);
}

mr_status mr_ranks_end_eval(mr_engine *e, bool cut)
{
	mr_status st = mr_engine_result(e);

	join_loaders(e);
	if (st == MR_OK && cut)
		mr_engine_drop_eval(e);
	return st;
}

/* The scores of micro-batch @m, which @rank has. */
static mr_status move_judged(mr_engine *e, uint32_t rank, uint64_t m)
{
	mr_judging *j = &e->run->judging;
	uint64_t rows = (uint64_t)(e->run->c.samples * e->run->c.data->target.rows), left = j->n_rows - m * rows;
	mr_two_score *two;

	if (!j->of)
		return MR_OK;
	two = j->of[m].two;
	MR_TRY(mr_ranks_move(e, rank, &j->of[m], sizeof(j->of[m])));
	j->of[m].two = two;
	return two ? mr_ranks_move(e, rank, two, (rows < left ? rows : left) * sizeof(*two)) : MR_OK;
}

mr_status mr_ranks_move_eval(mr_engine *e, uint32_t rank)
{
	mr_run *run = e->run;
	uint64_t n = run->n_eval;
	double *loss = mr_ranks_of(e)->self ? run->eval_loss : calloc(n + 1, sizeof(*loss));
	mr_status st = loss ? mr_ranks_move(e, rank, loss, n * sizeof(*loss))
			    : mr_fail(MR_ERESOURCE, "no memory for the losses of an evaluation");

	for (uint64_t m = 0; st == MR_OK && m < n; m++) {
		if (mr_is_elsewhere(loss[m]))
			continue;
		run->eval_loss[m] = loss[m];
		st = move_judged(e, rank, m);
	}
	if (!mr_ranks_of(e)->self)
		free(loss);
	return st;
}

/* --- rank 0 --- */

/* Receive what the others have evaluated; wait for those that have not. */
static mr_status collect_eval(mr_engine *e)
{
	mr_note n;

	for (uint32_t i = 1; i < mr_ranks_of(e)->n; i++) {
		do {
			MR_TRY(mr_ranks_wait_for(mr_ranks_of(e), i, &n));
			if (n.kind == MR_RANK_FAILED)
				return mr_ranks_take_failure(e, i, &n);
		} while (n.kind != MR_RANK_EVALUATED);
		if (n.number[0]) /* data follow */
			MR_TRY(mr_ranks_move_eval(e, i));
	}
	return MR_OK;
}

/* Workers of rank 0 wait for those of others, and these may fail: so their notes are heard first. */
static mr_status watch_eval(mr_engine *e, mr_eval_wanted *wanted, void *arg, bool *cut)
{
	uint64_t asked_ns = mr_clock_ns();

	while (!mr_engine_wait_done(e, MR_RANKS_LOOK_NS)) {
		mr_note n;

		for (uint32_t i = 1; i < mr_ranks_of(e)->n; i++) {
			bool is_there = false;

			if (mr_ranks_by(e)->peek(i, &n, &is_there) == MR_OK && is_there && n.kind == MR_RANK_FAILED)
				return mr_ranks_take_failure(e, i, &n);
		}
		MR_TRY(mr_ranks_check(mr_ranks_of(e)));
		if (*cut || !wanted || mr_clock_ns() - asked_ns < MR_ENGINE_POLL_NS)
			continue;
		asked_ns = mr_clock_ns();
		if (wanted(arg))
			continue;
		*cut = true;
		MR_TRY(mr_ranks_say(e, MR_RANK_CUT, 0, 0));
		mr_ranks_cut_eval(e);
	}
	return MR_OK;
}

static mr_status lead_eval(mr_engine *e, mr_eval_wanted *wanted, void *arg, bool *cut)
{
	*cut = false;
	MR_TRY(mr_ranks_send_state(e));
	MR_TRY(mr_ranks_say(e, MR_RANK_EVALUATE, 0, 0));
	MR_TRY(mr_ranks_begin_eval(e));
	MR_TRY(watch_eval(e, wanted, arg, cut));
	MR_TRY(mr_ranks_end_eval(e, *cut));
	return collect_eval(e);
}

mr_status mr_over_ranks_eval(mr_engine *e, mr_eval_wanted *wanted, void *arg, double *loss)
{
	bool cut;

	if (e->broken)
		return mr_fail(MR_EINVAL, "the engine has stopped after an error");
	if (wanted && !wanted(arg))
		return mr_fail(MR_ESTOPPED, "the evaluation was stopped");
	if (mr_ranks_fail_run(e, lead_eval(e, wanted, arg, &cut)) != MR_OK) {
		mr_status st = mr_ranks_end_workers(e);

		join_loaders(e);
		return st;
	}
	if (cut)
		return mr_fail(MR_ESTOPPED, "the evaluation was stopped");
	*loss = mr_run_eval_loss(e->run);
	return MR_OK;
}
