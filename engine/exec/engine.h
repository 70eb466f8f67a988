/*
 * engine.h - carry out a plan on this machine: one pinned leader per worker, rings between them, a loader beside them.
 *
 * The caller's thread steers: it lets all workers run to a pause point (the end of a body iteration, where every stage
 * has the same version; nothing is drained), and in between evaluates, saves, or ends. While they run it polls step
 * records and watches for a worker that makes no progress. Where the pause points lie never changes a number.
 *
 * After mr_engine_create nothing is allocated on the step path. The first failure of any thread stops all.
 */
#ifndef MR_EXEC_ENGINE_H
#define MR_EXEC_ENGINE_H

#include "exec/run.h"

typedef struct mr_engine mr_engine;

/* Called by mr_engine_run on the caller's thread: with each step's record, in order, and about ten times a second with
 * NULL. Returning false asks for a pause, which comes within a few steps. */
typedef bool mr_engine_progress(void *arg, const mr_step_rec *rec);

/**
 * Build the run, start its threads, set up their memory, warm up. @watchdog_s: seconds without any progress that count
 * as stalled (host/stall.h: 0: never, below 0: automatic). Borrows what @c points to. Errors: as mr_run_create, and
 * whatever a worker fails with.
 */
mr_status mr_engine_create(const mr_run_config *c, double watchdog_s, mr_engine **out) MR_MUST_USE;

/** Stop and join all threads, free all. NULL is fine. */
void mr_engine_destroy(mr_engine *e);

/** The run inside: weights, statistics, traces. Only while paused. */
mr_run *mr_engine_run_of(mr_engine *e);

/** Back to version 0 and initial weights, as after create. Paused. */
mr_status mr_engine_restart(mr_engine *e) MR_MUST_USE;

/** Paused: continue as if @step steps had been done; weights, slots and buffers have been restored (session/state.h).
 */
mr_status mr_engine_resume_at(mr_engine *e, uint64_t step) MR_MUST_USE;

/**
 * Run to step @until (commits of every stage), or to where @progress asks to pause. *@reached is where the engine
 * stands. Errors: the first failure of any thread; MR_ESTALLED with a table of what each worker waits for. After an
 * error only destroy is left. The text is the caller's as usual.
 */
mr_status mr_engine_run(mr_engine *e, uint64_t until, mr_engine_progress *progress, void *arg,
			uint64_t *reached) MR_MUST_USE;

/* Asked now and then while an evaluation goes on (the engine: ten times a second, on the caller's thread): is it still
 * wanted? */
typedef bool mr_eval_wanted(void *arg);

/**
 * Mean validation loss at the present version, on the same workers. @wanted may be NULL: always. Errors: MR_ESTOPPED:
 * it is not wanted any more, and has ended within a micro-batch; *@loss is not touched, and training may go on as if it
 * had never begun. MR_EDATA no validation data; as run.
 */
mr_status mr_engine_eval(mr_engine *e, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;

#endif
