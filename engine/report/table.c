#include "report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "base/printable.h"
#include "report/screen.h"
#include "report/svg.h"

struct mr_table {
	uint32_t n_columns;
	size_t n_cells;
	char **cell;  /* [n_cells] owned */
	bool failed;  /* an append had no memory */
	mr_table_column column[];
};

mr_status mr_table_create(const mr_table_column *columns, uint32_t n, mr_table **out)
{
	mr_table *t;

	if (!n)
		return mr_fail(MR_EINVAL, "a table needs at least one column");
	t = calloc(1, sizeof(*t) + n * sizeof(t->column[0]));
	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory for a table of %u columns", n);
	t->n_columns = n;
	memcpy(t->column, columns, n * sizeof(t->column[0]));
	*out = t;
	return MR_OK;
}

void mr_table_destroy(mr_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cell[i]);
	free(t->cell);
	free(t);
}

void mr_table_put(mr_table *t, const char *fmt, ...)
{
	char *text = NULL;
	char **more = mr_grown(t->cell, t->n_cells, sizeof(*more));
	va_list ap;

	t->failed |= !more;
	if (t->failed)
		return;
	t->cell = more;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		t->failed = true;
	else
		t->cell[t->n_cells++] = mr_printable(text);
	va_end(ap);
}

void mr_table_cells(mr_table *t, const char *fmt, ...)
{
	char *text = NULL, *rest, *cell;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0) {
		t->failed = true;
		text = NULL;
	}
	va_end(ap);
	for (rest = text; (cell = strsep(&rest, "\t"));)
		mr_table_put(t, "%s", cell);
	free(text);
}

static size_t column_width(const mr_table *t, uint32_t c)
{
	size_t width = strlen(t->column[c].head);

	for (size_t i = c; i < t->n_cells; i += t->n_columns) {
		size_t len = strlen(t->cell[i]);

		width = len > width ? len : width;
	}
	return width;
}

/* A range of the columns: the first one, and those from @from to before @to. */
typedef struct column_range {
	uint32_t from, to;
} column_range;

/* One line of up to n cells; blanks are written only in front of a text, so that none end a line. */
static void print_line(const mr_table *t, const char *indent, char *const *cells, size_t n, column_range b,
		       const size_t *width, FILE *out)
{
	size_t blanks = 0;

	fputs(indent, out);
	for (size_t c = 0; c < n && c < b.to; c = c < b.from ? b.from : c + 1) {
		const char *text = cells ? cells[c] : t->column[c].head;
		size_t pad = width[c] - strlen(text);

		blanks += c ? 2 : 0;
		if (t->column[c].side != MR_TABLE_LEFT)
			blanks += pad;
		if (*text) {
			fprintf(out, "%*s%s", (int)blanks, "", text);
			blanks = 0;
		}
		if (t->column[c].side == MR_TABLE_LEFT)
			blanks += pad;
	}
	fputc('\n', out);
}

/* As many further columns from @from on as fit into @columns (0: any number) beside the first one; at least one. */
static column_range next_block(const mr_table *t, uint32_t from, size_t indent, size_t columns, const size_t *width)
{
	size_t used = indent + width[0];
	column_range b = {from, from};

	while (b.to < t->n_columns && (!columns || b.to == from || used + 2 + width[b.to] <= columns))
		used += 2 + width[b.to++];
	while (b.to < t->n_columns && b.to > from + 1 && t->column[b.to].side == MR_TABLE_RIGHT_BESIDE)
		b.to--;
	return b;
}

static void print_block(const mr_table *t, const char *indent, column_range b, const size_t *width, FILE *out)
{
	print_line(t, indent, NULL, t->n_columns, b, width, out);
	for (size_t i = 0; i < t->n_cells; i += t->n_columns) {
		size_t n = t->n_cells - i < t->n_columns ? t->n_cells - i : t->n_columns;

		print_line(t, indent, t->cell + i, n, b, width, out);
	}
}

mr_status mr_table_print(const mr_table *t, const char *indent, FILE *out)
{
	size_t *width = malloc(t->n_columns * sizeof(*width));
	unsigned columns = mr_screen_columns(out);
	column_range b = {1, 1};

	if (t->failed || !width) {
		free(width);
		return mr_fail(MR_ERESOURCE, "no memory for a table of %zu cells", t->n_cells);
	}
	for (uint32_t c = 0; c < t->n_columns; c++)
		width[c] = column_width(t, c);
	do {
		b = next_block(t, b.to, strlen(indent), columns, width);
		print_block(t, indent, b, width, out);
	} while (b.to < t->n_columns);
	free(width);
	return ferror(out) ? mr_fail(MR_EIO, "cannot write a table") : MR_OK;
}

mr_status mr_table_finish(mr_table *t, FILE *out)
{
	mr_status st = mr_table_print(t, "", out);

	mr_table_destroy(t);
	return st;
}

static void put_html(const char *tag, mr_table_side side, const char *text, FILE *out)
{
	fprintf(out, "<%s%s>", tag, side == MR_TABLE_LEFT ? "" : " class=\"r\"");
	mr_svg_escape(out, text);
	fprintf(out, "</%s>", tag);
}

mr_status mr_table_finish_html(mr_table *t, FILE *out)
{
	mr_status st = t->failed ? mr_fail(MR_ERESOURCE, "no memory for a table of %zu cells", t->n_cells) : MR_OK;

	fputs("<table><tr>", out);
	for (uint32_t c = 0; c < t->n_columns; c++)
		put_html("th", t->column[c].side, t->column[c].head, out);
	for (size_t i = 0; i < t->n_cells; i++) {
		fputs(i % t->n_columns ? "" : "</tr>\n<tr>", out);
		put_html("td", t->column[i % t->n_columns].side, t->cell[i], out);
	}
	fputs("</tr>\n</table>\n", out);
	mr_table_destroy(t);
	return st;
}
