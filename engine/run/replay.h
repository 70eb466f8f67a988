/*
 * replay.h - carry out a plan's arithmetic on one thread: the oracle that the parallel engine must equal bit for bit.
 *
 * The same step loop (exec.h) on the same memory, but without threads: whichever worker is ready goes next, in an order that
 * the caller chooses. Since a worker's list fixes what it computes and with which versions, every order gives the same bits.
 * It runs on a thread set up like a leader (host/group.h).
 */
#ifndef MR_RUN_REPLAY_H
#define MR_RUN_REPLAY_H

#include "run/run.h"

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

mr_run *mr_replay_run_of(mr_replay *r);

#endif
