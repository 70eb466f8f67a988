#include "reader/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIM ((int64_t)1 << 24)
#define MOST_CLASSES 65536

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

static mr_status take_three(const mr_form *f, const char *key, double *out)
{
	const mr_json *list = mr_json_get(f->root, key);

	for (size_t i = 0; i < 3; i++) {
		if (mr_json_size(list) != 3 || !mr_json_is_number(mr_json_at(list, i)))
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

static mr_status take_column(mr_form *f, const mr_json *j, mr_form_column *out)
{
	static const char *const kinds[] = {"number", "category", "target", "ignored"};
	const char *kind = mr_json_string(mr_json_get(j, "kind"));
	int k = 0;

	out->name = mr_json_string(mr_json_get(j, "name"));
	while (kind && k < 4 && strcmp(kind, kinds[k]) != 0)
		k++;
	if (!out->name || !kind || k == 4)
		return wrong("columns");
	out->kind = (mr_form_kind)k;
	if (out->kind == MR_COLUMN_TARGET)
		f->target = out->name;
	out->scaled = mr_json_get(j, "mean") != NULL;
	if (!out->scaled)
		return MR_OK;
	MR_TRY(take_number(j, "mean", NAN, &out->mean));
	return take_number(j, "deviation", NAN, &out->deviation);
}

static mr_status check_columns(const mr_form *f)
{
	int64_t n[4] = {0};

	for (size_t i = 0; i < f->n_columns; i++)
		n[f->column[i].kind]++;
	if (n[MR_COLUMN_TARGET] != 1 || n[MR_COLUMN_NUMBER] + n[MR_COLUMN_CATEGORY] != mr_shape_count(f->shapes.input))
		return wrong("columns");
	return n[MR_COLUMN_CATEGORY] == 0 || f->shapes.numbers == n[MR_COLUMN_NUMBER] ? MR_OK : wrong("numbers");
}

static mr_status take_csv(mr_form *f)
{
	const mr_json *list = mr_json_get(f->root, "columns");
	const char *separator = mr_json_string(mr_json_get(f->root, "separator"));
	size_t n = mr_json_size(list);

	if (!separator || strlen(separator) != 1 || !strchr(",;\t", *separator))
		return wrong("separator");
	f->separator = *separator;
	MR_TRY(take_bool(f, "header", &f->header));
	MR_TRY(take_bool(f, "log", &f->log));
	MR_TRY(take_bool(f, "zero", &f->zero));
	MR_TRY(take_bool(f, "hash", &f->hash));
	if (!mr_json_is_array(list) || n < 2)
		return wrong("columns");
	f->column = calloc(n, sizeof(*f->column));
	if (!f->column)
		return mr_fail(MR_ERESOURCE, "no memory for the names of %zu columns", n);
	for (; f->n_columns < n; f->n_columns++)
		MR_TRY(take_column(f, mr_json_at(list, f->n_columns), &f->column[f->n_columns]));
	return check_columns(f);
}

static mr_status take_images(mr_form *f)
{
	const mr_shape *in = &f->shapes.input;

	MR_TRY(take_int(f, "size", 1, 4096, &f->size));
	MR_TRY(take_int(f, "resize", 0, 8192, &f->resize));
	MR_TRY(take_three(f, "mean", f->mean));
	MR_TRY(take_three(f, "std", f->std));
	for (int c = 0; c < 3; c++)
		if (!(f->std[c] > 0))
			return wrong("std");
	if (f->resize && f->resize < f->size)
		return wrong("resize");
	return !in->tokens && mr_shape_count(*in) == f->size * f->size * 3 ? MR_OK : wrong("input");
}

static mr_status take_all(mr_form *f)
{
	mr_dataset *d = &f->shapes;

	f->source = mr_json_string(mr_json_get(f->root, "source"));
	if (!f->source)
		return wrong("source");
	d->ops = mr_dataset_find(f->source);
	if (!d->ops || !d->ops->form)
		return mr_fail(MR_ECKPT, "the model was trained on data \"%.40s\", whose files cannot be predicted",
			       f->source);
	MR_TRY(take_shape(f, "input", "input_tokens", &d->input));
	MR_TRY(take_shape(f, "target", "target_tokens", &d->target));
	MR_TRY(take_int(f, "classes", 0, MOST_CLASSES, &d->classes));
	MR_TRY(take_int(f, "numbers", 0, MOST_DIM, &d->numbers));
	MR_TRY(take_number(f->root, "target_low", -INFINITY, &d->target_low));
	MR_TRY(take_number(f->root, "target_high", INFINITY, &d->target_high));
	MR_TRY(take_number(f->root, "target_mean", NAN, &d->target_mean));
	MR_TRY(take_number(f->root, "target_deviation", NAN, &d->target_deviation));
	if (mr_shape_count(d->target) != 1 || d->target.tokens != (d->classes > 0))
		return wrong("target");
	MR_TRY(take_labels(f));
	if (!strcmp(f->source, "csv"))
		return take_csv(f);
	if (!strcmp(f->source, "images"))
		return take_images(f);
	MR_TRY(take_bool(f, "two", &f->two));
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
	free(f->column);
	mr_json_destroy(f->root);
	*f = (mr_form){0};
}
