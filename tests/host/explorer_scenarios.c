#include "host/explorer_scenarios.h"

#include <stdio.h>
#include <string.h>

#include "host/explorer_code.h"
#include "host/ring_wait.h"

enum { N_PAYLOADS = 6, FIRST_ERROR = 77, MARK = 100 };

/* The world of all programs. */
static const exs_case *the;
static mr_ring ring[2];
static uint32_t payload[N_PAYLOADS], first_error;
static mr_event event;
static mr_stop stop;
static mr_parker parker[3];
static mr_waiter waiter[3];
static mr_parker *const all[3] = {&parker[0], &parker[1], &parker[2]};

/* A ring from thread @producer to thread @consumer; their parkers only if they wait. */
static void make_ring(uint32_t i, uint32_t producer, uint32_t consumer, bool waits)
{
	mr_ring *r = &ring[i];

	if (mr_ring_init(r, the->capacity, NULL, waits ? &parker[producer] : NULL, waits ? &parker[consumer] : NULL))
		ex_fail("mr_ring_init");
	ex_owner(&r->tail, producer);
	ex_owner(&r->head, consumer);
	ex_private(producer, &r->head_seen, sizeof(r->head_seen));
	ex_private(consumer, &r->tail_seen, sizeof(r->tail_seen));
	for (uint32_t k = 0; k < mr_ring_slots(the->capacity); k++)
		ex_plain(&r->slot[k]);
}

/* Everything a waiting thread has. The waiter's counters are left out: they do not change what it does. */
static void make_waiter(uint32_t id, bool stoppable)
{
	mr_parker_init(&parker[id]);
	waiter[id] = (mr_waiter){.parker = &parker[id], .stop = stoppable ? &stop.raised : NULL, .spin = the->spin};
	ex_private(id, &waiter[id].n_spun, sizeof(waiter[id].n_spun));
	ex_private(id, &waiter[id].armed, sizeof(waiter[id].armed));
}

static void make_stop(uint32_t raiser)
{
	mr_stop_init(&stop, all, 3);
	ex_owner(&stop.raised, raiser);
	ex_plain(&first_error);
}

/* What an operation that may have to wait came to; AGAIN only in turns. */
typedef enum outcome { DONE, STOPPED, AGAIN } outcome;

/* One turn of a wait: @ready ends it. */
static outcome turn(bool ready, mr_waiter *w)
{
	if (!ready)
		return mr_waiter_step(w) == MR_OK ? AGAIN : STOPPED;
	mr_waiter_done(w);
	return DONE;
}

static outcome came_to(mr_status status)
{
	EX_CHECK(status == MR_OK || status == MR_ESTOPPED);
	return status == MR_OK ? DONE : STOPPED;
}

static outcome push(mr_ring *r, uint32_t value, mr_waiter *w)
{
	return the->turns ? turn(mr_ring_try_push(r, value), w) : came_to(ring_push(r, value, w));
}

static outcome pop(mr_ring *r, uint32_t *value, mr_waiter *w)
{
	return the->turns ? turn(mr_ring_try_pop(r, value), w) : came_to(ring_pop(r, w, value));
}

static outcome reach(mr_event *e, uint32_t n, mr_waiter *w)
{
	return the->turns ? turn(mr_event_reached(e, n), w) : came_to(mr_event_wait(e, n, w));
}

static void make_payloads(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ex_plain(&payload[i]);
}

/* ---- EXS_TRY and EXS_RING ---- */

static void ring_init(void)
{
	bool waits = the->program == EXS_RING;

	make_ring(0, 0, 1, waits);
	if (waits) {
		make_payloads(the->capacity + 2);
		make_waiter(0, false);
		make_waiter(1, false);
	}
}

static ex_result try_op(uint32_t t, uint32_t k)
{
	uint32_t got;

	if (k == the->items)
		return EX_DONE;
	if (t == 0) {
		if (!mr_ring_try_push(&ring[0], k))
			return EX_AGAIN;
	} else {
		if (!mr_ring_try_pop(&ring[0], &got))
			return EX_AGAIN;
		EX_CHECK(got == k);
	}
	return EX_NEXT;
}

/* Item k lies in buffer k mod (capacity + 2): when push k - 1 found room, item k - 2 - capacity had been read. */
static ex_result ring_op(uint32_t t, uint32_t k)
{
	uint32_t *p = &payload[k / 2 % (the->capacity + 2)], got = 0;
	outcome o;

	if (k == 2 * the->items)
		return EX_DONE;
	if (t == 0 && k % 2 == 0) {
		ex_set(p, MARK + k / 2);
		return EX_NEXT;
	}
	if (t == 1 && k % 2 == 1) {
		EX_CHECK(ex_get(p) == MARK + k / 2);
		return EX_NEXT;
	}
	o = t == 0 ? push(&ring[0], k / 2, &waiter[0]) : pop(&ring[0], &got, &waiter[1]);
	EX_CHECK(o != STOPPED);
	if (o == AGAIN)
		return EX_AGAIN;
	EX_CHECK(t == 0 || got == k / 2);
	return EX_NEXT;
}

/* ---- EXS_PAIR: capacity buffers in circulation ---- */

static void pair_init(void)
{
	make_waiter(0, false);
	make_waiter(1, false);
	make_ring(0, 0, 1, true);
	make_ring(1, 1, 0, true);
	if (the->every) {
		mr_ring_wake_every(&ring[1], the->every);
		ring[0].producer = NULL; /* as in exec/links.h: it never waits for room, so nothing else wakes it */
	}
	make_payloads(the->capacity);
}

/* Each round is: get a buffer, work on it, hand it on. The producer's first rounds take fresh buffers. */
static ex_result pair_op(uint32_t t, uint32_t k)
{
	uint32_t round = k / 3, buffer = round % the->capacity, got = buffer;
	outcome o = DONE;

	if (round == the->items)
		return EX_DONE;
	if (k % 3 == 0 && (t == 1 || round >= the->capacity))
		o = pop(&ring[!t], &got, &waiter[t]);
	else if (k % 3 == 1 && t == 0)
		ex_set(&payload[buffer], MARK + round);
	else if (k % 3 == 1)
		EX_CHECK(ex_get(&payload[buffer]) == MARK + round);
	else if (k % 3 == 2)
		o = push(&ring[t], buffer, &waiter[t]);
	EX_CHECK(o != STOPPED);
	EX_CHECK(o == AGAIN || got == buffer);
	return o == AGAIN ? EX_AGAIN : EX_NEXT;
}

/* ---- EXS_TWO: threads 0 and 1 produce, thread 2 consumes ---- */

static void two_init(void)
{
	for (uint32_t i = 0; i < 3; i++)
		make_waiter(i, false);
	make_ring(0, 0, 2, true);
	make_ring(1, 1, 2, true);
}

static ex_result two_op(uint32_t t, uint32_t k)
{
	uint32_t got = 0;
	outcome o;

	if (k == the->items * (t == 2 ? 2 : 1))
		return EX_DONE;
	o = t < 2 ? push(&ring[t], k, &waiter[t]) : pop(&ring[k % 2], &got, &waiter[2]);
	EX_CHECK(o != STOPPED);
	if (o == AGAIN)
		return EX_AGAIN;
	EX_CHECK(t < 2 || got == k / 2);
	return EX_NEXT;
}

/* ---- EXS_EVENT and EXS_EVENT_TWO: counts pass the wrap ---- */

static uint32_t count_of(uint32_t k)
{
	return UINT32_MAX - 1 + k;
}

static void event_init(void)
{
	uint32_t n = the->program == EXS_EVENT_TWO ? 2 : 1;

	for (uint32_t i = 1; i <= n; i++)
		make_waiter(i, false);
	mr_event_init(&event, count_of(0), &all[1], n);
	ex_owner(&event.count, 0);
	make_payloads(the->items);
}

static ex_result event_op(uint32_t t, uint32_t k)
{
	outcome o;

	if (k == the->items)
		return EX_DONE;
	if (t == 0) {
		ex_set(&payload[k], MARK + k);
		mr_event_publish(&event, count_of(k + 1));
		return EX_NEXT;
	}
	o = reach(&event, count_of(k + 1), &waiter[t]);
	EX_CHECK(o != STOPPED);
	if (o == AGAIN)
		return EX_AGAIN;
	EX_CHECK(ex_get(&payload[k]) == MARK + k);
	return EX_NEXT;
}

/* ---- EXS_STOP_POP ---- */

static void stop_pop_init(void)
{
	make_waiter(0, true);
	make_waiter(1, true);
	mr_parker_init(&parker[2]);
	make_stop(0);
	make_ring(0, 0, 1, true);
}

static ex_result stop_pop_op(uint32_t t, uint32_t k)
{
	uint32_t got = 0;
	outcome o;

	if (t == 0 && k < the->items) {
		o = push(&ring[0], k, &waiter[0]);
		EX_CHECK(o != STOPPED);
		return o == AGAIN ? EX_AGAIN : EX_NEXT;
	}
	if (t == 0) {
		ex_set(&first_error, FIRST_ERROR);
		mr_stop_raise(&stop);
		return EX_DONE;
	}
	o = pop(&ring[0], &got, &waiter[1]);
	if (o == AGAIN)
		return EX_AGAIN;
	if (o == DONE) {
		EX_CHECK(got == k && k < the->items);
		return EX_NEXT;
	}
	EX_CHECK(ex_get(&first_error) == FIRST_ERROR);
	return EX_DONE;
}

/* ---- EXS_STOP_ALL ---- */

static void stop_all_init(void)
{
	make_waiter(0, true);
	make_waiter(1, true);
	mr_parker_init(&parker[2]);
	make_stop(2);
	make_ring(0, 0, 1, true);
	mr_event_init(&event, 0, &all[1], 1);
	ex_owner(&event.count, 0);
}

static ex_result stop_all_op(uint32_t t, uint32_t k)
{
	outcome o;

	if (t == 2) {
		ex_set(&first_error, FIRST_ERROR);
		mr_stop_raise(&stop);
		return EX_DONE;
	}
	/* Thread 0 finds room `capacity` times and then never again; thread 1 waits for what never happens. */
	o = t == 0 ? push(&ring[0], k, &waiter[0]) : reach(&event, 1, &waiter[1]);
	if (o == AGAIN)
		return EX_AGAIN;
	EX_CHECK((o == DONE) == (t == 0 && k < the->capacity));
	if (o == DONE)
		return EX_NEXT;
	EX_CHECK(ex_get(&first_error) == FIRST_ERROR);
	return EX_DONE;
}

/* ---- EXS_POLL_STOP ---- */

static void poll_init(void)
{
	for (uint32_t i = 0; i < 3; i++)
		mr_parker_init(&parker[i]);
	make_stop(0);
}

static ex_result poll_op(uint32_t t, uint32_t k)
{
	(void)k;
	if (t == 0) {
		ex_set(&first_error, FIRST_ERROR);
		mr_stop_raise(&stop);
		return EX_DONE;
	}
	if (!mr_stop_raised(&stop))
		return EX_AGAIN;
	EX_CHECK(ex_get(&first_error) == FIRST_ERROR);
	return EX_DONE;
}

static const ex_scenario scenarios[] = {
	[EXS_TRY] = {"try", 2, ring_init, try_op, NULL},
	[EXS_RING] = {"ring", 2, ring_init, ring_op, NULL},
	[EXS_PAIR] = {"pair", 2, pair_init, pair_op, NULL},
	[EXS_TWO] = {"two", 3, two_init, two_op, NULL},
	[EXS_EVENT] = {"event", 2, event_init, event_op, NULL},
	[EXS_EVENT_TWO] = {"event, two waiters", 3, event_init, event_op, NULL},
	[EXS_STOP_POP] = {"stop pop", 2, stop_pop_init, stop_pop_op, NULL},
	[EXS_STOP_ALL] = {"stop all", 3, stop_all_init, stop_all_op, NULL},
	[EXS_POLL_STOP] = {"poll stop", 2, poll_init, poll_op, NULL},
};

void exs_run(const exs_case *c, ex_report *report)
{
	the = c;
	ex_explore(&scenarios[c->program], report);
}

const char *exs_name(const exs_case *c, char text[64])
{
	snprintf(text, 64, "%s, capacity %u, %u items, spin %u%s%s", scenarios[c->program].name, c->capacity, c->items,
		 c->spin, c->turns ? ", in turns" : "", c->every > 1 ? ", hushed" : "");
	return text;
}
