/*
 * cap.h - the option for the most micro-batches that a worker may keep: D (the number of workers), 2D, none, or a
 * number.
 */
#ifndef MR_SCHEDULES_CAP_H
#define MR_SCHEDULES_CAP_H

#include <stdint.h>

#include "base/status.h"

/** Read @text, in micro-batches of a worker's share; INFINITY for none. Errors: MR_ECONFIG for less than 1 or no
 * number. */
mr_status mr_cap_read(const char *text, uint16_t n_workers, double *out) MR_MUST_USE;

#endif
