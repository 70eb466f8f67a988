/*
 * counter.h - an event between workers: a count that one worker at a time raises and others wait for ("version 7 of
 * stage 3 is published").
 *
 * If all workers share memory it is one mr_event, which every worker reads. Otherwise each worker has an end of its
 * own: an event that the workers which share memory with it raise, and a channel from each of the others
 * (channel.h, MR_EDGE_EVENT). What was written before a count was raised is visible after the count only if the ends
 * share memory; elsewhere the channels that carry the data announce their arrival.
 *
 * Counts wrap as in host/event.h.
 */
#ifndef MR_LINK_COUNTER_H
#define MR_LINK_COUNTER_H

#include "host/event.h"
#include "link/channel.h"

/* One worker's view of a counter. */
typedef struct mr_counter_end {
	mr_event near;  /* raised by workers that share memory with this one */
	mr_channel *in; /* [n_workers] from each of the others; kind NULL: none */
	uint32_t heard; /* the highest count received through `in`; written by the worker */
} mr_counter_end;

typedef struct mr_counter {
	mr_event event;      /* the count, for all workers that share memory */
	mr_counter_end *end; /* [n_workers] owned; NULL: all edges share memory */
	uint16_t n_workers;
	bool by_part;        /* each process raises it when its own part is done: workers of one with a part wait for
	                        that alone */
} mr_counter;

/**
 * Choose the links of a counter of @stage between @n_workers workers, the kind of each edge from @kinds
 * (mr_link_kind_of). @c is zeros. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_counter_choose(mr_counter *c, uint16_t stage, uint16_t n_workers,
			    const mr_link_kind *const *kinds) MR_MUST_USE;

/** As choosing, where @from alone raises it and @to alone waits for it. */
mr_status mr_counter_choose_edge(mr_counter *c, uint16_t stage, uint16_t from, uint16_t to, uint16_t n_workers,
				 const mr_link_kind *const *kinds) MR_MUST_USE;

/**
 * Each count that worker @from raises brings @bytes with it, from @data + number % 2 * @bytes to the same place behind
 * @to of the workers that share no memory with it: a [n_workers] array of such places. After choosing and before
 * opening.
 */
void mr_counter_carry(mr_counter *c, uint16_t from, size_t bytes, const void *data, uint8_t *const *to);

/** Open what was chosen. Errors: MR_ERESOURCE, the kind's. */
mr_status mr_counter_open(mr_counter *c) MR_MUST_USE;

/** Free what choosing and opening made. Zeros are fine. */
void mr_counter_close(mr_counter *c);

/**
 * Begin at @count. @waiter lends @n_waiters parkers of the workers that may wait, as mr_event_init; @parkers those of
 * all workers, for counters with ends. Call while the workers are idle.
 */
void mr_counter_reset(mr_counter *c, uint32_t count, mr_parker *const *waiter, uint32_t n_waiters,
		      mr_parker *const *parkers);

/** mr_counter_raise and mr_counter_reached for a counter with ends. */
void mr_counter_raise_ends(mr_counter *c, uint16_t from, uint32_t n);
bool mr_counter_reached_end(const mr_counter *c, uint16_t worker, uint32_t n);

/** Raise the count to @n, which is not before the present one, and wake the waiting workers. Thread: worker @from. */
static inline void mr_counter_raise(mr_counter *c, uint16_t from, uint32_t n)
{
	if (c->end)
		mr_counter_raise_ends(c, from, n);
	else
		mr_event_publish(&c->event, n);
}

/** Whether the count that worker @worker sees is at least @n. Thread: the worker's. */
static inline bool mr_counter_reached(const mr_counter *c, uint16_t worker, uint32_t n)
{
	return c->end ? mr_counter_reached_end(c, worker, n) : mr_event_reached(&c->event, n);
}

#endif
