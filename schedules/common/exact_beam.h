/*
 * exact_beam.h - an order of a problem (exact_job.h) from its begin on, where room for activations decides the time.
 *
 * With room for C micro-batches at the first stage, micro-batch m + C waits there until m has come back: C slots, each
 * of which makes one way through all stages after another. A state is the passes begun up to some time. It is good if
 * its slots would end soon, were the ways to come free of waiting and the slots a worker's work apart; late slots count
 * by a steep power. Passes are put down as in the tree (exact_tree.h), and of all states the best few go on from one
 * slice of time to the next. A beam of 1000 finds no shorter orders than one of 30, since it keeps varieties of one
 * state; so the search is made of sections, half a way long. Each of them has some runs, with other hopes for each slot
 * drawn at random by number, from the best states of the section before. Nothing depends on a clock.
 */
#ifndef MR_SCHEDULES_EXACT_BEAM_H
#define MR_SCHEDULES_EXACT_BEAM_H

#include "schedules/common/exact_order.h"

/** May the ways of slots, not the work of a worker, decide the makespan of @job, and has each worker one stage? */
bool mr_exact_beam_suits(const mr_exact_job *job);

/** One run in each section takes about as long as this many swaps (exact_order.h) of the same job. */
#define MR_EXACT_BEAM_SWAPS 6000u

/** Find an order of @job, which suits, with @runs runs in each section. Errors: MR_ERESOURCE. */
mr_status mr_exact_beam(const mr_exact_job *job, uint32_t runs, mr_exact_order *out) MR_MUST_USE;

#endif
