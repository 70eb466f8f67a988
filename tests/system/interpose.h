/*
 * interpose.h - malloc and its family, counted: who allocates while the engine trains?
 *
 * The runner defines malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign and free in front of glibc's.
 * While a count is on, calls of every thread but the one that switched it on are noted with the address they came from.
 * Sanitized builds bring an allocator of their own; there nothing is counted (interpose_works is false).
 */
#ifndef MR_TESTS_SYSTEM_INTERPOSE_H
#define MR_TESTS_SYSTEM_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

#define INTERPOSE_NOTES 4096

bool interpose_works(void);
/** Count from 0, all threads but this one. */
void interpose_begin(void);
/** End; how many calls there were. */
uint64_t interpose_end(void);
/** The shared object that call @i < INTERPOSE_NOTES came from, or "?". */
const char *interpose_object(uint64_t i);

#endif
