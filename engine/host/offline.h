/*
 * offline.h - CPUs of this machine that the kernel has, and that are switched off.
 *
 * Threads that were pinned to a CPU when it goes offline are moved to any others by the kernel.
 */
#ifndef MR_HOST_OFFLINE_H
#define MR_HOST_OFFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Put the kernel's list of offline CPUs ("1,4-7"; "" without any, or if it is not known) into @text; returns @text. */
const char *mr_offline_cpus(char *text, size_t size);

/** Does such a list name @cpu? */
bool mr_offline_has(const char *list, uint32_t cpu);

#endif
