/*
 * sparse_rows.h - the gradient of a parameter that two layers use, one of them few of its rows: a head tied to a token
 * embedding.
 *
 * The head goes backward first. If it wrote its gradient, for the embedding to add its own to, all of it (38 M numbers
 * of GPT-2) would travel to memory and back for the sake of the tokens that occur. Instead
 *
 *	head's W        puts the rows that occur aside, weights and state. Then the product that makes the gradient
 *	                steps all rows (mr_kernels.gemm_step_rows), and leaves the gradient of those that occur
 *	embedding's W   adds its gradient to that, steps what was put aside, and puts it back
 *
 * So every row is stepped with the whole of its gradient, and the bits are those of two gradients, their sum and a
 * step; but a gradient of -0 in a row that does not occur stays one, where + 0 would make 0 of it.
 *
 * In between the rows that occur hold anything, and must not be read: this is for a step of one micro-batch, on one
 * worker that has both layers.
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
	int32_t *row;           /* [n] which, as they occur first */
	int32_t *placed;        /* [tokens] where in @row each token stands */
	int32_t *place;         /* [rows of the parameter] 1 + where in @row; 0: it does not occur */
	void *w, *m, *v;        /* [n, cols] put aside */
	int16_t *rest;          /* [n, cols] the same of the masters; NULL: a weight is its own */
	void *first, *last;     /* [n, cols] their gradients: the head's, and the embedding's */
	void *room;             /* [batch, n] of the head's product */
	void *whole;            /* [rows, cols] where the head's W leaves its gradient and the embedding's adds its own:
	                           nobody has stepped yet. NULL: as above */
} mr_sparse_rows;

/** What W of a layer does when it is given one. */
typedef enum mr_sparse_rows_role {
	MR_SPARSE_ROWS_NONE,
	MR_SPARSE_ROWS_FIRST, /* the head's part: mr_sparse_rows_product */
	MR_SPARSE_ROWS_LAST,  /* the embedding's: @last, then mr_sparse_rows_step */
} mr_sparse_rows_role;

/** Does it pay, for @tokens tokens a micro-batch and a parameter of @rows rows? */
bool mr_sparse_rows_pays(int64_t tokens, int64_t rows);

/** Take the memory of @f from @a (which may only count): for micro-batches of @tokens and a head that sees @batch rows.
 */
void mr_sparse_rows_layout(mr_sparse_rows *f, mr_arena *a, const mr_types *t, int64_t tokens, int64_t rows,
			   int64_t cols, int64_t batch);

/** Begin a micro-batch: find the rows that occur among @token [@tokens], each of which is below @rows. */
void mr_sparse_rows_find(mr_sparse_rows *f, const int32_t *token, int64_t tokens, int64_t rows);

/** The head's gradient, a product as mr_kernels.gemm_step_rows takes it, and the step @s of all rows that do not occur.
 * Errors: MR_EDNN, MR_ERESOURCE. */
mr_status mr_sparse_rows_product(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_gemm *g,
				 const void *a, const void *b, void *c, const mr_step *s) MR_MUST_USE;

/** In place of both where there is @whole, which the head's W has written: add @last to the rows that occur. */
void mr_sparse_rows_add(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc);

/** The same step of the rows that occur, with the gradient @first + @last. */
void mr_sparse_rows_step(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_step *s);

#endif
