#include "starter/columns.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "formats/csv_table.h"
#include "data/dataset.h"
#include "formats/lines.h"

#define MOST_VALUES 64 /* more different values of a target are no classes */
#define MOST_NUMBERS 20 /* the same where all of them are whole numbers */

typedef struct column {
	uint64_t n_numbers, n_texts, n_empty;
	bool counts;         /* the values are 0, 1, 2, ... or 1, 2, 3, ... */
	bool whole;          /* all numbers are whole */
	double first, low, high;
	char *value[MOST_VALUES + 1]; /* different ones */
	uint32_t n_values;
	char *text;          /* the first one that is no number */
	uint64_t line;       /* where it stands */
} column;

static mr_status note_value(column *c, const char *text)
{
	for (uint32_t i = 0; i < c->n_values; i++)
		if (!strcmp(c->value[i], text))
			return MR_OK;
	if (c->n_values > MOST_VALUES)
		return MR_OK;
	c->value[c->n_values] = strdup(text);
	return c->value[c->n_values++] ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the values of a column");
}

static mr_status note(column *c, const char *text, uint64_t row, uint64_t line)
{
	double x;

	if (!*text) {
		c->n_empty++;
		return MR_OK;
	}
	if (!mr_csv_is_number(text, &x)) {
		c->n_texts++;
		if (!c->text) {
			c->text = strdup(text);
			c->line = line;
		}
		return note_value(c, text);
	}
	if (!c->n_numbers++) {
		c->first = c->low = c->high = x;
		c->counts = row == 0 && (x == 0 || x == 1);
		c->whole = true;
	}
	c->counts = c->counts && x == c->first + (double)row;
	c->whole = c->whole && x == floor(x);
	c->low = fmin(c->low, x);
	c->high = fmax(c->high, x);
	return note_value(c, text);
}

static mr_status read_rows(mr_csv_table *t, const char *path, column *columns, uint64_t *n_rows)
{
	mr_lines lines;
	char *line;
	mr_status st;

	st = mr_lines_open(path, "CSV", &lines);
	while (st == MR_OK && (st = mr_lines_next(&lines, &line)) == MR_OK && line) {
		if (!*line || (t->header && lines.number == 1))
			continue;
		st = mr_csv_table_split(t, line, lines.number);
		for (uint32_t c = 0; st == MR_OK && c < t->n_columns; c++)
			st = note(&columns[c], t->field[c], *n_rows, lines.number);
		++*n_rows;
	}
	mr_lines_close(&lines);
	return st;
}

/* The column whose name says that it is the target; else the last one. */
static uint32_t find_target(const mr_csv_table *t)
{
	static const char *const names[] = {"target", "label", "class", "y", "species", "outcome", "category"};

	for (size_t i = 0; t->header && i < sizeof(names) / sizeof(names[0]); i++)
		for (uint32_t c = 0; c < t->n_columns; c++)
			if (!strcasecmp(t->name[c], names[i]))
				return c;
	return t->n_columns - 1;
}

static void leave_out(mr_columns *out, const mr_csv_table *t, uint32_t c, const char *why)
{
	mr_strbuf_printf(&out->ignored, "%s%u", out->ignored.len ? "," : "", c + 1);
	mr_strbuf_printf(&out->why, "Column %u (%.60s) is left out: %s.\n", c + 1, t->name[c], why);
}

/* Judge every column but the target. */
static void judge(mr_columns *out, const mr_csv_table *t, const column *columns, uint32_t target)
{
	char why[160];

	for (uint32_t i = 0; i < t->n_columns; i++) {
		const column *c = &columns[i];

		if (i == target)
			continue;
		if (c->n_texts) {
			snprintf(why, sizeof(why), "\"%.40s\" is no number", c->text ? c->text : "");
			leave_out(out, t, i, why);
		} else if (!c->n_numbers) {
			leave_out(out, t, i, "it is empty");
		} else if (c->counts && out->n_rows > 2 && c->n_numbers == out->n_rows) {
			leave_out(out, t, i, "it numbers the rows");
		} else {
			out->n_read++;
			out->empty = out->empty || c->n_empty;
		}
	}
}

static mr_status judge_target(mr_columns *out, const mr_csv_table *t, const column *c, uint32_t target)
{
	char number[16];

	if (c->n_empty)
		return mr_fail(MR_EDATA,
			       "%s: column %u (%s), taken for the target, is empty in %llu rows: remove these rows, "
			       "or write the configuration by hand (data.target)",
			       t->path, target + 1, t->name[target], (unsigned long long)c->n_empty);
	out->n_values = c->n_values;
	out->low = c->low;
	out->high = c->high;
	out->classes = c->n_texts || (c->whole && c->n_values <= MOST_NUMBERS && 5 * c->n_values <= out->n_rows);
	if (c->n_texts && c->n_values > MOST_VALUES)
		return mr_fail(MR_EDATA,
			       "%s: column %u (%s), taken for the target, has more than %d different texts: these "
			       "are no classes; the last column, or one called target, label, class or y, must be the "
			       "target",
			       t->path, target + 1, t->name[target], MOST_VALUES);
	if (out->classes && c->n_values < 2)
		return mr_fail(MR_EDATA, "%s: column %u (%s), taken for the target, has the same value in every row",
			       t->path, target + 1, t->name[target]);
	snprintf(number, sizeof(number), "%u", target + 1);
	out->target = strdup(t->header ? t->name[target] : number);
	return out->target ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a name");
}

static mr_status no_numbers(const mr_csv_table *t, const column *columns, uint32_t target)
{
	uint32_t i = 0;

	while (i + 1 < t->n_columns && (i == target || !columns[i].text))
		i++;
	if (i == target || !columns[i].text)
		return mr_fail(MR_EDATA, "%s: no column of numbers is left beside the target, column %u (%s)", t->path,
			       target + 1, t->name[target]);
	return mr_fail(MR_EDATA,
		       "%s:%llu: no column of numbers is left beside the target, column %u (%s): column %u (%s) has "
		       "\"%.40s\" here, expected a number, or nothing where it is missing",
		       t->path, (unsigned long long)columns[i].line, target + 1, t->name[target], i + 1, t->name[i],
		       columns[i].text);
}

static mr_status look(mr_csv_table *t, const char *path, mr_columns *out)
{
	column *columns = calloc(t->n_columns, sizeof(*columns));
	uint32_t target = find_target(t);
	mr_status st;

	if (!columns)
		return mr_fail(MR_ERESOURCE, "no memory for %u columns", t->n_columns);
	out->header = t->header;
	out->n_columns = t->n_columns;
	st = read_rows(t, path, columns, &out->n_rows);
	if (st == MR_OK && out->n_rows < 10)
		st = mr_fail(MR_EDATA, "%s: %llu rows are too few to learn from; at least 10 are needed", path,
			     (unsigned long long)out->n_rows);
	if (st == MR_OK)
		st = judge_target(out, t, &columns[target], target);
	if (st == MR_OK)
		judge(out, t, columns, target);
	if (st == MR_OK && !out->n_read)
		st = no_numbers(t, columns, target);
	for (uint32_t c = 0; c < t->n_columns; c++) {
		for (uint32_t i = 0; i < columns[c].n_values; i++)
			free(columns[c].value[i]);
		free(columns[c].text);
	}
	free(columns);
	return st;
}

mr_status mr_columns_look(const char *path, mr_columns *out)
{
	mr_csv_table t = {0};
	mr_values *values;
	mr_status st;

	*out = (mr_columns){0};
	mr_strbuf_init(&out->ignored);
	mr_strbuf_init(&out->why);
	MR_TRY(mr_values_create(mr_dataset_find("csv")->options, &values));
	st = mr_csv_table_open(&t, path, values);
	if (st == MR_OK)
		st = look(&t, path, out);
	mr_csv_table_close(&t);
	mr_values_destroy(values);
	return st;
}

void mr_columns_fini(mr_columns *c)
{
	free(c->target);
	mr_strbuf_fini(&c->ignored);
	mr_strbuf_fini(&c->why);
}
