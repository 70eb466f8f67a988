/*
 * brute.h - carry out a lowered plan by force, as a naive engine would: for the tests of the checker.
 *
 * Uses only plan.h of ir/. Workers take turns in a random order; each carries out the next instruction of its list when
 * its messages, buffers and versions are there. Every slot, buffer, sum and version buffer holds a tag that names its
 * contents, and everything read is compared with what the contract says should be there.
 */
#ifndef MR_TESTS_LOWER_BRUTE_H
#define MR_TESTS_LOWER_BRUTE_H

#include <stdbool.h>

#include "ir/plan.h"

/* Run @n_bodies iterations with interleaving @seed; true if all went as the contract says. @why [80]: what did not. */
bool brute_run(const mr_plan *plan, uint32_t n_bodies, uint32_t seed, char why[80]);

typedef enum brute_verdict { BRUTE_WRONG, BRUTE_RIGHT, BRUTE_TOO_LARGE } brute_verdict;

/** The same for every interleaving there is; plans of more than 4 workers or 1,024 states are too large. */
brute_verdict brute_explore(const mr_plan *plan, uint32_t n_bodies, char why[80]);

#endif
