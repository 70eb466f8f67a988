#include "report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct mr_table {
	uint32_t n_columns;
	size_t n_cells, room;
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
	va_list ap;

	if (!t->failed && t->n_cells == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		char **more = realloc(t->cell, room * sizeof(*more));

		t->failed = !more;
		if (more) {
			t->cell = more;
			t->room = room;
		}
	}
	if (t->failed)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		t->failed = true;
	else
		t->cell[t->n_cells++] = text;
	va_end(ap);
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

/* One line of up to n_columns cells; blanks are written only in front of a text, so that none end a line. */
static void print_line(const mr_table *t, const char *indent, char *const *cells, size_t n, const size_t *width,
		       FILE *out)
{
	size_t blanks = 0;

	fputs(indent, out);
	for (size_t c = 0; c < n; c++) {
		const char *text = cells ? cells[c] : t->column[c].head;
		size_t pad = width[c] - strlen(text);

		blanks += c ? 2 : 0;
		if (t->column[c].right)
			blanks += pad;
		if (*text) {
			fprintf(out, "%*s%s", (int)blanks, "", text);
			blanks = 0;
		}
		if (!t->column[c].right)
			blanks += pad;
	}
	fputc('\n', out);
}

mr_status mr_table_print(const mr_table *t, const char *indent, FILE *out)
{
	size_t *width = malloc(t->n_columns * sizeof(*width));

	if (t->failed || !width) {
		free(width);
		return mr_fail(MR_ERESOURCE, "no memory for a table of %zu cells", t->n_cells);
	}
	for (uint32_t c = 0; c < t->n_columns; c++)
		width[c] = column_width(t, c);
	print_line(t, indent, NULL, t->n_columns, width, out);
	for (size_t i = 0; i < t->n_cells; i += t->n_columns) {
		size_t n = t->n_cells - i < t->n_columns ? t->n_cells - i : t->n_columns;

		print_line(t, indent, t->cell + i, n, width, out);
	}
	free(width);
	return ferror(out) ? mr_fail(MR_EIO, "cannot write a table") : MR_OK;
}
