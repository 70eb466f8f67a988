#include "formats/csv_rows.h"

#include <string.h>

#define MOST_LINES 1000u /* of a row */
#define MOST_BYTES ((size_t)1 << 20)

mr_status mr_csv_rows_open(const char *path, mr_csv_rows *out)
{
	*out = (mr_csv_rows){0};
	return strcmp(path, "-") ? mr_lines_open(path, "CSV", &out->lines) : mr_lines_of_input("CSV", &out->lines);
}

void mr_csv_rows_close(mr_csv_rows *r)
{
	mr_lines_close(&r->lines);
	mr_strbuf_fini(&r->row);
	mr_strbuf_fini(&r->ahead);
}

static bool separates(const mr_csv_rows *r, char c)
{
	return r->separator ? c == r->separator : c == ',' || c == ';' || c == '\t';
}

/* Is a quote open at the end of @text, which begins inside quotes or, with @open false, at a field? */
static bool leaves_open(const mr_csv_rows *r, const char *text, bool open)
{
	for (;;) {
		while (!open && (*text == ' ' || *text == '\t') && !separates(r, *text))
			text++;
		if (!open && *text == '"') {
			open = true;
			text++;
		}
		while (open && *text && (*text != '"' || text[1] == '"'))
			text += *text == '"' ? 2 : 1;
		if (open && !*text)
			return true;
		open = false;
		while (*text && !separates(r, *text))
			text++;
		if (!*text++)
			return false;
	}
}

/* The next line of the file, or of those that were read ahead. */
static mr_status take_line(mr_csv_rows *r, char **line)
{
	char *end;

	if (r->given == r->ahead.len) {
		mr_strbuf_reset(&r->ahead);
		r->given = 0;
		MR_TRY(mr_lines_next(&r->lines, line));
		r->line += *line != NULL;
		return MR_OK;
	}
	*line = r->ahead.data + r->given;
	end = strchr(*line, '\n');
	*end = 0;
	r->given += (size_t)(end - *line) + 1;
	r->line++;
	return MR_OK;
}

/* Keep for later what follows the first line of r->row, which is closed nowhere: the lines behind it. */
static mr_status give_back(mr_csv_rows *r, size_t first)
{
	mr_strbuf ahead = {0};

	mr_strbuf_append(&ahead, r->row.len > first ? r->row.data + first + 1 : "");
	if (r->row.len > first)
		mr_strbuf_append(&ahead, "\n");
	if (r->given < r->ahead.len)
		mr_strbuf_append(&ahead, r->ahead.data + r->given);
	if (ahead.failed) {
		mr_strbuf_fini(&ahead);
		return mr_fail(MR_ERESOURCE, "no memory for a row of several lines");
	}
	mr_strbuf_fini(&r->ahead);
	r->ahead = ahead;
	r->given = 0;
	r->line = r->number;
	r->row.data[first] = 0;
	return MR_OK;
}

/* Collect in r->row the lines of the row that begins with @line. */
static mr_status join(mr_csv_rows *r, char *line)
{
	size_t first = strlen(line);
	bool open = true;

	mr_strbuf_reset(&r->row);
	mr_strbuf_append(&r->row, line);
	for (unsigned n = 1; open && n < MOST_LINES && r->row.len < MOST_BYTES; n++) {
		MR_TRY(take_line(r, &line));
		if (!line)
			break;
		open = leaves_open(r, line, true);
		mr_strbuf_append(&r->row, "\n");
		mr_strbuf_append(&r->row, line);
	}
	if (r->row.failed)
		return mr_fail(MR_ERESOURCE, "no memory for a row of several lines");
	return open ? give_back(r, first) : MR_OK;
}

mr_status mr_csv_rows_next(mr_csv_rows *r, char **row)
{
	r->first = !r->number;
	do {
		MR_TRY(take_line(r, row));
		if (!*row)
			return MR_OK;
		r->number = r->line;
	} while (!(*row)[strspn(*row, " \r")]);
	if (!strchr(*row, '"') || !leaves_open(r, *row, false))
		return MR_OK;
	MR_TRY(join(r, *row));
	*row = r->row.data;
	return MR_OK;
}
