/*
 * old_rows.h - the rows that the last commits have changed in a table, as they were before: with them and the table
 * every live version of it can be read, and no version is a copy of the table.
 *
 * A step of the latest version saves each row before it changes it. The copies of one commit are one part of a ring,
 * with a part for each commit that may be read behind. A row has the place of its newest copy, and a copy that of the
 * one before; a reader of version v takes the oldest copy that a commit behind v has made, or the table's row. What a
 * copy's place held before shows in its row and version: copies that are too old are not found.
 *
 * All that changes lies in one block, which a checkpoint saves as it is. Thread: the worker that steps the table, which
 * alone reads old versions of it, and its team while it reads.
 */
#ifndef MR_NN_OLD_ROWS_H
#define MR_NN_OLD_ROWS_H

#include "base/arena.h"

/* The copy of a row that the commit behind version @last has made. */
typedef struct mr_old_row {
	uint64_t last, next_last; /* versions up to which this copy and the next older one hold */
	int32_t row;
	int32_t next;             /* 1 + the place of the next older copy of this row; 0: none */
} mr_old_row;

typedef struct mr_old_rows {
	int64_t rows;           /* of the table */
	size_t row_bytes;
	uint32_t commits;       /* that may be read behind */
	int64_t most;           /* rows that one may change */
	const uint64_t *latest; /* version */
	struct {
		uint64_t filling; /* the version whose rows the current part holds */
		int64_t n;        /* so far */
	} *head;                /* the beginning of the block */
	int32_t *newest;        /* [rows] 1 + the place of the newest copy; 0: none */
	mr_old_row *copy;       /* [commits][most] */
	uint8_t *value;         /* [commits][most][row_bytes] */
} mr_old_rows;

/** Take (or measure) the block of @x, whose other fields are set. Returns its bytes. */
size_t mr_old_rows_layout(mr_old_rows *x, mr_arena *a);

/** Begin without copies. */
void mr_old_rows_init(mr_old_rows *x);

/** Save row @row, which is at @from, before the step that makes version latest + 1 changes it; once a step. */
void mr_old_rows_save(mr_old_rows *x, int32_t row, const void *from);

/** Row @row of @version, which is live and not the latest; @now is where the latest is. */
static inline const void *mr_old_rows_at(const mr_old_rows *x, uint64_t version, int32_t row, const void *now)
{
	int32_t at = x->newest[row];
	const mr_old_row *c;

	if (!at || x->copy[at - 1].row != row || x->copy[at - 1].last < version)
		return now;
	for (c = &x->copy[at - 1]; c->next && c->next_last >= version; c = &x->copy[at - 1])
		at = c->next;
	return x->value + (size_t)(at - 1) * x->row_bytes;
}

#endif
