/* reader_csv.c - rows of a CSV file, whose columns are found by their names, or by their places where the training file
 * had no names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "formats/csv_rows.h"
#include "nn/element.h"
#include "reader/column_kinds.h"
#include "reader/reader.h"

typedef struct csv {
	mr_reader base;
	mr_csv_rows rows;
	mr_csv_table table;
	const mr_csv_inputs *inputs; /* of the form */
	uint32_t *at;       /* [columns] where the file has this column; table.n_columns: nowhere */
	char *first;        /* the first row, if it is a sample still to be read; NULL */
	double *value;      /* [numbers] of a sample */
	mr_column_kinds kinds;
} csv;

static mr_status no_memory(void)
{
	return mr_fail(MR_ERESOURCE, "no memory to read rows");
}

static void close_csv(mr_reader *r)
{
	csv *s = (csv *)r;

	mr_csv_rows_close(&s->rows);
	mr_csv_table_close(&s->table);
	free(s->at);
	free(s->first);
	free(s->value);
	mr_column_kinds_fini(&s->kinds);
	free(s);
}

static bool is_needed(const mr_csv_column *c)
{
	return c->kind == MR_COLUMN_NUMBER || c->kind == MR_COLUMN_CATEGORY;
}

static void put_missing(const csv *s, const char *name, mr_strbuf *b)
{
	const mr_csv_table *t = &s->table;
	const char *near = mr_nearest(name, (const char *const *)t->name, t->n_columns);

	mr_strbuf_printf(b, "%s\"%.60s\"%s%.60s%s", b->len ? ", no " : "", name, near ? " (did \"" : "",
			 near ? near : "", near ? "\" have this name?)" : "");
}

static mr_status find_by_name(csv *s)
{
	const mr_csv_inputs *in = s->inputs;
	const mr_csv_table *t = &s->table;
	mr_status st = MR_OK;
	mr_strbuf missing = {0};

	for (size_t i = 0; i < in->n_columns; i++) {
		uint32_t c = 0;

		while (c < t->n_columns && strcmp(t->name[c], in->column[i].name) != 0)
			c++;
		s->at[i] = c;
		if (c == t->n_columns && is_needed(&in->column[i]))
			put_missing(s, in->column[i].name, &missing);
	}
	if (missing.len)
		st = mr_fail(MR_EDATA, "%s:1: there is no column %s, which the model needs", t->path,
			     mr_strbuf_text(&missing));
	mr_strbuf_fini(&missing);
	return st;
}

/* All columns of the training file, or all but the target. */
static mr_status find_by_place(csv *s)
{
	const mr_form *f = s->base.form;
	const mr_csv_table *t = &s->table;
	bool without = t->n_columns + 1 == f->inputs.n_columns;
	uint32_t c = 0;

	if (!without && t->n_columns != f->inputs.n_columns)
		return mr_fail(MR_EDATA, "%s:1: %u column%s without names, where the model's data have %zu", t->path,
			       t->n_columns, t->n_columns == 1 ? "" : "s", f->inputs.n_columns);
	for (size_t i = 0; i < f->inputs.n_columns; i++)
		s->at[i] = without && f->inputs.column[i].kind == MR_COLUMN_TARGET ? t->n_columns : c++;
	return MR_OK;
}

static mr_status take_head(csv *s)
{
	const mr_form *f = s->base.form;
	char *line;

	s->rows.separator = f->separator;
	MR_TRY(mr_csv_rows_next(&s->rows, &line));
	if (!line)
		return mr_fail(MR_EDATA, "%s: it is empty", s->rows.lines.path);
	if (!f->header && !(s->first = strdup(line)))
		return no_memory();
	s->table.path = s->rows.lines.path;
	s->table.separator = f->separator;
	s->table.header = f->header;
	s->table.bare = true;
	MR_TRY(mr_csv_table_take(&s->table, line));
	s->at = calloc(f->inputs.n_columns, sizeof(*s->at));
	if (!s->at)
		return no_memory();
	s->value = calloc(s->inputs->n_numbers, sizeof(*s->value));
	if (!s->value)
		return no_memory();
	MR_TRY(mr_column_kinds_init(&s->kinds, s->inputs));
	return f->header ? find_by_name(s) : find_by_place(s);
}

static mr_status open_csv(const mr_form *f, const char *path, mr_dtype dtype, mr_reader **out)
{
	csv *s = calloc(1, sizeof(*s));
	mr_status st;

	if (!s)
		return no_memory();
	s->base = (mr_reader){.kind = &mr_reader_csv, .form = f, .dtype = f->shapes.numbers ? MR_F32 : dtype};
	s->inputs = &f->inputs;
	st = mr_csv_rows_open(path, &s->rows);
	if (st == MR_OK)
		st = take_head(s);
	if (st != MR_OK) {
		close_csv(&s->base);
		return st;
	}
	*out = &s->base;
	return MR_OK;
}

static mr_status too_large(const csv *s, size_t input)
{
	size_t c = mr_csv_inputs_owner(s->inputs, input);

	return mr_fail(MR_EDATA, "%s:%llu: %s: \"%.40s\" is too large for %s", s->table.path,
		       (unsigned long long)s->rows.number, s->inputs->column[c].name, s->table.field[s->at[c]],
		       mr_dtype_name(s->base.dtype));
}

static mr_status put_row(csv *s, void *input)
{
	MR_TRY(mr_csv_inputs_read(s->inputs, &s->table, s->at, s->rows.number, s->value,
				  (int32_t *)input + s->inputs->n_numbers));
	for (size_t i = 0; i < s->inputs->n_numbers; i++) {
		mr_element_put(s->base.dtype, input, (int64_t)i, s->value[i]);
		if (!isfinite(mr_element(s->base.dtype, input, (int64_t)i)))
			return too_large(s, i);
	}
	return MR_OK;
}

/* A target that is not there, or empty, is none; one that is wrong is as wrong as another column. */
static mr_status take_target(csv *s, mr_reader_sample *out)
{
	const mr_form *f = s->base.form;
	const mr_csv_table *t = &s->table;
	uint32_t at = s->at[f->target];

	if (at == t->n_columns || mr_cell_is_missing(t->field[at]))
		return MR_OK;
	out->has_target = true;
	if (!f->shapes.classes)
		return mr_csv_table_number(t, at, s->rows.number, f->inputs.column[f->target].style, &out->target);
	out->target = mr_reader_class(f, t->field[at]);
	return MR_OK;
}

static mr_status next(mr_reader *r, void *input, mr_reader_sample *out)
{
	csv *s = (csv *)r;
	char *line = s->first;
	mr_status st;

	if (!line)
		MR_TRY(mr_csv_rows_next(&s->rows, &line));
	if (!line)
		return MR_OK;
	out->got = r->skips = true;
	st = mr_csv_table_split(&s->table, line, s->rows.number);
	if (st == MR_OK) {
		st = mr_column_kinds_take(&s->kinds, s->inputs, &s->table, s->at);
		r->skips = st == MR_OK;
	}
	if (st == MR_OK)
		st = put_row(s, input);
	if (st == MR_OK)
		st = take_target(s, out);
	free(s->first);
	s->first = NULL;
	return st;
}

static void say(const mr_reader *r, mr_strbuf *out)
{
	const csv *s = (const csv *)r;

	mr_csv_inputs_print_unknown(s->inputs, out);
	for (size_t i = 0; i < s->inputs->n_columns; i++)
		if (mr_column_kinds_numbers(&s->kinds, s->inputs, i))
			mr_strbuf_printf(out, "; %.40s has numbers alone, where the model learned texts",
					 s->inputs->column[i].name);
}

const mr_reader_kind mr_reader_csv = {.files = "csv", .open = open_csv, .next = next, .say = say, .close = close_csv};
