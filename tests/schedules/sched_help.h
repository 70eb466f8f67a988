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
	uint16_t chunks;            /* 0: the system's own number */
	uint32_t n_commits;         /* of the finite list of a system that accumulates; 0: the ordinary number */
	const char *sets;           /* further options, "name=value name=value"; NULL: none */
} sched_case;

/** Options of @c as values; NULL when the system has none. The caller destroys them. */
mr_values *sched_values(const sched_case *c);
mr_plan *sched_emit(const sched_case *c);
/** As sched_emit, but NULL where the system refuses the case, which it must do with MR_ECONFIG and a message that
 * begins with its name. */
mr_plan *sched_try_emit(const sched_case *c);
/** Emitted, lowered and checked. */
mr_plan *sched_lowered(const sched_case *c);
mr_sched_claims sched_claims(const sched_case *c, double f, double i, double w);

/* The costs of a worker's whole share under which claims are tried. */
#define SCHED_COSTS 5
extern const double sched_costs[SCHED_COSTS][3];

/** Call @fn for every registered system with every value of every option and 1 to 4 chunks where its users choose, D of
 * 1 to @max_workers, T of 1 to @max_micro, finite and not where the system is asynchronous. Not every case suits every
 * system. */
void sched_grid(uint16_t max_workers, uint32_t max_micro, void (*fn)(const sched_case *c));

/** The same for the one system and the options of @c. */
void sched_sizes(uint16_t max_workers, uint32_t max_micro, const sched_case *c, void (*fn)(const sched_case *c));

/** Print the case when a check is about to fail: `sched_blame(c, a == b)` returns its second argument. */
bool sched_blame(const sched_case *c, bool ok);

#endif
