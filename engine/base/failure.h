/*
 * failure.h - the first failure of something that many threads use and that goes on behind it, kept for good.
 *
 * Thread: create and destroy on one thread; all else on any, at once.
 */
#ifndef MR_BASE_FAILURE_H
#define MR_BASE_FAILURE_H

#include "base/status.h"

typedef struct mr_failure mr_failure;

/** NULL without memory. */
mr_failure *mr_failure_create(void);
void mr_failure_destroy(mr_failure *f); /* accepts NULL */

/** Keep this message, unless there is one; its first 399 bytes. */
void mr_failure_set(mr_failure *f, const char *fmt, ...) MR_PRINTF(2, 3);

/** MR_OK, or MR_EDATA with the message. */
mr_status mr_failure_check(mr_failure *f) MR_MUST_USE;

#endif
