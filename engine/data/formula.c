/*
 * formula.c - a small problem from integer formulas, the same numbers on every machine and in every language:
 *
 *	x_ij = (((7 i + 13 j + 3 i j) mod 19) - 9) / 8      w*_j = ((5 j mod 7) - 3) / 4
 *	target: y_i = x_i w*, or 1 if (5 i + 2) mod 7 < 3, else 0
 */
#include <stdlib.h>
#include <string.h>

#include "data/rows.h"

static double x_at(uint64_t i, uint64_t j)
{
	return ((double)((7 * i + 13 * j + 3 * i * j) % 19) - 9) / 8;
}

static double y_at(uint64_t i, uint64_t d, bool classes)
{
	double y = 0;

	if (classes)
		return (5 * i + 2) % 7 < 3;
	for (uint64_t j = 0; j < d; j++)
		y += x_at(i, j) * (((double)(5 * j % 7) - 3) / 4);
	return y;
}

typedef struct formula {
	mr_rows rows;
	bool classes;
} formula;

static mr_status load_formula(mr_dataset *d)
{
	mr_rows *r = (mr_rows *)d;

	MR_TRY(mr_rows_take(r));
	for (uint64_t i = 0; i < r->n; i++) {
		for (uint64_t j = 0; j < r->d; j++)
			mr_rows_put(r, i, j, x_at(i, j));
		mr_rows_put_target(r, i, y_at(i, r->d, ((formula *)d)->classes));
	}
	mr_rows_seal(r);
	return MR_OK;
}

static mr_status open_formula(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	uint64_t n = (uint64_t)mr_values_int(values, "rows"), n_train;
	formula *f = (formula *)d;

	MR_TRY(mr_data_split("data \"formula\"", values, n, &n_train));
	f->classes = !strcmp(mr_values_string(values, "target"), "classes");
	MR_TRY(mr_rows_init(&f->rows, "formula", "integer formula", n, n_train,
			    (uint64_t)mr_values_int(values, "features"), 0, want));
	if (f->classes) {
		d->target_low = 0;
		d->target_high = 1;
	}
	return MR_OK;
}

static const mr_option options[] = {
	{"rows", MR_OPT_INT, "32", 1, 1 << 20, NULL, NULL, "samples"},
	{"features", MR_OPT_INT, "13", 1, 1 << 20, NULL, NULL, "numbers in a sample"},
	{"target", MR_OPT_ENUM, "numbers", 0, 0, "numbers|classes", NULL, "numbers for least squares, or 0 and 1"},
	MR_DATA_NO_VALIDATION,
	{NULL},
};

extern const mr_dataset_ops mr_data_formula;
const mr_dataset_ops mr_data_formula = {
	.name = "formula",
	.summary = "a small problem from integer formulas, to compare programs with each other",
	.options = options,
	.bytes = sizeof(formula),
	.open = open_formula,
	.load = load_formula,
	.close = mr_rows_close,
	.in_order = true,
	.train = mr_data_train,
	.sample = mr_rows_sample,
	.valid = mr_rows_valid,
	.files = "numbers",
};
