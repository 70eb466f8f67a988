/*
 * sparse_rows.h - the gradient of a parameter that two layers use, of which one uses few rows: a head tied to a token
 * embedding.
 *
 * The head goes backward first. If it wrote its gradient, for the embedding to add its own, all of it (38 M numbers
 * of GPT-2) would travel to memory and back for the sake of the tokens that occur. Instead
 *
 *	head's W        copies the rows that occur, weights and state. Then the product that makes the gradient
 *	                steps all rows (mr_kernels.gemm_step_rows), and returns the gradient of those that occur
 *	embedding's W   adds its gradient to that, steps the copies, and writes them back
 *
 * So every row is stepped with its whole gradient, and the bits are those of two gradients, their sum and a
 * step; except that a gradient of -0 in a row that does not occur stays -0, where adding 0 would make it 0.
 *
 * In between the contents of the rows that occur are undefined and must not be read: this is for a step of one
 * micro-batch, on one worker that has both layers.
 *
 * A mr_sparse_rows lies in its caller's memory, and serves parameter 0 of both layers. All but mr_sparse_rows_pays are
 * for the leader of the team.
 */
#ifndef MR_NN_SPARSE_ROWS_H
#define MR_NN_SPARSE_ROWS_H

#include "base/arena.h"
#include "nn/kernels.h"

typedef struct mr_sparse_rows {
	int64_t cols;           /* numbers in a row of the parameter */
	int64_t n;              /* rows that occur in this micro-batch */
	int32_t *row;           /* [n] their numbers, in the order of first occurrence */
	int32_t *placed;        /* [tokens] index into @row of each token */
	int32_t *place;         /* [rows of the parameter] 1 + index into @row; 0: it does not occur */
	void *w, *m, *v;        /* [n, cols] copies */
	int16_t *rest;          /* [n, cols] the same of the masters; NULL: a weight is its own */
	void *first, *last;     /* [n, cols] their gradients: the head's, and the embedding's */
	void *room;             /* [batch, n] of the head's product */
	void *whole;            /* [rows, cols] gradient of the head, to which the embedding's W adds its own; no row is
	                           stepped before. NULL: as above */
} mr_sparse_rows;

/** The part of W of a layer that gets mr_sparse_rows. */
typedef enum mr_sparse_rows_role {
	MR_SPARSE_ROWS_NONE,
	MR_SPARSE_ROWS_FIRST, /* the head's part: mr_sparse_rows_product */
	MR_SPARSE_ROWS_LAST,  /* the embedding's: @last, then mr_sparse_rows_step */
} mr_sparse_rows_role;

/** Is it faster, for @tokens tokens a micro-batch and a parameter of @rows rows? */
bool mr_sparse_rows_pays(int64_t tokens, int64_t rows);

/** Take the memory of @f from @a (which may only count): for micro-batches of @tokens and a head with @batch rows of
 * input. */
void mr_sparse_rows_layout(mr_sparse_rows *f, mr_arena *a, const mr_types *t, int64_t tokens, int64_t rows,
			   int64_t cols, int64_t batch);

/** Begin a micro-batch: find the rows that occur in @token [@tokens], each of which is below @rows. */
void mr_sparse_rows_find(mr_sparse_rows *f, const int32_t *token, int64_t tokens, int64_t rows);

/** Compute the head's gradient, a product with the arguments of mr_kernels.gemm_step_rows, and carry out the step @s of
 * all rows that do not occur. Errors: MR_EDNN, MR_ERESOURCE. */
mr_status mr_sparse_rows_product(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_gemm *g,
				 const void *a, const void *b, void *c, const mr_step *s) MR_MUST_USE;

/** Instead of both, if there is @whole, which the head's W has written: add @last to the rows that occur. */
mr_status mr_sparse_rows_add(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc) MR_MUST_USE;

/** The same step of the rows that occur, with the gradient @first + @last. */
mr_status mr_sparse_rows_step(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_step *s) MR_MUST_USE;

#endif
