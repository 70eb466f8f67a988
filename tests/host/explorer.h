/*
 * explorer.h - carry out all executions that C11 allows of a few small threads, and find the one that is wrong.
 *
 * Real hardware shows a handful of the executions that a lock-free structure has to survive. This explorer runs the
 * production code (ring.c, event.c, pause.c compiled against the macros of explorer_code.c) under a model of the C11
 * memory model and goes through every interleaving, and at every load through every value that coherence lets it
 * return.
 *
 * The model is the operational view of release/acquire/seq_cst (RC11 without load buffering):
 *
 *   - a location is a list of messages in modification order; a message holds a value, the view that its writer
 *     released with it (nothing, if the store was relaxed), and whether it came from a read-modify-write;
 *   - a thread has a view: per location the oldest message that it may still read. A load picks any message from there
 *     on; an acquire load also takes over the message's view. A store may be put anywhere behind the view, but not
 *     between a read-modify-write and the message it read;
 *   - seq_cst accesses are ordered as they are executed: per location a floor remembers the newest message that a
 *     seq_cst access stored or saw; seq_cst loads do not read below it and seq_cst stores go behind it;
 *   - plain data is checked for races with vector clocks that travel with the views;
 *   - futex wait and wake are atomic with respect to each other, as in the kernel; once, a wait returns for no reason.
 *
 * A state is plain memory: threads are not suspended but run again from the start of their current operation, with
 * the results of the accesses made so far (the log) fed back to them, until they reach the next access. So states can
 * be copied, hashed and met again, and the search is depth-first over distinct states.
 *
 * A failure is: a race, a failed EX_CHECK, or a state in which a thread still waits and no thread can run (a lost
 * wake-up).
 */
#ifndef MR_TESTS_HOST_EXPLORER_H
#define MR_TESTS_HOST_EXPLORER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EX_MAX_SITES = 4096 };

typedef enum ex_result {
	EX_NEXT,  /* the operation is over, call op(thread, k + 1) next */
	EX_AGAIN, /* it could not do its work: call op(thread, k) again */
	EX_DONE,  /* the thread is finished */
} ex_result;

/*
 * init builds the world in static memory: atomics by ex_init, plain locations by ex_plain, per thread the memory that
 * its code changes by ex_private. op must be deterministic given the results of its accesses, and may change only
 * private memory. end (may be NULL) sees the world after all threads are done.
 */
typedef struct ex_scenario {
	const char *name;
	uint32_t n_threads;
	void (*init)(void);
	ex_result (*op)(uint32_t thread, uint32_t k);
	void (*end)(void);
} ex_scenario;

typedef struct ex_report {
	bool failed;
	char what[160];  /* the failure */
	char trace[8192]; /* the steps that lead there, one a line */
	uint64_t n_states, n_steps, n_ends;
} ex_report;

/** Explore @scenario completely, or until the first failure. */
void ex_explore(const ex_scenario *scenario, ex_report *report);

/* In init: */
void ex_init(volatile void *atomic, uint32_t value);
void ex_owner(const volatile void *atomic, uint32_t thread); /* only it stores there: saves states */
void ex_plain(const void *data);                             /* a plain word, watched for races */
void ex_private(uint32_t thread, void *memory, size_t bytes);

/* In op: the accesses of the model. @site is the line of code (for mutants and traces); 0 = none. */
uint32_t ex_load(const volatile void *atomic, memory_order order, uint32_t site);
void ex_store(volatile void *atomic, uint32_t value, memory_order order, uint32_t site);
uint32_t ex_exchange(volatile void *atomic, uint32_t value, memory_order order, uint32_t site);
uint32_t ex_get(const void *data);
void ex_set(const void *data, uint32_t value);
void ex_futex_wait(volatile void *atomic, uint32_t expected);
void ex_futex_wake(volatile void *atomic);
void ex_fail(const char *what);

#define EX_CHECK(condition)                \
	do {                               \
		if (!(condition))          \
			ex_fail(#condition); \
	} while (0)

/* Mutation: every site remembers the order written there; ex_mutate replaces it (-1 restores it). */
typedef enum ex_kind { EX_LOAD, EX_STORE, EX_EXCHANGE } ex_kind;
bool ex_site_seen(uint32_t site, ex_kind *kind, memory_order *order);
void ex_mutate(uint32_t site, int order);

#endif
