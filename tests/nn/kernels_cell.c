#include <stdlib.h>

#include "check.h"
#include "kernels_ops.h"

/* dims samples, rows, width; variant: kind + 2 * first row + 4 * numbers at which gates are 0 and 1. Rows of two
 * samples are apart. */
void run_cell(const op_case *c)
{
	const mr_kernels *k = c->k;
	bool first = c->variant / 2 % 2;
	double most = c->variant >= 4 ? 120 : 3;
	mr_dtype compute = k->types.compute;
	mr_cell cell = {
		.kind = c->variant % 2 ? MR_CELL_GRU : MR_CELL_LSTM,
		.samples = c->dim[0],
		.width = c->dim[2],
		.pitch = c->dim[1],
	};
	int64_t n = cell.samples * cell.width, all = n * cell.pitch, gates = mr_cell_gates(cell.kind);
	void *a = make_input(k, gates * all, 1, -most, most), *b = make_input(k, gates * n, 2, -most, most);
	void *before = first ? NULL : make_of(compute, all, 3, -most, most), *memory = make_room(compute, all);
	void *y = make_output(k, all), *step = make_input(k, n, 4, -1, 1), *dy = make_input(k, all, 5, -1, 1);
	void *y_before = first ? NULL : make_input(k, all, 6, -1, 1), *dy_next = make_input(k, n, 7, -1, 1);
	void *carry = make_of(compute, n, 8, -1, 1), *da = make_output(k, gates * all);
	void *db = make_output(k, gates * all), *db_step = make_output(k, gates * n);
	mr_cell_backward_args back = {.c = &cell,
				      .gates = a,
				      .before = cell.kind == MR_CELL_LSTM ? before : NULL,
				      .memory = memory,
				      .y_before = y_before,
				      .dy = dy,
				      .dy_next = dy_next,
				      .carry = carry,
				      .da = da,
				      .db = cell.kind == MR_CELL_GRU ? db : NULL,
				      .db_step = db_step};

	MR_CHECK_OK(k->cell(c->kc, &(mr_cell_args){.c = &cell, .a = a, .b = b,
						   .before = cell.kind == MR_CELL_LSTM ? before : NULL,
						   .memory = memory, .y = y, .y_step = step}));
	put(c->out, k, a, gates * all);
	put_of(c->out, compute, memory, all);
	put(c->out, k, y, all);
	put(c->out, k, step, n);
	MR_CHECK_OK(k->cell_backward(c->kc, &back));
	put(c->out, k, da, gates * all);
	put(c->out, k, db, gates * all);
	put(c->out, k, db_step, gates * n);
	put_of(c->out, compute, carry, n);
	free(a), free(b), free(before), free(memory), free(y), free(step), free(dy), free(y_before);
	free(dy_next), free(carry), free(da), free(db), free(db_step);
}
