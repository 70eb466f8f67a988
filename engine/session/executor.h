/*
 * executor.h - one interface to whatever trains, for the commands: the engine with a plan, a replay in virtual time, or
 * sequential.
 */
#ifndef MR_SESSION_EXECUTOR_H
#define MR_SESSION_EXECUTOR_H

#include "exec/engine.h"
#include "replay/replay.h"
#include "sequential/sequential.h"
#include "session/state.h"

/* Exactly one of the three is not NULL. */
typedef struct mr_executor {
	mr_engine *engine;
	mr_replay *replay;
	mr_sequential *sequential;
	mr_replay_source *source; /* order and times of the replay; NULL: the clock determines its order */
	void *source_arg;
	const mr_replay_clock *clock;
} mr_executor;

/** As mr_engine_run. For sequential and a replay, @progress is called with records on their training thread; a replay
 * does not call it with NULL. */
mr_status mr_executor_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg,
			  uint64_t *reached) MR_MUST_USE;

/** Mean validation loss at the present weights; as mr_engine_eval. Sequential and a replay call @wanted on their
 * training thread. */
mr_status mr_executor_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;

/** Scores of the last evaluation that was not cancelled. */
mr_scores mr_executor_scores(mr_executor *x);

/** The state at the present pause point; free with mr_state_fini. */
mr_status mr_executor_state(mr_executor *x, mr_state *out) MR_MUST_USE;

/** The executor's run; NULL for sequential. While paused. */
mr_run *mr_executor_run_of(const mr_executor *x);

/** The memory of worker @w, and the nodes where that was planned to lie. */
const mr_region *mr_executor_region(const mr_executor *x, uint16_t w);
const mr_node_list *mr_executor_nodes(const mr_executor *x, uint16_t w);

/** See exec/run.h. */
double mr_executor_largest_gradient(const mr_executor *x);

/** Nanoseconds that worker @w has computed so far, and those that it has waited in training, by cause. At any time; of
 * sequential on its training thread, or between runs. */
void mr_executor_spent(const mr_executor *x, uint16_t w, uint64_t *busy, uint64_t waited[MR_N_WAITS]);

/** Nanoseconds computed so far by all workers together. At any time. */
uint64_t mr_executor_busy_ns(const mr_executor *x);

/** The time that all workers together have waited in training so far, by cause (ir/trace.h). At any time. */
void mr_executor_waited_ns(const mr_executor *x, uint64_t ns[MR_N_WAITS]);

/** The virtual clock of a replay, from the start of the run: the end of the last instruction so far. */
uint64_t mr_executor_stands_ns(const mr_executor *x);

/** Move to @step; the state of that step can then be loaded into mr_executor_state's lists. */
mr_status mr_executor_stand_at(mr_executor *x, uint64_t step) MR_MUST_USE;

/** Bytes of planned memory, of trace records, and of the kernel contexts' allocations. While paused. */
uint64_t mr_executor_bytes(const mr_executor *x);

void mr_executor_fini(mr_executor *x);

#endif
