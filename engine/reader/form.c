#include "reader/form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIM ((int64_t)1 << 24)
#define MOST_CLASSES ((int64_t)1 << 20)

static mr_status wrong(const char *key)
{
	return mr_fail(MR_ECKPT, "the form of the data in the checkpoint is damaged: %s", key);
}

/* Shapes come from a file: their products must not overflow. */
static mr_status take_shape(const mr_form *f, const char *key, const char *tokens, mr_shape *out)
{
	const mr_json *list = mr_json_get(f->root, key), *is = mr_json_get(f->root, tokens);
	size_t n = mr_json_size(list);
	int64_t dim[MR_MAX_DIMS], all = 1;

	if (!mr_json_is_array(list) || !mr_json_is_bool(is) || n < 1 || n > MR_MAX_DIMS)
		return wrong(key);
	for (size_t i = 0; i < n; i++) {
		dim[i] = mr_json_int(mr_json_at(list, i));
		if (dim[i] < 1 || dim[i] > MOST_DIM || all > MOST_DIM * 16 / dim[i])
			return wrong(key);
		all *= dim[i];
	}
	*out = n == 2 ? (mr_shape){.rows = dim[0], .cols = dim[1], .tokens = mr_json_bool(is)}
		      : mr_shape_of((uint32_t)n, dim, mr_json_bool(is));
	return MR_OK;
}

static mr_status take_int(const mr_form *f, const char *key, int64_t least, int64_t most, int64_t *out)
{
	const mr_json *j = mr_json_get(f->root, key);

	*out = mr_json_int(j);
	return mr_json_is_int(j) && *out >= least && *out <= most ? MR_OK : wrong(key);
}

static mr_status take_bool(const mr_form *f, const char *key, bool *out)
{
	const mr_json *j = mr_json_get(f->root, key);

	*out = mr_json_bool(j);
	return mr_json_is_bool(j) ? MR_OK : wrong(key);
}

/* A number; null, as which infinities are written, is @none. */
static mr_status take_number(const mr_json *of, const char *key, double none, double *out)
{
	const mr_json *j = mr_json_get(of, key);

	*out = mr_json_is_number(j) ? mr_json_double(j) : none;
	return (mr_json_is_number(j) || (mr_json_is_null(j) && !isnan(none))) ? MR_OK : wrong(key);
}

/* One number a channel. */
static mr_status take_channels(const mr_form *f, const char *key, double *out)
{
	const mr_json *list = mr_json_get(f->root, key);

	for (size_t i = 0; i < (size_t)f->channels; i++) {
		if (mr_json_size(list) != (size_t)f->channels || !mr_json_is_number(mr_json_at(list, i)))
			return wrong(key);
		out[i] = mr_json_double(mr_json_at(list, i));
	}
	return MR_OK;
}

static mr_status take_labels(mr_form *f)
{
	const mr_json *list = mr_json_get(f->root, "labels");
	size_t n = mr_json_size(list);

	if (!mr_json_is_array(list) || n > MOST_CLASSES || (f->shapes.classes && n != (size_t)f->shapes.classes))
		return wrong("labels");
	f->label = calloc(n + 1, sizeof(*f->label));
	if (!f->label)
		return mr_fail(MR_ERESOURCE, "no memory for the names of %zu classes", n);
	for (; f->n_labels < n; f->n_labels++) {
		f->label[f->n_labels] = mr_json_string(mr_json_at(list, f->n_labels));
		if (!f->label[f->n_labels])
			return wrong("labels");
	}
	return MR_OK;
}

/* The place of the text @key of @of among the @n @words. */
static mr_status take_word(const mr_json *of, const char *key, const char *const *words, int n, int *out)
{
	const char *text = mr_json_string(mr_json_get(of, key));

	for (*out = 0; text && *out < n; ++*out)
		if (!strcmp(text, words[*out]))
			return MR_OK;
	return wrong(key);
}

static mr_status take_values(const mr_json *j, mr_csv_column *out)
{
	const mr_json *list = mr_json_get(j, "values"), *one_hot = mr_json_get(j, "one_hot");

	if (!mr_json_is_array(list) || !mr_json_is_bool(one_hot))
		return wrong("values");
	out->one_hot = mr_json_bool(one_hot);
	for (size_t i = 0; i < mr_json_size(list); i++) {
		const char *text = mr_json_string(mr_json_at(list, i));

		if (!text)
			return wrong("values");
		MR_TRY(mr_text_set_add(&out->values, text));
	}
	return out->values.n == mr_json_size(list) && out->values.n ? MR_OK : wrong("values");
}

static mr_status take_column(const mr_form *f, const mr_json *j, mr_csv_column *out)
{
	static const char *const kinds[] = {"number", "category", "target", "ignored"};
	const char *style = mr_json_string(mr_json_get(j, "style"));
	const mr_json *gaps = mr_json_get(j, "gaps"), *scaled = mr_json_get(j, "scaled");
	int kind;

	MR_TRY(take_word(j, "kind", kinds, 4, &kind));
	out->name = mr_json_string(mr_json_get(j, "name"));
	out->kind = (mr_csv_kind)kind;
	if (!out->name)
		return wrong("columns");
	if (out->kind == MR_COLUMN_CATEGORY)
		return f->inputs.code == MR_CODE_KNOWN ? take_values(j, out) : MR_OK;
	if (out->kind == MR_COLUMN_IGNORED)
		return MR_OK;
	out->style = style ? mr_cell_style_of(style) : MR_CELL_STYLES;
	if (out->style == MR_CELL_STYLES)
		return wrong("style");
	if (out->kind == MR_COLUMN_TARGET)
		return MR_OK;
	if (!mr_json_is_bool(gaps) || !mr_json_is_bool(scaled))
		return wrong("columns");
	out->gaps = mr_json_bool(gaps);
	out->scaled = mr_json_bool(scaled);
	MR_TRY(take_number(j, "mean", NAN, &out->mean));
	return take_number(j, "deviation", NAN, &out->deviation);
}

/* What the columns make is what the model takes. */
static mr_status check_columns(mr_form *f)
{
	mr_csv_inputs *in = &f->inputs;
	int targets = 0;

	mr_csv_inputs_place(in);
	for (size_t i = 0; i < in->n_columns; i++)
		if (in->column[i].kind == MR_COLUMN_TARGET) {
			f->target = i;
			targets++;
		}
	if (targets != 1 || (int64_t)(in->n_numbers + in->n_categories) != mr_shape_count(f->shapes.input))
		return wrong("columns");
	if (f->shapes.numbers != (in->n_categories ? (int64_t)in->n_numbers : 0))
		return wrong("numbers");
	if (!in->n_categories || in->code != MR_CODE_KNOWN)
		return MR_OK;
	f->values = calloc(in->n_categories, sizeof(*f->values));
	if (!f->values)
		return mr_fail(MR_ERESOURCE, "no memory for %zu categories", in->n_categories);
	for (size_t i = 0; i < in->n_columns; i++)
		if (in->column[i].kind == MR_COLUMN_CATEGORY && !in->column[i].one_hot)
			f->values[in->column[i].at] = (int64_t)in->column[i].values.n;
	f->shapes.values = f->values;
	return MR_OK;
}

static mr_status take_csv(mr_form *f)
{
	static const char *const missing[] = {"refuse", "zero", "mean"}, *const code[] = {"hash", "number", "known"};
	const mr_json *list = mr_json_get(f->root, "columns");
	const char *separator = mr_json_string(mr_json_get(f->root, "separator"));
	size_t n = mr_json_size(list);
	int word;

	if (!separator || strlen(separator) != 1 || !strchr(",;\t", *separator))
		return wrong("separator");
	f->separator = *separator;
	MR_TRY(take_bool(f, "header", &f->header));
	MR_TRY(take_bool(f, "log", &f->inputs.log));
	MR_TRY(take_word(f->root, "empty", missing, 3, &word));
	f->inputs.missing = (mr_csv_missing)word;
	MR_TRY(take_word(f->root, "category", code, 3, &word));
	f->inputs.code = (mr_csv_code)word;
	if (!mr_json_is_array(list) || n < 2)
		return wrong("columns");
	MR_TRY(mr_csv_inputs_init(&f->inputs, n));
	for (size_t i = 0; i < n; i++)
		MR_TRY(take_column(f, mr_json_at(list, i), &f->inputs.column[i]));
	return check_columns(f);
}

static mr_status take_records(mr_form *f)
{
	if (!mr_json_get(f->root, "record"))
		return MR_OK;
	MR_TRY(take_int(f, "record", 2, 1 << 20, &f->record));
	MR_TRY(take_int(f, "label_at", 0, f->record - 1, &f->label_at));
	return f->record > f->rows * f->cols * f->channels ? MR_OK : wrong("record");
}

static mr_status take_pictures(mr_form *f)
{
	const mr_shape *in = &f->shapes.input;

	MR_TRY(take_int(f, "rows", 1, 65536, &f->rows));
	MR_TRY(take_int(f, "cols", 1, 65536, &f->cols));
	MR_TRY(take_int(f, "resize", 0, 8192, &f->resize));
	f->channels = mr_json_size(mr_json_get(f->root, "mean")) == 1 ? 1 : 3;
	MR_TRY(take_channels(f, "mean", f->mean));
	MR_TRY(take_channels(f, "std", f->std));
	for (int c = 0; c < f->channels; c++)
		if (!(f->std[c] > 0))
			return wrong("std");
	if (f->resize && (f->resize < f->rows || f->resize < f->cols))
		return wrong("resize");
	MR_TRY(take_records(f));
	return !in->tokens && mr_shape_count(*in) == f->rows * f->cols * f->channels ? MR_OK : wrong("input");
}

/* Columns of numbers, then of whole numbers that are categories, then the target; classes are called 0, 1, ... */
static mr_status make_columns(mr_form *f)
{
	enum { ROOM = 24 };
	int64_t n = mr_shape_count(f->shapes.input), numbers = f->shapes.numbers ? f->shapes.numbers : n;
	size_t classes = (size_t)f->shapes.classes, all = (size_t)n + 1;
	mr_csv_inputs *in = &f->inputs;

	f->separator = ',';
	in->missing = MR_MISSING_REFUSE;
	in->code = MR_CODE_NUMBER;
	f->names = calloc(all + classes, ROOM);
	f->label = calloc(classes + 1, sizeof(*f->label));
	if (!f->names || !f->label)
		return mr_fail(MR_ERESOURCE, "no memory for the names of %zu columns", all);
	MR_TRY(mr_csv_inputs_init(in, all));
	for (size_t i = 0; i < all; i++) {
		char *name = f->names + i * ROOM;

		snprintf(name, ROOM, i + 1 < all ? "x%zu" : "y", i + 1);
		in->column[i] = (mr_csv_column){
			.name = name, .style = MR_CELL_PLAIN, .deviation = 1,
			.kind = i + 1 == all ? MR_COLUMN_TARGET
				: (int64_t)i < numbers ? MR_COLUMN_NUMBER : MR_COLUMN_CATEGORY};
	}
	for (; f->n_labels < classes; f->n_labels++) {
		char *name = f->names + (all + f->n_labels) * ROOM;

		snprintf(name, ROOM, "%zu", f->n_labels);
		f->label[f->n_labels] = name;
	}
	return check_columns(f);
}

static mr_status take_language(mr_form *f)
{
	const mr_shape *in = &f->shapes.input;

	f->alphabet = mr_json_string(mr_json_get(f->root, "alphabet"));
	f->tokenizer = mr_json_string(mr_json_get(f->root, "tokenizer"));
	if (!in->tokens || in->cols != 1 || in->n_dims > 2 || !mr_shape_same(*in, f->shapes.target))
		return wrong("input");
	if (f->alphabet && f->shapes.classes != (int64_t)strlen(f->alphabet) / 2)
		return wrong("alphabet");
	return f->shapes.classes > 0 ? MR_OK : wrong("classes");
}

static mr_status take_all(mr_form *f)
{
	mr_dataset *d = &f->shapes;

	f->source = mr_json_string(mr_json_get(f->root, "source"));
	if (!f->source)
		return wrong("source");
	d->ops = mr_dataset_find(f->source);
	f->files = mr_json_string(mr_json_get(f->root, "files"));
	if (!d->ops || !f->files || !d->ops->files || strcmp(f->files, d->ops->files) != 0)
		return wrong("files");
	MR_TRY(take_shape(f, "input", "input_tokens", &d->input));
	MR_TRY(take_shape(f, "target", "target_tokens", &d->target));
	if (mr_json_get(f->root, "image"))
		MR_TRY(take_shape(f, "image", "input_tokens", &d->image));
	f->language = !strcmp(f->files, "language");
	MR_TRY(take_int(f, "classes", 0, f->language ? MOST_DIM : MOST_CLASSES, &d->classes));
	MR_TRY(take_int(f, "numbers", 0, MOST_DIM, &d->numbers));
	MR_TRY(take_number(f->root, "target_low", -INFINITY, &d->target_low));
	MR_TRY(take_number(f->root, "target_high", INFINITY, &d->target_high));
	MR_TRY(take_number(f->root, "target_mean", NAN, &d->target_mean));
	MR_TRY(take_number(f->root, "target_deviation", NAN, &d->target_deviation));
	if (f->language)
		return take_language(f);
	if (mr_shape_count(d->target) != 1 || d->target.tokens != (d->classes > 0))
		return wrong("target");
	if (!strcmp(f->files, "numbers"))
		return make_columns(f);
	MR_TRY(take_labels(f));
	if (!strcmp(f->files, "csv"))
		return take_csv(f);
	if (!strcmp(f->files, "pictures"))
		return take_pictures(f);
	MR_TRY(take_bool(f, "two", &f->two));
	MR_TRY(take_bool(f, "from_zero", &f->from_zero));
	return f->two && f->n_labels != 2 ? wrong("labels") : MR_OK;
}

mr_status mr_form_read(const char *text, mr_form *out)
{
	mr_status st;

	*out = (mr_form){0};
	st = mr_json_read_text(text, strlen(text), &out->root);
	if (st == MR_ECONFIG)
		return mr_fail(MR_ECKPT, "the form of the data in the checkpoint is damaged: %s", mr_error_text());
	return st == MR_OK ? take_all(out) : st;
}

void mr_form_close(mr_form *f)
{
	free(f->label);
	mr_csv_inputs_fini(&f->inputs);
	free(f->values);
	free(f->names);
	mr_json_destroy(f->root);
	*f = (mr_form){0};
}
