#include "formats/csv_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "formats/csv_rows.h"

#define MAX_CLASSES 65536u
#define MAX_CLASS_BYTES ((size_t)16 << 20) /* of the texts of all classes, and of all values of a category */
#define MAX_VALUES 1000000u
#define SHOWN_EACH 3u /* damaged rows that are named for the same column */

struct mr_csv_reading {
	uint32_t *of_column; /* [n_columns + 1] damaged rows that are named; the last: for the row as a whole */
	bool *uncertain;     /* [n_columns] cells are not plain numbers */
	mr_cell_votes *votes; /* [n_columns] */
	uint64_t line;       /* of the row that was last counted */
	int file;
	bool wrong;          /* a row was damaged if plain numbers are what is expected */
};

/* --- rows --- */

static bool without_target(const mr_csv_file *f)
{
	return f->inputs.missing == MR_MISSING_MEAN && mr_cell_is_missing(f->table.field[f->table.target]);
}

static mr_status open_rows(mr_csv_file *f, int which, mr_csv_rows *rows)
{
	mr_status st = mr_csv_rows_open(f->path[which], rows);

	f->table.path = f->path[which];
	rows->separator = f->table.separator;
	return st;
}

/* The next row in *@line, which is not the header; NULL: there is none. */
static mr_status next_row(const mr_csv_file *f, mr_csv_rows *rows, char **line)
{
	MR_TRY(mr_csv_rows_next(rows, line));
	return *line && rows->first && f->table.header ? mr_csv_rows_next(rows, line) : MR_OK;
}

/* Call @fn for the rows of file @which from *@row on. */
static mr_status each_row(mr_csv_file *f, int which, mr_csv_row_fn *fn, void *of, uint64_t *row)
{
	uint64_t k = 0;
	mr_csv_rows rows;
	mr_status st = open_rows(f, which, &rows);
	char *line;

	while (st == MR_OK && (st = next_row(f, &rows, &line)) == MR_OK && line) {
		if (k < f->n_lines[which] && rows.number == f->damaged[which][k]) {
			k++;
			continue;
		}
		st = mr_csv_table_split(&f->table, line, rows.number);
		if (st == MR_OK && !without_target(f))
			st = *row < f->n[0] + f->n[1]
				     ? fn(of, (*row)++, rows.number)
				     : mr_fail(MR_EDATA, "%s: the file has grown while it was read", f->table.path);
	}
	mr_csv_rows_close(&rows);
	return st;
}

mr_status mr_csv_file_rows(mr_csv_file *f, mr_csv_row_fn *fn, void *of)
{
	uint64_t row = 0;

	for (int i = 0; i < 2 && f->path[i]; i++)
		MR_TRY(each_row(f, i, fn, of, &row));
	return row == f->n[0] + f->n[1]
		       ? MR_OK
		       : mr_fail(MR_EDATA, "%s: the file has shrunk while it was read", f->table.path);
}

mr_status mr_csv_file_target(const mr_csv_file *f, uint64_t number, double *out)
{
	const mr_csv_table *t = &f->table;
	const char *text = t->field[t->target];
	int64_t label;

	if (!f->by_class)
		return mr_csv_table_number(t, t->target, number, f->inputs.column[t->target].style, out);
	label = mr_text_set_find(&f->label, text);
	*out = (double)label;
	if (label >= 0)
		return MR_OK;
	return mr_fail(MR_EDATA, *text ? "%s:%llu: class \"%.40s\" is none of the training file's"
				       : "%s:%llu: %s is empty, expected a class",
		       t->path, (unsigned long long)number, *text ? text : t->name[t->target]);
}

/* --- damaged rows --- */

/* Note the row at line @number of file @which, which this thread's last error is about, as damaged by @column. */
static mr_status note_damage(mr_csv_file *f, int which, uint32_t column, uint64_t number)
{
	mr_csv_reading *r = f->reading;
	bool again = r->file == which && r->line == number, shows = r->of_column[column] < SHOWN_EACH;
	uint64_t *grown;

	MR_TRY(mr_damage_note(&f->damage, !again, shows));
	r->of_column[column] += shows;
	r->file = which;
	r->line = number;
	if (again || f->damage.n > f->damage.most)
		return MR_OK;
	grown = mr_grown(f->damaged[which], f->n_lines[which], sizeof(*grown));
	if (!grown)
		return mr_fail(MR_ERESOURCE, "no memory for the rows of a table");
	f->damaged[which] = grown;
	f->damaged[which][f->n_lines[which]++] = number;
	return MR_OK;
}

/* --- the first reading --- */

static mr_status add_value(const mr_csv_file *f, mr_text_set *set, const char *text, size_t most, const char *what,
			   uint32_t column)
{
	MR_TRY(mr_text_set_add(set, text));
	if (set->n > most)
		return mr_fail(MR_EDATA, "%s: more than %zu different values of %s: these are no %s", f->path[0], most,
			       f->table.name[column], what);
	if (set->bytes > MAX_CLASS_BYTES)
		return mr_fail(MR_EDATA, "%s: values of %s with more than %zu bytes in all: these are no %s",
			       f->path[0], f->table.name[column], MAX_CLASS_BYTES, what);
	return MR_OK;
}

/* Look at the field of column @i in a row of file @which; a wrong one is MR_EDATA with @wrong set. */
static mr_status look_at(mr_csv_file *f, int which, uint32_t i, uint64_t number, bool *wrong)
{
	mr_csv_column *c = &f->inputs.column[i];
	const char *text = f->table.field[i];
	bool missing = false;
	int32_t category;
	mr_status st;
	double v;

	if (c->kind == MR_COLUMN_CATEGORY) {
		if (f->inputs.code == MR_CODE_KNOWN && which == 0)
			MR_TRY(add_value(f, &c->values, mr_cell_is_missing(text) ? "" : text, MAX_VALUES, "categories",
					 i));
		st = mr_csv_inputs_category(&f->inputs, i, &f->table, i, number, &category);
	} else if (c->kind == MR_COLUMN_NUMBER) {
		st = mr_csv_inputs_number(&f->inputs, i, &f->table, i, number, &v, &missing);
		c->gaps = c->gaps || (missing && f->inputs.missing == MR_MISSING_MEAN && which == 0);
	} else if (c->kind == MR_COLUMN_TARGET && f->by_class) {
		if (which == 0 && *text)
			MR_TRY(add_value(f, &f->label, text, MAX_CLASSES, "classes", i));
		st = mr_csv_file_target(f, number, &v);
	} else if (c->kind == MR_COLUMN_TARGET) {
		st = mr_csv_file_target(f, number, &v);
		f->target_low = st == MR_OK ? fmin(f->target_low, v) : f->target_low;
		f->target_high = st == MR_OK ? fmax(f->target_high, v) : f->target_high;
	} else {
		return MR_OK;
	}
	*wrong = st == MR_EDATA;
	if (*wrong && (c->kind == MR_COLUMN_NUMBER || (c->kind == MR_COLUMN_TARGET && !f->by_class)))
		f->reading->uncertain[i] = f->reading->wrong = true;
	return st;
}

/* Count the row at line @number of file @which, and note what is wrong in it. */
static mr_status look_at_row(mr_csv_file *f, int which, uint64_t number)
{
	bool good = true;

	for (uint32_t i = 0; i < f->table.n_columns; i++) {
		bool wrong = false;
		mr_status st = look_at(f, which, i, number, &wrong);

		if (wrong)
			MR_TRY(note_damage(f, which, i, number));
		else
			MR_TRY(st);
		good = good && !wrong;
	}
	f->n[which] += good;
	return MR_OK;
}

static mr_status vote(mr_csv_file *f)
{
	for (uint32_t i = 0; i < f->table.n_columns; i++)
		if (f->reading->uncertain[i] && !mr_cell_is_missing(f->table.field[i]))
			mr_cell_vote(&f->reading->votes[i], f->table.field[i]);
	return MR_OK;
}

/* Read file @which: the columns that are not plain numbers vote, or else all rows are counted and judged. */
static mr_status read_file(mr_csv_file *f, int which, bool votes)
{
	mr_csv_rows rows;
	mr_status st = open_rows(f, which, &rows);
	char *line;

	while (st == MR_OK && (st = next_row(f, &rows, &line)) == MR_OK && line) {
		st = mr_csv_table_split(&f->table, line, rows.number);
		if (st == MR_EDATA)
			st = votes ? MR_OK : note_damage(f, which, f->table.n_columns, rows.number);
		else if (st == MR_OK && votes)
			st = vote(f);
		else if (st == MR_OK && without_target(f))
			f->n_without[which]++;
		else if (st == MR_OK)
			st = look_at_row(f, which, rows.number);
	}
	mr_csv_rows_close(&rows);
	return st;
}

/* Forget what the first look noted, because numbers are read in other styles from now on. */
static void start_again(mr_csv_file *f)
{
	mr_damage_reset(&f->damage);
	f->reading->line = 0;
	memset(f->reading->of_column, 0, (f->table.n_columns + 1) * sizeof(*f->reading->of_column));
	for (int i = 0; i < 2; i++)
		f->n[i] = f->n_without[i] = f->n_lines[i] = 0;
	f->target_low = INFINITY;
	f->target_high = -INFINITY;
	for (size_t i = 0; i < f->inputs.n_columns; i++)
		f->inputs.column[i].gaps = false;
	mr_csv_inputs_forget_unknown(&f->inputs);
}

static mr_status read_files(mr_csv_file *f)
{
	start_again(f);
	MR_TRY(read_file(f, 0, false));
	if (f->path[1])
		MR_TRY(read_file(f, 1, false));
	return MR_OK;
}

static mr_status find_styles(mr_csv_file *f)
{
	bool other = false;

	MR_TRY(read_file(f, 0, true));
	for (uint32_t i = 0; i < f->table.n_columns; i++) {
		if (!f->reading->uncertain[i])
			continue;
		f->inputs.column[i].style = mr_cell_elect(&f->reading->votes[i], f->table.separator == ';');
		other = other || f->inputs.column[i].style != MR_CELL_PLAIN;
	}
	return other ? read_files(f) : MR_OK;
}

static mr_status read_all(mr_csv_file *f)
{
	MR_TRY(read_files(f));
	return f->reading->wrong ? find_styles(f) : MR_OK;
}

static int compare_numbers(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	double i = strtod(x, NULL), j = strtod(y, NULL);

	return i < j ? -1 : i > j ? 1 : strcmp(x, y);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort(mr_text_set *s)
{
	bool numeric = true;
	double v;

	for (size_t i = 0; numeric && i < s->n; i++)
		numeric = mr_csv_is_number(s->text[i], &v);
	mr_text_set_sort(s, numeric ? compare_numbers : compare_texts);
}

static mr_status finish(mr_csv_file *f, uint64_t one_hot)
{
	for (int i = 0; i < 2 && f->path[i]; i++)
		if (f->n[i] == 0)
			return mr_fail(MR_EDATA, "%s: no rows in it", f->path[i]);
	sort(&f->label);
	if (f->by_class && f->label.n < 2)
		return mr_fail(MR_EDATA, "%s: %s has one class, \"%.40s\", where at least two are expected", f->path[0],
			       f->table.name[f->table.target], f->label.text[0]);
	for (size_t i = 0; i < f->inputs.n_columns; i++) {
		mr_csv_column *c = &f->inputs.column[i];

		sort(&c->values);
		c->one_hot = c->values.n && c->values.n <= one_hot;
	}
	mr_csv_inputs_place(&f->inputs);
	if (!f->inputs.n_numbers)
		return mr_fail(MR_EDATA, "%s: no column of numbers is left beside the target and the categories",
			       f->path[0]);
	return MR_OK;
}

static mr_status prepare(mr_csv_file *f, const mr_values *values)
{
	const mr_csv_table *t = &f->table;

	MR_TRY(mr_csv_table_open(&f->table, f->path[0], values));
	MR_TRY(mr_csv_inputs_init(&f->inputs, t->n_columns));
	for (uint32_t i = 0; i < t->n_columns; i++) {
		f->inputs.column[i].name = t->name[i];
		f->inputs.column[i].kind = i == t->target ? MR_COLUMN_TARGET : t->left_out[i] ? MR_COLUMN_IGNORED :
					   t->category[i] ? MR_COLUMN_CATEGORY : MR_COLUMN_NUMBER;
	}
	f->reading = calloc(1, sizeof(*f->reading));
	if (!f->reading)
		return mr_fail(MR_ERESOURCE, "no memory for the rows of a table");
	f->reading->of_column = calloc(t->n_columns + 1, sizeof(*f->reading->of_column));
	f->reading->uncertain = calloc(t->n_columns, sizeof(*f->reading->uncertain));
	f->reading->votes = calloc(t->n_columns, sizeof(*f->reading->votes));
	if (!f->reading->of_column || !f->reading->uncertain || !f->reading->votes)
		return mr_fail(MR_ERESOURCE, "no memory for the rows of a table");
	return MR_OK;
}

/* The head of the second file, which is wrong, among the mistakes of the first one, which alone is read. */
static mr_status refuse_head(mr_csv_file *f)
{
	char *second = f->path[1], *text = strdup(mr_error_text());
	mr_status st = text ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to name what is damaged");

	f->path[1] = NULL;
	if (st == MR_OK)
		st = read_all(f);
	f->path[1] = second;
	if (st == MR_OK) {
		mr_error_set("%s", text);
		st = mr_damage_note(&f->damage, true, true);
	}
	free(text);
	return st == MR_OK ? mr_damage_refuse(&f->damage, "data \"csv\"") : st;
}

static void forget(mr_csv_file *f)
{
	if (f->reading) {
		free(f->reading->of_column);
		free(f->reading->uncertain);
		free(f->reading->votes);
	}
	free(f->reading);
	f->reading = NULL;
}

mr_status mr_csv_file_open(mr_csv_file *f, const mr_values *values, uint64_t one_hot)
{
	mr_status st = prepare(f, values);

	if (st == MR_OK && f->path[1]) {
		st = mr_csv_table_same(&f->table, f->path[1]);
		st = st == MR_EDATA ? refuse_head(f) : st;
	}
	if (st == MR_OK)
		st = read_all(f);
	if (st == MR_OK)
		st = mr_damage_check(&f->damage, f->path[0], "rows", f->damage.n + f->n[0] + f->n[1]);
	if (st == MR_OK)
		st = finish(f, one_hot);
	forget(f);
	return st;
}

void mr_csv_file_fini(mr_csv_file *f)
{
	forget(f);
	mr_csv_inputs_fini(&f->inputs);
	mr_csv_table_close(&f->table);
	mr_text_set_fini(&f->label);
	mr_damage_reset(&f->damage);
	for (int i = 0; i < 2; i++) {
		free(f->path[i]);
		free(f->damaged[i]);
	}
}
