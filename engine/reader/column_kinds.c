#include "reader/column_kinds.h"

#include <stdlib.h>

/* A value of @c that training had; NULL: none but the missing one. */
static const char *example(const mr_csv_column *c)
{
	for (size_t i = 0; i < c->values.n; i++)
		if (*c->values.text[i])
			return c->values.text[i];
	return NULL;
}

/* A category none of whose values is a number, or a number as most people write it. */
static bool is_watched(const mr_csv_inputs *in, const mr_csv_column *c)
{
	double v;

	if (c->kind == MR_COLUMN_NUMBER)
		return c->style == MR_CELL_PLAIN || c->style == MR_CELL_POINT || c->style == MR_CELL_COMMA;
	if (c->kind != MR_COLUMN_CATEGORY || in->code != MR_CODE_KNOWN)
		return false;
	for (size_t i = 0; i < c->values.n; i++)
		if (mr_csv_is_number(c->values.text[i], &v))
			return false;
	return example(c) != NULL;
}

mr_status mr_column_kinds_init(mr_column_kinds *k, const mr_csv_inputs *in)
{
	*k = (mr_column_kinds){.open = calloc(in->n_columns, sizeof(*k->open)),
			       .differs = calloc(in->n_columns, sizeof(*k->differs))};
	if (!k->open || !k->differs)
		return mr_fail(MR_ERESOURCE, "no memory for %zu columns", in->n_columns);
	for (size_t i = 0; i < in->n_columns; i++)
		if (is_watched(in, &in->column[i]))
			k->open[k->n_open++] = i;
	return MR_OK;
}

void mr_column_kinds_fini(mr_column_kinds *k)
{
	free(k->open);
	free(k->differs);
	*k = (mr_column_kinds){0};
}

/* Is @text, which is not missing, of the kind that column @c had in training? */
static bool fits(const mr_csv_column *c, const char *text)
{
	double v;

	return c->kind == MR_COLUMN_NUMBER ? mr_cell_number(c->style, text, &v) : !mr_csv_is_number(text, &v);
}

static mr_status differs(const mr_csv_table *t, const mr_csv_column *c, const char *text)
{
	if (c->kind == MR_COLUMN_NUMBER)
		return mr_fail(MR_EDATA,
			       "%s: column %.60s has texts, such as \"%.40s\", where the model learned numbers",
			       t->path, c->name, text);
	return mr_fail(MR_EDATA,
		       "%s: column %.60s has numbers, such as \"%.40s\", where the model learned texts, such as "
		       "\"%.40s\"", t->path, c->name, text, example(c));
}

mr_status mr_column_kinds_take(mr_column_kinds *k, const mr_csv_inputs *in, const mr_csv_table *t, const uint32_t *at)
{
	size_t n = 0;
	mr_status st = MR_OK;

	for (size_t i = 0; i < k->n_open; i++) {
		size_t c = k->open[i];
		const char *text = t->field[at[c]];
		bool missing = mr_cell_is_missing(text);

		if (!missing && fits(&in->column[c], text)) {
			k->differs[c] = 0;
			continue;
		}
		k->open[n++] = c;
		if (!missing && ++k->differs[c] == MR_COLUMN_KINDS_ENOUGH && st == MR_OK)
			st = differs(t, &in->column[c], text);
	}
	k->n_open = n;
	return st;
}

bool mr_column_kinds_numbers(const mr_column_kinds *k, const mr_csv_inputs *in, size_t c)
{
	return in->column[c].kind == MR_COLUMN_CATEGORY && k->differs[c];
}
