/* follow.c - what a rank other than 0 does: it follows rank 0. */
#include "ranks/ranks_internal.h"

#include "exec/rank_losses.h"
#include "host/clock.h"
#include "ranks/rank_state.h"

#define BEAT_NS 100000000u /* between two notes on what the workers have done */

static mr_status tell_leader(const mr_engine *e, const mr_note *n)
{
	return mr_ranks_by(e)->tell(0, n);
}

static mr_status tell_records(mr_engine *e)
{
	mr_step_rec rec;

	while (mr_run_next_step(e->run, &rec)) {
		mr_note n = {.kind = MR_RANK_RECORD, .number = {rec.step},
			     .value = {rec.lr, rec.norm, rec.stage_norm}};

		MR_TRY(tell_leader(e, &n));
		MR_TRY(mr_ranks_by(e)->send(0, mr_rank_losses_of(e->run, rec.step), mr_ranks_need(e) * sizeof(double)));
	}
	return mr_ranks_tell_norms(e);
}

static mr_status tell_beat(mr_engine *e)
{
	mr_note n = {.kind = MR_RANK_BEAT};

	mr_ranks_count_work(e, &n.number[0], &n.number[1]);
	MR_TRY(tell_leader(e, &n));
	return mr_ranks_move_work(e, mr_ranks_of(e)->self);
}

/* What rank 0 says while all run; *@ends: they have paused, or end. */
static mr_status follow_note(mr_engine *e, const mr_note *n, bool *ends)
{
	switch (n->kind) {
	case MR_RANK_LIMIT:
		atomic_store_explicit(&e->limit, n->number[0], memory_order_relaxed);
		return MR_OK;
	case MR_RANK_SETTLE:
		MR_TRY(mr_ranks_settle(e));
		MR_TRY(tell_records(e));
		return tell_leader(e, n);
	case MR_RANK_PAUSED:
		*ends = true;
		MR_TRY(tell_leader(e, n)); /* nothing that this rank tells by itself comes behind it */
		MR_TRY(mr_ranks_pause_at(e, n->number[0]));
		MR_TRY(mr_rank_state_share(e->run));
		return mr_ranks_move_counts(e, mr_ranks_of(e)->self);
	case MR_RANK_END:
		mr_stop_raise(&e->run->stop);
		MR_TRY(mr_ranks_end_workers(e));
		return mr_fail(MR_ESTOPPED, "rank 0 ends");
	default:
		return mr_fail(MR_EINVAL, "rank 0 says %u while all train", n->kind);
	}
}

static mr_status follow_run(mr_engine *e, uint64_t limit)
{
	uint64_t told = UINT64_MAX, beat_ns = mr_clock_ns();
	bool ends = false, is_there;
	mr_note n;

	MR_TRY(mr_ranks_begin_run(e, limit));
	while (!ends) {
		bool stand = mr_ranks_wait(e);

		MR_TRY(tell_records(e));
		MR_TRY(mr_engine_result(e));
		limit = atomic_load_explicit(&e->limit, memory_order_relaxed);
		if (stand && told != limit) {
			mr_note stopped = {.kind = MR_RANK_STOPPED, .number = {limit}};

			MR_TRY(tell_records(e));
			MR_TRY(tell_leader(e, &stopped));
			told = limit;
		}
		if (mr_clock_ns() - beat_ns >= BEAT_NS) {
			beat_ns = mr_clock_ns();
			MR_TRY(tell_beat(e));
		}
		MR_TRY(mr_ranks_by(e)->hear(0, &n, &is_there));
		if (is_there)
			MR_TRY(follow_note(e, &n, &ends));
		MR_TRY(mr_ranks_check(mr_ranks_of(e)));
	}
	return MR_OK;
}

static mr_status follow_eval(mr_engine *e)
{
	mr_note n = {.kind = MR_RANK_EVALUATED, .number = {1}};
	bool is_there, cut = false;
	mr_note said;

	MR_TRY(mr_ranks_begin_eval(e));
	while (!mr_engine_wait_done(e, MR_RANKS_LOOK_NS)) {
		MR_TRY(mr_ranks_by(e)->hear(0, &said, &is_there));
		if (is_there && said.kind == MR_RANK_END)
			return follow_note(e, &said, &cut);
		if (is_there && said.kind == MR_RANK_CUT && !cut) {
			cut = true;
			mr_ranks_cut_eval(e);
		}
		MR_TRY(mr_ranks_check(mr_ranks_of(e)));
	}
	MR_TRY(mr_ranks_end_eval(e, cut));
	n.number[0] = !cut;
	MR_TRY(tell_leader(e, &n));
	return cut ? MR_OK : mr_ranks_move_eval(e, mr_ranks_of(e)->self);
}

static mr_status obey(mr_engine *e, const mr_note *n, mr_over_ranks_part *part, void *arg, bool *ends)
{
	switch (n->kind) {
	case MR_RANK_RUN:
		return follow_run(e, n->number[1]);
	case MR_RANK_EVALUATE:
		return follow_eval(e);
	case MR_RANK_GATHER:
		return mr_ranks_gather(e);
	case MR_RANK_STAND:
		MR_TRY(mr_engine_resume_at(e, n->number[0]));
		e->restored = true;
		return MR_OK;
	case MR_RANK_AVERAGE:
		mr_run_average_from(e->run, n->number[0]);
		return MR_OK;
	case MR_RANK_SCATTER:
		e->restored = true;
		return mr_ranks_scatter(e);
	case MR_RANK_PART:
		return part(arg, n);
	case MR_RANK_END:
		*ends = true;
		return MR_OK;
	default: /* what came too late for what it is about, as MR_RANK_CUT */
		return MR_OK;
	}
}

mr_status mr_over_ranks_follow(mr_engine *e, mr_over_ranks_part *part, void *arg)
{
	bool ends = false;
	mr_note n;

	while (!ends) {
		mr_status st = mr_ranks_wait_for(mr_ranks_of(e), 0, &n);

		if (st == MR_OK)
			st = mr_ranks_fail_run(e, obey(e, &n, part, arg, &ends));
		if (st != MR_OK)
			return st;
	}
	return MR_OK;
}
