/*
 * mutate.h - lowered plans with one thing wrong, and what the checker and brute force say of them: for the mutation
 * tests of every layer that has plans.
 */
#ifndef MR_TESTS_LOWER_MUTATE_H
#define MR_TESTS_LOWER_MUTATE_H

#include <stdbool.h>

#include "ir/plan.h"

/* Each kind of mutation changes one thing; fields are nudged by one, up or down, or drawn anew from their range. */
typedef enum mutation {
	MUTATE_SWAP_NEXT,
	MUTATE_SWAP,
	MUTATE_MOVE,
	MUTATE_DROP,
	MUTATE_DUPLICATE,
	MUTATE_OTHER_WORKER,
	MUTATE_OP,
	MUTATE_MICRO,
	MUTATE_STAGE,
	MUTATE_PIPE,
	MUTATE_SLOT,
	MUTATE_IN,
	MUTATE_OUT,
	MUTATE_READ,
	MUTATE_TARGET,
	MUTATE_FLAGS,
	MUTATE_FEWER_SLOTS,
	MUTATE_FEWER_FWD,
	MUTATE_FEWER_BWD,
	MUTATE_FEWER_VERSIONS,
	MUTATE_PLACE,
	N_MUTATIONS
} mutation;

/* What became of the mutants of one kind. */
typedef struct mutation_tally {
	uint32_t made;     /* mutants that differ from the plan */
	uint32_t detected; /* refused with a message, and brute force agrees that they go wrong */
	uint32_t strict;   /* refused, though brute force finds nothing wrong */
	uint32_t harmless; /* accepted, and brute force agrees */
	uint32_t explored; /* of the harmless ones: in every interleaving there is */
	uint32_t deadlocks; /* of the detected ones: refused with a cycle */
} mutation_tally;

/** A copy of @from; the caller destroys it. */
mr_plan *plan_copy(const mr_plan *from);

/** Whether the interleavings of @plan that are tried go well, for some numbers of iterations. @why: what did not. */
bool brute_all(const mr_plan *plan, char why[80]);

/**
 * Make @per_kind mutants of each kind from @good (lowered and checked, called @name), drawn from @seed, and count in
 * @tally [N_MUTATIONS]. Fails the test when one is accepted that brute force finds wrong, or when a message names no
 * culprit.
 */
void mutate_plan(const char *name, const mr_plan *good, uint32_t per_kind, uint32_t seed, mutation_tally *tally);

/** To stderr, when MR_VERBOSE is set. */
void mutation_print(const mutation_tally *tally);

#endif
