#include "formats/csv_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "formats/csv_rows.h"

static bool blank(char c)
{
	return c == ' ' || c == '\r' || (c == '\t');
}

/* The field that begins at *@at, NUL-terminated; *@at moves behind its separator, or to NULL at the end of the line.
 * NULL: a quote is not closed, or text follows it. */
static char *take_field(char **at, char separator)
{
	char *from = *at, *end, *to;

	while (blank(*from) && *from != separator)
		from++;
	if (*from == '"') {
		for (end = to = ++from; *end && (*end != '"' || end[1] == '"'); *to++ = *end++)
			end += *end == '"';
		if (!*end++)
			return NULL;
		while (blank(*end) && *end != separator)
			end++;
		if (*end && *end != separator)
			return NULL;
	} else {
		end = from;
		while (*end && *end != separator)
			end++;
		for (to = end; to > from && blank(to[-1]);)
			to--;
	}
	*at = *end ? end + 1 : NULL;
	*to = 0;
	return from;
}

/* Store at most @room fields of @line in @field; returns the number of fields in the line, or 0 if a quote is wrong. */
static uint32_t split(char *line, char separator, char **field, uint32_t room)
{
	uint32_t n = 0;

	for (char *at = line; at; n++) {
		char *f = take_field(&at, separator);

		if (!f)
			return 0;
		if (n < room)
			field[n] = f;
	}
	return n;
}

bool mr_csv_is_number(const char *text, double *out)
{
	return mr_cell_number(MR_CELL_PLAIN, text, out);
}

mr_status mr_csv_table_split(mr_csv_table *t, char *line, uint64_t number)
{
	uint32_t n = split(line, t->separator, t->field, t->n_columns);

	if (n == 0)
		return mr_fail(MR_EDATA, "%s:%llu: a quote is not closed before the field ends", t->path,
			       (unsigned long long)number);
	if (n != t->n_columns)
		return mr_fail(MR_EDATA, "%s:%llu: %u field%s, where the first line has %u", t->path,
			       (unsigned long long)number, n, n == 1 ? "" : "s", t->n_columns);
	return MR_OK;
}

mr_status mr_csv_table_number(const mr_csv_table *t, uint32_t column, uint64_t number, mr_cell_style style, double *out)
{
	static const char *const what[MR_CELL_STYLES] = {
		"finite number", "number such as 1,234.5", "number such as 1.234,5", "yes or no",
		"date as year, month, day", "date as month/day/year", "date as day, month, year",
	};
	const char *text = t->field[column];

	if (mr_cell_number(style, text, out))
		return MR_OK;
	if (!*text)
		return mr_fail(MR_EDATA, "%s:%llu: %s is empty, expected a number", t->path, (unsigned long long)number,
			       t->name[column]);
	return mr_fail(MR_EDATA, "%s:%llu: %s: \"%.40s\" is no %s%s", t->path, (unsigned long long)number,
		       t->name[column], text, what[style],
		       t->bare ? ""
		       : column == t->target ? "; targets = \"classes\" takes texts"
					     : "; categories takes texts, ignore leaves a column out");
}

/* The separator that occurs most often in the first line, outside quotes. */
static char guess(const char *line)
{
	const char all[] = ",;\t";
	char best = ',';
	size_t most = 0;

	for (const char *c = all; *c; c++) {
		bool quoted = false;
		size_t n = 0;

		for (const char *at = line; *at; at++) {
			quoted ^= *at == '"';
			n += !quoted && *at == *c;
		}
		if (n > most) {
			most = n;
			best = *c;
		}
	}
	return best;
}

static char separator_of(const mr_values *values, const char *line)
{
	const char *key = mr_values_string(values, "separator");

	return !strcmp(key, "comma") ? ',' : !strcmp(key, "semicolon") ? ';' : !strcmp(key, "tab") ? '\t' : guess(line);
}

/* The column whose name, or number from 1, is @text. n_columns: none. */
static uint32_t find_column(const mr_csv_table *t, const char *text)
{
	double number;

	for (uint32_t c = 0; c < t->n_columns; c++)
		if (!strcmp(t->name[c], text))
			return c;
	if (mr_csv_is_number(text, &number) && number >= 1 && number <= t->n_columns && number == floor(number))
		return (uint32_t)number - 1;
	return t->n_columns;
}

static mr_status no_column(const mr_csv_table *t, const char *key, const char *text)
{
	const char *near = t->header ? mr_nearest(text, (const char *const *)t->name, t->n_columns) : NULL;

	if (near)
		return mr_fail(MR_ECONFIG, "data \"csv\": %s = \"%s\" is no column of %s, did you mean \"%s\"?", key,
			       text, t->path, near);
	return mr_fail(MR_ECONFIG, "data \"csv\": %s = \"%s\" is no column of %s, which has %u%s", key, text, t->path,
		       t->n_columns, t->header ? " with names" : " without names: give a number from 1");
}

/* Names come from the header if there is one. */
static mr_status name_columns(mr_csv_table *t)
{
	for (uint32_t c = 0; c < t->n_columns; c++) {
		mr_strbuf b = {0};

		if (t->header && *t->field[c])
			mr_strbuf_append(&b, t->field[c]);
		else
			mr_strbuf_printf(&b, "column %u", c + 1);
		t->name[c] = mr_strbuf_take(&b);
		if (!t->name[c])
			return mr_fail(MR_ERESOURCE, "no memory for the head of a table");
	}
	return MR_OK;
}

/* The columns that @name stands for: one, or those from one number to another, "3-7". False: there is no such. */
static bool find_range(const mr_csv_table *t, const char *name, uint32_t *first, uint32_t *last)
{
	char *dash, *end;
	long from, to;

	*first = *last = find_column(t, name);
	if (*first < t->n_columns)
		return true;
	from = strtol(name, &dash, 10);
	if (dash == name || *dash != '-')
		return false;
	to = strtol(dash + 1, &end, 10);
	*first = (uint32_t)from - 1;
	*last = (uint32_t)to - 1;
	return end != dash + 1 && !*end && from >= 1 && from <= to && to <= (long)t->n_columns;
}

/* Mark the columns that the key @key of @values lists. */
static mr_status mark(const mr_csv_table *t, const mr_values *values, const char *key, bool *marked)
{
	const char *list = mr_values_string(values, key);
	char *copy = strdup(list);
	mr_status st = copy ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the head of a table");

	for (char *at = *list ? copy : NULL; st == MR_OK && at;) {
		char *name = take_field(&at, ',');
		uint32_t first = 0, last = 0;

		if (!name || !find_range(t, name, &first, &last))
			st = no_column(t, key, name ? name : list);
		for (uint32_t c = first; st == MR_OK && c <= last; c++) {
			marked[c] = true;
			if (c == t->target)
				st = mr_fail(MR_ECONFIG, "data \"csv\": %s = \"%s\" holds the target \"%s\"", key,
					     list, t->name[c]);
		}
	}
	free(copy);
	return st;
}

static mr_status find_columns(mr_csv_table *t, const mr_values *values)
{
	const char *target = mr_values_string(values, "target");

	t->target = *target ? find_column(t, target) : t->n_columns - 1;
	if (t->target == t->n_columns)
		return no_column(t, "target", target);
	MR_TRY(mark(t, values, "ignore", t->left_out));
	MR_TRY(mark(t, values, "categories", t->category));
	for (uint32_t c = 0; c < t->n_columns; c++) {
		t->n_features += c != t->target && !t->left_out[c];
		t->n_categories += t->category[c] && !t->left_out[c];
	}
	if (!t->n_features)
		return mr_fail(MR_EDATA, "%s: no column is left beside the target", t->path);
	return MR_OK;
}

/* Does the first line, which is the current one, name the columns? By default: if none of its fields is a number. */
static bool is_header(const mr_csv_table *t, const mr_values *values)
{
	const char *key = mr_values_string(values, "header");
	double number;

	if (strcmp(key, "auto") != 0)
		return !strcmp(key, "yes");
	for (uint32_t c = 0; c < t->n_columns; c++)
		if (mr_csv_is_number(t->field[c], &number))
			return false;
	return true;
}

/* @values NULL: separator and header are known, and no column is the target. */
static mr_status take_first(mr_csv_table *t, char *line, const mr_values *values)
{
	char *copy = strdup(line);
	uint32_t least = values ? 2 : 1;

	if (!copy)
		return mr_fail(MR_ERESOURCE, "no memory for the head of a table");
	if (values)
		t->separator = separator_of(values, line);
	t->n_columns = split(copy, t->separator, NULL, 0);
	free(copy);
	if (t->n_columns == 0)
		return mr_fail(MR_EDATA, "%s:1: a quote is not closed before the field ends", t->path);
	if (t->n_columns < least || t->n_columns > MR_CSV_COLUMNS)
		return mr_fail(MR_EDATA, "%s:1: %u column%s, expected %u to %u%s", t->path, t->n_columns,
			       t->n_columns == 1 ? "" : "s", least, MR_CSV_COLUMNS,
			       t->n_columns == 1 ? " (another separator?)" : "");
	t->name = calloc(t->n_columns, sizeof(*t->name));
	t->field = calloc(t->n_columns, sizeof(*t->field));
	t->left_out = calloc(t->n_columns, sizeof(*t->left_out));
	t->category = calloc(t->n_columns, sizeof(*t->category));
	if (!t->name || !t->field || !t->left_out || !t->category)
		return mr_fail(MR_ERESOURCE, "no memory for the names of %zu columns", (size_t)t->n_columns);
	MR_TRY(mr_csv_table_split(t, line, 1));
	if (values)
		t->header = is_header(t, values);
	MR_TRY(name_columns(t));
	if (values)
		return find_columns(t, values);
	t->target = t->n_columns;
	return MR_OK;
}

mr_status mr_csv_table_take(mr_csv_table *t, char *line)
{
	return take_first(t, line, NULL);
}

mr_status mr_csv_table_open(mr_csv_table *t, const char *path, const mr_values *values)
{
	mr_csv_rows rows;
	char *row = NULL;
	mr_status st;

	t->path = path;
	st = mr_csv_rows_open(path, &rows);
	if (st == MR_OK)
		st = mr_csv_rows_next(&rows, &row);
	if (st == MR_OK)
		st = row ? take_first(t, row, values) : mr_fail(MR_EDATA, "%s: no rows in it", path);
	mr_csv_rows_close(&rows);
	return st;
}

void mr_csv_table_close(mr_csv_table *t)
{
	for (uint32_t c = 0; t->name && c < t->n_columns; c++)
		free(t->name[c]);
	free(t->name);
	free(t->field);
	free(t->left_out);
	free(t->category);
	*t = (mr_csv_table){0};
}

/* Are the current row's fields the names of the columns? */
static mr_status compare_names(const mr_csv_table *t)
{
	mr_status st = MR_OK;
	mr_strbuf b = {0};

	for (uint32_t c = 0; c < t->n_columns; c++)
		if (*t->field[c] && strcmp(t->field[c], t->name[c]) != 0)
			mr_strbuf_printf(&b, "%s %u is \"%.40s\", in the training file \"%.40s\"",
					 b.len ? ";" : "", c + 1, t->field[c], t->name[c]);
	if (b.len)
		st = mr_fail(MR_EDATA, "%s:1: column%s", t->path, mr_strbuf_text(&b));
	mr_strbuf_fini(&b);
	return st;
}

mr_status mr_csv_table_same(mr_csv_table *t, const char *path)
{
	mr_csv_rows rows;
	char *row = NULL;
	mr_status st;

	t->path = path;
	st = mr_csv_rows_open(path, &rows);
	rows.separator = t->separator;
	if (st == MR_OK)
		st = mr_csv_rows_next(&rows, &row);
	if (st == MR_OK)
		st = row ? mr_csv_table_split(t, row, rows.number) : mr_fail(MR_EDATA, "%s: no rows in it", path);
	if (st == MR_OK && t->header)
		st = compare_names(t);
	mr_csv_rows_close(&rows);
	return st;
}
