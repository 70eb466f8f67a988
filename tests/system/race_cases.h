/*
 * race_cases.h - a racing run, whose order depends on timing, against the record that it leaves: the record is a plan
 * that the checker accepts, and carrying it out again, on one thread or many, gives the weights and losses of the race
 * to the bit.
 */
#ifndef MR_TESTS_SYSTEM_RACE_CASES_H
#define MR_TESTS_SYSTEM_RACE_CASES_H

#include "rig.h"

#define RACE_MICRO 24 /* micro-batches a run */
#define RACE_RUNS 20  /* at most this many runs a case */

/** @runs races at 2, 3 and 4 workers, instructions delayed at random; half of them pause and evaluate on the way. */
void races_mlp(uint32_t runs);
void races_gpt(uint32_t runs);

/** A started engine of ampnet in racing order that records @record micro-batches. */
void race_open(rig *r, bool gpt, const char *sets, unsigned workers, uint64_t record);

/** What @record's steps give on one thread; @i varies the order of the workers. */
void race_replay(const rig *r, const mr_plan *record, uint64_t steps, uint32_t i, rig_result *out);

/** The same by the engine, with other delays than the race had, and a pause in the middle. */
void race_run_again(const rig *r, const mr_plan *record, uint64_t steps, uint32_t i, rig_result *out);

/** A copy, as a reader of the file gets it. */
mr_plan *race_through_text(const mr_plan *plan);

#endif
