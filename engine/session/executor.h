/*
 * executor.h - one interface to whatever carries out a plan, for the commands: the engine, or a replay in virtual time.
 *
 * Each of the two is a kind: a table of functions in executor.c. What they have in common, weights, statistics, memory,
 * is their run (exec/run.h).
 */
#ifndef MR_SESSION_EXECUTOR_H
#define MR_SESSION_EXECUTOR_H

#include "threads/engine.h"
#include "replay/replay_shares.h"
#include "exec/share_state.h"
#include "exec/state.h"

typedef struct mr_executor_kind mr_executor_kind;

typedef struct mr_executor {
	const mr_executor_kind *kind; /* NULL: not started */
	mr_engine *engine;            /* of that kind, else NULL; for what an engine alone can do */
	mr_replay *replay;            /* likewise */
	mr_replay_shares *replays;    /* of several shares, else NULL */
	const mr_shares *shares;      /* NULL: workers are whole */
	mr_share_buffers joined;      /* of several shares */
	mr_replay_source *source;     /* order and times of the replay; NULL: the clock determines its order */
	void *source_arg;
	const mr_replay_clock *clock;
} mr_executor;

/** An engine that runs @c, with @watchdog_s as mr_engine_create. Errors: those of it; *@x is then as it was. */
mr_status mr_executor_of_engine(const mr_run_config *c, double watchdog_s, mr_executor *x) MR_MUST_USE;

/** An engine whose workers, @n shares of each as below (1: they are whole), are spread over c->ranks, all of which call
 * this, and then the next function; those but rank 0 then follow (ranks/over_ranks.h). Errors: as above. */
mr_status mr_executor_of_ranks(const mr_run_config *c, uint32_t n, double watchdog_s, const mr_graph *whole,
			       mr_executor *x) MR_MUST_USE;

/** All ranks meet. @identity: what must be the same on all of them, lines "name: value". Errors: those of
 * mr_over_ranks_meet. */
mr_status mr_executor_meet(mr_executor *x, const char *identity) MR_MUST_USE;

/** An engine of @n shares of each worker, of the model @whole: @c[0 .. @n) are theirs. Borrows @whole. Errors: as
 * above. */
mr_status mr_executor_of_shares(const mr_run_config *c, uint32_t n, double watchdog_s, const mr_graph *whole,
				mr_executor *x) MR_MUST_USE;

/** Replays of @n shares, as above, in the order of @source, or (NULL) of @clock. Errors: those of mr_replay_create. */
mr_status mr_executor_of_replayed_shares(const mr_run_config *c, uint32_t n, mr_replay_source *source,
					 void *source_arg, const mr_replay_clock *clock, const mr_graph *whole,
					 mr_executor *x) MR_MUST_USE;

/** A replay of @c in the order of @source, or (NULL) of @clock. Errors: those of mr_replay_create. */
mr_status mr_executor_of_replay(const mr_run_config *c, mr_replay_source *source, void *source_arg,
				const mr_replay_clock *clock, mr_executor *x) MR_MUST_USE;

/** As mr_engine_run. A replay calls @progress with records on its own thread, and never with NULL. */
mr_status mr_executor_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg,
			  uint64_t *reached) MR_MUST_USE;

/** Mean validation loss at the present weights; as mr_engine_eval. A replay calls @wanted on its own thread. */
mr_status mr_executor_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;

/** Scores of the last evaluation that was not cancelled. */
mr_scores mr_executor_scores(mr_executor *x);

/** The state at the present pause point; free with mr_state_fini. */
mr_status mr_executor_state(mr_executor *x, mr_state *out) MR_MUST_USE;

/** The lists of mr_executor_state have been written, while paused: copies of it follow before the next step. */
void mr_executor_hold(mr_executor *x);

/** What lists of the whole model hold goes to the shares now: before other ranks get it. Errors: MR_ERESOURCE. */
mr_status mr_executor_give(mr_executor *x) MR_MUST_USE;

/** The executor's run, of several shares that of the first; NULL: it is not started. While paused. */
mr_run *mr_executor_run_of(const mr_executor *x);

/** The shares of each worker (exec/shares.h); 1: workers are whole. */
uint32_t mr_executor_shares(const mr_executor *x);

/** Shares of all workers, of which reports have a row each: row i is share i % g of worker i / g, of g shares. */
uint32_t mr_executor_rows(const mr_executor *x);
const mr_worker *mr_executor_row(const mr_executor *x, uint32_t row);

/** Nanoseconds that @row has computed so far, and those that it has waited in training, by cause. At any time. */
void mr_executor_spent(const mr_executor *x, uint32_t row, uint64_t *busy, uint64_t waited[MR_N_WAITS]);

/** Nanoseconds that @row has computed in the training of this session, without evaluations, and those that it has
 * waited, with the time in which other programs had its core as MR_WAIT_DESCHEDULED. While paused. */
void mr_executor_trained(const mr_executor *x, uint32_t row, uint64_t *busy, uint64_t waited[MR_N_WAITS]);

/** The trace records of steps @first to @last that are kept, row by row, with their row as worker, and their share, to
 * @to unless it is NULL; returns how many. While paused. */
size_t mr_executor_records(const mr_executor *x, uint64_t first, uint64_t last, mr_trace_rec *to);

/** The virtual clock of a replay, from the start of the run: the end of the last instruction so far. */
uint64_t mr_executor_stands_ns(const mr_executor *x);

/** Move to @step; the state of that step can then be loaded into mr_executor_state's lists. */
mr_status mr_executor_stand_at(mr_executor *x, uint64_t step) MR_MUST_USE;

/** Bytes of planned memory, of trace records, and of the kernel contexts' allocations. While paused. */
uint64_t mr_executor_bytes(const mr_executor *x);

void mr_executor_fini(mr_executor *x);

#endif
