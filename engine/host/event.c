#include "host/event.h"

#include <assert.h>

static bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

void mr_event_init(mr_event *e, uint32_t count, mr_parker *const *waiter, uint32_t n_waiters)
{
	atomic_init(&e->count, count);
	e->waiter = waiter;
	e->n_waiters = n_waiters;
}

void mr_event_publish(mr_event *e, uint32_t n)
{
	assert(!before(n, atomic_load_explicit(&e->count, memory_order_relaxed)));
	/* W2: publishes what this thread wrote before; pairs with R2. */
	atomic_store_explicit(&e->count, n, memory_order_seq_cst);
	for (uint32_t i = 0; i < e->n_waiters; i++)
		mr_parker_wake(e->waiter[i]);
}

uint32_t mr_event_count(const mr_event *e)
{
	/* R2: what was written before this count was published; seq_cst as it may be the last look before sleeping. */
	return atomic_load_explicit(&e->count, memory_order_seq_cst);
}

bool mr_event_reached(const mr_event *e, uint32_t n)
{
	return !before(mr_event_count(e), n);
}

mr_status mr_event_wait(const mr_event *e, uint32_t n, mr_waiter *w)
{
	while (!mr_event_reached(e, n))
		MR_TRY(mr_waiter_step(w));
	mr_waiter_done(w);
	return MR_OK;
}
