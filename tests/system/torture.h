/*
 * torture.h - small random configurations: model, cut, system, options, delays, pauses, evaluations, resumptions. Each
 * is a function of its number alone; MR_TORTURE=number in the environment runs that one only.
 */
#ifndef MR_TESTS_SYSTEM_TORTURE_H
#define MR_TESTS_SYSTEM_TORTURE_H

#include <stdint.h>

/** Numbers [@first, @first + @n). Prints the number of one that fails, with its settings. */
void torture_run(uint64_t first, uint64_t n);

#endif
