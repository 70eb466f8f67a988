#include "formats/csv_inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

mr_status mr_csv_inputs_init(mr_csv_inputs *s, size_t n)
{
	s->column = calloc(n, sizeof(*s->column));
	s->unknown = calloc(n, sizeof(*s->unknown));
	if (!s->column || !s->unknown)
		return mr_fail(MR_ERESOURCE, "no memory for %zu columns", n);
	s->n_columns = n;
	return MR_OK;
}

void mr_csv_inputs_fini(mr_csv_inputs *s)
{
	mr_csv_inputs_forget_unknown(s);
	for (size_t i = 0; i < s->n_columns; i++)
		mr_text_set_fini(&s->column[i].values);
	free(s->column);
	free(s->unknown);
	*s = (mr_csv_inputs){0};
}

void mr_csv_inputs_forget_unknown(mr_csv_inputs *s)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		free(s->unknown[i].first);
		s->unknown[i] = (mr_csv_unknown){0};
	}
}

void mr_csv_inputs_place(mr_csv_inputs *s)
{
	s->n_numbers = s->n_categories = 0;
	for (size_t i = 0; i < s->n_columns; i++) {
		mr_csv_column *c = &s->column[i];
		bool category = c->kind == MR_COLUMN_CATEGORY;

		if (category && !c->one_hot) {
			c->at = s->n_categories++;
		} else if (category || c->kind == MR_COLUMN_NUMBER) {
			c->at = s->n_numbers;
			s->n_numbers += category ? c->values.n : 1u + c->gaps;
		}
	}
}

static mr_status empty(const mr_csv_table *t, uint32_t field, uint64_t number, const char *expected)
{
	const char *text = t->field[field];

	return mr_fail(MR_EDATA, "%s:%llu: %s is %s%s%s, expected a %s%s", t->path, (unsigned long long)number,
		       t->name[field], *text ? "\"" : "", *text ? text : "empty", *text ? "\"" : "", expected,
		       t->bare ? "" : "; empty = \"mean\" or \"zero\" takes missing values");
}

mr_status mr_csv_inputs_number(const mr_csv_inputs *s, size_t c, const mr_csv_table *t, uint32_t field, uint64_t number,
			       double *out, bool *missing)
{
	*out = 0;
	*missing = mr_cell_is_missing(t->field[field]);
	if (*missing)
		return s->missing == MR_MISSING_REFUSE ? empty(t, field, number, "number") : MR_OK;
	MR_TRY(mr_csv_table_number(t, field, number, s->column[c].style, out));
	if (s->log)
		*out = *out > 0 ? log1p(*out) : 0;
	return MR_OK;
}

static mr_status known(const mr_csv_inputs *s, size_t c, const char *text, int32_t *out)
{
	mr_csv_unknown *u = &s->unknown[c];

	*out = (int32_t)mr_text_set_find(&s->column[c].values, text);
	if (*out >= 0 || u->n++)
		return MR_OK;
	u->first = strdup(text);
	return u->first ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a value");
}

mr_status mr_csv_inputs_category(const mr_csv_inputs *s, size_t c, const mr_csv_table *t, uint32_t field,
				 uint64_t number, int32_t *out)
{
	const char *text = t->field[field];
	bool none = s->code == MR_CODE_KNOWN ? mr_cell_is_missing(text) : !*text;
	double v;

	*out = -1;
	if (none && s->missing == MR_MISSING_REFUSE)
		return empty(t, field, number, "category");
	if (s->code == MR_CODE_KNOWN)
		return known(s, c, none ? "" : text, out);
	if (none)
		return MR_OK;
	if (s->code == MR_CODE_HASH) {
		*out = (int32_t)(mr_hash64(0, text, strlen(text)) & INT32_MAX);
		return MR_OK;
	}
	if (!mr_csv_is_number(text, &v) || v != floor(v) || v < 0 || v > INT32_MAX)
		return mr_fail(MR_EDATA, "%s:%llu: %s: \"%.40s\" is no whole number from 0 to %d%s", t->path,
			       (unsigned long long)number, t->name[field], text, INT32_MAX,
			       t->bare ? "" : "; category = \"known\" or \"hash\" takes texts");
	*out = (int32_t)v;
	return MR_OK;
}

/* The number @v of column @c, or that it is @missing, as inputs. */
static void put_number(const mr_csv_inputs *s, const mr_csv_column *c, double v, bool missing, double *value)
{
	if (missing && s->missing == MR_MISSING_MEAN)
		v = c->mean;
	if (c->scaled)
		v = c->deviation > 0 ? (v - c->mean) / c->deviation : 0;
	value[c->at] = v;
	if (c->gaps)
		value[c->at + 1] = missing;
}

static void put_category(const mr_csv_column *c, int32_t v, double *value, int32_t *category)
{
	if (!c->one_hot) {
		category[c->at] = v;
		return;
	}
	memset(value + c->at, 0, c->values.n * sizeof(*value));
	if (v >= 0)
		value[c->at + (size_t)v] = 1;
}

static mr_status read_number(const mr_csv_inputs *s, size_t i, const mr_csv_table *t, uint32_t field, uint64_t number,
			     double *value)
{
	bool missing;
	double v;

	MR_TRY(mr_csv_inputs_number(s, i, t, field, number, &v, &missing));
	put_number(s, &s->column[i], v, missing, value);
	return MR_OK;
}

static mr_status read_category(const mr_csv_inputs *s, size_t i, const mr_csv_table *t, uint32_t field, uint64_t number,
			       double *value, int32_t *category)
{
	int32_t v;

	MR_TRY(mr_csv_inputs_category(s, i, t, field, number, &v));
	put_category(&s->column[i], v, value, category);
	return MR_OK;
}

mr_status mr_csv_inputs_read(const mr_csv_inputs *s, const mr_csv_table *t, const uint32_t *field, uint64_t number,
			     double *value, int32_t *category)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		uint32_t at = field ? field[i] : (uint32_t)i;

		if (s->column[i].kind == MR_COLUMN_NUMBER)
			MR_TRY(read_number(s, i, t, at, number, value));
		else if (s->column[i].kind == MR_COLUMN_CATEGORY)
			MR_TRY(read_category(s, i, t, at, number, value, category));
	}
	return MR_OK;
}

/* The category of a cell that is the number @v. */
static mr_status category_of(const mr_csv_inputs *s, size_t i, double v, int32_t *out)
{
	char text[32];

	*out = -1;
	if (isnan(v))
		return s->code == MR_CODE_KNOWN ? known(s, i, "", out) : MR_OK;
	snprintf(text, sizeof(text), "%.17g", v);
	if (s->code == MR_CODE_KNOWN)
		return known(s, i, text, out);
	if (s->code == MR_CODE_HASH)
		*out = (int32_t)(mr_hash64(0, text, strlen(text)) & INT32_MAX);
	else if (v == floor(v) && v >= 0 && v <= INT32_MAX)
		*out = (int32_t)v;
	else
		return mr_fail(MR_EDATA, "%s: %s is no whole number from 0 to %d", s->column[i].name, text, INT32_MAX);
	return MR_OK;
}

mr_status mr_csv_inputs_take(const mr_csv_inputs *s, const double *cell, double *value, int32_t *category)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		const mr_csv_column *c = &s->column[i];
		bool missing;
		double v;
		int32_t k;

		if (c->kind != MR_COLUMN_NUMBER && c->kind != MR_COLUMN_CATEGORY)
			continue;
		v = *cell++;
		missing = isnan(v);
		if (isinf(v) || (missing && s->missing == MR_MISSING_REFUSE))
			return mr_fail(MR_EDATA, "%s is %s, expected a number", c->name,
				       missing ? "missing (NaN)" : "infinite");
		if (c->kind == MR_COLUMN_CATEGORY) {
			MR_TRY(category_of(s, i, v, &k));
			put_category(c, k, value, category);
			continue;
		}
		if (missing)
			v = 0;
		else if (s->log)
			v = v > 0 ? log1p(v) : 0;
		put_number(s, c, v, missing, value);
	}
	return MR_OK;
}

size_t mr_csv_inputs_owner(const mr_csv_inputs *s, size_t at)
{
	size_t best = 0;

	for (size_t i = 0; i < s->n_columns; i++) {
		const mr_csv_column *c = &s->column[i];

		if ((c->kind == MR_COLUMN_NUMBER || (c->kind == MR_COLUMN_CATEGORY && c->one_hot)) && c->at <= at)
			best = i;
	}
	return best;
}

void mr_csv_inputs_print_unknown(const mr_csv_inputs *s, mr_strbuf *out)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		const mr_csv_unknown *u = &s->unknown[i];

		if (u->n)
			mr_strbuf_printf(out, "%s%llu unknown value%s of %.40s, such as \"%.40s\"",
					 out->len ? "; " : "", (unsigned long long)u->n,
					 u->n == 1 ? "" : "s", s->column[i].name, u->first);
	}
}
