/* lead_state.c - the state of a run over ranks: to rank 0 for a save, from it for a resume. */
#include "ranks/ranks_internal.h"

#include "ranks/rank_state.h"

mr_status mr_ranks_scatter(mr_engine *e)
{
	for (uint32_t q = 0; q < e->n_runs; q++)
		MR_TRY(mr_rank_state_scatter(e->runs[q]));
	return MR_OK;
}

mr_status mr_ranks_send_state(mr_engine *e)
{
	if (!e->holds_state)
		return MR_OK;
	e->holds_state = false;
	MR_TRY(mr_ranks_say(e, MR_RANK_SCATTER, 0, 0));
	return mr_ranks_scatter(e);
}

mr_status mr_over_ranks_give(mr_engine *e, const mr_state *st)
{
	e->holds_state = false;
	MR_TRY(mr_ranks_say(e, MR_RANK_SCATTER, 0, 0));
	return mr_rank_state_check(e->run, st);
}

mr_status mr_over_ranks_mirror(mr_engine *e)
{
	MR_TRY(mr_ranks_by(e)->settle());
	for (uint32_t q = 0; q < e->n_runs; q++)
		MR_TRY(mr_run_mirror(e->runs[q], e->step));
	return MR_OK;
}

mr_status mr_ranks_gather(mr_engine *e)
{
	MR_TRY(mr_over_ranks_mirror(e));
	for (uint32_t q = 0; q < e->n_runs; q++)
		MR_TRY(mr_rank_state_gather(e->runs[q]));
	return MR_OK;
}

mr_status mr_over_ranks_call(mr_engine *e, mr_note *n)
{
	MR_TRY(mr_ranks_send_state(e));
	n->kind = MR_RANK_PART;
	return mr_ranks_tell_all(mr_ranks_of(e), n);
}

mr_status mr_over_ranks_stand_at(mr_engine *e, uint64_t step)
{
	MR_TRY(mr_ranks_say(e, MR_RANK_STAND, step, 0));
	MR_TRY(mr_engine_resume_at(e, step));
	e->holds_state = e->restored = true;
	return MR_OK;
}

mr_status mr_over_ranks_gather(mr_engine *e)
{
	if (e->holds_state)
		return MR_OK;
	MR_TRY(mr_ranks_say(e, MR_RANK_GATHER, 0, 0));
	return mr_ranks_gather(e);
}

void mr_over_ranks_hold(mr_engine *e)
{
	e->holds_state = e->restored = true;
}

mr_status mr_over_ranks_average(mr_engine *e, uint64_t from)
{
	mr_run_average_from(e->run, from);
	return mr_ranks_say(e, MR_RANK_AVERAGE, from, 0);
}
