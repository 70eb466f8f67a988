/*
 * order.h - the order of a simulation: all instruction instances by the virtual time at which they begin.
 *
 * Of two that begin at once, what the other waits for comes first (instructions may take no time). So the order is legal:
 * who carries out one instance after the other, on one thread, finds everything that it waits for done.
 */
#ifndef MR_SIM_ORDER_H
#define MR_SIM_ORDER_H

#include "ir/walk.h"

typedef struct mr_sim_event {
	uint32_t rec;    /* index in walk->at */
	uint16_t worker;
} mr_sim_event;

/** Fill @event [walk->first[walk->n_workers]]. Errors: MR_ERESOURCE. */
mr_status mr_sim_order(const mr_walk *walk, mr_sim_event *event) MR_MUST_USE;

#endif
