/*
 * row_versions.h - versions of a stage's tables by rows: of the lazy parameters (planner/graph.h) there is one copy,
 * the latest, which U steps in place, and of older versions the rows that have changed since (nn/old_rows.h).
 *
 * A version buffer of such a stage has the other parameters alone, and behind the last buffer are the tables. So a
 * stage with v versions of tables of n bytes, of which a commit changes at most m bytes, has not v n bytes of them but
 * n + (v - 1) m, and 4 bytes a row besides.
 *
 * For stages with more than one version, whose one shard reads and steps them: shards that share weights read a version
 * while another steps its range of the next. Features that read or write versions as a whole keep whole ones:
 * predictions, mitigations, steps that may be rolled back, averaged replicas, private copies, tied parameters.
 */
#ifndef MR_WEIGHTS_ROW_VERSIONS_H
#define MR_WEIGHTS_ROW_VERSIONS_H

#include "nn/old_rows.h"
#include "weights/stage_weights.h"

struct mr_row_versions {
	mr_old_rows **of;     /* [parameters of the stage] NULL: no table */
	mr_old_rows *table;   /* [n_tables] */
	uint32_t n_tables;
	uint8_t *block;       /* the changing part of all tables */
	size_t bytes;         /* of it */
};

/** Give @b row versions if its stage has tables and nothing needs whole versions; its features and shards are known.
 * @samples: of a micro-batch; 0: the run reads whole versions. Errors: MR_ERESOURCE. */
mr_status mr_row_versions_open(mr_stage_weights *b, int64_t samples) MR_MUST_USE;
void mr_row_versions_close(mr_stage_weights *b);

/** Let the gradients of tables be sums of rows (nn/row_sum.h) under the same conditions, with one version, too. Call it
 * before any size of the stage is read. */
void mr_row_sums_open(mr_stage_weights *b);

/* The functions below need b->row_versions. */

void mr_row_versions_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard);

/** Forget all old versions. */
void mr_row_versions_init(mr_stage_weights *b);

#endif
