/*
 * exact_cross.h - the earliest begins of a problem's passes (exact_job.h), from how micro-batches cross.
 *
 * A micro-batch on its way back meets those behind it on their way down. Where I of the first and F of the second could
 * be on a worker at once, one of them waits. Both orders are tried: with each, begins follow along what passes wait
 * for, and from the work that comes before a pass on its worker. Every order of the problem has one of the two, so no
 * order begins a pass earlier than the trial in which it begins earlier. Within a trial the crossings of the
 * micro-batches next to it are tried likewise, since one wait moves a micro-batch onto the next one. The waits of each
 * way add up: with little room the last way begins later by many of them. No target and no clock takes part.
 */
#ifndef MR_SCHEDULES_EXACT_CROSS_H
#define MR_SCHEDULES_EXACT_CROSS_H

#include "schedules/exact/exact_job.h"

/** Raise @head [n_passes], before which no order of @job begins each pass. A job with several stages a worker leaves it
 * as it is. Errors: MR_ERESOURCE. */
mr_status mr_exact_cross(const mr_exact_job *job, int64_t *head) MR_MUST_USE;

#endif
