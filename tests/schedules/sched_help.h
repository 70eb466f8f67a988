/* sched_help.h - plans of registered systems for the tests: each call must succeed, or the test ends. */
#ifndef MR_TESTS_SCHEDULES_SCHED_HELP_H
#define MR_TESTS_SCHEDULES_SCHED_HELP_H

#include <stdio.h>

#include "schedules/registry.h"

/* One point of the grid over which a law must hold. */
typedef struct sched_case {
	const mr_sched_ops *ops;
	uint16_t n_workers;
	uint32_t n_micro;
	bool finite;
	const char *option, *value; /* one option that is not at its default; NULL: all defaults */
} sched_case;

/** Options of @c as values; NULL when the system has none. The caller destroys them. */
mr_values *sched_values(const sched_case *c);
mr_plan *sched_emit(const sched_case *c);
/** Emitted, lowered and checked. */
mr_plan *sched_lowered(const sched_case *c);
mr_sched_claims sched_claims(const sched_case *c);

/** Call @fn for every registered system with every value of every option, D of 1 to 8 and 16, T of 1 to 4 D (a few for D
 * above 6), finite and not where the system is asynchronous. */
void sched_grid(void (*fn)(const sched_case *c));

/** Print the case when a check is about to fail: `sched_blame(c, a == b)` returns its second argument. */
bool sched_blame(const sched_case *c, bool ok);

#endif
