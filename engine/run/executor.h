/*
 * executor.h - whatever trains: the engine with a plan, or sequential. One face for the commands.
 */
#ifndef MR_RUN_EXECUTOR_H
#define MR_RUN_EXECUTOR_H

#include "run/engine.h"
#include "run/sequential.h"
#include "run/state.h"

/* Exactly one of the two is not NULL. */
typedef struct mr_executor {
	mr_engine *engine;
	mr_sequential *sequential;
} mr_executor;

/** As mr_engine_run. For sequential, @progress is called on its training thread, and only after steps. */
mr_status mr_executor_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached) MR_MUST_USE;

/** Mean validation loss at the present weights. */
mr_status mr_executor_eval(mr_executor *x, double *loss) MR_MUST_USE;

/** The state at the present pause point; free with mr_state_fini. */
mr_status mr_executor_state(mr_executor *x, mr_state *out) MR_MUST_USE;

/** Stand at @step, ready to have the state of that step loaded into mr_executor_state's lists. */
mr_status mr_executor_stand_at(mr_executor *x, uint64_t step) MR_MUST_USE;

/** Bytes of planned memory, and of what the kernel contexts hold. While paused. */
uint64_t mr_executor_bytes(const mr_executor *x);

void mr_executor_fini(mr_executor *x);

#endif
