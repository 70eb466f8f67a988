/*
 * fetches.h - which weights a pipe's worker fetches in an iteration, and when, where weights are sharded (plan.h).
 *
 * A run is passes of one stage that follow each other in the list. It reads room s mod R. If the last run in that room
 * was of another stage, or there was none in the iteration, the stage is fetched: from the beginning of the run behind
 * that one on, but no more than R - 1 runs ahead.
 *
 *	R = 2, three stages          runs      F0   F1   F2,B2   B1   B0
 *	                             fetched at the beginning of run
 *	                                       0: stages 0, 1    1: 2    3: 0    (B1 finds its stage in room 1)
 *
 * S equal stages, passes up and down once: 2 S - R fetches an iteration, if 2 <= R <= S; S where R = S.
 */
#ifndef MR_IR_FETCHES_H
#define MR_IR_FETCHES_H

#include "ir/plan.h"

#define MR_NO_RUN UINT32_MAX

typedef struct mr_fetch {
	uint16_t stage;
	uint32_t at; /* run at whose beginning its room is free; ascending */
} mr_fetch;

typedef struct mr_fetches {
	uint32_t n;       /* fetches an iteration */
	mr_fetch *fetch;  /* [n] owned */
	uint32_t n_runs;
	uint32_t *run_of; /* [instructions of the list] owned; MR_NO_RUN: it reads no weights */
} mr_fetches;

/** Those of @pipe in @list, a body, with @rooms rooms. Errors: MR_ERESOURCE. */
mr_status mr_fetches_of(const mr_list *list, uint8_t pipe, uint32_t rooms, mr_fetches *out) MR_MUST_USE;

/** How many of them are of @stage. */
uint32_t mr_fetches_of_stage(const mr_fetches *f, uint16_t stage);

void mr_fetches_fini(mr_fetches *f);

#endif
