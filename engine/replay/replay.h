/*
 * replay.h - carry out a plan's arithmetic on one thread: the oracle that the parallel engine must equal bit for bit.
 *
 * The same step loop (exec.h) on the same memory, but without threads: the next ready worker goes, in an order that the
 * caller chooses. Since a worker's list fixes what it computes and with which versions, every order gives the
 * same bits. Or the order is given, for example by a simulation, with the virtual time of every instruction:
 * then a replay is a training in virtual time, with the step records, statistics and traces of an engine.
 * It runs on a thread set up like a leader (host/group.h).
 */
#ifndef MR_REPLAY_REPLAY_H
#define MR_REPLAY_REPLAY_H

#include "threads/engine.h"

typedef enum mr_replay_order {
	MR_REPLAY_ROUND_ROBIN, /* each worker in turn, one instruction if it can */
	MR_REPLAY_LAST_FIRST,  /* always the highest-numbered worker that can */
	MR_REPLAY_RANDOM       /* any worker that can, drawn by the seed */
} mr_replay_order;

typedef struct mr_replay mr_replay;

/** Build the run and its initial weights. Borrows everything that @c points to. Errors: those of mr_run_create. */
mr_status mr_replay_create(const mr_run_config *c, mr_replay **out) MR_MUST_USE;
void mr_replay_destroy(mr_replay *r);

/** Run on to step @until. Errors: those of an instruction; MR_ECONFIG when no worker can go on (a deadlock). */
mr_status mr_replay_run(mr_replay *r, uint64_t until, mr_replay_order order, uint64_t seed) MR_MUST_USE;

/* An instruction's turn: its worker and its times. */
typedef struct mr_replay_turn {
	uint16_t worker;
	mr_stamp stamp;
} mr_replay_turn;

/* The next turn of an iteration before @until, or of a prologue; *@more is false when there is none. @until may
 * fall or rise from call to call; the source keeps turns at or beyond it for later. */
typedef mr_status mr_replay_source(void *arg, uint64_t until, mr_replay_turn *out, bool *more);

/**
 * Run on to step @until in the order of @source, or until @progress (engine.h; may be NULL) requests a pause; it is
 * called on the replay's thread, only after steps. *@reached is the step at which the replay has stopped.
 * Errors: those of mr_replay_run and of @source; MR_EINVAL when an instruction's turn comes before its inputs are
 * there.
 */
mr_status mr_replay_follow(mr_replay *r, uint64_t until, mr_replay_source *source, void *source_arg,
			   mr_engine_progress *progress, void *arg, uint64_t *reached) MR_MUST_USE;

/* Durations in virtual time, in seconds, for a replay that finds its order as it goes. */
typedef struct mr_replay_clock {
	/* The time at which worker @worker ends @in of micro-batch @micro, which it begins at @begin. */
	double (*end)(void *arg, const mr_instr *in, uint64_t micro, uint16_t worker, double begin);
	/* The transfer time of an output of @stage, or of the gradient that goes @back, from worker @from to worker
	   @to. */
	double (*hop)(void *arg, uint16_t stage, bool back, uint16_t from, uint16_t to);
	void *arg;
} mr_replay_clock;

/**
 * As mr_replay_follow, but without a given order: each worker goes on as soon as it can. For plans whose order is
 * decided in the run: plans that repeat forwards after a rollback, and racing ones. If no such decision happens, the
 * times are those of a simulation of the plan. Borrows @clock for the call.
 */
mr_status mr_replay_by_clock(mr_replay *r, uint64_t until, const mr_replay_clock *clock, mr_engine_progress *progress,
			     void *arg, uint64_t *reached) MR_MUST_USE;

/** The virtual clock: nanoseconds from the start of the run to the end of the last instruction so far. */
uint64_t mr_replay_stands_ns(const mr_replay *r);

/** Mean validation loss at the present version. Between runs. As mr_engine_eval; @wanted is called before each
 * instruction on the replay's thread. Errors: MR_ESTOPPED; MR_EDATA no validation data; those of mr_replay_run. */
mr_status mr_replay_eval(mr_replay *r, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;

mr_run *mr_replay_run_of(mr_replay *r);

#endif
