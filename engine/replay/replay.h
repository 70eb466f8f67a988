/*
 * replay.h - carry out a plan's arithmetic on one thread: the oracle that the parallel engine must equal bit for bit.
 *
 * The same step loop (exec.h) on the same memory, but without threads: whichever worker is ready goes next, in an order
 * that the caller chooses. Since a worker's list fixes what it computes and with which versions, every order gives the
 * same bits. Or the order comes from outside, such as from a simulation, with the virtual time of every instruction:
 * then a replay is a training in virtual time, with the step records, statistics and traces of an engine.
 * It runs on a thread set up like a leader (host/group.h).
 */
#ifndef MR_REPLAY_REPLAY_H
#define MR_REPLAY_REPLAY_H

#include "exec/engine.h"

typedef enum mr_replay_order {
	MR_REPLAY_ROUND_ROBIN, /* each worker in turn, one instruction if it can */
	MR_REPLAY_LAST_FIRST,  /* always the highest-numbered worker that can */
	MR_REPLAY_RANDOM       /* any worker that can, drawn by the seed */
} mr_replay_order;

typedef struct mr_replay mr_replay;

/** Build the run and its initial weights. Borrows what @c points to. Errors: as mr_run_create. */
mr_status mr_replay_create(const mr_run_config *c, mr_replay **out) MR_MUST_USE;
void mr_replay_destroy(mr_replay *r);

/** Go on to step @until. Errors: what an instruction fails with; MR_ECONFIG when no worker can go on (a deadlock). */
mr_status mr_replay_run(mr_replay *r, uint64_t until, mr_replay_order order, uint64_t seed) MR_MUST_USE;

/* An instruction's turn: whose next one it is, and when that happens. */
typedef struct mr_replay_turn {
	uint16_t worker;
	mr_stamp stamp;
} mr_replay_turn;

/* The next turn of an iteration before @until, or of a prologue; *@more is false when there is none. @until may be
 * smaller or larger from call to call; turns that lie behind it must be kept for later. */
typedef mr_status mr_replay_source(void *arg, uint64_t until, mr_replay_turn *out, bool *more);

/**
 * Go on to step @until in the order of @source, or to where @progress (engine.h; may be NULL) asks to pause; it is
 * called on the replay's thread, only after steps. *@reached is where the replay stands.
 * Errors: as mr_replay_run; what @source fails with; MR_EINVAL when an instruction's turn comes before what it waits
 * for.
 */
mr_status mr_replay_follow(mr_replay *r, uint64_t until, mr_replay_source *source, void *source_arg,
			   mr_engine_progress *progress, void *arg, uint64_t *reached) MR_MUST_USE;

/* How long things take in virtual time, in seconds, for a replay that finds its order out as it goes. */
typedef struct mr_replay_clock {
	/* When worker @worker ends @in of micro-batch @micro, which it begins at @begin. */
	double (*end)(void *arg, const mr_instr *in, uint64_t micro, uint16_t worker, double begin);
	/* How long what @stage hands from worker @from to worker @to is under way. */
	double (*hop)(void *arg, uint16_t stage, uint16_t from, uint16_t to);
	void *arg;
} mr_replay_clock;

/**
 * As mr_replay_follow, but without an order that is given: each worker goes on as soon as it can. For plans that decide
 * in the run what they do next: those that repeat forwards behind a step that was taken back, and racing ones. Where
 * that never happens the times are those of a simulation of the plan. Borrows @clock for the call.
 */
mr_status mr_replay_by_clock(mr_replay *r, uint64_t until, const mr_replay_clock *clock, mr_engine_progress *progress,
			     void *arg, uint64_t *reached) MR_MUST_USE;

/** Where the virtual clock stands: nanoseconds from the start of the run to the end of the last instruction so far. */
uint64_t mr_replay_stands_ns(const mr_replay *r);

/** Mean validation loss at the present version. Between runs. As mr_engine_eval, with @wanted asked before each
 * instruction on the replay's thread. Errors: MR_ESTOPPED; MR_EDATA no validation data; as mr_replay_run. */
mr_status mr_replay_eval(mr_replay *r, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;

mr_run *mr_replay_run_of(mr_replay *r);

#endif
