/*
 * sync_cases.h - synchronous systems against the oracle, to the bit: shared by a fast suite and a slow one.
 *
 * Every system of the registry that flushes takes part by itself, with its default options and with those of a
 * list in sync_cases.c. The oracle sums in the order and grouping that the system's schedule emits.
 */
#ifndef MR_TESTS_SYSTEM_SYNC_CASES_H
#define MR_TESTS_SYSTEM_SYNC_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sync_case {
	const char *backend; /* "backend=... precision=..." */
	bool gpt;
	const char *sets;    /* of model, optimizer and training */
	uint64_t steps;
	unsigned workers;    /* bit D: with D workers */
	bool may_refuse;     /* too few micro-batches for some systems, which may refuse every number of workers */
} sync_case;

/** Every system with every asked number of workers that it takes: weights, state, losses, norms, evaluation. A system
 * may refuse a number of workers, but (unless may_refuse) not all of them. */
void sync_case_check(const sync_case *c);

/** One system, @system as sync_system gives it, with this many workers, which it has to take. */
void sync_case_system(const sync_case *c, const char *system, unsigned workers);

/** "system.name=NAME OPTIONS", a synchronous system with one of its variants; NULL behind the last. */
const char *sync_system(uint32_t i);

/** "backend=auto precision=f32" where there is one, else NULL. */
const char *sync_dnnl(void);

/** The models of the grid on @backend (NULL: none), at 1 to 4 stages: every @every-th from @first on. */
void sync_case_models(const char *backend, size_t first, size_t every);

/** One to seven workers, and as few micro-batches as leave pipes and workers without any; unless @all, odd numbers of
 * workers with some numbers of micro-batches and even ones with the others. */
void sync_case_odd_sizes(bool all);

#endif
