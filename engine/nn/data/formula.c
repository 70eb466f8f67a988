/*
 * formula.c - a small problem from integer formulas, the same numbers on every machine and in every language:
 *
 *	x_ij = (((7 i + 13 j + 3 i j) mod 19) - 9) / 8      w*_j = ((5 j mod 7) - 3) / 4
 *	target: y_i = x_i w*, or 1 if (5 i + 2) mod 7 < 3, else 0
 */
#include <string.h>

#include "nn/data/rows.h"

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

static mr_status open_formula(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	bool classes = !strcmp(mr_values_string(values, "target"), "classes");
	mr_rows *r;

	MR_TRY(mr_rows_create("formula", (uint64_t)mr_values_int(values, "rows"), (uint64_t)mr_values_int(values, "features"),
			      want, &r));
	for (uint64_t i = 0; i < r->n; i++) {
		for (uint64_t j = 0; j < r->d; j++)
			mr_rows_put(r, i, j, x_at(i, j));
		mr_rows_put_target(r, i, y_at(i, r->d, classes));
	}
	return mr_rows_finish(r, "integer formula", out);
}

static const mr_option options[] = {
	{"rows", MR_OPT_INT, "32", 1, 1 << 20, NULL, NULL, "samples"},
	{"features", MR_OPT_INT, "13", 1, 1 << 20, NULL, NULL, "numbers in a sample"},
	{"target", MR_OPT_ENUM, "numbers", 0, 0, "numbers|classes", NULL, "numbers for least squares, or 0 and 1"},
	{NULL},
};

extern const mr_dataset_ops mr_data_formula;
const mr_dataset_ops mr_data_formula = {
	.name = "formula",
	.summary = "a small problem from integer formulas, to compare programs with each other",
	.options = options,
	.open = open_formula,
	.close = mr_rows_close,
	.train = mr_rows_get,
	.valid = mr_rows_get,
};
