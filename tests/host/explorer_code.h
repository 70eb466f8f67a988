/*
 * explorer_code.h - the production rings, events and waits under other names, compiled against the explorer's model.
 *
 * explorer_code.c includes ring.c, event.c and pause.c with the operations of <stdatomic.h> and the futex replaced;
 * the names are changed so that the real ones may be linked into the same test runner.
 */
#ifndef MR_TESTS_HOST_EXPLORER_CODE_H
#define MR_TESTS_HOST_EXPLORER_CODE_H

#define mr_parker_init exc_parker_init
#define mr_parker_wake exc_parker_wake
#define mr_waiter_init exc_waiter_init
#define mr_waiter_step exc_waiter_step
#define mr_waiter_done exc_waiter_done
#define mr_stop_init exc_stop_init
#define mr_stop_raise exc_stop_raise
#define mr_stop_raised exc_stop_raised
#define mr_stop_clear exc_stop_clear
#define mr_pause_spins exc_pause_spins
#define mr_ring_slots exc_ring_slots
#define mr_ring_init exc_ring_init
#define mr_ring_wake_every exc_ring_wake_every
#define mr_ring_try_push exc_ring_try_push
#define mr_ring_try_pop exc_ring_try_pop
#define mr_event_init exc_event_init
#define mr_event_publish exc_event_publish
#define mr_event_count exc_event_count
#define mr_event_reached exc_event_reached
#define mr_event_wait exc_event_wait

#include "host/event.h"
#include "host/pause.h"
#include "host/ring.h"

/* A site is file * 1000 + line; the files in this order. */
#define EXC_FILES "pause.c", "ring.c", "event.c"
enum { EXC_N_FILES = 3 };

#endif
