/* ring_wait.h - the loops of a thread that waits at a ring. */
#ifndef MR_TESTS_HOST_RING_WAIT_H
#define MR_TESTS_HOST_RING_WAIT_H

#include "host/ring.h"

/* MR_ESTOPPED: the stop flag rose while it waited; nothing was pushed. */
static inline mr_status ring_push(mr_ring *r, uint32_t value, mr_waiter *w)
{
	while (!mr_ring_try_push(r, value))
		MR_TRY(mr_waiter_step(w));
	mr_waiter_done(w);
	return MR_OK;
}

/* Likewise; nothing was popped. */
static inline mr_status ring_pop(mr_ring *r, mr_waiter *w, uint32_t *value)
{
	while (!mr_ring_try_pop(r, value))
		MR_TRY(mr_waiter_step(w));
	mr_waiter_done(w);
	return MR_OK;
}

#endif
