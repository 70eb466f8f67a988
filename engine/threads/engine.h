/*
 * engine.h - carry out a plan on this machine: one pinned leader per worker, rings between them, a loader beside them.
 *
 * The caller's thread steers: it lets all workers run to a pause point (the end of a body iteration, where every stage
 * has the same version; nothing is drained), and in between evaluates, saves, or ends. While they run it polls step
 * records and watches for a worker that makes no progress. The place of the pause points never changes a number.
 *
 * After mr_engine_create nothing is allocated on the step path. The first failure of any thread stops all threads.
 */
#ifndef MR_THREADS_ENGINE_H
#define MR_THREADS_ENGINE_H

#include "exec/snapshot.h"

typedef struct mr_engine mr_engine;

/* Called by mr_engine_run on the caller's thread: with each step's record, in order, and about ten times a second with
 * NULL. Returning false requests a pause (mr_engine_obey); it is still called with the records of the steps until then.
 */
typedef bool mr_engine_progress(void *arg, const mr_step_rec *rec);

/**
 * Build the run, start its threads, set up their memory, warm up. @watchdog_s: seconds without any progress that count
 * as a stall (host/stall.h: 0: never, below 0: automatic). Borrows everything that @c points to. Errors: those of
 * mr_run_create, and the first failure of a worker.
 */
mr_status mr_engine_create(const mr_run_config *c, double watchdog_s, mr_engine **out) MR_MUST_USE;

/** The same of @n shares of each worker (shares.h): @c[0 .. @n) have their graphs and places. */
mr_status mr_engine_create_shares(const mr_run_config *c, uint32_t n, double watchdog_s, mr_engine **out) MR_MUST_USE;

/** Stop and join all threads, free all. NULL is fine. */
void mr_engine_destroy(mr_engine *e);

/** The run: weights, statistics, traces. Only while paused. */
mr_run *mr_engine_run_of(mr_engine *e);

/** Back to version 0 and initial weights, as after create. Paused. */
mr_status mr_engine_restart(mr_engine *e) MR_MUST_USE;

/** Paused: continue as if @step steps had been done; weights, slots and buffers have been restored (exec/state.h).
 */
mr_status mr_engine_resume_at(mr_engine *e, uint64_t step) MR_MUST_USE;

/**
 * Whether @progress of mr_engine_run is obeyed at once: then no worker passes the pause point mr_engine_lag steps
 * behind step k before @progress has returned true for step k, so false for step k pauses there, whatever the timing;
 * where pause points are further apart, at the first one from there on. It costs a wake-up of the caller's thread each
 * step, and of the workers where the lag is 0. Otherwise, as at first, a pause comes a few steps late, and costs
 * nothing. Paused.
 */
void mr_engine_obey(mr_engine *e, bool at_once);

/** 0 for plans that flush, and those that pause only where they drain; MR_ENGINE_LAG for others, which would drain. */
uint32_t mr_engine_lag(const mr_engine *e);
#define MR_ENGINE_LAG 1

/**
 * Run to step @until (commits of every stage), or until @progress requests a pause. *@reached is the step at which the
 * engine has paused. Errors: the first failure of any thread, with its text in the caller's error buffer; MR_ESTALLED
 * with a table of what each worker waits for. After an error only mr_engine_destroy may follow.
 */
mr_status mr_engine_run(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg,
			uint64_t *reached) MR_MUST_USE;

/** From @progress of mr_engine_run: will the workers stop at @step, unless mr_engine_snapshot lets them pass it? False:
 * they stop before, or a pause was requested. */
bool mr_engine_may_pass(const mr_engine *e, uint64_t step);

/** From @progress, where they may pass @step: let the workers go on, at most to @until, and copy the state of @step by
 * @copy as they pass it (exec/snapshot.h); the run has its list. */
void mr_engine_snapshot(mr_engine *e, uint64_t step, uint64_t until, mr_snapshot_copy *copy, void *arg);

/* Called before an evaluation and now and then during it (by the engine ten times a second, on the caller's thread).
 * False cancels it.
 */
typedef bool mr_eval_wanted(void *arg);

/**
 * Mean validation loss at the present version, on the same workers. @wanted may be NULL: never cancelled. Errors:
 * MR_ESTOPPED: it was cancelled, and ended within a micro-batch; *@loss is unchanged, and training may continue as if
 * the evaluation had never begun. MR_EDATA no validation data; those of mr_engine_run.
 */
mr_status mr_engine_eval(mr_engine *e, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;

#endif
