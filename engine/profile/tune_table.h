/*
 * tune_table.h - a table of choices from measured points, of one machine or of several.
 *
 * oneDNN executes where it takes at most MR_TUNE_MARGIN longer than `fused`. A point of several machines counts with
 * the mean of their ratios, and where they differ by more than noise does with the worst one, so that what holds on one
 * alone is no choice; nor is what fewer than two of several have measured. Both are left to a machine's own table.
 *
 * Neighbouring points differ by noise, so no point decides by itself. Each kind of operation has at most two backends,
 * one for small shapes and one for large ones: with the number of rows given, the choice changes at most once with the
 * size, and with the size given at most once with the number of rows. Of all such tables it is that with the least sum,
 * over the points, of what the choice takes longer than the best one, where each line counts as MR_TUNE_LINE.
 */
#ifndef MR_PROFILE_TUNE_TABLE_H
#define MR_PROFILE_TUNE_TABLE_H

#include "profile/tune.h"

#define MR_TUNE_LINE 0.2 /* by which a line must shorten the sum of relative times */
#define MR_TUNE_MOST_MACHINES 16

/** Make the table: @base, with each part (instruction set, type, one thread or a team) replaced of which @points[@n]
 * has any. The caller destroys *@out. Errors: MR_ERESOURCE. */
mr_status mr_tune_table(const mr_tune_points *points, uint32_t n, const mr_choices *base, mr_choices **out) MR_MUST_USE;

#endif
