/*
 * libsvm.c - a LIBSVM file: a line `label index:value index:value ...` a sample, indices from 1 and rising, `#` begins a
 * comment. Stored dense. Two labels become 0 and 1 (the lower one is 0) when asked to.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/data/rows.h"

typedef struct reader {
	const char *path;
	char *at;         /* of the line in hand */
	uint64_t line;    /* from 1 */
	mr_rows *rows;    /* NULL: counting */
	uint64_t n, d;
	double low, high; /* labels */
	bool third;       /* a label that is neither */
} reader;

static mr_status bad(const reader *r, const char *what)
{
	return mr_fail(MR_EDATA, "%s:%llu: %s", r->path, (unsigned long long)r->line, what);
}

static bool number(char **at, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(*at, &end);
	if (end == *at || !isfinite(*out))
		return false;
	*at = end;
	return true;
}

static void blanks(char **at)
{
	*at += strspn(*at, " \t\r");
}

static void note_label(reader *r, double label)
{
	if (r->n == 0)
		r->low = r->high = label;
	if (label != r->low && label != r->high)
		r->third = r->low != r->high;
	r->low = fmin(r->low, label);
	r->high = fmax(r->high, label);
}

static mr_status pair(reader *r, uint64_t *last)
{
	char *end;
	uint64_t index;
	double value;

	errno = 0;
	index = strtoull(r->at, &end, 10);
	if (end == r->at || *end != ':' || errno || r->at[0] == '-' || index == 0 || index > (1u << 20))
		return bad(r, "expected index:value with an index from 1 to 1048576");
	if (index <= *last)
		return bad(r, "indices must rise within a line");
	r->at = end + 1;
	if (!number(&r->at, &value))
		return bad(r, "expected a finite number behind the colon");
	*last = index;
	if (index > r->d)
		r->d = index;
	if (r->rows && index <= r->rows->d)
		mr_rows_put(r->rows, r->n, index - 1, value);
	return MR_OK;
}

/* One line without its newline; an empty one or a comment is none. */
static mr_status sample(reader *r)
{
	uint64_t last = 0;
	double label;

	r->at[strcspn(r->at, "#")] = 0;
	blanks(&r->at);
	if (!*r->at)
		return MR_OK;
	if (!number(&r->at, &label))
		return bad(r, "expected a number as label");
	for (blanks(&r->at); *r->at; blanks(&r->at))
		MR_TRY(pair(r, &last));
	if (r->rows)
		mr_rows_put_target(r->rows, r->n, label);
	else
		note_label(r, label);
	r->n++;
	return MR_OK;
}

/* All lines of @text, which stays as it was: each line is read from a copy. */
static mr_status scan(reader *r, const char *text)
{
	mr_status st = MR_OK;

	r->n = r->line = 0;
	while (*text && st == MR_OK) {
		size_t len = strcspn(text, "\n");
		char *copy = strndup(text, len);

		if (!copy)
			return mr_data_no_memory(len);
		r->line++;
		r->at = copy;
		st = sample(r);
		free(copy);
		text += len + (text[len] == '\n');
	}
	return st;
}

static mr_status map_labels(const reader *r, mr_rows *rows)
{
	if (r->third || r->low == r->high)
		return mr_fail(MR_EDATA, "%s: labels = \"two\" needs exactly two labels, the file has %s", r->path,
			       r->third ? "more" : "one");
	for (uint64_t i = 0; i < rows->n; i++) {
		double y = rows->dtype == MR_F64 ? ((double *)(void *)rows->y)[i] : (double)((float *)(void *)rows->y)[i];

		mr_rows_put_target(rows, i, rows->dtype == MR_F64 ? y == r->high : (float)y == (float)r->high);
	}
	return MR_OK;
}

static mr_status build(reader *r, const char *text, const mr_values *values, const mr_data_want *want)
{
	uint64_t features = (uint64_t)mr_values_int(values, "features");

	MR_TRY(scan(r, text));
	if (r->n == 0 || r->d == 0)
		return mr_fail(MR_EDATA, "%s: no samples in it", r->path);
	if (features && features < r->d)
		return mr_fail(MR_EDATA, "%s: index %llu is beyond features = %llu", r->path, (unsigned long long)r->d,
			       (unsigned long long)features);
	MR_TRY(mr_rows_create("libsvm", r->n, features ? features : r->d, want, &r->rows));
	MR_TRY(scan(r, text));
	return !strcmp(mr_values_string(values, "labels"), "two") ? map_labels(r, r->rows) : MR_OK;
}

static mr_status open_libsvm(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	char *path = mr_data_path(want, mr_values_string(values, "path")), *text = NULL;
	reader r = {.path = path};
	size_t len;
	mr_status st;

	if (!path)
		return mr_data_no_memory(0);
	st = mr_data_read(path, &text, &len);
	if (st == MR_OK && strlen(text) != len)
		st = mr_fail(MR_EDATA, "%s: byte %zu is a NUL: not a LIBSVM file", path, strlen(text));
	if (st == MR_OK)
		st = build(&r, text, values, want);
	free(text);
	if (st == MR_OK) {
		st = mr_rows_finish(r.rows, path, out);
		r.rows = NULL;
	}
	if (r.rows)
		mr_rows_close(&r.rows->base);
	free(path);
	return st;
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "the file"},
	{"features", MR_OPT_INT, "0", 0, 1 << 20, NULL, NULL, "numbers in a sample; 0: the largest index in the file"},
	{"labels", MR_OPT_ENUM, "numbers", 0, 0, "numbers|two", NULL, "targets as they stand, or two labels as 0 and 1"},
	{NULL},
};

extern const mr_dataset_ops mr_data_libsvm;
const mr_dataset_ops mr_data_libsvm = {
	.name = "libsvm",
	.summary = "rows of a LIBSVM file, in order",
	.options = options,
	.open = open_libsvm,
	.close = mr_rows_close,
	.train = mr_rows_get,
	.valid = mr_rows_get,
};
