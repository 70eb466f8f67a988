/*
 * lazy_rows.h - the optimizer step of a parameter of which a batch meets few rows: the table of an embedding.
 *
 * A row is met by a step if some number of its gradient, summed over all micro-batches of the step, is not 0 (a NaN is
 * not). Rows that are met are stepped like any tensor, with the step's own number, learning rate and decay, decoupled
 * or coupled. All others keep their weights and the optimizer's state: no momentum moves them, no mean of the gradients
 * decays, no weight decay applies. So a row that occurs in one step of a hundred decays a hundredth as much as a row
 * that always does (torch.optim refuses weight_decay with sparse gradients). For Adam that is torch.optim.SparseAdam,
 * but for a row all of whose gradients are 0; for plain SGD without decay it is the dense step.
 *
 * So the result depends on the sum alone, in whatever way it was made.
 */
#ifndef MR_NN_LAZY_ROWS_H
#define MR_NN_LAZY_ROWS_H

#include "nn/kernels.h"
#include "nn/old_rows.h"
#include "nn/row_sum.h"

/** The step @s of @n numbers, which are whole rows of @cols, with the gradient @g: rows that are not met are copied
 * from s->src to s->dst. With @old (not NULL) the numbers are a whole table, stepped in place, and rows that are met
 * are saved there before. */
mr_status mr_lazy_step(const mr_kernels *k, mr_kctx *kc, int64_t cols, int64_t n, const mr_step *s, const void *g,
		       mr_old_rows *old) MR_MUST_USE;

/** The same step of the table of @n numbers, with the gradient @g: rows in ascending order. */
mr_status mr_lazy_step_rows(const mr_kernels *k, mr_kctx *kc, int64_t n, const mr_step *s, mr_row_sum *g,
			    mr_old_rows *old) MR_MUST_USE;

/** @s of tensors that begin @n elements further on; with s->stored whole blocks. */
mr_step mr_step_shifted(const mr_step *s, const mr_types *t, int64_t n);

#endif
