/*
 * arrays.c - a matrix and its targets from files of numbers: arrays of NumPy, which say their shapes, or bare numbers,
 * little-endian, row by row, no header (as numpy's tofile writes them), whose shape stands in the configuration. The
 * files must have exactly that size. Numbers become those of the run's dtype when a sample asks for them. The rows that
 * validate are the last ones, or those of two files of their own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "data/rows.h"
#include "formats/damage.h"
#include "formats/number_file.h"

#define PIECE 2048 /* numbers read at once */

/* A file of numbers. */
typedef struct numbers {
	mr_number_file file;
	bool keeps; /* load reads it into memory */
} numbers;

typedef struct arrays {
	mr_rows rows;
	mr_number_kind bare;      /* numbers of files that are no arrays */
	numbers matrix[2];        /* training rows (and validation rows, where there is no second one) */
	numbers targets[2];
	uint64_t n_first;         /* rows in the first files */
	mr_damage found;          /* wrong files and numbers */
} arrays;

static void close_arrays(mr_dataset *d)
{
	arrays *a = (arrays *)d;

	for (int i = 0; i < 2; i++) {
		mr_number_file_close(&a->matrix[i].file);
		mr_number_file_close(&a->targets[i].file);
	}
	mr_damage_reset(&a->found);
	mr_rows_close(d);
}

/* Numbers [@at, @at + @n) of a file as numbers of @dtype at @to. */
static void take(const numbers *f, uint64_t at, uint64_t n, mr_dtype dtype, char *to)
{
	const mr_number_file *file = &f->file;
	double room[PIECE];

	for (uint64_t done = 0, len; done < n; done += len) {
		const void *from;

		len = n - done < PIECE ? n - done : PIECE;
		from = mr_number_file_at(file, at + done, len, room);
		if (dtype == MR_F64 ? file->kind == MR_NUMBER_F64 : dtype == MR_F32 && file->kind == MR_NUMBER_F32)
			memcpy(to + done * mr_dtype_bytes(dtype), from, len * mr_dtype_bytes(dtype));
		else
			for (uint64_t i = 0; i < len; i++)
				mr_element_put(dtype, to, (int64_t)(done + i), mr_number_file_value(file, from, i));
	}
}

static void get(const arrays *a, uint64_t i, void *input, void *target)
{
	int second = i >= a->n_first;
	uint64_t at = second ? i - a->n_first : i, d = a->rows.d;

	take(&a->matrix[second], at * d, d, a->rows.dtype, input);
	take(&a->targets[second], at, 1, mr_data_target_type(a->rows.dtype), target);
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	(void)g;
	get((const arrays *)d, i, input, target);
}

static void valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	get((const arrays *)d, mr_rows_valid_at(d, i), input, target);
}

static mr_status check(const mr_dataset *d)
{
	const arrays *a = (const arrays *)d;

	for (int i = 0; i < 2; i++) {
		MR_TRY(mr_contents_check(a->matrix[i].file.in));
		MR_TRY(mr_contents_check(a->targets[i].file.in));
	}
	return MR_OK;
}

static mr_status open_file(arrays *a, const mr_data_want *want, const char *key_path, uint64_t rows, uint64_t columns,
			   numbers *f)
{
	char *path = mr_data_path(want, key_path);
	mr_number_file *x = &f->file;
	mr_status st;

	if (!path)
		return mr_data_no_memory(0);
	st = mr_number_file_open(path, a->bare, x);
	if (st == MR_OK && x->rows && (x->rows != rows || x->cols != columns))
		st = mr_fail(MR_EDATA, "%s: has %llu rows of %llu numbers where %llu rows of %llu are expected", path,
			     (unsigned long long)x->rows, (unsigned long long)x->cols, (unsigned long long)rows,
			     (unsigned long long)columns);
	else if (st == MR_OK && !x->rows && mr_contents_bytes(x->in) != rows * columns * x->bytes)
		st = mr_fail(MR_EDATA, "%s: has %llu bytes where %llu numbers of %zu bytes are %llu", path,
			     (unsigned long long)mr_contents_bytes(x->in), (unsigned long long)(rows * columns),
			     x->bytes, (unsigned long long)(rows * columns * x->bytes));
	if (st == MR_OK)
		f->keeps = mr_data_will_keep(&a->rows.base, x->in, want);
	else
		mr_number_file_close(x); /* its numbers are not looked at */
	free(path);
	return st;
}

static mr_status note_number(arrays *a, const numbers *f, uint64_t i, uint64_t columns, mr_dtype dtype, double v)
{
	char place[96];

	snprintf(place, sizeof(place), "number %llu (row %llu, column %llu, from 0)", (unsigned long long)i,
		 (unsigned long long)(i / columns), (unsigned long long)(i % columns));
	if (!isfinite(v))
		mr_fail(MR_EDATA, "%s: %s is not finite: %g", mr_contents_path(f->file.in), place, v);
	else
		mr_fail(MR_EDATA, "%s: %s, %g, is too large for %s", mr_contents_path(f->file.in), place, v,
			mr_dtype_name(dtype));
	return mr_damage_note(&a->found, true, true);
}

/* The numbers of file @f, @columns a row, least and greatest of all so far; those that are none of @dtype are noted. */
static mr_status look_through(arrays *a, const numbers *f, uint64_t columns, mr_dtype dtype, double *low, double *high)
{
	uint64_t n = f->file.n;
	double room[PIECE];

	for (uint64_t at = 0, len; at < n; at += len) {
		const void *from;

		len = n - at < PIECE ? n - at : PIECE;
		from = mr_number_file_at(&f->file, at, len, room);
		for (uint64_t i = 0; i < len; i++) {
			double v = mr_number_file_value(&f->file, from, i);

			if (!isfinite(v) || !mr_rows_fits(dtype, v))
				MR_TRY(note_number(a, f, at + i, columns, dtype, v));
			*low = fmin(*low, v);
			*high = fmax(*high, v);
		}
	}
	return mr_contents_check(f->file.in);
}

/* Open a file of @rows rows of @columns numbers; what is wrong with it is noted. */
static mr_status open_one(arrays *a, const mr_data_want *want, const char *path, uint64_t rows, uint64_t columns,
			  numbers *f)
{
	mr_status st = open_file(a, want, path, rows, columns, f);

	return st == MR_EDATA ? mr_damage_note(&a->found, true, true) : st;
}

static mr_status look_at_matrices(arrays *a)
{
	double low = 0, high = 0;

	for (int i = 0; i < 2; i++)
		if (a->matrix[i].file.in)
			MR_TRY(look_through(a, &a->matrix[i], a->rows.d, a->rows.dtype, &low, &high));
	return mr_damage_refuse(&a->found, "data \"arrays\"");
}

static mr_status open_files(arrays *a, const mr_values *values, const mr_data_want *want)
{
	static const char *const matrix[] = {"matrix", "validation_matrix"};
	static const char *const targets[] = {"targets", "validation_targets"};
	uint64_t rows[] = {a->n_first, a->rows.n - a->n_first};
	mr_dataset *b = &a->rows.base;
	double low = INFINITY, high = -INFINITY;

	b->bytes = (mr_data_bytes){0};
	for (int i = 0; i < 2 && rows[i]; i++) {
		numbers *y = &a->targets[i];

		MR_TRY(open_one(a, want, mr_values_string(values, matrix[i]), rows[i], a->rows.d, &a->matrix[i]));
		MR_TRY(open_one(a, want, mr_values_string(values, targets[i]), rows[i], 1, y));
		if (y->file.in)
			MR_TRY(look_through(a, y, 1, mr_data_target_type(a->rows.dtype), &low, &high));
	}
	b->target_low = low;
	b->target_high = high;
	return a->found.n ? look_at_matrices(a) : MR_OK; /* of good files only load reads the matrices */
}

/* The shape of the matrix @key, where the configuration leaves it to the file. */
static mr_status look_at_shape(const arrays *a, const mr_values *values, const mr_data_want *want, const char *key,
			       uint64_t *rows, uint64_t *columns)
{
	char *path = mr_data_path(want, mr_values_string(values, key));
	mr_number_file f = {0};
	mr_status st;

	if (!path)
		return mr_data_no_memory(0);
	st = *rows && *columns ? MR_OK : mr_number_file_open(path, a->bare, &f);
	if (st == MR_OK && f.in && !f.rows)
		st = mr_fail(MR_ECONFIG,
			     "data \"arrays\": %s holds bare numbers: give rows%s and features, or an array of NumPy",
			     path, strcmp(key, "matrix") ? ", validation_rows" : "");
	if (st == MR_OK) {
		*rows = *rows ? *rows : f.rows;
		*columns = *columns ? *columns : f.cols;
	}
	mr_number_file_close(&f);
	free(path);
	return st;
}

/* How many rows there are, how many train, and how many numbers a row has. */
static mr_status count_rows(arrays *a, const mr_values *values, const mr_data_want *want, uint64_t *n,
			    uint64_t *n_train, uint64_t *columns)
{
	bool matrix = *mr_values_string(values, "validation_matrix"),
	     targets = *mr_values_string(values, "validation_targets");
	uint64_t more = (uint64_t)mr_values_int(values, "validation_rows");

	*n = (uint64_t)mr_values_int(values, "rows");
	*columns = (uint64_t)mr_values_int(values, "features");
	if (matrix != targets || (!matrix && more))
		return mr_fail(
			MR_ECONFIG,
			"data \"arrays\": validation_matrix, validation_targets and validation_rows belong together");
	if (matrix && mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"arrays\": give validation_matrix or validation, not both");
	MR_TRY(look_at_shape(a, values, want, "matrix", n, columns));
	*n_train = a->n_first = *n;
	if (!matrix)
		return mr_data_split("data \"arrays\"", values, *n, n_train);
	MR_TRY(look_at_shape(a, values, want, "validation_matrix", &more, columns));
	*n += more;
	return MR_OK;
}

static mr_status prepare(arrays *a, const mr_values *values, const mr_data_want *want)
{
	uint64_t n, n_train, columns;

	a->bare = !strcmp(mr_values_string(values, "numbers"), "f64") ? MR_NUMBER_F64 : MR_NUMBER_F32;
	MR_TRY(count_rows(a, values, want, &n, &n_train, &columns));
	MR_TRY(mr_rows_init(&a->rows, "arrays", "arrays", n, n_train, columns, 0, want));
	return open_files(a, values, want);
}

static mr_status open_arrays(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	return prepare((arrays *)d, values, want);
}

/* On with the hash @h of all numbers of the pair of files, as the run has them: of @dtype. */
static void hash_files(const numbers f[2], mr_dtype dtype, mr_hasher *h)
{
	size_t each = mr_dtype_bytes(dtype);
	double room[PIECE];

	for (int k = 0; k < 2 && f[k].file.in; k++) {
		uint64_t n = f[k].file.n;

		for (uint64_t at = 0, len; at < n; at += len) {
			len = n - at < PIECE ? n - at : PIECE;
			take(&f[k], at, len, dtype, (char *)room);
			mr_hasher_add(h, room, len * each);
		}
	}
}

static mr_status load_arrays(mr_dataset *d)
{
	arrays *a = (arrays *)d;
	mr_dtype dtype = a->rows.dtype, target = mr_data_target_type(dtype);
	mr_hasher h;

	for (int i = 0; i < 2; i++) {
		if (a->matrix[i].keeps)
			MR_TRY(mr_contents_keep(a->matrix[i].file.in));
		if (a->targets[i].keeps)
			MR_TRY(mr_contents_keep(a->targets[i].file.in));
	}
	MR_TRY(look_at_matrices(a));
	mr_hasher_init(&h, 0, a->rows.n * a->rows.d * mr_dtype_bytes(dtype));
	hash_files(a->matrix, dtype, &h);
	d->fingerprint = mr_hasher_end(&h);
	mr_hasher_init(&h, d->fingerprint, a->rows.n * mr_dtype_bytes(target));
	hash_files(a->targets, target, &h);
	d->fingerprint = mr_rows_fingerprint(&a->rows, mr_hasher_end(&h));
	return check(d);
}

static const mr_option options[] = {
	{"matrix", MR_OPT_STRING, NULL, 0, 0, NULL, NULL,
	 "an array of NumPy (.npy) with a row for each sample, or rows * features bare numbers, row by row"},
	{"targets", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "likewise, a number for each sample"},
	{"rows", MR_OPT_INT, "0", 0, 1 << 26, NULL, NULL, "samples; 0: as many as the array has rows"},
	{"features", MR_OPT_INT, "0", 0, 1 << 20, NULL, NULL,
	 "numbers in a sample; 0: as many as a row of the array has"},
	{"validation_matrix", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "rows that only validate, in a file of their own; empty: split off the last ones"},
	{"validation_targets", MR_OPT_STRING, "", 0, 0, NULL, NULL, "their targets"},
	{"validation_rows", MR_OPT_INT, "0", 0, 1 << 26, NULL, NULL, "how many they are; 0: as the array says"},
	MR_DATA_NO_VALIDATION,
	{"numbers", MR_OPT_ENUM, "f64", 0, 0, "f64|f32", NULL, "type of bare numbers, little-endian"},
	{NULL},
};

extern const mr_dataset_ops mr_data_arrays;
const mr_dataset_ops mr_data_arrays = {
	.name = "arrays",
	.summary = "a matrix and targets from arrays of NumPy or files of bare numbers, in order",
	.options = options,
	.bytes = sizeof(arrays),
	.open = open_arrays,
	.load = load_arrays,
	.check = check,
	.close = close_arrays,
	.in_order = true,
	.train = mr_data_train,
	.sample = sample,
	.valid = valid,
	.files = "numbers",
};
