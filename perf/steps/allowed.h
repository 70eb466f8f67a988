/*
 * allowed.h - the shortest time that a plan allows for a burst of steps, from the durations of its instructions.
 *
 * The durations of the burst's own instructions, from the engine's trace, averaged by stage and kind, go through the
 * walk of the plan (timing/walk.h), with transfers at no cost. The rest of the burst's time is the cost of pipelining:
 * transfers, waking up, and durations that vary (the walk goes by averages). Filling and draining the pipeline,
 * and stages of unequal length, belong to the plan and are in both.
 */
#ifndef PERF_STEPS_ALLOWED_H
#define PERF_STEPS_ALLOWED_H

#include "threads/engine.h"

/**
 * Trace records that each worker will have written after @skip more steps: the beginning of what counts of a burst. @at
 * has a place for each. Paused.
 */
void mr_allowed_mark(const mr_run *run, uint64_t skip, uint64_t *at);

/**
 * Milliseconds a step that the plan allows, over the @steps since @mark: of a synchronous plan the makespan of that
 * many iterations, of an asynchronous one, which does not drain between bursts, its period. 0: a kind of instruction
 * of the plan left no record in the burst. Errors: MR_ERESOURCE.
 */
mr_status mr_allowed_ms(const mr_run *run, const uint64_t *mark, uint64_t steps, double *ms) MR_MUST_USE;

#endif
