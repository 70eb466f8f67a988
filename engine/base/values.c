/* The values behind option.h: checks and setters, getters. Text goes in and out in values_text.c. */
#include "base/values.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/str.h"

#define MOST_WHOLE 9007199254740992.0 /* 2^53: doubles up to here represent every integer exactly */

mr_status mr_values_create(const mr_option *table, mr_values **out)
{
	mr_values *v;
	size_t n = 0;

	while (table[n].name)
		n++;
	v = calloc(1, sizeof(*v) + n * sizeof(v->entries[0]));
	if (!v)
		return mr_fail(MR_ERESOURCE, "no memory for %zu options", n);
	v->table = table;
	v->n = n;
	for (size_t i = 0; i < n; i++) {
		if (!table[i].def)
			continue;
		if (mr_values_set_text(v, table[i].name, table[i].def) != MR_OK) {
			mr_values_destroy(v);
			return mr_fail(MR_EINVAL, "default of option %s: %s", table[i].name, mr_error_text());
		}
		v->entries[i].given = false;
	}
	*out = v;
	return MR_OK;
}

void mr_values_destroy(mr_values *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n; i++) {
		free(v->entries[i].text);
		free(v->entries[i].list);
	}
	free(v);
}

mr_status mr_values_copy(const mr_values *from, mr_values **out)
{
	mr_values *v = calloc(1, sizeof(*v) + from->n * sizeof(v->entries[0]));
	bool whole = v != NULL;

	if (v) {
		v->table = from->table;
		v->n = from->n;
	}
	for (size_t i = 0; v && i < v->n; i++) {
		const struct mr_entry *e = &from->entries[i];

		v->entries[i] = *e;
		v->entries[i].text = e->text ? strdup(e->text) : NULL;
		v->entries[i].list = e->list ? malloc((e->n_list + 1) * sizeof(*e->list)) : NULL;
		if (v->entries[i].list)
			memcpy(v->entries[i].list, e->list, e->n_list * sizeof(*e->list));
		whole = whole && !v->entries[i].text == !e->text && !v->entries[i].list == !e->list;
	}
	if (!whole) {
		mr_values_destroy(v);
		return mr_fail(MR_ERESOURCE, "no memory for a copy of %zu options", from->n);
	}
	*out = v;
	return MR_OK;
}

mr_status mr_values_unknown(const mr_values *v, const char *name)
{
	const char *nearest = mr_option_nearest(v->table, name);
	mr_strbuf text = {0};
	mr_status st;

	for (size_t i = 0; i < v->n; i++)
		mr_strbuf_printf(&text, "%s%s", i ? ", " : "", v->table[i].name);
	if (nearest)
		st = mr_fail(MR_ECONFIG, "unknown key \"%s\", did you mean \"%s\"? Known: %s", name, nearest,
			     mr_strbuf_text(&text));
	else if (v->n)
		st = mr_fail(MR_ECONFIG, "unknown key \"%s\", expected one of: %s", name, mr_strbuf_text(&text));
	else
		st = mr_fail(MR_ECONFIG, "unknown key \"%s\", none is known here", name);
	mr_strbuf_fini(&text);
	return st;
}

static void bound_text(const mr_option *o, double x, char buf[32])
{
	if (o->type == MR_OPT_INT)
		snprintf(buf, 32, "%.0f", x);
	else
		snprintf(buf, 32, "%.15g", x);
}

mr_status mr_values_expected(const mr_option *o, const char *got)
{
	const char *what = o->type == MR_OPT_INT     ? "an integer"
			   : o->type == MR_OPT_FLOAT ? "a number"
						     : "a list of numbers";
	const char *unit = o->unit ? o->unit : "", *space = o->unit ? " " : "";
	bool bounded = !(o->min == 0 && o->max == 0);
	char min[32], max[32];

	if (o->type == MR_OPT_BOOL)
		return mr_fail(MR_ECONFIG, "expected true or false, got %s", got);
	if (o->type == MR_OPT_STRING)
		return mr_fail(MR_ECONFIG, "expected a string, got %s", got);
	if (o->type == MR_OPT_ENUM)
		return mr_fail(MR_ECONFIG, "expected one of %s, got %s", o->words, got);
	if (o->type == MR_OPT_FLOATS && !bounded)
		return mr_fail(MR_ECONFIG, "expected a list of numbers such as [1, 2.5], got %s", got);
	bound_text(o, o->min, min);
	bound_text(o, o->max, max);
	if (!bounded)
		return mr_fail(MR_ECONFIG, "expected %s%s%s, got %s", what, space, unit, got);
	if (isinf(o->max))
		return mr_fail(MR_ECONFIG, "expected %s of at least %s%s%s, got %s", what, min, space, unit, got);
	if (isinf(o->min))
		return mr_fail(MR_ECONFIG, "expected %s of at most %s%s%s, got %s", what, max, space, unit, got);
	return mr_fail(MR_ECONFIG, "expected %s from %s to %s%s%s, got %s", what, min, max, space, unit, got);
}

/* The option called @name and its entry; NULL if there is none. */
static const mr_option *find(mr_values *v, const char *name, struct mr_entry **entry)
{
	const mr_option *o = mr_option_find(v->table, name);

	*entry = o ? &v->entries[o - v->table] : NULL;
	return o;
}

static bool in_range(const mr_option *o, double x)
{
	return isfinite(x) && ((o->min == 0 && o->max == 0) || (x >= o->min && x <= o->max));
}

static void mark(struct mr_entry *e)
{
	e->known = true;
	e->given = true;
}

mr_status mr_values_set_int(mr_values *v, const char *name, int64_t value)
{
	struct mr_entry *e;
	const mr_option *o = find(v, name, &e);
	char got[32];

	if (!o)
		return mr_values_unknown(v, name);
	if (o->type == MR_OPT_FLOAT)
		return mr_values_set_float(v, name, (double)value);
	snprintf(got, sizeof(got), "%lld", (long long)value);
	if (o->type != MR_OPT_INT || !in_range(o, (double)value))
		return mr_values_expected(o, got);
	e->integer = value;
	mark(e);
	return MR_OK;
}

mr_status mr_values_set_float(mr_values *v, const char *name, double value)
{
	struct mr_entry *e;
	const mr_option *o = find(v, name, &e);
	char got[32];

	if (!o)
		return mr_values_unknown(v, name);
	if (o->type == MR_OPT_INT && value == trunc(value) && fabs(value) <= MOST_WHOLE)
		return mr_values_set_int(v, name, (int64_t)value);
	if (o->type != MR_OPT_FLOAT || !in_range(o, value))
		return mr_values_expected(o, mr_double_text(value, got));
	e->number = value;
	mark(e);
	return MR_OK;
}

mr_status mr_values_set_bool(mr_values *v, const char *name, bool value)
{
	struct mr_entry *e;
	const mr_option *o = find(v, name, &e);

	if (!o)
		return mr_values_unknown(v, name);
	if (o->type != MR_OPT_BOOL)
		return mr_values_expected(o, value ? "true" : "false");
	e->truth = value;
	mark(e);
	return MR_OK;
}

/* Is @word one of the |-separated @words? */
static bool is_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *c = words; *c; c += strcspn(c, "|"), c += *c == '|')
		if (len && strcspn(c, "|") == len && !strncmp(c, word, len))
			return true;
	return false;
}

/* A word that misses the list by a letter or two deserves the right one, and so does one that had another name. */
static mr_status wrong_word(const mr_option *o, const char *value)
{
	static const struct {
		const char *option, *was, *now;
	} renamed[] = {{"backend", "dnnl", "auto"}};
	unsigned best = mr_nearest_limit(value) + 1;
	char word[64], near[64] = "";

	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (!strcmp(o->name, renamed[i].option) && !strcmp(value, renamed[i].was))
			return mr_fail(MR_ECONFIG, "\"%s\" is called \"%s\" now", value, renamed[i].now);
	for (const char *c = o->words; *c; c += strcspn(c, "|"), c += *c == '|') {
		unsigned d;

		snprintf(word, sizeof(word), "%.*s", (int)strcspn(c, "|"), c);
		d = mr_edit_distance(value, word);
		if (d < best) {
			best = d;
			memcpy(near, word, sizeof(near));
		}
	}
	if (near[0])
		return mr_fail(MR_ECONFIG, "expected one of %s, got \"%.100s\"; did you mean \"%s\"?", o->words,
			       value, near);
	return mr_fail(MR_ECONFIG, "expected one of %s, got \"%.100s\"", o->words, value);
}

mr_status mr_values_set_string(mr_values *v, const char *name, const char *value)
{
	struct mr_entry *e;
	const mr_option *o = find(v, name, &e);
	char got[112], *copy;

	if (!o)
		return mr_values_unknown(v, name);
	if (o->type == MR_OPT_ENUM && !is_word(o->words, value))
		return wrong_word(o, value);
	snprintf(got, sizeof(got), "\"%.100s\"", value);
	if (o->type != MR_OPT_STRING && o->type != MR_OPT_ENUM)
		return mr_values_expected(o, got);
	copy = strdup(value);
	if (!copy)
		return mr_fail(MR_ERESOURCE, "no memory for a string of %zu bytes", strlen(value));
	free(e->text);
	e->text = copy;
	mark(e);
	return MR_OK;
}

mr_status mr_values_set_floats(mr_values *v, const char *name, const double *values, size_t n)
{
	struct mr_entry *e;
	const mr_option *o = find(v, name, &e);
	size_t bytes;
	double *copy;
	char got[32];

	if (!o)
		return mr_values_unknown(v, name);
	if (o->type != MR_OPT_FLOATS)
		return mr_values_expected(o, "a list");
	for (size_t i = 0; i < n; i++)
		if (!in_range(o, values[i]))
			return mr_values_expected(o, mr_double_text(values[i], got));
	copy = mr_size_mul(n ? n : 1, sizeof(double), &bytes) ? malloc(bytes) : NULL;
	if (!copy)
		return mr_fail(MR_ERESOURCE, "no memory for a list of %zu numbers", n);
	if (n)
		memcpy(copy, values, n * sizeof(double));
	free(e->list);
	e->list = copy;
	e->n_list = n;
	mark(e);
	return MR_OK;
}

static const struct mr_entry *get(const mr_values *v, const char *name, mr_option_type type, mr_option_type or_type)
{
	const mr_option *o = mr_option_find(v->table, name);
	const struct mr_entry *e;

	assert(o && (o->type == type || o->type == or_type));
	(void)type;
	(void)or_type;
	e = &v->entries[o - v->table];
	assert(e->known);
	return e;
}

int64_t mr_values_int(const mr_values *v, const char *name)
{
	return get(v, name, MR_OPT_INT, MR_OPT_INT)->integer;
}

double mr_values_float(const mr_values *v, const char *name)
{
	return get(v, name, MR_OPT_FLOAT, MR_OPT_FLOAT)->number;
}

bool mr_values_bool(const mr_values *v, const char *name)
{
	return get(v, name, MR_OPT_BOOL, MR_OPT_BOOL)->truth;
}

const char *mr_values_string(const mr_values *v, const char *name)
{
	return get(v, name, MR_OPT_STRING, MR_OPT_ENUM)->text;
}

const double *mr_values_floats(const mr_values *v, const char *name, size_t *n)
{
	const struct mr_entry *e = get(v, name, MR_OPT_FLOATS, MR_OPT_FLOATS);

	*n = e->n_list;
	return e->list;
}

bool mr_values_is_set(const mr_values *v, const char *name)
{
	const mr_option *o = mr_option_find(v->table, name);

	assert(o);
	return v->entries[o - v->table].given;
}

bool mr_values_has(const mr_values *v, const char *name)
{
	const mr_option *o = mr_option_find(v->table, name);

	return o && v->entries[o - v->table].known;
}

const char *mr_values_missing(const mr_values *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (!v->entries[i].known)
			return v->table[i].name;
	return NULL;
}

const mr_option *mr_values_table(const mr_values *v)
{
	return v->table;
}
