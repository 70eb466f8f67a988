/* reader_csv.c - rows of a CSV file, whose columns are found by their names, or by their places where the training file
 * had no names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "formats/csv_cell.h"
#include "formats/lines.h"
#include "nn/element.h"
#include "reader/reader.h"

typedef struct csv {
	mr_reader base;
	mr_lines lines;
	mr_csv_table table;
	mr_csv_cell cell;
	uint32_t *at;       /* [form->n_columns] where the file has this column; table.n_columns: nowhere */
	char *first;        /* the first line, if it is a sample still to be read; NULL */
} csv;

static mr_status no_memory(void)
{
	return mr_fail(MR_ERESOURCE, "no memory to read rows");
}

static void close_csv(mr_reader *r)
{
	csv *s = (csv *)r;

	mr_lines_close(&s->lines);
	mr_csv_table_close(&s->table);
	free(s->at);
	free(s->first);
	free(s);
}

static bool is_needed(const mr_form_column *c)
{
	return c->kind == MR_COLUMN_NUMBER || c->kind == MR_COLUMN_CATEGORY;
}

static mr_status missing(const csv *s, const char *name)
{
	const mr_csv_table *t = &s->table;
	const char *near = mr_nearest(name, (const char *const *)t->name, t->n_columns);

	return mr_fail(MR_EDATA, "%s:1: there is no column \"%.60s\", which the model needs%s%.60s%s", t->path, name,
		       near ? "; did \"" : "", near ? near : "", near ? "\" have this name?" : "");
}

static mr_status find_by_name(csv *s)
{
	const mr_form *f = s->base.form;
	const mr_csv_table *t = &s->table;

	for (size_t i = 0; i < f->n_columns; i++) {
		uint32_t c = 0;

		while (c < t->n_columns && strcmp(t->name[c], f->column[i].name) != 0)
			c++;
		s->at[i] = c;
		if (c == t->n_columns && is_needed(&f->column[i]))
			return missing(s, f->column[i].name);
	}
	return MR_OK;
}

/* All columns of the training file, or all but the target. */
static mr_status find_by_place(csv *s)
{
	const mr_form *f = s->base.form;
	const mr_csv_table *t = &s->table;
	bool without = t->n_columns + 1 == f->n_columns;
	uint32_t c = 0;

	if (!without && t->n_columns != f->n_columns)
		return mr_fail(MR_EDATA, "%s:1: %u columns without names, where the training file has %zu", t->path,
			       t->n_columns, f->n_columns);
	for (size_t i = 0; i < f->n_columns; i++)
		s->at[i] = without && f->column[i].kind == MR_COLUMN_TARGET ? t->n_columns : c++;
	return MR_OK;
}

static mr_status take_head(csv *s)
{
	const mr_form *f = s->base.form;
	char *line;

	MR_TRY(mr_lines_next(&s->lines, &line));
	if (!line)
		return mr_fail(MR_EDATA, "%s: it is empty", s->lines.path);
	if (!f->header && !(s->first = strdup(line)))
		return no_memory();
	s->table.path = s->lines.path;
	s->table.separator = f->separator;
	s->table.header = f->header;
	s->table.bare = true;
	MR_TRY(mr_csv_table_take(&s->table, line));
	s->at = calloc(f->n_columns, sizeof(*s->at));
	if (!s->at)
		return no_memory();
	MR_TRY(f->header ? find_by_name(s) : find_by_place(s));
	for (size_t i = 0; i < f->n_columns; i++)
		if (s->at[i] < s->table.n_columns)
			s->table.category[s->at[i]] = f->column[i].kind == MR_COLUMN_CATEGORY;
	return MR_OK;
}

static mr_status open_csv(const mr_form *f, const char *path, mr_dtype dtype, mr_reader **out)
{
	csv *s = calloc(1, sizeof(*s));
	mr_status st;

	if (!s)
		return no_memory();
	s->base = (mr_reader){.kind = &mr_reader_csv, .form = f, .dtype = f->shapes.numbers ? MR_F32 : dtype};
	s->cell = (mr_csv_cell){.log = f->log, .zero = f->zero, .hash = f->hash};
	st = strcmp(path, "-") ? mr_lines_open(path, "CSV", &s->lines) : mr_lines_of_input("CSV", &s->lines);
	if (st == MR_OK)
		st = take_head(s);
	if (st != MR_OK) {
		close_csv(&s->base);
		return st;
	}
	*out = &s->base;
	return MR_OK;
}

static mr_status put_number(csv *s, size_t i, int64_t to, void *input)
{
	const mr_form_column *c = &s->base.form->column[i];
	const mr_csv_table *t = &s->table;
	double v;

	MR_TRY(mr_csv_cell_number(&s->cell, t, s->at[i], s->lines.number, &v));
	if (c->scaled)
		v = c->deviation > 0 ? (v - c->mean) / c->deviation : 0;
	mr_element_put(s->base.dtype, input, to, v);
	if (isfinite(mr_element(s->base.dtype, input, to)))
		return MR_OK;
	return mr_fail(MR_EDATA, "%s:%llu: %s: \"%.40s\" is too large for %s", t->path,
		       (unsigned long long)s->lines.number, c->name, t->field[s->at[i]], mr_dtype_name(s->base.dtype));
}

static mr_status put_row(csv *s, void *input)
{
	const mr_form *f = s->base.form;
	int64_t numbers = 0, categories = f->shapes.numbers;

	for (size_t i = 0; i < f->n_columns; i++)
		if (f->column[i].kind == MR_COLUMN_NUMBER)
			MR_TRY(put_number(s, i, numbers++, input));
		else if (f->column[i].kind == MR_COLUMN_CATEGORY)
			MR_TRY(mr_csv_cell_category(&s->cell, &s->table, s->at[i], s->lines.number,
						    (int32_t *)input + categories++));
	return MR_OK;
}

/* A target that is not there, or empty, is none; one that is wrong is as wrong as another column. */
static mr_status take_target(csv *s, mr_reader_sample *out)
{
	const mr_form *f = s->base.form;
	const mr_csv_table *t = &s->table;
	size_t i = 0;

	while (f->column[i].kind != MR_COLUMN_TARGET)
		i++;
	if (s->at[i] == t->n_columns || !*t->field[s->at[i]])
		return MR_OK;
	out->has_target = true;
	if (!f->shapes.classes)
		return mr_csv_table_number(t, s->at[i], s->lines.number, &out->target);
	out->target = mr_reader_class(f, t->field[s->at[i]]);
	return MR_OK;
}

static mr_status next(mr_reader *r, void *input, mr_reader_sample *out)
{
	csv *s = (csv *)r;
	char *line = s->first;
	mr_status st;

	while (!line || !line[strspn(line, " \r")]) {
		free(s->first);
		s->first = NULL;
		MR_TRY(mr_lines_next(&s->lines, &line));
		if (!line)
			return MR_OK;
	}
	out->got = r->skips = true;
	st = mr_csv_table_split(&s->table, line, s->lines.number);
	if (st == MR_OK)
		st = put_row(s, input);
	if (st == MR_OK)
		st = take_target(s, out);
	free(s->first);
	s->first = NULL;
	return st;
}

const mr_reader_kind mr_reader_csv = {.source = "csv", .open = open_csv, .next = next, .close = close_csv};
