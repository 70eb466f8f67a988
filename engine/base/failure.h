/*
 * failure.h - keeps the first failure of an object that many threads use and that continues after a failure.
 *
 * Thread: create and destroy on one thread; the other functions on any threads, at once.
 */
#ifndef MR_BASE_FAILURE_H
#define MR_BASE_FAILURE_H

#include "base/status.h"

typedef struct mr_failure mr_failure;

/** Returns NULL if there is no memory. */
mr_failure *mr_failure_create(void);
void mr_failure_destroy(mr_failure *f); /* accepts NULL */

/** Keep the first 399 bytes of this message, unless a message is kept already. */
void mr_failure_set(mr_failure *f, const char *fmt, ...) MR_PRINTF(2, 3);

/** MR_OK, or MR_EDATA with the message. */
mr_status mr_failure_check(mr_failure *f) MR_MUST_USE;

#endif
