/*
 * norm_parts.h - of a run over ranks: what each rank knows of the norm of a gradient that nothing is clipped by, kept
 * until rank 0 has it, which adds up all of them (ranks/rank_norms.c).
 *
 * A stage all of whose shards share memory has the sum of squares of each parameter. One whose shards are apart
 * (weights/ranges.h) has of each shard the sums of the blocks in its range (nn/squares.h), and as they are the numbers
 * of the blocks that borders of ranges cut: rank 0 adds them up in the order of one process. So a norm has the
 * bits that it has in one process.
 *
 * Kept are the parts of the last few norms. Thread: the workers of a step write its parts, behind each other; another
 * thread reads them once all are there (mr_run_norms.last).
 */
#ifndef MR_WEIGHTS_NORM_PARTS_H
#define MR_WEIGHTS_NORM_PARTS_H

#include "weights/stage_weights.h"

typedef struct mr_norm_parts {
	uint64_t every; /* steps between two norms */
	uint32_t n;     /* norms that are kept, by number modulo */
	size_t *at;     /* [n_shards + 1] where the part of each shard begins; where they share memory, 0 has all */
	uint8_t *kept;  /* [n][at[n_shards]] */
} mr_norm_parts;

/** Give @b room for the parts of @n norms, one in @every steps. Errors: MR_ERESOURCE. */
mr_status mr_norm_parts_open(mr_stage_weights *b, uint32_t n, uint64_t every) MR_MUST_USE;
void mr_norm_parts_close(mr_norm_parts *x);

/** Keep the part of @shard, which is apart: its range of all sums is complete. The norm is of @step of the run. */
mr_status mr_norm_parts_of_shard(mr_stage_weights *b, uint8_t shard, mr_kctx *kc, uint64_t step) MR_MUST_USE;

/** Keep the sums of squares of @b, whose shards share memory, of the commit that makes @version. */
void mr_norm_parts_of_stage(mr_stage_weights *b, uint64_t version, uint64_t step);

/** Where the part of @shard lies, of *@bytes: to be sent, or received. */
void *mr_norm_parts_at(const mr_stage_weights *b, uint8_t shard, uint64_t step, size_t *bytes);

/** The sum of squares of each parameter of @b into @out: all parts are there. @kc is a context of the calling process,
 * whose worker may use it at the same time; @room is of MR_SQUARES_BLOCK numbers. */
mr_status mr_norm_parts_add(const mr_stage_weights *b, uint64_t step, mr_kctx *kc, uint8_t *room,
			    double *out) MR_MUST_USE;

#endif
