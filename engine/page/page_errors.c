/* page_errors.c - where a model errs, for the owner of its data: of errors.json, which mr_errors_find has written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/page_internal.h"
#include "report/table.h"

#define MOST_ROWS 15 /* of a table of classes or pairs */

static const char *text_of(const mr_json *j, const char *key)
{
	const char *s = mr_json_string(mr_json_get(j, key));

	return s ? s : "";
}

/* NAN: there is no such number. */
static double number_of(const mr_json *j, const char *key)
{
	const mr_json *x = mr_json_get(j, key);

	return mr_json_is_number(x) ? mr_json_double(x) : (double)NAN;
}

static uint64_t count_of(const mr_json *j, const char *key)
{
	int64_t n = mr_json_int(mr_json_get(j, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* "12.5" percent of a part; "" where nothing is there to divide by. */
static void put_part(mr_table *t, uint64_t a, uint64_t of)
{
	if (of)
		mr_table_put(t, "%.1f %%", 100 * (double)a / (double)of);
	else
		mr_table_put(t, " ");
}

/* --- classes --- */

typedef struct class_row {
	const mr_json *of;
	uint64_t samples, predictions, right;
} class_row;

static int by_recall(const void *a, const void *b)
{
	const class_row *x = a, *y = b;
	double i = (double)x->right * (double)y->samples, j = (double)y->right * (double)x->samples;

	return i < j ? -1 : i > j ? 1 : (x->samples < y->samples) - (x->samples > y->samples);
}

/* The classes that are found least; those without samples are left out. */
static mr_status put_classes(mr_page *p, const mr_json *classes)
{
	static const mr_table_column columns[] = {{"class", false}, {"samples", true}, {"found", true},
						  {"predicted", true}, {"of these right", true}};
	size_t all = mr_json_size(classes), n = 0;
	class_row *row = calloc(all + 1, sizeof(*row));
	mr_status st;
	mr_table *t;

	if (!row)
		return mr_fail(MR_ERESOURCE, "no memory for %zu classes", all);
	for (size_t i = 0; i < all; i++) {
		const mr_json *c = mr_json_at(classes, i);
		class_row r = {c, count_of(c, "samples"), count_of(c, "predictions"), count_of(c, "right")};

		if (r.samples)
			row[n++] = r;
	}
	qsort(row, n, sizeof(*row), by_recall);
	if (n > MOST_ROWS)
		mr_page_say(p, "The %d of %zu classes that are found least:", MOST_ROWS, n);
	st = mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t);
	for (size_t i = 0; st == MR_OK && i < n && i < MOST_ROWS; i++) {
		mr_table_put(t, "%s", text_of(row[i].of, "class"));
		mr_table_put(t, "%llu", (unsigned long long)row[i].samples);
		put_part(t, row[i].right, row[i].samples);
		mr_table_put(t, "%llu", (unsigned long long)row[i].predictions);
		put_part(t, row[i].right, row[i].predictions);
	}
	free(row);
	return st == MR_OK ? mr_table_finish_html(t, p->out) : st;
}

/* Where the classes are too many for a matrix. */
static mr_status put_pairs(mr_page *p, const mr_json *pairs, const char *what)
{
	static const mr_table_column columns[] = {{"target", false}, {"predicted", false}, {"times", true}};
	size_t n = mr_json_size(pairs);
	mr_table *t;

	if (!n)
		return MR_OK;
	mr_page_say(p, "%s that are confused most often:", what);
	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (size_t i = 0; i < n && i < MOST_ROWS; i++) {
		const mr_json *x = mr_json_at(pairs, i);

		mr_table_put(t, "%s", mr_page_visible(text_of(x, "target"), (char[64]){0}, 64));
		mr_table_put(t, "%s", mr_page_visible(text_of(x, "prediction"), (char[64]){0}, 64));
		mr_table_put(t, "%llu", (unsigned long long)count_of(x, "samples"));
	}
	return mr_table_finish_html(t, p->out);
}

static mr_status put_of_classes(mr_page *p, const mr_json *e)
{
	double right = number_of(e, "accuracy");

	if (!isnan(right))
		mr_page_say(p, "%.2f %% of the targets are predicted right.", 100 * right);
	if (mr_json_size(mr_json_get(e, "confusion")))
		MR_TRY(mr_page_confusion(p, e));
	MR_TRY(put_classes(p, mr_json_get(e, "classes")));
	return mr_json_size(mr_json_get(e, "confusion")) ? MR_OK
							  : put_pairs(p, mr_json_get(e, "confused"), "Classes");
}

/* --- the worst samples --- */

/* "iris.csv, line 17" or the sample's number. */
static void place_of(const mr_json *x, char out[256])
{
	const char *file = text_of(x, "file"), *slash = strrchr(file, '/');

	if (mr_json_is_int(mr_json_get(x, "line")))
		snprintf(out, 256, "line %llu of %.200s", (unsigned long long)count_of(x, "line"),
			 slash ? slash + 1 : file);
	else if (*file)
		snprintf(out, 256, "%.250s", file);
	else
		snprintf(out, 256, "sample %llu", (unsigned long long)count_of(x, "sample"));
}

static void put_pictures(mr_page *p, const mr_json *worst)
{
	char place[256];

	fputs("<div class=\"pictures\">\n", p->out);
	for (size_t i = 0; i < mr_json_size(worst); i++) {
		const mr_json *x = mr_json_at(worst, i);

		place_of(x, place);
		fputs("<figure><img alt=\"", p->out);
		mr_svg_escape(p->out, place);
		fputs("\" src=\"", p->out);
		mr_svg_escape(p->out, text_of(x, "picture"));
		fputs("\"><figcaption><b>", p->out);
		mr_svg_escape(p->out, text_of(x, "target"));
		fputs("</b>, predicted ", p->out);
		mr_svg_escape(p->out, text_of(x, "prediction"));
		if (!isnan(number_of(x, "confidence")))
			fprintf(p->out, " (%.0f %%)", 100 * number_of(x, "confidence"));
		fputs("<br><span class=\"note\">", p->out);
		mr_svg_escape(p->out, place);
		fputs("</span></figcaption></figure>\n", p->out);
	}
	fputs("</div>\n", p->out);
}

static void put_worst_row(mr_table *t, const mr_json *x, size_t n_columns)
{
	const mr_json *values = mr_json_get(x, "values");
	bool classes = mr_json_is_string(mr_json_get(x, "target"));
	char place[256];

	if (classes) {
		mr_table_put(t, "%s", text_of(x, "target"));
		mr_table_put(t, "%s", text_of(x, "prediction"));
		mr_table_put(t, "%.2g", number_of(x, "probability"));
	} else {
		double off = number_of(x, "prediction") - number_of(x, "target");
		char text[32];

		mr_table_put(t, "%s", mr_page_number(number_of(x, "target"), text));
		mr_table_put(t, "%s", mr_page_number(number_of(x, "prediction"), text));
		mr_table_put(t, "%s%s", off > 0 ? "+" : "", mr_page_number(off, text));
	}
	place_of(x, place);
	mr_table_put(t, "%s", place);
	for (size_t i = 0; i < n_columns; i++) {
		const char *s = mr_json_string(mr_json_at(values, i));

		mr_table_put(t, "%.80s", s && *s ? s : " ");
	}
}

static mr_status put_worst_rows(mr_page *p, const mr_json *e, const mr_json *worst)
{
	const mr_json *names = mr_json_get(e, "columns");
	size_t n = mr_json_size(names);
	bool classes = mr_json_is_string(mr_json_get(mr_json_at(worst, 0), "target"));
	mr_table_column *column = calloc(n + 4, sizeof(*column));
	mr_table *t;
	mr_status st;

	if (!column)
		return mr_fail(MR_ERESOURCE, "no memory for a table of %zu columns", n);
	column[0] = (mr_table_column){"target", !classes};
	column[1] = (mr_table_column){"predicted", !classes};
	column[2] = (mr_table_column){classes ? "probability of the target" : "off by", true};
	column[3] = (mr_table_column){"where", false};
	for (size_t i = 0; i < n; i++) {
		const char *name = mr_json_string(mr_json_at(names, i));

		column[4 + i] = (mr_table_column){name ? name : "", false};
	}
	st = mr_table_create(column, (uint32_t)(n + 4), &t);
	free(column);
	MR_TRY(st);
	for (size_t i = 0; i < mr_json_size(worst); i++)
		put_worst_row(t, mr_json_at(worst, i), n);
	fputs("<div class=\"scroll\">", p->out);
	st = mr_table_finish_html(t, p->out);
	fputs("</div>\n", p->out);
	if (mr_json_is_int(mr_json_get(e, "of_columns")))
		mr_page_say(p, "The first %zu of %llu columns.", n, (unsigned long long)count_of(e, "of_columns"));
	return st;
}

static mr_status put_worst(mr_page *p, const mr_json *e)
{
	const mr_json *worst = mr_json_get(e, "worst");
	size_t n = mr_json_size(worst);

	if (!n)
		return MR_OK;
	mr_page_heading(p, 4, "The worst examples");
	mr_page_say(p, mr_json_is_string(mr_json_get(mr_json_at(worst, 0), "target"))
			       ? "The %zu samples whose target the model held for least probable. Where a target looks "
				 "wrong, the data may be."
			       : "The %zu samples whose prediction is farthest off. Where a target looks wrong, the "
				 "data may be.", n);
	if (!*text_of(mr_json_at(worst, 0), "picture"))
		return put_worst_rows(p, e, worst);
	put_pictures(p, worst);
	return MR_OK;
}

/* --- the whole --- */

static void say_what(mr_page *p, const mr_json *e)
{
	bool tokens = !strcmp(text_of(e, "kind"), "tokens");
	const char *what = mr_json_bool(mr_json_get(e, "trains_only")) ? "training" : "validation";
	unsigned long long n = (unsigned long long)count_of(e, "samples");
	unsigned long long all = (unsigned long long)count_of(e, "of_samples");

	if (n == all)
		mr_page_say(p, "What the model of step %llu makes of all %llu %s %s.",
			    (unsigned long long)count_of(e, "step"), n, what, tokens ? "tokens" : "samples");
	else
		mr_page_say(p, "What the model of step %llu makes of %llu of the %llu %s %s, which are equally far "
			       "apart (--examples has more).", (unsigned long long)count_of(e, "step"), n, all, what,
			    tokens ? "tokens" : "samples");
	if (!strcmp(what, "training"))
		mr_page_say(p, "No rows were held out, so these are rows that the model has learned from: it errs "
			       "more often on others.");
}

mr_status mr_page_errors(mr_page *p)
{
	const mr_json *e = p->run->errors;
	const char *kind = text_of(e, "kind");

	mr_page_heading(p, 3, "Where it errs");
	if (p->run->no_errors)
		mr_page_say(p, e ? "This is of an earlier report, since now it cannot be found out: %s."
				 : "It cannot be found out: %s.", p->run->no_errors);
	else if (!e)
		mr_page_say(p, "Nobody has looked: millrace report does, with --examples above 0, where the "
			       "checkpoints of the run and the data of the training are there.");
	if (!e)
		return MR_OK;
	say_what(p, e);
	if (!strcmp(kind, "classes"))
		MR_TRY(put_of_classes(p, e));
	else if (!strcmp(kind, "numbers"))
		MR_TRY(mr_page_residuals(p, e));
	else if (!strcmp(kind, "tokens")) {
		mr_page_say(p, "%.2f %% of the tokens are the most probable ones; loss %.4g, perplexity %.4g.",
			    100 * number_of(e, "accuracy"), number_of(e, "loss"), number_of(e, "perplexity"));
		MR_TRY(put_pairs(p, mr_json_get(e, "confused"), "Tokens"));
		mr_page_texts(p, e);
		return MR_OK;
	}
	return put_worst(p, e);
}
