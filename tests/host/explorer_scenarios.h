/* explorer_scenarios.h - the small programs in which the rings, events and waits are explored. */
#ifndef MR_TESTS_HOST_EXPLORER_SCENARIOS_H
#define MR_TESTS_HOST_EXPLORER_SCENARIOS_H

#include <stdint.h>

#include "host/explorer.h"

typedef enum exs_program {
	EXS_TRY,       /* producer and consumer that only try: the data edges without the sleep protocol */
	EXS_RING,      /* producer and consumer that wait, and reuse capacity + 2 payload buffers */
	EXS_PAIR,      /* buffer numbers go forward on one ring and back on another: one parker, two kinds of wait */
	EXS_TWO,       /* two producers, one consumer that takes from their rings in turn: two wakers of one parker */
	EXS_EVENT,     /* a publisher and one waiter */
	EXS_EVENT_TWO, /* a publisher and two waiters */
	EXS_STOP_POP,  /* a producer pushes some, records an error, raises the stop flag; a consumer waits for more */
	EXS_STOP_ALL,  /* a third thread stops one that waits for room and one that waits for an event */
	EXS_POLL_STOP, /* mr_stop_raised without waiting */
} exs_program;

/*
 * One case: the program, capacity of its rings, number of items (or counts), pauses before sleeping.
 *
 * In `turns` the three-line loops of ring_push, ring_pop and mr_event_wait are written out in the scenario, one
 * turn an operation. That forgets how often a wait went around (it does not matter: everything that survives a turn
 * is in the waiter and the ring), which leaves far fewer states; the loops themselves are explored on the smaller
 * cases.
 */
typedef struct exs_case {
	exs_program program;
	uint32_t capacity, items, spin;
	bool turns;
	uint32_t every; /* EXS_PAIR: the ring back wakes every n-th time; 0: always */
} exs_case;

/** Explore one case. */
void exs_run(const exs_case *c, ex_report *report);

/** "ring capacity 2 items 4 spin 1" into @text; returns it. */
const char *exs_name(const exs_case *c, char text[64]);

#endif
