/*
 * rpd_stream.h - the steps of a whole run of Randomized PipeDream, any part of it at any time: drawn, or recorded.
 *
 * With Ringmaster's limit, steps that read something so old are left out, and those behind them move up. Where step n
 * of what is left lies among those drawn follows from all before it alone: a part behind the last one goes on from
 * there, another one counts from the start again. No memory grows with the length of the run.
 */
#ifndef MR_SCHEDULES_RPD_STREAM_H
#define MR_SCHEDULES_RPD_STREAM_H

#include "schedules/common/rpd_draw.h"

typedef struct mr_rpd_stream {
	mr_rpd_params p;
	uint32_t limit;     /* of Ringmaster; 0: none */
	mr_aged *record;    /* owned; NULL: steps are drawn */
	uint64_t *drawn;    /* limit: [n_drawn] which of those drawn the steps of the last part are, */
	uint64_t first;     /* and the first of these steps */
	uint32_t n_drawn;
} mr_rpd_stream;

void mr_rpd_stream_fini(mr_rpd_stream *s); /* zeroed is fine */

/** Steps @first to @first + @n - 1 into *@out, which the caller destroys; a record must have them. Errors: MR_ECONFIG
 * Ringmaster leaves next to nothing; MR_EINVAL, MR_ERESOURCE. */
mr_status mr_rpd_stream_part(mr_rpd_stream *s, uint64_t first, uint32_t n, mr_aged **out) MR_MUST_USE;

/** The oldest that a read of any step can be, in steps. */
uint32_t mr_rpd_stream_oldest(const mr_rpd_stream *s);

/** A hash of what decides the steps. */
uint64_t mr_rpd_stream_hash(const mr_rpd_stream *s);

#endif
