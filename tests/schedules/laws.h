/* laws.h - the laws of one plan, which the fast grid of test_laws.c and the wide one of laws_wide.c share. */
#ifndef MR_TESTS_SCHEDULES_LAWS_H
#define MR_TESTS_SCHEDULES_LAWS_H

#include "sched_help.h"

/** @plan, emitted for @c and lowered, keeps what the system claims about time, memory and versions, and commits as it
 * states. */
void laws_of_plan(const sched_case *c, const mr_plan *plan);

/** Every system with every value of every option, D of 1 to 9, T of 1 to 24 (or a selection of those), one to four
 * stages a worker. */
void laws_wide_grid(bool all);
/** The same sizes with numbers for options, and several options at once. */
void laws_wide_further(bool all);

#endif
