/*
 * rpd_stream.h - the steps of a whole run of Randomized PipeDream, drawn or recorded; any part can be read at any time.
 *
 * With Ringmaster's limit, steps that read something too old are left out, and later ones take their numbers. The place
 * of the n-th remaining step among those drawn depends on all steps before it: a part after the last one read continues
 * from there, any other part counts from the start again. The memory does not grow with the length of the run.
 */
#ifndef MR_SCHEDULES_RPD_STREAM_H
#define MR_SCHEDULES_RPD_STREAM_H

#include "schedules/common/rpd_draw.h"

typedef struct mr_rpd_stream {
	mr_rpd_params p;
	uint32_t limit;     /* of Ringmaster; 0: none */
	mr_aged *record;    /* owned; NULL: steps are drawn */
	uint64_t *drawn;    /* with a limit: [n_drawn] numbers of the last part's steps among those drawn, */
	uint64_t first;     /* and the number of the first of these steps in the run */
	uint32_t n_drawn;
} mr_rpd_stream;

void mr_rpd_stream_fini(mr_rpd_stream *s); /* zeroed is fine */

/** Put steps @first to @first + @n - 1 into *@out, which the caller destroys; a record must have them. Errors:
 * MR_ECONFIG if Ringmaster's limit discards nearly all steps; MR_EINVAL, MR_ERESOURCE. */
mr_status mr_rpd_stream_part(mr_rpd_stream *s, uint64_t first, uint32_t n, mr_aged **out) MR_MUST_USE;

/** The oldest that a read of any step can be, in steps. */
uint32_t mr_rpd_stream_oldest(const mr_rpd_stream *s);

/** A hash of everything that the steps depend on. */
uint64_t mr_rpd_stream_hash(const mr_rpd_stream *s);

#endif
