/*
 * csv.c - rows of a CSV file: columns of numbers and of categories, and a target that is a number or a class.
 *
 * How a row becomes a sample is said in formats/csv_inputs.h, how files are read first, and what a damaged row is, in
 * formats/csv_file.h. Classes are the different texts of the target column in ascending order, in numeric order if all
 * of them are numbers.
 *
 * Validation rows are drawn once at random (the same for every train.seed; split.h), since files are often sorted, or
 * are read from a file of their own. Training visits the other rows in a new random order each epoch. Columns are
 * scaled to mean 0 and deviation 1 over the training rows, or by log(1 + x), or not; a column that does not vary
 * becomes 0. Targets that are numbers are brought to mean 0 and deviation 1 when asked to.
 *
 * The file is read row by row: open counts rows and classes; load computes means and deviations and stores the rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/str.h"
#include "data/rows.h"
#include "data/split.h"
#include "formats/csv_file.h"

#define SHOWN_CLASSES 5u
#define SHOWN_COLUMNS 5u
#define SPLIT_SEED 0x637376u /* seed of the random order whose last rows validate */

typedef struct csv {
	mr_rows rows;
	mr_csv_file file;
	bool scale, scale_target;
	mr_split split;
	bool draws;               /* the split is that of split.h */
	int64_t *values;          /* [categories] of the dataset */
	uint64_t *place;          /* [rows.n] where each row of the file is stored; during load */
	int32_t *class_of;        /* [rows.n] of each row of the file, of a stratified split; during load */
	uint64_t *n_weighed;      /* [columns] numbers that are in a column's mean; during load */
	double *value;            /* [numbers] of the row that is read; during load */
	int32_t *category;        /* [categories] */
} csv;

/* Let @v into mean and, before its root is taken, deviation of @n numbers with it: Welford's running mean and sum of
 * squared distances. */
static void weigh_number(double v, uint64_t n, double *mean, double *deviation)
{
	double by = v - *mean;

	*mean += by / (double)n;
	*deviation += by * (v - *mean);
}

/* The pass that computes the statistics of the training rows. */
static mr_status weigh(void *of, uint64_t row, uint64_t number)
{
	csv *s = of;
	mr_csv_inputs *in = &s->file.inputs;
	uint32_t target = s->file.table.target;
	mr_dataset *d = &s->rows.base;
	bool missing;
	double v;

	if (s->place[row] >= d->n_train)
		return MR_OK;
	if (s->scale_target) {
		MR_TRY(mr_csv_file_target(&s->file, number, &v));
		weigh_number(v, ++s->n_weighed[target], &d->target_mean, &d->target_deviation);
	}
	for (size_t i = 0; i < in->n_columns; i++) {
		mr_csv_column *c = &in->column[i];

		if (c->kind != MR_COLUMN_NUMBER)
			continue;
		MR_TRY(mr_csv_inputs_number(in, i, &s->file.table, (uint32_t)i, number, &v, &missing));
		if (!missing || in->missing == MR_MISSING_ZERO)
			weigh_number(v, ++s->n_weighed[i], &c->mean, &c->deviation);
	}
	return MR_OK;
}

/* Refuse @v, what the field of @column has become, if the run's numbers of type @type do not reach it. */
static mr_status fit(const csv *s, uint32_t column, uint64_t number, mr_dtype type, double v)
{
	const mr_csv_table *t = &s->file.table;

	if (mr_rows_fits(type, v))
		return MR_OK;
	return mr_fail(MR_EDATA, "%s:%llu: %s: \"%.40s\" is too large for %s%s", t->path, (unsigned long long)number,
		       t->name[column], t->field[column], mr_dtype_name(type),
		       column == t->target ? "" : "; ignore leaves a column out");
}

/* The pass that a stratified split needs. */
static mr_status classify(void *of, uint64_t row, uint64_t number)
{
	csv *s = of;
	double v;

	MR_TRY(mr_csv_file_target(&s->file, number, &v));
	s->class_of[row] = (int32_t)v;
	return MR_OK;
}

/* The pass that stores the rows. */
static mr_status fill(void *of, uint64_t row, uint64_t number)
{
	csv *s = of;
	mr_csv_inputs *in = &s->file.inputs;
	const mr_dataset *d = &s->rows.base;
	uint64_t at = s->place[row];
	double v;

	MR_TRY(mr_csv_inputs_read(in, &s->file.table, NULL, number, s->value, s->category));
	for (size_t j = 0; j < in->n_numbers; j++) {
		if (!mr_rows_fits(s->rows.cells, s->value[j]))
			return fit(s, (uint32_t)mr_csv_inputs_owner(in, j), number, s->rows.cells, s->value[j]);
		mr_rows_put(&s->rows, at, j, s->value[j]);
	}
	for (size_t j = 0; j < in->n_categories; j++)
		mr_rows_put_category(&s->rows, at, in->n_numbers + j, s->category[j]);
	MR_TRY(mr_csv_file_target(&s->file, number, &v));
	if (s->scale_target)
		v = (v - d->target_mean) / d->target_deviation;
	if (!s->file.by_class)
		MR_TRY(fit(s, s->file.table.target, number, mr_data_target_type(s->rows.dtype), v));
	mr_rows_put_target(&s->rows, at, v);
	return MR_OK;
}

/* --- opening --- */

static mr_status read_keys(csv *s, const mr_values *values, const mr_data_want *want)
{
	static const mr_option_need needs[] = {{"one_hot", "category", "known"}, {NULL, NULL, NULL}};
	const char *empty = mr_values_string(values, "empty"), *category = mr_values_string(values, "category");
	mr_csv_file *f = &s->file;

	MR_TRY(mr_values_check_needs(values, needs));
	f->by_class = !strcmp(mr_values_string(values, "targets"), "classes");
	f->damage.most = (uint64_t)mr_values_int(values, "damaged");
	s->scale = !strcmp(mr_values_string(values, "scale"), "standard");
	s->scale_target = !strcmp(mr_values_string(values, "target_scale"), "standard");
	if (f->by_class && s->scale_target)
		return mr_fail(MR_ECONFIG, "target_scale: \"standard\" is for numbers, and targets = \"classes\"");
	f->inputs.log = !strcmp(mr_values_string(values, "scale"), "log");
	f->inputs.missing = !strcmp(empty, "mean") ? MR_MISSING_MEAN : !strcmp(empty, "zero") ? MR_MISSING_ZERO
											   : MR_MISSING_REFUSE;
	f->inputs.code = !strcmp(category, "known") ? MR_CODE_KNOWN : !strcmp(category, "hash") ? MR_CODE_HASH
											     : MR_CODE_NUMBER;
	MR_TRY(mr_split_read(values, &s->split));
	f->path[0] = mr_data_path(want, mr_values_string(values, "path"));
	if (!*mr_values_string(values, "validation_path"))
		return f->path[0] ? MR_OK : mr_data_no_memory(0);
	if (mr_values_is_set(values, "validation"))
		return mr_fail(MR_ECONFIG, "data \"csv\": give validation_path or validation, not both");
	MR_TRY(mr_split_refuse(&s->split, "csv"));
	f->path[1] = mr_data_path(want, mr_values_string(values, "validation_path"));
	return f->path[0] && f->path[1] ? MR_OK : mr_data_no_memory(0);
}

/* Which columns the model does not see. */
static void put_left_out(const csv *s, mr_strbuf *b)
{
	const mr_csv_table *t = &s->file.table;
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

/* Which rows the model does not see. */
static void put_lost_rows(const csv *s, mr_strbuf *b)
{
	uint64_t without = s->file.n_without[0] + s->file.n_without[1];

	if (without)
		mr_strbuf_printf(b, ", %llu rows without a target left out", (unsigned long long)without);
	if (s->file.damage.n)
		mr_strbuf_printf(b, ", %llu damaged rows left out", (unsigned long long)s->file.damage.n);
}

static mr_status describe(csv *s)
{
	mr_dataset *d = &s->rows.base;
	const mr_csv_file *f = &s->file;
	uint32_t numbers = f->table.n_features - f->table.n_categories;
	mr_strbuf b = {0}, unknown = {0};

	mr_strbuf_printf(&b, "%s: %llu training", f->path[0], (unsigned long long)d->n_train);
	if (!d->trains_only)
		mr_strbuf_printf(&b, " and %llu validation", (unsigned long long)d->n_valid);
	mr_strbuf_printf(&b, " rows of %u numbers", numbers);
	if (f->table.n_categories)
		mr_strbuf_printf(&b, " and %u categories", f->table.n_categories);
	if (f->inputs.n_numbers > numbers)
		mr_strbuf_printf(&b, " in %zu inputs", f->inputs.n_numbers + f->inputs.n_categories);
	mr_strbuf_printf(&b, ", target %s", f->table.name[f->table.target]);
	put_left_out(s, &b);
	put_lost_rows(s, &b);
	mr_csv_inputs_print_unknown(&f->inputs, &unknown);
	mr_strbuf_printf(&b, "%s%s", unknown.len ? ", " : "", mr_strbuf_text(&unknown));
	mr_strbuf_fini(&unknown);
	if (f->by_class)
		mr_strbuf_printf(&b, ", %zu classes:", f->label.n);
	for (size_t i = 0; i < f->label.n && i < SHOWN_CLASSES; i++)
		mr_strbuf_printf(&b, "%s %.20s", i ? "," : "", f->label.text[i]);
	if (f->label.n > SHOWN_CLASSES)
		mr_strbuf_append(&b, ", ...");
	free(d->describe);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

/* How many values each category has, where that is known. */
static mr_status count_values(csv *s)
{
	const mr_csv_inputs *in = &s->file.inputs;

	if (!in->n_categories || in->code != MR_CODE_KNOWN)
		return MR_OK;
	s->values = calloc(in->n_categories, sizeof(*s->values));
	if (!s->values)
		return mr_data_no_memory(in->n_categories * sizeof(*s->values));
	for (size_t i = 0; i < in->n_columns; i++)
		if (in->column[i].kind == MR_COLUMN_CATEGORY && !in->column[i].one_hot)
			s->values[in->column[i].at] = (int64_t)in->column[i].values.n;
	s->rows.base.values = s->values;
	return MR_OK;
}

static mr_status prepare(csv *s, const mr_values *values, const mr_data_want *want)
{
	mr_dataset *d = &s->rows.base;
	mr_csv_file *f = &s->file;
	uint64_t n, n_train;

	MR_TRY(read_keys(s, values, want));
	MR_TRY(mr_csv_file_open(f, values, (uint64_t)mr_values_int(values, "one_hot")));
	n = f->n[0] + f->n[1];
	n_train = f->n[0];
	MR_TRY(mr_split_draws(&s->split, f->by_class, &s->draws));
	if (!f->path[1])
		MR_TRY(mr_split_count(&s->split, f->path[0], values, n, &n_train));
	if (f->inputs.n_categories)
		d->numbers = (int64_t)f->inputs.n_numbers;
	MR_TRY(mr_rows_init(&s->rows, "csv", f->path[0], n, n_train, f->inputs.n_numbers + f->inputs.n_categories,
			    f->by_class ? (int64_t)f->label.n : 0, want));
	if (!f->by_class && !s->scale_target) {
		d->target_low = f->target_low;
		d->target_high = f->target_high;
	}
	for (size_t i = 0; i < f->inputs.n_columns; i++)
		f->inputs.column[i].scaled = s->scale && f->inputs.column[i].kind == MR_COLUMN_NUMBER;
	d->bytes.passing = n * sizeof(*s->place) + f->inputs.n_columns * sizeof(*s->n_weighed) +
			   (f->inputs.n_numbers + f->inputs.n_categories) * sizeof(double);
	d->bytes.passing += s->draws ? mr_split_bytes(n) : 0;
	MR_TRY(count_values(s));
	return describe(s);
}

static void free_passing(csv *s)
{
	free(s->place);
	free(s->class_of);
	free(s->n_weighed);
	free(s->value);
	free(s->category);
	s->place = s->n_weighed = NULL;
	s->value = NULL;
	s->category = s->class_of = NULL;
}

static void close_csv(mr_dataset *d)
{
	csv *s = (csv *)d;

	mr_csv_file_fini(&s->file);
	free_passing(s);
	free(s->values);
	mr_rows_close(d);
}

static mr_status open_csv(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	return prepare((csv *)d, values, want);
}

/* --- loading --- */

/* The row of the files that is stored at place @i, where @p is their random order. */
static uint64_t row_of(const csv *s, const mr_permute *p, uint64_t i)
{
	return s->file.path[1] || s->rows.base.trains_only ? i : mr_permute_at(p, i);
}

static mr_status draw_rows(csv *s)
{
	uint64_t n = s->rows.n;

	if (s->split.stratified) {
		s->class_of = malloc(n * sizeof(*s->class_of));
		if (!s->class_of)
			return mr_data_no_memory(n * sizeof(*s->class_of));
		MR_TRY(mr_csv_file_rows(&s->file, classify, s));
	}
	return mr_deal_out(&s->split.deal, n, s->rows.base.n_train, s->class_of, s->file.label.n, s->place);
}

/* Validation rows are stored at the end; those of a separate file are there already. */
static mr_status place_rows(csv *s)
{
	const mr_csv_inputs *in = &s->file.inputs;
	uint64_t n = s->rows.n;
	mr_permute p;

	s->place = malloc(n * sizeof(*s->place));
	s->n_weighed = calloc(in->n_columns, sizeof(*s->n_weighed));
	s->value = calloc(in->n_numbers, sizeof(*s->value));
	s->category = calloc(in->n_categories + 1, sizeof(*s->category));
	if (!s->place || !s->n_weighed || !s->value || !s->category)
		return mr_data_no_memory(s->rows.base.bytes.passing);
	if (s->draws && !s->rows.base.trains_only)
		return draw_rows(s);
	mr_permute_init(&p, n, SPLIT_SEED, 0);
	for (uint64_t i = 0; i < n; i++)
		s->place[row_of(s, &p, i)] = i;
	return MR_OK;
}

static mr_status finish_scale(csv *s)
{
	const mr_csv_table *t = &s->file.table;
	mr_dataset *d = &s->rows.base;

	for (uint32_t i = 0; i < t->n_columns; i++) {
		mr_csv_column *c = &s->file.inputs.column[i];

		if (c->kind != MR_COLUMN_NUMBER)
			continue;
		c->deviation = s->n_weighed[i] ? sqrt(c->deviation / (double)s->n_weighed[i]) : 0;
		/* The square of a number above 1e154 is none: all of its column would become 0. */
		if (s->scale && (!isfinite(c->mean) || !isfinite(c->deviation)))
			return mr_fail(MR_EDATA,
				       "%s: %s: its numbers are too large for scale = \"standard\"; ignore leaves a "
				       "column out", s->file.path[0], t->name[i]);
	}
	d->target_deviation = sqrt(d->target_deviation / (double)d->n_train);
	if (s->scale_target && !(isfinite(d->target_deviation) && d->target_deviation > 0))
		return mr_fail(MR_EDATA, "%s: %s: its numbers %s for target_scale = \"standard\"", s->file.path[0],
			       t->name[t->target],
			       d->target_deviation > 0 ? "are too large" : "do not differ, as they must");
	return MR_OK;
}

static mr_status load_csv(mr_dataset *d)
{
	csv *s = (csv *)d;

	MR_TRY(mr_rows_take(&s->rows));
	MR_TRY(place_rows(s));
	if (s->scale || s->scale_target || s->file.inputs.missing == MR_MISSING_MEAN) {
		MR_TRY(mr_csv_file_rows(&s->file, weigh, s));
		MR_TRY(finish_scale(s));
	}
	MR_TRY(mr_csv_file_rows(&s->file, fill, s));
	free_passing(s);
	mr_rows_seal(&s->rows);
	return MR_OK;
}

/* The rows of some evaluation samples, wherever they are in the files. */
typedef struct wanted_rows {
	const csv *of;
	const uint64_t *row; /* [n] */
	size_t n;
	mr_data_origin_fn *each;
	void *arg;
} wanted_rows;

static mr_status give_row(void *of, uint64_t row, uint64_t number)
{
	const wanted_rows *w = of;
	const mr_csv_table *t = &w->of->file.table;
	mr_data_origin o = {.file = t->path, .line = number, .column = t->name, .value = t->field, .n = t->n_columns};

	for (size_t i = 0; i < w->n; i++) {
		if (w->row[i] != row)
			continue;
		o.which = i;
		MR_TRY(w->each(w->arg, &o));
	}
	return MR_OK;
}

static mr_status origin(mr_dataset *d, const uint64_t *at, size_t n, mr_data_origin_fn *each, void *arg)
{
	csv *s = (csv *)d;
	uint64_t *row = malloc((n + 1) * sizeof(*row));
	wanted_rows wanted = {.of = s, .row = row, .n = n, .each = each, .arg = arg};
	mr_permute p;
	mr_status st;

	if (!row)
		return mr_data_no_memory((n + 1) * sizeof(*row));
	mr_permute_init(&p, s->rows.n, SPLIT_SEED, 0);
	for (size_t i = 0; i < n; i++)
		row[i] = row_of(s, &p, mr_rows_valid_at(d, at[i]));
	st = mr_csv_file_rows(&s->file, give_row, &wanted);
	free(row);
	return st;
}

static void put_texts(mr_json_writer *w, const char *key, const mr_text_set *set)
{
	mr_json_field_array(w, key);
	for (size_t i = 0; i < set->n; i++)
		mr_json_put_string(w, set->text[i]);
	mr_json_end_array(w);
}

static void put_column(const mr_csv_inputs *in, const mr_csv_column *c, mr_json_writer *w)
{
	static const char *const kinds[] = {"number", "category", "target", "ignored"};

	mr_json_begin_object(w);
	mr_json_field_string(w, "name", c->name);
	mr_json_field_string(w, "kind", kinds[c->kind]);
	if (c->kind == MR_COLUMN_NUMBER || c->kind == MR_COLUMN_TARGET)
		mr_json_field_string(w, "style", mr_cell_style_name(c->style));
	if (c->kind == MR_COLUMN_NUMBER) {
		mr_json_field_bool(w, "gaps", c->gaps);
		mr_json_field_bool(w, "scaled", c->scaled);
		mr_json_field_double(w, "mean", c->mean);
		mr_json_field_double(w, "deviation", c->deviation);
	}
	if (c->kind == MR_COLUMN_CATEGORY && in->code == MR_CODE_KNOWN) {
		mr_json_field_bool(w, "one_hot", c->one_hot);
		put_texts(w, "values", &c->values);
	}
	mr_json_end_object(w);
}

static void form(const mr_dataset *d, mr_json_writer *w)
{
	static const char *const missing[] = {"refuse", "zero", "mean"}, *const code[] = {"hash", "number", "known"};
	const csv *s = (const csv *)d;
	const mr_csv_inputs *in = &s->file.inputs;

	mr_json_field_string(w, "separator", (const char[]){s->file.table.separator, 0});
	mr_json_field_bool(w, "header", s->file.table.header);
	mr_json_field_bool(w, "log", in->log);
	mr_json_field_string(w, "empty", missing[in->missing]);
	mr_json_field_string(w, "category", code[in->code]);
	mr_json_field_array(w, "columns");
	for (size_t i = 0; i < in->n_columns; i++)
		put_column(in, &in->column[i], w);
	mr_json_end_array(w);
	put_texts(w, "labels", &s->file.label);
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
	{"category", MR_OPT_ENUM, "hash", 0, 0, "hash|number|known", NULL,
	 "what becomes of one: known: its place among the values of the training file, which a checkpoint keeps; hash: "
	 "31 bits of a hash of its text; number: it is a whole number from 0"},
	{"one_hot", MR_OPT_INT, "64", 0, 1024, NULL, "values",
	 "with category = known: a column with at most this many values becomes one number of 0 or 1 for each value; "
	 "a column with more becomes a category with a table of embeddings"},
	{"empty", MR_OPT_ENUM, "refuse", 0, 0, "refuse|zero|mean", NULL,
	 "what a cell without a value is (nothing, NA, NaN, null, ?, -); mean: a number is the mean of its column, "
	 "with an input more that says so, a known category has a value of its own, and a row without a target is left "
	 "out; zero: the number 0, or no category"},
	{"damaged", MR_OPT_INT, "0", 0, 1 << 30, NULL, "rows",
	 "damaged rows that are left out at most; where there are more, they are counted, the first ones are named, "
	 "and the run stops"},
	{"validation_path", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "a file of its own for validation, with the same columns; empty: split path"},
	{"validation", MR_OPT_FLOAT, "0.1", 0, 0.99, NULL, NULL, "part of the rows, drawn once, that only validates"},
	MR_SPLIT_OPTIONS("random"),
	{NULL},
};

extern const mr_dataset_ops mr_data_csv;
const mr_dataset_ops mr_data_csv = {
	.name = "csv",
	.summary = "columns of a CSV file; numbers or classes as targets",
	.options = options,
	.bytes = sizeof(csv),
	.open = open_csv,
	.load = load_csv,
	.close = close_csv,
	.train = mr_data_train,
	.sample = mr_rows_sample,
	.valid = mr_rows_valid,
	.files = "csv",
	.form = form,
	.origin = origin,
};
