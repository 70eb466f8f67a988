/*
 * libsvm.c - a LIBSVM file: a line `label index:value index:value ...` a sample, indices from 1 and rising, or from 0
 * where any index is 0; `#` begins a comment. Stored dense. Two labels become 0 and 1 (the lower one is 0) when asked
 * to; or all labels, which must be whole numbers, become classes in ascending order. A file is read twice, line by
 * line: open counts, load fills in.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "formats/damage.h"
#include "formats/lines.h"
#include "data/rows.h"
#include "data/split.h"

#define MAX_CLASSES 65536u

typedef enum targets { NUMBERS, TWO, CLASSES } targets;

/* Different labels, ascending. */
typedef struct labels {
	double *at;
	size_t n;
} labels;

typedef struct libsvm {
	mr_rows rows;
	targets targets;
	char *path[2];     /* [1] NULL: no file of its own for validation */
	labels labels;     /* TWO, CLASSES: of the first file */
	bool zero;         /* some index is 0, so indices begin there */
	mr_damage damage;  /* lines that cannot be read, which are left out */
	mr_split split;
	bool draws;        /* the split is that of split.h; else the last rows validate */
	uint64_t *place;   /* [rows.n] where each row is stored; NULL: in the order of the file. During load */
	int32_t *class_of; /* [rows.n] of a stratified split. During load */
} libsvm;

typedef struct reader {
	libsvm *l;
	const char *path;
	char *at;          /* of the line in hand */
	uint64_t line;     /* from 1 */
	bool fills;        /* false: it counts */
	bool classifies;   /* with fills: it notes classes alone */
	bool given;        /* labels must be among those of the file before */
	bool no_classes;   /* the labels of the whole file are wrong, not those of a line */
	uint64_t n, d;     /* samples so far, largest index + 1 */
	mr_dtype cells;    /* type of the values */
	uint64_t n_damaged; /* lines that are filled in nowhere */
	double low, high;  /* labels */
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

/* Where @label is or would be. */
static size_t place_of(const labels *l, double label)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (l->at[mid] < label)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static mr_status add_label(reader *r, double label)
{
	labels *l = &r->l->labels;
	size_t at = place_of(l, label);
	double *grown;

	if (at < l->n && l->at[at] == label)
		return MR_OK;
	if (r->given)
		return mr_fail(MR_EDATA, "%s:%llu: label %g is none of the training file's", r->path,
			       (unsigned long long)r->line, label);
	r->no_classes = r->l->targets == CLASSES && l->n == MAX_CLASSES;
	if (r->no_classes)
		return mr_fail(MR_EDATA, "%s:%llu: more than %u different labels: these are no classes", r->path,
			       (unsigned long long)r->line, MAX_CLASSES);
	grown = mr_grown(l->at, l->n, sizeof(*grown));
	if (!grown)
		return mr_data_no_memory(0);
	l->at = grown;
	memmove(l->at + at + 1, l->at + at, (l->n - at) * sizeof(*l->at));
	l->at[at] = label;
	l->n++;
	return MR_OK;
}

static mr_status note_label(reader *r, double label)
{
	r->low = fmin(r->low, label);
	r->high = fmax(r->high, label);
	if (r->l->targets == NUMBERS || (r->l->targets == TWO && r->l->labels.n > 2))
		return MR_OK;
	r->no_classes = r->l->targets == CLASSES && label != rint(label);
	if (r->no_classes)
		return mr_fail(MR_EDATA, "%s:%llu: labels = \"classes\" needs whole numbers as labels, got %g", r->path,
			       (unsigned long long)r->line, label);
	return add_label(r, label);
}

/* @index -1: the label */
static mr_status too_large(const reader *r, const char *what, int64_t index, double value, mr_dtype type)
{
	char of[32] = "";

	if (index >= 0)
		snprintf(of, sizeof(of), " of index %lld", (long long)index);
	return mr_fail(MR_EDATA, "%s:%llu: %s%s, %g, is too large for %s", r->path, (unsigned long long)r->line, what,
		       of, value, mr_dtype_name(type));
}

/* Where the sample in hand is stored. */
static uint64_t row_of(const reader *r)
{
	return r->l->place ? r->l->place[r->n] : r->n;
}

static mr_status pair(reader *r, int64_t *last)
{
	libsvm *l = r->l;
	char *end;
	uint64_t index, at;
	double value;

	errno = 0;
	index = strtoull(r->at, &end, 10);
	if (end == r->at || *end != ':' || errno || r->at[0] == '-' || index > (1u << 20))
		return bad(r, "expected index:value with an index from 0 to 1048576");
	if ((int64_t)index <= *last)
		return bad(r, "indices must rise within a line, each at most once");
	r->at = end + 1;
	if (!number(&r->at, &value))
		return bad(r, "expected a finite number behind the colon");
	*last = (int64_t)index;
	if (!mr_rows_fits(r->cells, value))
		return too_large(r, "the value", (int64_t)index, value, r->cells);
	at = index - !l->zero;
	if (r->fills && at < l->rows.d && r->n < l->rows.n && !r->classifies)
		mr_rows_put(&l->rows, row_of(r), at, value);
	return MR_OK;
}

static void put_label(const reader *r, double label)
{
	libsvm *l = r->l;

	if (l->targets != NUMBERS)
		label = (double)place_of(&l->labels, label);
	if (r->classifies)
		l->class_of[r->n] = (int32_t)label;
	else
		mr_rows_put_target(&l->rows, row_of(r), label);
}

/* Read one line without its newline; an empty one or a comment is no sample. */
static mr_status sample(reader *r)
{
	libsvm *l = r->l;
	int64_t last = -1;
	double label;
	bool zero;

	r->at[strcspn(r->at, "#")] = 0;
	blanks(&r->at);
	if (!*r->at)
		return MR_OK;
	if (!number(&r->at, &label))
		return bad(r, "expected a number as label");
	blanks(&r->at);
	zero = strtoull(r->at, NULL, 10) == 0 && *r->at;
	for (; *r->at; blanks(&r->at))
		MR_TRY(pair(r, &last));
	if (l->targets == NUMBERS && !mr_rows_fits(mr_data_target_type(r->cells), label))
		return too_large(r, "the label", -1, label, mr_data_target_type(r->cells));
	if (!r->fills) {
		MR_TRY(note_label(r, label));
		l->zero = l->zero || zero;
		r->d = (uint64_t)(last + 1) > r->d ? (uint64_t)(last + 1) : r->d;
	} else if (r->n < l->rows.n) {
		put_label(r, label);
	}
	r->n++;
	return MR_OK;
}

/* The line in hand cannot be read, for the reason in this thread's error text. */
static mr_status leave_out(reader *r)
{
	mr_rows *rows = &r->l->rows;

	if (!r->fills)
		return r->no_classes ? MR_EDATA : mr_damage_note(&r->l->damage, true, true);
	if (r->n_damaged++ == r->l->damage.n)
		return MR_EDATA;
	if (r->n < rows->n && !r->classifies)
		memset(rows->x + row_of(r) * rows->d * mr_dtype_bytes(rows->cells), 0,
		       rows->d * mr_dtype_bytes(rows->cells));
	return MR_OK;
}

/* Read all lines of @path, as samples after those that @r has read. */
static mr_status scan(reader *r, const char *path)
{
	mr_lines lines;
	mr_status st = mr_lines_open(path, "LIBSVM", &lines);

	r->path = path;
	while (st == MR_OK && (st = mr_lines_next(&lines, &r->at)) == MR_OK && r->at) {
		bool full = r->fills && r->n == r->l->rows.n;

		r->line = lines.number;
		st = sample(r);
		if (st == MR_EDATA)
			st = leave_out(r);
		if (st == MR_OK && full && r->n > r->l->rows.n)
			st = mr_fail(MR_EDATA, "%s: the file has grown while it was read", path);
	}
	mr_lines_close(&lines);
	return st;
}

static mr_status check_labels(const libsvm *l)
{
	if (l->targets == TWO && l->labels.n != 2)
		return mr_fail(MR_EDATA, "%s: labels = \"two\" needs exactly two labels, the file has %s", l->path[0],
			       l->labels.n > 2 ? "more" : "one");
	if (l->targets == CLASSES && l->labels.n < 2)
		return mr_fail(MR_EDATA,
			       "%s: labels = \"classes\" needs at least two different labels, the file has one",
			       l->path[0]);
	return MR_OK;
}

static mr_status read_keys(libsvm *l, const mr_values *values, const mr_data_want *want)
{
	const char *how = mr_values_string(values, "labels");

	MR_TRY(mr_split_read(values, &l->split));
	MR_TRY(mr_split_draws(&l->split, strcmp(how, "numbers") != 0, &l->draws));
	l->targets = !strcmp(how, "two") ? TWO : !strcmp(how, "classes") ? CLASSES : NUMBERS;
	l->path[0] = mr_data_path(want, mr_values_string(values, "path"));
	if (!*mr_values_string(values, "validation_path"))
		return l->path[0] ? MR_OK : mr_data_no_memory(0);
	if (mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"libsvm\": give validation_path or validation, not both");
	MR_TRY(mr_split_refuse(&l->split, "libsvm"));
	l->path[1] = mr_data_path(want, mr_values_string(values, "validation_path"));
	return l->path[0] && l->path[1] ? MR_OK : mr_data_no_memory(0);
}

static mr_status count(libsvm *l, const mr_values *values, const mr_data_want *want)
{
	uint64_t features = (uint64_t)mr_values_int(values, "features"), n_train, d;
	mr_dataset *b = &l->rows.base;
	reader r = {.l = l, .cells = want->dtype, .low = INFINITY, .high = -INFINITY};

	l->damage.most = (uint64_t)mr_values_int(values, "damaged");
	MR_TRY(read_keys(l, values, want));
	MR_TRY(scan(&r, l->path[0]));
	n_train = r.n;
	if (l->path[1] && r.n) {
		r.given = true;
		MR_TRY(scan(&r, l->path[1]));
	}
	MR_TRY(mr_damage_check(&l->damage, l->path[0], "lines", l->damage.n + r.n));
	if (n_train == 0 || r.d == 0)
		return mr_fail(MR_EDATA, "%s: no samples in it", l->path[0]);
	MR_TRY(check_labels(l));
	if (l->path[1]) {
		if (r.n == n_train)
			return mr_fail(MR_EDATA, "%s: no samples in it", r.path);
	} else {
		MR_TRY(mr_split_count(&l->split, l->path[0], values, r.n, &n_train));
	}
	d = r.d - !l->zero;
	if (features && features < d)
		return mr_fail(MR_EDATA, "%s: index %llu is beyond features = %llu", r.path,
			       (unsigned long long)r.d - 1, (unsigned long long)features);
	MR_TRY(mr_rows_init(&l->rows, "libsvm", l->path[0], r.n, n_train, features ? features : d,
			    l->targets == CLASSES ? (int64_t)l->labels.n : 0, want));
	b->bytes.passing = l->draws ? mr_split_bytes(r.n) : 0;
	if (l->targets != CLASSES) {
		b->target_low = l->targets == TWO ? 0 : r.low;
		b->target_high = l->targets == TWO ? 1 : r.high;
	}
	return MR_OK;
}

static void close_libsvm(mr_dataset *d)
{
	libsvm *l = (libsvm *)d;

	free(l->path[0]);
	free(l->path[1]);
	free(l->labels.at);
	mr_damage_reset(&l->damage);
	free(l->place);
	free(l->class_of);
	mr_rows_close(d);
}

static mr_status open_libsvm(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	return count((libsvm *)d, values, want);
}

static mr_status draw_rows(libsvm *l)
{
	uint64_t n = l->rows.n;
	reader r = {.l = l, .cells = l->rows.cells, .fills = true, .classifies = true};
	mr_status st;

	l->place = malloc(n * sizeof(*l->place));
	l->class_of = l->split.stratified ? calloc(n, sizeof(*l->class_of)) : NULL;
	if (!l->place || (l->split.stratified && !l->class_of))
		return mr_data_no_memory(mr_split_bytes(n));
	if (l->class_of)
		MR_TRY(scan(&r, l->path[0]));
	st = mr_deal_out(&l->split.deal, n, l->rows.base.n_train, l->class_of, l->labels.n, l->place);
	free(l->class_of);
	l->class_of = NULL;
	return st;
}

static mr_status load_libsvm(mr_dataset *d)
{
	libsvm *l = (libsvm *)d;
	reader r = {.l = l, .cells = l->rows.cells, .fills = true};

	MR_TRY(mr_rows_take(&l->rows));
	if (l->draws && !d->trains_only)
		MR_TRY(draw_rows(l));
	for (int i = 0; i < 2 && l->path[i]; i++)
		MR_TRY(scan(&r, l->path[i]));
	free(l->place);
	l->place = NULL;
	mr_rows_seal(&l->rows);
	return MR_OK;
}

static void form(const mr_dataset *d, mr_json_writer *w)
{
	const libsvm *l = (const libsvm *)d;

	mr_json_field_bool(w, "two", l->targets == TWO);
	mr_json_field_bool(w, "from_zero", l->zero);
	mr_json_field_array(w, "labels");
	for (size_t i = 0; l->targets != NUMBERS && i < l->labels.n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%.17g", l->labels.at[i]);
		mr_json_put_string(w, text);
	}
	mr_json_end_array(w);
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "the file"},
	{"features", MR_OPT_INT, "0", 0, 1 << 20, NULL, NULL, "numbers in a sample; 0: the largest index in the file"},
	{"labels", MR_OPT_ENUM, "numbers", 0, 0, "numbers|two|classes", NULL,
	 "targets as they stand; two labels as 0 and 1; or whole numbers as classes, in ascending order"},
	{"damaged", MR_OPT_INT, "0", 0, 1 << 30, NULL, "lines",
	 "damaged lines that are left out at most; 0: a run stops and names them"},
	{"validation_path", MR_OPT_STRING, "", 0, 0, NULL, NULL, "a file of its own for validation; empty: split path"},
	MR_DATA_NO_VALIDATION,
	MR_SPLIT_OPTIONS("the last ones"),
	{NULL},
};

extern const mr_dataset_ops mr_data_libsvm;
const mr_dataset_ops mr_data_libsvm = {
	.name = "libsvm",
	.summary = "rows of a LIBSVM file, in order",
	.options = options,
	.bytes = sizeof(libsvm),
	.open = open_libsvm,
	.load = load_libsvm,
	.close = close_libsvm,
	.in_order = true,
	.train = mr_data_train,
	.sample = mr_rows_sample,
	.valid = mr_rows_valid,
	.files = "libsvm",
	.form = form,
};
