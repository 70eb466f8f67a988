/*
 * event.h - a counter that one thread raises and several wait for: "version 7 of stage 3 is published".
 *
 * One event per (stage, kind). The publisher stores ever larger numbers, waiters wait for "at least n". Numbers wrap: a
 * is
 * before b when (int32_t)(a - b) < 0, so a waiter and its publisher must stay less than 2^31 apart.
 *
 *	edge   writer                    reader                    what becomes visible
 *	W2/R2  publisher stores count    waiter loads count        all that the publisher wrote before publishing
 *
 * seq_cst on both sides for the same reason as in the ring: the store is followed by a look at the waiters' parkers,
 * and the load may be the last look before sleeping (pause.h).
 */
#ifndef MR_HOST_EVENT_H
#define MR_HOST_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "host/pause.h"

typedef struct mr_event {
	_Alignas(64) _Atomic uint32_t count;
	mr_parker *const *waiter; /* lent by the caller: parkers of all threads that may wait; constant after init */
	uint32_t n_waiters;
} mr_event;

/**
 * Begin at @count. @waiter lends @n_waiters parkers of threads that may wait (NULL entries are skipped) for its life.
 */
void mr_event_init(mr_event *e, uint32_t count, mr_parker *const *waiter, uint32_t n_waiters);

/** Publish @n, not before the present count, and wake the waiters. Thread: the one publisher. */
void mr_event_publish(mr_event *e, uint32_t n);

/** Whether the count is at least @n; if true, all that was written before @n was published is visible. Thread: any. */
bool mr_event_reached(const mr_event *e, uint32_t n);

/** The present count; all that was written before it was published is visible. Thread: any. */
uint32_t mr_event_count(const mr_event *e);

/** Wait with @w until the count is at least @n. MR_ESTOPPED: the stop flag rose while it waited. */
mr_status mr_event_wait(const mr_event *e, uint32_t n, mr_waiter *w) MR_MUST_USE;

#endif
