#include "ranks/ranks_internal.h"

#include <stdio.h>
#include <time.h>

#include "exec/shares.h"
#include "ranks/rank_texts.h"

mr_status mr_ranks_say(const mr_engine *e, mr_rank_note kind, uint64_t a, uint64_t b)
{
	mr_note n = {.kind = kind, .number = {a, b}};

	return mr_ranks_tell_all(mr_ranks_of(e), &n);
}

mr_status mr_ranks_take_failure(mr_engine *e, uint32_t rank, const mr_note *n)
{
	char name[96];

	(void)mr_fail((mr_status)n->status, "%s: %.*s", mr_ranks_name(mr_ranks_of(e), rank, name, sizeof(name)),
		      MR_NOTE_TEXT, n->text);
	mr_run_fail(e->run, (mr_status)n->status);
	return (mr_status)n->status;
}

mr_status mr_ranks_fail_run(mr_engine *e, mr_status st)
{
	if (st == MR_ESTALLED && mr_ranks_check(mr_ranks_of(e)) != MR_OK) /* its name is the reason */
		st = mr_watchdog_lost(e->run);
	if (st != MR_OK)
		mr_run_fail(e->run, st);
	return st;
}

mr_status mr_ranks_end_workers(mr_engine *e)
{
	while (!mr_engine_wait_done(e, MR_ENGINE_POLL_NS))
		;
	return mr_engine_result(e);
}

mr_worker *mr_ranks_first_here(const mr_engine *e)
{
	uint32_t i = 0;

	while (!mr_engine_is_here(e, i))
		i++;
	return e->box[i].worker;
}

mr_status mr_ranks_pause_at(mr_engine *e, uint64_t step)
{
	e->step = mr_ranks_first_here(e)->train.step;
	if (e->step != step)
		return mr_fail(MR_EINVAL, "rank %u stands at step %llu, and rank 0 at %llu", mr_ranks_of(e)->self,
			       (unsigned long long)e->step, (unsigned long long)step);
	return MR_OK;
}

mr_status mr_ranks_settle(mr_engine *e)
{
	if (!(e->run->facts & MR_SETTLES))
		return MR_OK;
	mr_engine_give_all(e, MR_ENGINE_SETTLE);
	return mr_ranks_end_workers(e);
}

mr_status mr_ranks_begin_run(mr_engine *e, uint64_t limit)
{
	MR_TRY(mr_ranks_align(mr_ranks_of(e), &e->ahead_ns));
	e->sent_before = mr_ranks_by(e)->sent();
	mr_engine_spread(e);
	mr_ranks_begin_norms(e);
	if (e->shares)
		mr_shares_reset(e->shares);
	for (uint32_t q = 0; !e->started && q < e->n_runs; q++)
		MR_TRY(mr_loader_start(e->loader[q]));
	e->started = true;
	atomic_store_explicit(&e->limit, limit, memory_order_relaxed);
	mr_engine_give_all(e, MR_ENGINE_TRAIN);
	return MR_OK;
}

bool mr_ranks_wait(mr_engine *e)
{
	bool all = mr_engine_wait_done(e, MR_RANKS_LOOK_NS);

	if (mr_engine_go_on(e) || !all)
		return false;
	nanosleep(&(struct timespec){.tv_nsec = MR_RANKS_IDLE_NS}, NULL); /* messages need the core */
	return true;
}

void mr_ranks_count_work(const mr_engine *e, uint64_t *done, uint64_t *longest)
{
	*done = *longest = 0;
	for (uint32_t i = 0; i < e->n_boxes; i++) {
		const mr_worker *w = e->box[i].worker;
		uint64_t ns = atomic_load_explicit(&w->longest_ns, memory_order_relaxed);

		*done += atomic_load_explicit(&w->beat, memory_order_relaxed);
		*longest = ns > *longest ? ns : *longest;
	}
}

uint64_t mr_over_ranks_step(const mr_engine *e)
{
	return e->step;
}

/* --- meeting and ending --- */

mr_status mr_over_ranks_meet(mr_engine *e, const char *identity)
{
	const mr_ranks *r = mr_ranks_of(e);
	mr_note n = {.kind = MR_RANK_READY};

	if (e->run->c.trace)
		MR_TRY(r->by->trace());
	if (r->self) {
		snprintf(n.text, sizeof(n.text), "%s", identity);
		return r->by->tell(0, &n);
	}
	for (uint32_t i = 1; i < r->n; i++) {
		MR_TRY(mr_ranks_wait_for(r, i, &n));
		if (n.kind == MR_RANK_FAILED)
			return mr_ranks_take_failure(e, i, &n);
		MR_TRY(mr_rank_texts_compare(r, 0, identity, i, n.text));
	}
	return MR_OK;
}

void mr_over_ranks_end(const mr_ranks *r)
{
	mr_note n = {.kind = MR_RANK_END};

	for (uint32_t i = 1; i < r->n; i++)
		if (r->by->lost() == UINT32_MAX)
			(void)!r->by->tell(i, &n);
}

void mr_over_ranks_give_up(const mr_ranks *r, mr_status st)
{
	mr_note n = {.kind = MR_RANK_FAILED, .status = st};

	snprintf(n.text, sizeof(n.text), "%s", mr_error_text());
	if (r->by->tell(0, &n) != MR_OK)
		return;
	do {
		if (mr_ranks_wait_for(r, 0, &n) != MR_OK)
			return;
	} while (n.kind != MR_RANK_END);
}
