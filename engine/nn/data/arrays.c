/*
 * arrays.c - a matrix and its targets from two files of bare numbers: little-endian, row by row, no header (as numpy's tofile
 * writes them). The shape stands in the configuration, and the files must have exactly its size.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/data/rows.h"

static double number(const char *from, uint64_t i, bool wide)
{
	double v;
	float f;

	if (wide) {
		memcpy(&v, from + i * 8, 8);
		return v;
	}
	memcpy(&f, from + i * 4, 4);
	return (double)f;
}

static mr_status load(const mr_data_want *want, const char *key_path, uint64_t count, bool wide, char **out)
{
	char *path = mr_data_path(want, key_path);
	uint64_t size = wide ? 8 : 4;
	size_t len;
	mr_status st;

	*out = NULL;
	if (!path)
		return mr_data_no_memory(0);
	st = mr_data_read(path, out, &len);
	if (st == MR_OK && len != count * size)
		st = mr_fail(MR_EDATA, "%s: has %zu bytes where %llu numbers of %llu bytes are %llu", path, len,
			     (unsigned long long)count, (unsigned long long)size, (unsigned long long)(count * size));
	for (uint64_t i = 0; st == MR_OK && i < count; i++)
		if (!isfinite(number(*out, i, wide)))
			st = mr_fail(MR_EDATA, "%s: number %llu is not finite", path, (unsigned long long)i);
	free(path);
	return st;
}

static mr_status open_arrays(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	uint64_t n = (uint64_t)mr_values_int(values, "rows"), d = (uint64_t)mr_values_int(values, "features");
	bool wide = !strcmp(mr_values_string(values, "numbers"), "f64");
	char *x = NULL, *y = NULL;
	mr_rows *r = NULL;
	mr_status st;

	MR_TRY(mr_rows_create("arrays", n, d, want, &r));
	st = load(want, mr_values_string(values, "matrix"), n * d, wide, &x);
	if (st == MR_OK)
		st = load(want, mr_values_string(values, "targets"), n, wide, &y);
	for (uint64_t i = 0; st == MR_OK && i < n; i++) {
		for (uint64_t j = 0; j < d; j++)
			mr_rows_put(r, i, j, number(x, i * d + j, wide));
		mr_rows_put_target(r, i, number(y, i, wide));
	}
	free(x);
	free(y);
	if (st != MR_OK) {
		mr_rows_close(&r->base);
		return st;
	}
	return mr_rows_finish(r, "arrays", out);
}

static const mr_option options[] = {
	{"matrix", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "file of rows * features numbers, row by row"},
	{"targets", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "file of rows numbers"},
	{"rows", MR_OPT_INT, NULL, 1, 1 << 26, NULL, NULL, "samples"},
	{"features", MR_OPT_INT, NULL, 1, 1 << 20, NULL, NULL, "numbers in a sample"},
	{"numbers", MR_OPT_ENUM, "f64", 0, 0, "f64|f32", NULL, "type of the numbers in both files, little-endian"},
	{NULL},
};

extern const mr_dataset_ops mr_data_arrays;
const mr_dataset_ops mr_data_arrays = {
	.name = "arrays",
	.summary = "a matrix and targets from files of bare numbers, in order",
	.options = options,
	.open = open_arrays,
	.close = mr_rows_close,
	.train = mr_rows_get,
	.valid = mr_rows_get,
};
