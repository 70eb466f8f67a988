/* golden.h - what a system emits against the recorded order of its published implementation (tests/golden/sync). */
#ifndef MR_TESTS_SCHEDULES_GOLDEN_H
#define MR_TESTS_SCHEDULES_GOLDEN_H

#include "ir/plan.h"

/** The plan in @file of tests/golden/sync. The caller destroys it. */
mr_plan *golden_read(const char *file);

/** @system with the options @sets ("name=value name=value", or NULL) for D, T and stages of @file emits the same lists.
 */
void golden_compare(const char *system, const char *sets, const char *file);

#endif
