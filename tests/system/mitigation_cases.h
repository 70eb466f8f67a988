/*
 * mitigation_cases.h - systems, mitigations and optimizers in all combinations: see mitigation_cases.c.
 */
#ifndef MR_TESTS_SYSTEM_MITIGATION_CASES_H
#define MR_TESTS_SYSTEM_MITIGATION_CASES_H

#include <stdint.h>

/** All that are refused; of the others one optimizer in @every for each system and mitigation, but one at least. */
void mitigation_matrix(uint32_t every);

/** One in @every of what a race takes, against its record. */
void mitigation_races(uint32_t every);

/** Is every line of the table of refusals of use? */
void mitigation_table(void);

#endif
