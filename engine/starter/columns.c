#include "starter/columns.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/dataset.h"
#include "formats/csv_file.h"
#include "formats/csv_rows.h"

#define MOST_VALUES 64   /* more different texts of a target are classes only if each is in ten rows on the average */
#define MOST_CLASSES 1000
#define MOST_NUMBERS 20  /* the same where all of them are whole numbers */
#define MOST_KEPT 100000 /* different values of a column that are counted; beyond it the count stops */
#define MOST_MISSES 0.02 /* of the cells of a column of numbers that are none: damaged ones */

typedef struct column {
	uint64_t n_cells, n_missing, n_plain;
	bool counts;         /* the values are 0, 1, 2, ... or 1, 2, 3, ... */
	bool whole;          /* all numbers are whole */
	double first, low, high;
	mr_cell_votes votes; /* of cells that are no plain numbers, and then of all, */
	mr_cell_style style; /* which is elected; MR_CELL_STYLES: it is text */
	mr_text_set value;   /* different ones, until there are MOST_KEPT, or, of numbers, MOST_CLASSES and one twice */
	bool twice;          /* some value occurs twice */
	bool closed;         /* value has no more added to it */
} column;

static mr_status note_value(column *c, const char *text, bool plain)
{
	size_t n = c->value.n;

	if (c->closed)
		return MR_OK;
	MR_TRY(mr_text_set_add(&c->value, text));
	c->twice = c->twice || c->value.n == n;
	c->closed = c->value.n > MOST_KEPT || (plain && c->twice && c->value.n > MOST_CLASSES);
	return MR_OK;
}

static void note_number(column *c, double x, uint64_t row)
{
	if (!c->n_plain++) {
		c->first = c->low = c->high = x;
		c->counts = row == 0 && (x == 0 || x == 1);
		c->whole = true;
	}
	c->counts = c->counts && x == c->first + (double)row;
	c->whole = c->whole && x == floor(x);
	c->low = fmin(c->low, x);
	c->high = fmax(c->high, x);
}

static mr_status note(column *c, const char *text, uint64_t row)
{
	bool plain;
	double x;

	c->n_cells++;
	if (mr_cell_is_missing(text)) {
		c->n_missing++;
		return MR_OK;
	}
	plain = mr_csv_is_number(text, &x);
	if (plain)
		note_number(c, x, row);
	return note_value(c, text, plain);
}

/* In the second pass all cells of a column that are not all plain numbers vote. */
static void vote(column *c, const char *text)
{
	if (c->n_plain + c->n_missing < c->n_cells && !mr_cell_is_missing(text))
		mr_cell_vote(&c->votes, text);
}

static mr_status read_rows(mr_csv_table *t, const char *path, column *columns, bool votes)
{
	uint64_t n = 0;
	mr_csv_rows rows;
	mr_status st = mr_csv_rows_open(path, &rows);
	char *row;

	rows.separator = t->separator;
	while (st == MR_OK && (st = mr_csv_rows_next(&rows, &row)) == MR_OK && row) {
		if ((t->header && rows.first) || mr_csv_table_split(t, row, rows.number) != MR_OK)
			continue; /* damaged rows are named later */
		for (uint32_t c = 0; st == MR_OK && c < t->n_columns; c++)
			if (votes)
				vote(&columns[c], t->field[c]);
			else
				st = note(&columns[c], t->field[c], n);
		n++;
	}
	mr_csv_rows_close(&rows);
	return st;
}

static void elect(const mr_csv_table *t, column *columns)
{
	for (uint32_t i = 0; i < t->n_columns; i++) {
		column *c = &columns[i];
		mr_cell_style s = mr_cell_elect(&c->votes, t->separator == ';');

		c->style = !c->votes.n || (double)c->votes.miss[s] <= MOST_MISSES * (double)c->votes.n ? s
												       : MR_CELL_STYLES;
	}
}

/* --- the target --- */

static mr_status find_target(const mr_csv_table *t, const char *asked, uint32_t *out, const char **reason)
{
	static const char *const names[] = {"target", "label", "class", "y", "species", "outcome", "category"};

	*out = t->target; /* where @asked was found */
	*reason = "as it is asked for";
	if (*asked)
		return MR_OK;
	*reason = "because of its name";
	for (size_t i = 0; t->header && i < sizeof(names) / sizeof(names[0]); i++)
		for (*out = 0; *out < t->n_columns; ++*out)
			if (!strcasecmp(t->name[*out], names[i]))
				return MR_OK;
	*reason = "because it is the last column";
	*out = t->n_columns - 1;
	return MR_OK;
}

static mr_status judge_target(mr_columns *out, const mr_csv_table *t, const column *c, uint32_t target)
{
	bool text = c->style == MR_CELL_STYLES;
	uint64_t n = c->n_cells - c->n_missing;
	char number[16];

	out->n_values = c->value.n < MOST_CLASSES + 1 ? c->value.n : MOST_CLASSES + 1;
	out->classes = text || c->style == MR_CELL_TRUTH ||
		       (c->n_plain == n && c->whole && c->value.n <= MOST_NUMBERS && 5 * c->value.n <= n);
	if (text && c->value.n > MOST_VALUES && (c->value.n > MOST_CLASSES || 10 * c->value.n > n))
		return mr_fail(MR_EDATA,
			       "%s: column %u (%s), taken for the target %s, has more than %d different texts: these "
			       "are no classes; --target NAME names another column",
			       t->path, target + 1, t->name[target], out->reason, MOST_VALUES);
	if (c->value.n < 2)
		return mr_fail(MR_EDATA,
			       "%s: column %u (%s), taken for the target %s, has the same value in every row; --target "
			       "NAME names another column",
			       t->path, target + 1, t->name[target], out->reason);
	snprintf(number, sizeof(number), "%u", target + 1);
	out->target = strdup(t->header ? t->name[target] : number);
	return out->target ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a name");
}

/* --- the other columns --- */

static void leave_out(mr_columns *out, const mr_csv_table *t, uint32_t c, const char *why)
{
	mr_strbuf_printf(&out->ignored, "%s%u", out->ignored.len ? "," : "", c + 1);
	mr_strbuf_printf(&out->why, "Column %u (%.60s) is left out: %s.\n", c + 1, t->name[c], why);
}

/* "id", "ID", "userId", "row id", "key-id". */
static bool is_called_id(const char *name)
{
	size_t n = strlen(name);

	if (!strcasecmp(name, "id") || !strcasecmp(name, "index") || !strcasecmp(name, "uuid"))
		return true;
	return n > 2 && ((!strcasecmp(name + n - 2, "id") && strchr("_ -.", name[n - 3])) ||
			 !strcmp(name + n - 2, "Id") || !strcmp(name + n - 2, "ID"));
}

/* Why the numbers of @c are of no use; NULL: they are. */
static const char *useless_numbers(const column *c, const char *name)
{
	uint64_t n = c->n_cells;

	if (c->n_plain != n || c->n_cells < 3)
		return NULL;
	if (c->counts)
		return "it numbers the rows";
	if (!c->whole || c->twice)
		return NULL;
	if (c->high - c->low + 1 == (double)n)
		return "it numbers the rows, in another order";
	return is_called_id(name) ? "it is called an identifier, and no two rows have the same" : NULL;
}

static void judge(mr_columns *out, const mr_csv_table *t, const column *columns, uint32_t target)
{
	char why[160];

	for (uint32_t i = 0; i < t->n_columns; i++) {
		const column *c = &columns[i];
		uint64_t n = c->n_cells - c->n_missing;

		if (i == target)
			continue;
		if (!n) {
			leave_out(out, t, i, "it is empty");
		} else if (c->value.n == 1 && !c->n_missing) {
			snprintf(why, sizeof(why), "it has the same value in each row, \"%.40s\"", c->value.text[0]);
			leave_out(out, t, i, why);
		} else if (c->style != MR_CELL_STYLES && useless_numbers(c, t->name[i])) {
			leave_out(out, t, i, useless_numbers(c, t->name[i]));
		} else if (c->style == MR_CELL_STYLES &&
			   (c->value.n > MOST_KEPT || (c->value.n > MOST_NUMBERS && 2 * c->value.n > n))) {
			snprintf(why, sizeof(why), "%zu of %llu rows have a text that no other has, such as \"%.40s\"",
				 c->value.n, (unsigned long long)n, c->value.text[0]);
			leave_out(out, t, i, why);
		} else {
			out->n_read++;
			if (c->style != MR_CELL_STYLES)
				continue;
			mr_strbuf_printf(&out->categories, "%s%u", out->categories.len ? "," : "", i + 1);
			mr_strbuf_printf(&out->texts, "%s%.40s (%zu values)", out->texts.len ? ", " : "", t->name[i],
					 c->value.n + (c->n_missing > 0));
		}
	}
}

/* --- the whole --- */

static mr_status set(mr_values *values, const mr_columns *c)
{
	MR_TRY(mr_values_set_text(values, "targets", c->classes ? "classes" : "numbers"));
	MR_TRY(mr_values_set_string(values, "target", c->target));
	MR_TRY(mr_values_set_string(values, "ignore", mr_strbuf_text(&c->ignored)));
	return mr_values_set_string(values, "categories", mr_strbuf_text(&c->categories));
}

/* Read the file as the data source will, with what has been found out. */
static mr_status read_again(const char *path, mr_values *values, uint64_t most_damaged, mr_columns *out)
{
	uint64_t one_hot = (uint64_t)mr_values_int(values, "one_hot");
	mr_csv_file f = {.by_class = out->classes, .damage.most = most_damaged,
			 .inputs = {.missing = MR_MISSING_MEAN, .code = MR_CODE_KNOWN}};
	mr_status st = set(values, out);

	f.path[0] = strdup(path);
	if (st == MR_OK)
		st = f.path[0] ? mr_csv_file_open(&f, values, one_hot) : mr_fail(MR_ERESOURCE, "no memory for a name");
	if (st == MR_OK) {
		out->n_rows = f.n[0];
		out->n_damaged = f.damage.n;
		out->n_without = f.n_without[0];
		out->n_tables = (uint32_t)f.inputs.n_categories;
		out->low = f.target_low;
		out->high = f.target_high;
		if (f.damage.n)
			mr_strbuf_printf(&out->why, "%llu damaged row%s left out, the first: %s.\n",
					 (unsigned long long)f.damage.n, f.damage.n == 1 ? " is" : "s are",
					 f.damage.text[0]);
		if (out->n_without)
			mr_strbuf_printf(&out->why, "%llu row%s left out, without a target.\n",
					 (unsigned long long)out->n_without, out->n_without == 1 ? " is" : "s are");
	}
	mr_csv_file_fini(&f);
	return st;
}

static mr_status look(mr_csv_table *t, const char *path, const char *asked, mr_values *values, mr_columns *out)
{
	column *columns = calloc(t->n_columns, sizeof(*columns));
	uint32_t target = 0;
	mr_status st;

	if (!columns)
		return mr_fail(MR_ERESOURCE, "no memory for %u columns", t->n_columns);
	out->header = t->header;
	out->n_columns = t->n_columns;
	st = find_target(t, asked, &target, &out->reason);
	if (st == MR_OK)
		st = read_rows(t, path, columns, false);
	if (st == MR_OK)
		st = read_rows(t, path, columns, true);
	elect(t, columns);
	if (st == MR_OK && columns[0].n_cells < 10)
		st = mr_fail(MR_EDATA, "%s: %llu rows are too few to learn from; at least 10 are needed", path,
			     (unsigned long long)columns[0].n_cells);
	if (st == MR_OK)
		st = judge_target(out, t, &columns[target], target);
	if (st == MR_OK)
		judge(out, t, columns, target);
	if (st == MR_OK && !out->n_read)
		st = mr_fail(MR_EDATA, "%s: no column is left beside the target, column %u (%s). %s", path, target + 1,
			     t->name[target], mr_strbuf_text(&out->why));
	if (st == MR_OK)
		st = read_again(path, values, columns[0].n_cells / 2, out);
	for (uint32_t c = 0; c < t->n_columns; c++)
		mr_text_set_fini(&columns[c].value);
	free(columns);
	return st;
}

mr_status mr_columns_look(const char *path, const char *target, mr_columns *out)
{
	mr_csv_table t = {0};
	mr_values *values;
	mr_status st;

	*out = (mr_columns){0};
	MR_TRY(mr_values_create(mr_dataset_find("csv")->options, &values));
	st = mr_values_set_string(values, "target", target);
	if (st == MR_OK)
		st = mr_csv_table_open(&t, path, values);
	if (st == MR_OK)
		st = look(&t, path, target, values, out);
	mr_csv_table_close(&t);
	mr_values_destroy(values);
	return st;
}

void mr_columns_fini(mr_columns *c)
{
	free(c->target);
	mr_strbuf_fini(&c->ignored);
	mr_strbuf_fini(&c->categories);
	mr_strbuf_fini(&c->why);
	mr_strbuf_fini(&c->texts);
}
