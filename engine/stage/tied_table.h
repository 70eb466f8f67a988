/*
 * tied_table.h - a table of a stage that a head of the same stage is tied to, where the step of one micro-batch takes
 * the rows that occur apart (nn/sparse_rows.h), so that no gradient of the table is written.
 */
#ifndef MR_STAGE_TIED_TABLE_H
#define MR_STAGE_TIED_TABLE_H

#include "nn/sparse_rows.h"
#include "planner/graph.h"

typedef struct mr_tied_table {
	uint32_t owner, user;    /* parameters: the embedding's and the head's */
	int64_t tokens, batch;   /* rows of a sample into the embedding, and of all samples into the head */
	size_t at;               /* in scratch: a mr_sparse_rows, and its memory */
	bool norms;              /* the head's gradient has a place of its own, for when norms are requested */
} mr_tied_table;

/** Find one among the parameters [@first, @end) of @g, for which it pays with @samples a micro-batch. */
bool mr_tied_table_find(const mr_graph *g, uint32_t first, uint32_t end, int64_t samples, mr_tied_table *out);

/** Bytes of scratch, which are needed from the head's W to the embedding's. */
size_t mr_tied_table_bytes(const mr_tied_table *t, const mr_graph *g, const mr_types *types, int64_t samples);

/** What the W of the head and of the embedding get, in @scratch. @token [@samples, tokens]: of the head's, which comes
 * first; NULL: the embedding's. @whole: where the head writes its gradient; NULL: nowhere. */
const mr_sparse_rows *mr_tied_table_rows(const mr_tied_table *t, const mr_graph *g, const mr_types *types,
					  int64_t samples, void *scratch, const int32_t *token, void *whole);

#endif
