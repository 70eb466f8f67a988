/*
 * exact_patch.h - shorter orders of a problem (exact_job.h) by finding a section of an order anew.
 *
 * What begins before the section stays; a narrow beam (exact_slices.h) goes through it, and what is left follows in the
 * order of before. A state is good if nothing would end late, were the longest way behind each pass the one that it has
 * in the order of before: these ways know what the rest needs. Sections, and how much each micro-batch counts in them,
 * are drawn at random by number. What results takes the place of the order unless it is longer. Now and then the
 * problem is turned round in time, since a beam decides by what has been and puts off what is to come. Nothing depends
 * on a clock.
 */
#ifndef MR_SCHEDULES_EXACT_PATCH_H
#define MR_SCHEDULES_EXACT_PATCH_H

#include "schedules/exact/exact_order.h"

/** Has each worker of @job one stage? */
bool mr_exact_patch_suits(const mr_exact_job *job);

/** One section takes about as long as this many swaps (exact_order.h) of the same job. */
#define MR_EXACT_PATCH_SWAPS 10u

/** Find @times sections of *@o, whose makespan is known, anew, or until it is @enough; @job suits, and each @seed draws
 * others. Errors: MR_ERESOURCE. */
mr_status mr_exact_patch(const mr_exact_job *job, mr_exact_order *o, int64_t enough, uint64_t times,
			 uint64_t seed) MR_MUST_USE;

#endif
