/* laws.h - the laws of one plan, which the fast grid of test_laws.c and the wide one of slow_laws.c share. */
#ifndef MR_TESTS_SCHEDULES_LAWS_H
#define MR_TESTS_SCHEDULES_LAWS_H

#include "sched_help.h"

/** @plan, emitted for @c and lowered, keeps what the system claims about time, memory and versions, and commits as it states. */
void laws_of_plan(const sched_case *c, const mr_plan *plan);

#endif
