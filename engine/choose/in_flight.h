/*
 * in_flight.h - for `millrace plan`: how many micro-batches under way keep a pipeline that never drains at its speed.
 *
 * PipeDream's NOAM is the number of workers over the replicas of stage 0, which is right for equal stages whose
 * messages take no time. With the costs at hand fewer may do, which means less delay and memory, or more may be faster.
 */
#ifndef MR_CHOOSE_IN_FLIGHT_H
#define MR_CHOOSE_IN_FLIGHT_H

#include <stdio.h>

#include "costs/forecast.h"
#include "session/session.h"

typedef struct mr_in_flight {
	uint32_t own;    /* of the plan; 0: its system does not let users choose, it drains, or there are too many */
	uint32_t fewest; /* from 1 to twice as many, whose step is at most 1 % longer than the shortest of these */
	double change;   /* of a step by taking `fewest`: -0.1 is a tenth shorter */
	double less;     /* of a step with one fewer than `fewest`: 0.1 is a tenth longer; 0: it is 1 */
} mr_in_flight;

/** Look for the fewest of @f, the forecast of @s. The plans of other numbers are forecast with the same costs. Errors:
 * MR_ERESOURCE. */
mr_status mr_in_flight_find(const mr_session *s, const mr_forecast *f, mr_in_flight *out) MR_MUST_USE;

/** A line about it on @out; none where the number cannot be chosen. Errors: MR_ERESOURCE. */
mr_status mr_in_flight_print(const mr_session *s, const mr_forecast *f, FILE *out) MR_MUST_USE;

#endif
