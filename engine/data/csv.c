/*
 * csv.c - rows of a CSV file: columns of numbers, and a target that is a number or a class (csv_table.h).
 *
 * Classes are the different texts of the target column in ascending order, in numeric order if all of them are numbers.
 * Validation rows are drawn once at random (the same for every seed), since files are often sorted, or are read from a
 * file of their own. Training visits the other rows in a new random order each epoch. Columns are scaled to mean 0 and
 * deviation 1 over the training rows, or by log(1 + x), or not; a column that does not vary becomes 0. Targets that are
 * numbers are brought to mean 0 and deviation 1 when asked to.
 *
 * With categories a sample is numbers and categories (dataset.h), numbers first, both in the file's order (csv_cell.h).
 *
 * The file is read line by line: open counts rows and classes; load computes means and deviations and stores the rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/str.h"
#include "formats/csv_cell.h"
#include "formats/lines.h"
#include "data/rows.h"

#define MAX_CLASSES 65536u
#define MAX_CLASS_BYTES ((size_t)16 << 20) /* of the texts of all classes */
#define SHOWN_CLASSES 5u
#define SHOWN_COLUMNS 5u
#define SPLIT_SEED 0x637376u /* seed of the random order whose last rows validate */

typedef struct csv {
	mr_rows rows;
	uint64_t seed;
	char *path[2];        /* [0] training, [1] validation; NULL: validation rows come from [0] */
	mr_csv_table table;
	mr_csv_cell cell;
	bool by_class, scale;
	char **label;         /* [n_labels] ascending by compare */
	size_t n_labels, room, label_bytes;
	bool numeric;         /* all labels are numbers */
	uint64_t *place;      /* [rows.n] where each row of the file is stored; during load */
	double *mean, *deviation; /* [features] where columns are scaled; from load on */
	bool scale_target;
	uint64_t n_weighed;       /* number of rows that are in them */
} csv;

/* What one pass over the file does with the current line: row @row, line @number. */
typedef mr_status row_fn(csv *s, uint64_t row, uint64_t number);

static int compare_numbers(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	double i = strtod(x, NULL), j = strtod(y, NULL);

	return i < j ? -1 : i > j ? 1 : strcmp(x, y);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The index of @text among the labels or, with *@found false, the index at which it would be inserted. */
static size_t place_of(const csv *s, const char *text, bool *found)
{
	size_t low = 0, high = s->n_labels;

	*found = false;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = (s->numeric ? compare_numbers : compare_texts)(&s->label[mid], &text);

		if (c == 0) {
			*found = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static mr_status add_label(csv *s, const char *text)
{
	bool found;
	size_t at = place_of(s, text, &found);

	if (found)
		return MR_OK;
	if (s->n_labels == MAX_CLASSES)
		return mr_fail(MR_EDATA, "%s: more than %u different values of %s: these are no classes", s->path[0],
			       MAX_CLASSES, s->table.name[s->table.target]);
	s->label_bytes += strlen(text);
	if (s->label_bytes > MAX_CLASS_BYTES)
		return mr_fail(MR_EDATA, "%s: values of %s with more than %zu bytes in all: these are no classes",
			       s->path[0], s->table.name[s->table.target], MAX_CLASS_BYTES);
	if (s->n_labels == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		char **grown = realloc(s->label, room * sizeof(*grown));

		if (!grown)
			return mr_data_no_memory(room * sizeof(*grown));
		s->label = grown;
		s->room = room;
	}
	memmove(s->label + at + 1, s->label + at, (s->n_labels - at) * sizeof(*s->label));
	s->label[at] = strdup(text);
	if (!s->label[at])
		return mr_data_no_memory(strlen(text));
	s->n_labels++;
	return MR_OK;
}

/* The counting pass of open; it checks all numbers, so that load meets no wrong one. */
static mr_status look(csv *s, uint64_t row, uint64_t number)
{
	const mr_csv_table *t = &s->table;
	mr_dataset *d = &s->rows.base;
	int32_t category;
	double v;

	for (uint32_t c = 0; c < t->n_columns; c++)
		if (c != t->target && !t->left_out[c])
			MR_TRY(t->category[c] ? mr_csv_cell_category(&s->cell, t, c, number, &category)
					      : mr_csv_cell_number(&s->cell, t, c, number, &v));
	if (s->by_class) {
		if (!*t->field[t->target])
			return mr_fail(MR_EDATA, "%s:%llu: %s is empty, expected a class", t->path,
				       (unsigned long long)number, t->name[t->target]);
		return add_label(s, t->field[t->target]);
	}
	MR_TRY(mr_csv_table_number(t, t->target, number, &v));
	d->target_low = row ? fmin(d->target_low, v) : v;
	d->target_high = row ? fmax(d->target_high, v) : v;
	return MR_OK;
}

/* The pass over a validation file; a class that the training file does not have is an error. */
static mr_status look_again(csv *s, uint64_t row, uint64_t number)
{
	const char *text = s->table.field[s->table.target];
	bool found;

	if (s->by_class && (place_of(s, text, &found), !found))
		return mr_fail(MR_EDATA, "%s:%llu: class \"%.40s\" is none of the training file's", s->table.path,
			       (unsigned long long)number, text);
	return look(s, row, number);
}

/* Let the target of the current line into mean and, before its root is taken, deviation of all targets. */
static mr_status weigh_target(csv *s, uint64_t number)
{
	mr_dataset *d = &s->rows.base;
	double v, by;

	MR_TRY(mr_csv_table_number(&s->table, s->table.target, number, &v));
	by = v - d->target_mean;
	d->target_mean += by / (double)s->n_weighed;
	d->target_deviation += by * (v - d->target_mean);
	return MR_OK;
}

/* The pass that computes the statistics of the training rows: Welford's running mean and sum of squared distances. */
static mr_status weigh(csv *s, uint64_t row, uint64_t number)
{
	uint64_t at = s->place[row];
	uint32_t j = 0;

	if (at >= s->rows.base.n_train)
		return MR_OK;
	s->n_weighed++;
	if (s->scale_target)
		MR_TRY(weigh_target(s, number));
	for (uint32_t c = 0; s->scale && c < s->table.n_columns; c++) {
		double v, by;

		if (c == s->table.target || s->table.left_out[c] || s->table.category[c])
			continue;
		MR_TRY(mr_csv_cell_number(&s->cell, &s->table, c, number, &v));
		by = v - s->mean[j];
		s->mean[j] += by / (double)s->n_weighed;
		s->deviation[j] += by * (v - s->mean[j]);
		j++;
	}
	return MR_OK;
}

/* Refuse @v, what the field of @column has become, if the run's numbers of type @type do not reach it. */
static mr_status fit(const csv *s, uint32_t column, uint64_t number, mr_dtype type, double v)
{
	const mr_csv_table *t = &s->table;

	if (mr_rows_fits(type, v))
		return MR_OK;
	return mr_fail(MR_EDATA, "%s:%llu: %s: \"%.40s\" is too large for %s%s", t->path, (unsigned long long)number,
		       t->name[column], t->field[column], mr_dtype_name(type),
		       column == t->target ? "" : "; ignore leaves a column out");
}

/* Store the current line's features as row @at. */
static mr_status fill_features(csv *s, uint64_t at, uint64_t number)
{
	const mr_csv_table *t = &s->table;
	uint64_t j = 0, k = t->n_features - t->n_categories;

	for (uint32_t c = 0; c < t->n_columns; c++) {
		int32_t category;
		double v;

		if (c == t->target || t->left_out[c])
			continue;
		if (t->category[c]) {
			MR_TRY(mr_csv_cell_category(&s->cell, t, c, number, &category));
			mr_rows_put_category(&s->rows, at, k++, category);
			continue;
		}
		MR_TRY(mr_csv_cell_number(&s->cell, t, c, number, &v));
		if (s->scale)
			v = s->deviation[j] > 0 ? (v - s->mean[j]) / s->deviation[j] : 0;
		MR_TRY(fit(s, c, number, s->rows.cells, v));
		mr_rows_put(&s->rows, at, j++, v);
	}
	return MR_OK;
}

/* The pass that stores the rows. */
static mr_status fill(csv *s, uint64_t row, uint64_t number)
{
	const mr_csv_table *t = &s->table;
	uint64_t at = s->place[row];
	bool found;
	double v;

	MR_TRY(fill_features(s, at, number));
	if (s->by_class) {
		size_t label = place_of(s, t->field[t->target], &found);

		if (!found)
			return mr_fail(MR_EDATA, "%s: the file has changed while it was read", t->path);
		v = (double)label;
	} else {
		MR_TRY(mr_csv_table_number(t, t->target, number, &v));
		if (s->scale_target)
			v = (v - s->rows.base.target_mean) / s->rows.base.target_deviation;
		MR_TRY(fit(s, t->target, number, mr_data_target_type(s->rows.dtype), v));
	}
	mr_rows_put_target(&s->rows, at, v);
	return MR_OK;
}

/* Call @fn for all rows of @path, numbered from *@row on; blank lines are skipped. */
static mr_status each_row(csv *s, const char *path, row_fn *fn, uint64_t *row)
{
	mr_lines lines;
	mr_status st = mr_lines_open(path, "CSV", &lines);
	char *line;

	s->table.path = path;
	while (st == MR_OK && (st = mr_lines_next(&lines, &line)) == MR_OK && line) {
		if ((lines.number == 1 && s->table.header) || !line[strspn(line, " \r")])
			continue;
		if (lines.number == 1 && !strncmp(line, "\xef\xbb\xbf", 3))
			line += 3;
		st = mr_csv_table_split(&s->table, line, lines.number);
		if (st == MR_OK && s->place && *row == s->rows.n)
			st = mr_fail(MR_EDATA, "%s: the file has grown while it was read", path);
		if (st == MR_OK)
			st = fn(s, (*row)++, lines.number);
	}
	mr_lines_close(&lines);
	return st;
}

static mr_status read_keys(csv *s, const mr_values *values, const mr_data_want *want)
{
	s->by_class = !strcmp(mr_values_string(values, "targets"), "classes");
	s->scale = !strcmp(mr_values_string(values, "scale"), "standard");
	s->scale_target = !strcmp(mr_values_string(values, "target_scale"), "standard");
	if (s->by_class && s->scale_target)
		return mr_fail(MR_ECONFIG, "target_scale: \"standard\" is for numbers, and targets = \"classes\"");
	s->cell = (mr_csv_cell){.log = !strcmp(mr_values_string(values, "scale"), "log"),
				.zero = !strcmp(mr_values_string(values, "empty"), "zero"),
				.hash = !strcmp(mr_values_string(values, "category"), "hash")};
	s->seed = want->seed;
	s->path[0] = mr_data_path(want, mr_values_string(values, "path"));
	if (!*mr_values_string(values, "validation_path"))
		return s->path[0] ? MR_OK : mr_data_no_memory(0);
	if (mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"csv\": give validation_path or validation, not both");
	s->path[1] = mr_data_path(want, mr_values_string(values, "validation_path"));
	return s->path[0] && s->path[1] ? MR_OK : mr_data_no_memory(0);
}

static mr_status finish_labels(csv *s)
{
	double v;

	if (s->n_labels < 2)
		return mr_fail(MR_EDATA, "%s: %s has one class, \"%.40s\", where at least two are expected", s->path[0],
			       s->table.name[s->table.target], s->label[0]);
	for (size_t i = 0; i < s->n_labels; i++)
		if (!mr_csv_is_number(s->label[i], &v))
			return MR_OK;
	s->numeric = true;
	qsort(s->label, s->n_labels, sizeof(*s->label), compare_numbers);
	return MR_OK;
}

/* Read from the files all that open needs: number of rows, of training rows, and classes. */
static mr_status count(csv *s, const mr_values *values, uint64_t *n, uint64_t *n_train)
{
	*n = 0;
	MR_TRY(mr_csv_table_open(&s->table, s->path[0], values));
	MR_TRY(each_row(s, s->path[0], look, n));
	if (*n == 0)
		return mr_fail(MR_EDATA, "%s: no rows in it", s->path[0]);
	if (s->by_class)
		MR_TRY(finish_labels(s));
	if (!s->path[1])
		return mr_data_split(s->path[0], values, *n, n_train);
	*n_train = *n;
	MR_TRY(mr_csv_table_same(&s->table, s->path[1]));
	MR_TRY(each_row(s, s->path[1], look_again, n));
	return *n > *n_train ? MR_OK : mr_fail(MR_EDATA, "%s: no rows in it", s->path[1]);
}

/* Which columns the model does not see. */
static void put_left_out(const csv *s, mr_strbuf *b)
{
	const mr_csv_table *t = &s->table;
	uint32_t n = 0;

	for (uint32_t c = 0; c < t->n_columns; c++) {
		if (!t->left_out[c])
			continue;
		if (n < SHOWN_COLUMNS)
			mr_strbuf_printf(b, "%s%.30s", n ? ", " : ", left out: ", t->name[c]);
		n++;
	}
	if (n)
		mr_strbuf_printf(b, "%s (%u of %u columns)", n > SHOWN_COLUMNS ? ", ..." : "", n, t->n_columns);
}

static mr_status describe(csv *s)
{
	mr_dataset *d = &s->rows.base;
	mr_strbuf b;

	mr_strbuf_init(&b);
	mr_strbuf_printf(&b, "%s: %llu training", s->path[0], (unsigned long long)d->n_train);
	if (!d->trains_only)
		mr_strbuf_printf(&b, " and %llu validation", (unsigned long long)d->n_valid);
	mr_strbuf_printf(&b, " rows of %u numbers", s->table.n_features - s->table.n_categories);
	if (s->table.n_categories)
		mr_strbuf_printf(&b, " and %u categories", s->table.n_categories);
	mr_strbuf_printf(&b, ", target %s", s->table.name[s->table.target]);
	put_left_out(s, &b);
	if (s->by_class)
		mr_strbuf_printf(&b, ", %zu classes:", s->n_labels);
	for (size_t i = 0; i < s->n_labels && i < SHOWN_CLASSES; i++)
		mr_strbuf_printf(&b, "%s %.20s", i ? "," : "", s->label[i]);
	if (s->n_labels > SHOWN_CLASSES)
		mr_strbuf_append(&b, ", ...");
	free(d->describe);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static mr_status prepare(csv *s, const mr_values *values, const mr_data_want *want)
{
	mr_dataset *d = &s->rows.base;
	double low, high;
	uint64_t n, n_train;

	MR_TRY(read_keys(s, values, want));
	MR_TRY(count(s, values, &n, &n_train));
	low = d->target_low;
	high = d->target_high;
	if (s->table.n_categories)
		d->numbers = s->table.n_features - s->table.n_categories;
	MR_TRY(mr_rows_init(&s->rows, "csv", s->path[0], n, n_train, s->table.n_features,
			    s->by_class ? (int64_t)s->n_labels : 0, want));
	if (!s->scale_target) {
		d->target_low = low;
		d->target_high = high;
	}
	d->bytes.passing = n * sizeof(*s->place) + 2 * s->table.n_features * sizeof(double);
	return describe(s);
}

static void close_csv(mr_dataset *d)
{
	csv *s = (csv *)d;

	mr_csv_table_close(&s->table);
	for (size_t i = 0; i < s->n_labels; i++)
		free(s->label[i]);
	free(s->label);
	free(s->path[0]);
	free(s->path[1]);
	free(s->place);
	free(s->mean);
	free(s->deviation);
	mr_rows_close(d);
}

static mr_status open_csv(const mr_values *values, const mr_data_want *want, mr_dataset **out)
{
	csv *s = calloc(1, sizeof(*s));
	mr_status st;

	if (!s)
		return mr_data_no_memory(sizeof(*s));
	st = prepare(s, values, want);
	if (st != MR_OK) {
		close_csv(&s->rows.base);
		return st;
	}
	*out = &s->rows.base;
	return MR_OK;
}

/* Validation rows are stored at the end; those of a separate file are there already. */
static mr_status place_rows(csv *s)
{
	uint64_t n = s->rows.n;
	mr_permute p;

	s->place = malloc(n * sizeof(*s->place));
	if (!s->place)
		return mr_data_no_memory(n * sizeof(*s->place));
	mr_permute_init(&p, n, SPLIT_SEED, 0);
	for (uint64_t i = 0; i < n; i++)
		s->place[s->path[1] || s->rows.base.trains_only ? i : mr_permute_at(&p, i)] = i;
	return MR_OK;
}

static mr_status all_rows(csv *s, row_fn *fn)
{
	uint64_t row = 0;

	for (int i = 0; i < 2 && s->path[i]; i++)
		MR_TRY(each_row(s, s->path[i], fn, &row));
	return row == s->rows.n ? MR_OK
				: mr_fail(MR_EDATA, "%s: the file has shrunk while it was read", s->table.path);
}

/* The square of a number above 1e154 is none: all of its column would become 0. */
static mr_status check_scale(const csv *s)
{
	const mr_csv_table *t = &s->table;
	uint32_t j = 0;

	for (uint32_t c = 0; c < t->n_columns; c++) {
		if (c == t->target || t->left_out[c] || t->category[c])
			continue;
		if (!isfinite(s->mean[j]) || !isfinite(s->deviation[j]))
			return mr_fail(MR_EDATA,
				       "%s: %s: its numbers are too large for scale = \"standard\"; ignore leaves a "
				       "column out", s->path[0], t->name[c]);
		j++;
	}
	return MR_OK;
}

static mr_status find_scale(csv *s)
{
	mr_dataset *d = &s->rows.base;

	s->mean = calloc(s->rows.d, sizeof(*s->mean));
	s->deviation = calloc(s->rows.d, sizeof(*s->deviation));
	if (!s->mean || !s->deviation)
		return mr_data_no_memory(2 * s->rows.d * sizeof(*s->mean));
	MR_TRY(all_rows(s, weigh));
	for (uint64_t j = 0; j < s->rows.d; j++)
		s->deviation[j] = sqrt(s->deviation[j] / (double)d->n_train);
	d->target_deviation = sqrt(d->target_deviation / (double)d->n_train);
	if (s->scale_target && !(isfinite(d->target_deviation) && d->target_deviation > 0))
		return mr_fail(MR_EDATA, "%s: %s: its numbers %s for target_scale = \"standard\"", s->path[0],
			       s->table.name[s->table.target],
			       d->target_deviation > 0 ? "are too large" : "do not differ, as they must");
	return check_scale(s);
}

static mr_status load_csv(mr_dataset *d)
{
	csv *s = (csv *)d;

	MR_TRY(mr_rows_take(&s->rows));
	MR_TRY(place_rows(s));
	if (s->scale || s->scale_target)
		MR_TRY(find_scale(s));
	MR_TRY(all_rows(s, fill));
	free(s->place);
	s->place = NULL;
	mr_rows_seal(&s->rows);
	return MR_OK;
}

static void train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	mr_rows_get((const mr_rows *)d, mr_data_order(d->n_train, ((const csv *)d)->seed, g), input, target);
}

static void form(const mr_dataset *d, mr_json_writer *w)
{
	const csv *s = (const csv *)d;
	const mr_csv_table *t = &s->table;
	uint64_t j = 0;

	mr_json_field_string(w, "separator", (const char[]){t->separator, 0});
	mr_json_field_bool(w, "header", t->header);
	mr_json_field_bool(w, "log", s->cell.log);
	mr_json_field_bool(w, "zero", s->cell.zero);
	mr_json_field_bool(w, "hash", s->cell.hash);
	mr_json_field_array(w, "columns");
	for (uint32_t c = 0; c < t->n_columns; c++) {
		bool number = c != t->target && !t->left_out[c] && !t->category[c];

		mr_json_begin_object(w);
		mr_json_field_string(w, "name", t->name[c]);
		mr_json_field_string(w, "kind", number ? "number" : c == t->target ? "target" :
						t->left_out[c] ? "ignored" : "category");
		if (number && s->scale) {
			mr_json_field_double(w, "mean", s->mean[j]);
			mr_json_field_double(w, "deviation", s->deviation[j]);
		}
		j += number;
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
	mr_json_field_array(w, "labels");
	for (size_t i = 0; i < s->n_labels; i++)
		mr_json_put_string(w, s->label[i]);
	mr_json_end_array(w);
}

static const mr_option options[] = {
	{"path", MR_OPT_STRING, NULL, 0, 0, NULL, NULL, "the file, one row a line"},
	{"target", MR_OPT_STRING, "", 0, 0, NULL, "columns",
	 "name of the target's column, or its number from 1; empty: the last column"},
	{"targets", MR_OPT_ENUM, "numbers", 0, 0, "numbers|classes", NULL,
	 "what the target is; classes are its different values, numbers or texts, in ascending order"},
	{"ignore", MR_OPT_STRING, "", 0, 0, NULL, "columns",
	 "columns that are not read: names, numbers from 1 or ranges, with commas between"},
	{"separator", MR_OPT_ENUM, "auto", 0, 0, "auto|comma|semicolon|tab", NULL,
	 "between fields; auto: of these the one that is most often in the first line"},
	{"header", MR_OPT_ENUM, "auto", 0, 0, "auto|yes|no", NULL,
	 "does the first line name the columns? auto: if none of its fields is a number"},
	{"scale", MR_OPT_ENUM, "standard", 0, 0, "standard|none|log", NULL,
	 "standard: each column of numbers to mean 0 and deviation 1 over the training rows; log: x to log(1 + x), and "
	 "to 0 below 0"},
	{"target_scale", MR_OPT_ENUM, "none", 0, 0, "none|standard", NULL,
	 "targets that are numbers; standard: to mean 0 and deviation 1 over the training rows for the training, while "
	 "predictions and errors are in the target's own unit"},
	{"categories", MR_OPT_STRING, "", 0, 0, NULL, "columns",
	 "columns that are categories: names, numbers from 1 or ranges such as 15-40, with commas between"},
	{"category", MR_OPT_ENUM, "hash", 0, 0, "hash|number", NULL,
	 "what becomes of one: hash: 31 bits of a hash of its text; number: it is a whole number from 0"},
	{"empty", MR_OPT_ENUM, "refuse", 0, 0, "refuse|zero", NULL,
	 "what an empty field is; zero: the number 0, or no category"},
	{"validation_path", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "a file of its own for validation, with the same columns; empty: split path"},
	{"validation", MR_OPT_FLOAT, "0.1", 0, 0.99, NULL, NULL, "part of the rows, drawn once, that only validates"},
	{NULL},
};

extern const mr_dataset_ops mr_data_csv;
const mr_dataset_ops mr_data_csv = {
	.name = "csv",
	.summary = "columns of a CSV file; numbers or classes as targets",
	.options = options,
	.open = open_csv,
	.load = load_csv,
	.close = close_csv,
	.train = train,
	.valid = mr_rows_valid,
	.form = form,
};
