/* ranks_internal.h - what leading and following have in common, shared by the files of this folder. */
#ifndef MR_RANKS_RANKS_INTERNAL_H
#define MR_RANKS_RANKS_INTERNAL_H

#include "threads/engine_workers.h"
#include "ranks/over_ranks.h"

#define MR_RANKS_IDLE_NS 50000 /* between two looks at workers and notes, while all workers here stand */

static inline const mr_ranks *mr_ranks_of(const mr_engine *e)
{
	return e->run->c.ranks;
}

static inline const mr_transport *mr_ranks_by(const mr_engine *e)
{
	return e->run->c.ranks->by;
}

/* Micro-batches of a step. */
static inline uint32_t mr_ranks_need(const mr_engine *e)
{
	return e->run->c.plan->contract.need;
}

/** Tell all other ranks. Errors: the transport's. */
mr_status mr_ranks_say(const mr_engine *e, mr_rank_note kind, uint64_t a, uint64_t b) MR_MUST_USE;

/** Make the failure of another rank that of this run, and return it: all its threads end. */
mr_status mr_ranks_take_failure(mr_engine *e, uint32_t rank, const mr_note *n);

/** The calling thread's failure @st ends the run here; MR_OK does nothing. Returns @st. */
mr_status mr_ranks_fail_run(mr_engine *e, mr_status st);

/** Wait for all workers here; the run's failure or MR_OK. */
mr_status mr_ranks_end_workers(mr_engine *e);

/** The first worker of this rank. */
mr_worker *mr_ranks_first_here(const mr_engine *e);

/** Workers of this rank stand at @step, as those of all others do. Errors: MR_EINVAL they do not. */
mr_status mr_ranks_pause_at(mr_engine *e, uint64_t step) MR_MUST_USE;

/** What is under way to workers of this rank arrives (feature.h, settle). Errors: a worker's. */
mr_status mr_ranks_settle(mr_engine *e) MR_MUST_USE;

/** Loader and workers begin, as far as @limit. Errors: the loader's. */
mr_status mr_ranks_begin_run(mr_engine *e, uint64_t limit) MR_MUST_USE;

/** Wait until the next look at workers and notes; workers here that have stopped before the limit go on. Do all of them
 * stand at it? */
bool mr_ranks_wait(mr_engine *e);

/** Instructions that the workers here have done, and the longest of them in ns. */
void mr_ranks_count_work(const mr_engine *e, uint64_t *done, uint64_t *longest);

/** @bytes from @rank to rank 0. Both call it. Errors: the transport's. */
mr_status mr_ranks_move(const mr_engine *e, uint32_t rank, void *data, size_t bytes) MR_MUST_USE;

/** While all run: what the workers of @rank have spent, and the sums of its messages, to rank 0, which also calls it
 * for itself. Errors: the transport's. */
mr_status mr_ranks_move_work(const mr_engine *e, uint32_t rank) MR_MUST_USE;

/** Paused: what the workers of @rank have counted, to rank 0, which also calls it for itself. */
mr_status mr_ranks_move_counts(mr_engine *e, uint32_t rank) MR_MUST_USE;

/** Workers here begin to evaluate; stop; have ended, and @cut: the evaluation was. Errors: the run's. */
mr_status mr_ranks_begin_eval(mr_engine *e) MR_MUST_USE;
void mr_ranks_cut_eval(mr_engine *e);
mr_status mr_ranks_end_eval(mr_engine *e, bool cut) MR_MUST_USE;

/** Losses and scores of @rank's micro-batches, to rank 0. Both call it. */
mr_status mr_ranks_move_eval(mr_engine *e, uint32_t rank) MR_MUST_USE;

/** Norms of gradients that nothing is clipped by. As a run begins; another rank's new ones, to rank 0; rank 0: those
 * that @rank tells, and that of a step into its record, unless a part is not there. Errors: the transport's. */
void mr_ranks_begin_norms(mr_engine *e);
mr_status mr_ranks_tell_norms(mr_engine *e) MR_MUST_USE;
mr_status mr_ranks_take_norm(mr_engine *e, uint32_t rank, const mr_note *n) MR_MUST_USE;
mr_status mr_ranks_add_norm(const mr_engine *e, mr_step_rec *rec, bool *is_there) MR_MUST_USE;

/** All ranks call it: what rank 0 has loaded goes to those who need it. */
mr_status mr_ranks_scatter(mr_engine *e) MR_MUST_USE;

/** All ranks call it: what they have comes to rank 0. */
mr_status mr_ranks_gather(mr_engine *e) MR_MUST_USE;

/** Rank 0: what was loaded here goes to all, if something was. */
mr_status mr_ranks_send_state(mr_engine *e) MR_MUST_USE;

#endif
