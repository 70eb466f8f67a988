/*
 * handoff.h - the cost of reading what another core wrote.
 *
 * A boundary buffer is written by one worker and read in place by another (exec/links.h). Its cache lines then lie in
 * the writer's cache, and before the next micro-batch in the reader's: the reader fetches every line from the other
 * core, and the writer takes every line back. The time of a layer that is measured alone does not include this.
 *
 * One thread measures both by moving back and forth between the two CPUs: on one it writes a buffer twice, on the other
 * it reads it twice; the first time the lines come from the other core, the second time they do not. Medians of the
 * differences.
 */
#ifndef MR_HOST_HANDOFF_H
#define MR_HOST_HANDOFF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_handoff {
	double read_s, write_s; /* seconds a byte, beyond the same access in a core's own cache; at least 0 */
} mr_handoff;

/**
 * Measure between Linux CPUs @a and @b with a buffer of @bytes (taken as 4 KiB to 256 KiB), some hundredths of a
 * second. The caller's mask is unchanged. Errors: MR_EINVAL @a == @b; MR_ERESOURCE no memory, or a thread could not be
 * started or pinned.
 */
mr_status mr_handoff_measure(uint32_t a, uint32_t b, size_t bytes, mr_handoff *out) MR_MUST_USE;

#endif
