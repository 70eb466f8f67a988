/*
 * exact_beam.h - an order of a problem (exact_job.h) from its begin on, where room for activations decides the time.
 *
 * With room for C micro-batches at the first stage, micro-batch m + C waits there until m has come back: C slots, each
 * of which makes one way through all stages after another. A state is the passes begun up to some time. It is good if
 * its slots would end soon, were the ways to come free of waiting and the slots a worker's work apart; late slots count
 * by a steep power. Of all states the best few go on from one slice of time to the next (exact_slices.h). A wide beam
 * finds no shorter orders than a narrow one, since it keeps varieties of one state; so the search is made of sections,
 * an eighth of a way long. Each of them has many runs, with other hopes for each slot drawn at random by number, from
 * the best states of the section before, a sixth as many. Nothing depends on a clock.
 */
#ifndef MR_SCHEDULES_EXACT_BEAM_H
#define MR_SCHEDULES_EXACT_BEAM_H

#include "schedules/exact/exact_order.h"

/** May the ways of slots, not the work of a worker, decide the makespan of @job, and has each worker one stage? */
bool mr_exact_beam_suits(const mr_exact_job *job);

/** One run in each section takes about as long as this many swaps (exact_order.h) of the same job. */
#define MR_EXACT_BEAM_SWAPS 70u

/** Find an order of @job, which suits, with @runs runs in each section; each @seed draws others. Errors:
 * MR_ERESOURCE. */
mr_status mr_exact_beam(const mr_exact_job *job, uint32_t runs, uint64_t seed, mr_exact_order *out) MR_MUST_USE;

#endif
