#include "planner/layer_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "name,forward,backward,activation,weights"
#define MAX_NUMBER 1e18
#define MAX_LAYERS 100000u

/* One line without its end; a carriage return counts as part of the end. */
static size_t line_length(const char *line)
{
	size_t n = strcspn(line, "\n");

	return n && line[n - 1] == '\r' ? n - 1 : n;
}

/* The number of columns that the head @line names; 0: it is none. */
static unsigned columns_of(const char *line)
{
	size_t n = line_length(line);

	if (n == strlen(HEAD) && !strncmp(line, HEAD, n))
		return 5;
	return n == strlen(HEAD ",saved") && !strncmp(line, HEAD ",saved", n) ? 6 : 0;
}

static mr_status read_row(const char *line, unsigned columns, mr_layer_row *row)
{
	double *const into[] = {&row->forward, &row->backward, &row->activation, &row->weights, &row->saved};
	const char *at = memchr(line, ',', line_length(line)), *stop = line + line_length(line);

	*row = (mr_layer_row){0};
	if (!at || at == line || (size_t)(at - line) >= sizeof(row->name))
		return mr_fail(MR_ECONFIG, "expected a name of at most %zu letters and %u numbers, got \"%.*s\"",
			       sizeof(row->name) - 1, columns - 1, (int)(stop - line), line);
	memcpy(row->name, line, (size_t)(at - line));
	for (unsigned k = 0; k + 1 < columns; k++) {
		char *end;

		*into[k] = strtod(at + 1, &end);
		if (end == at + 1 || end > stop || (k + 2 < columns ? *end != ',' : end != stop))
			return mr_fail(MR_ECONFIG, "expected %u numbers after the name, got \"%.*s\"", columns - 1,
				       (int)(stop - line), line);
		if (!isfinite(*into[k]) || *into[k] < 0 || *into[k] > MAX_NUMBER)
			return mr_fail(MR_ECONFIG, "times and bytes are numbers from 0 to %g, got %.*s", MAX_NUMBER,
				       (int)(end - at - 1), at + 1);
		at = end;
	}
	if (columns == 5)
		row->saved = row->activation;
	return MR_OK;
}

static mr_status grow(mr_layer_row **rows, uint32_t n)
{
	mr_layer_row *more;

	if (n == MAX_LAYERS)
		return mr_fail(MR_ECONFIG, "more than %u layers", MAX_LAYERS);
	if (n & (n - 1)) /* room doubles when n is a power of two */
		return MR_OK;
	more = realloc(*rows, (n ? 2 * (size_t)n : 1) * sizeof(**rows));
	if (!more)
		return mr_fail(MR_ERESOURCE, "no memory for %u layers", n + 1);
	*rows = more;
	return MR_OK;
}

static mr_status read_all(const char *text, mr_layer_row **rows, uint32_t *n)
{
	unsigned columns = 0, number = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		mr_status st;

		number++;
		if (!line_length(line) || *line == '#')
			continue;
		if (!columns) {
			columns = columns_of(line);
			if (!columns)
				return mr_fail(MR_ECONFIG, "line %u: expected \"" HEAD "\" or \"" HEAD
							   ",saved\", got \"%.*s\"", number,
					       line_length(line) < 80 ? (int)line_length(line) : 80, line);
			continue;
		}
		st = grow(rows, *n);
		if (st == MR_OK)
			st = read_row(line, columns, &(*rows)[*n]);
		if (st != MR_OK)
			return mr_fail_in(st, "line %u", number);
		++*n;
	}
	return *n ? MR_OK : mr_fail(MR_ECONFIG, "it has no layer: expected \"" HEAD "\" and a row a layer");
}

mr_status mr_layer_table_read(const char *text, mr_layer_row **rows, uint32_t *n)
{
	mr_status st;

	*rows = NULL;
	*n = 0;
	st = read_all(text, rows, n);
	if (st != MR_OK) {
		free(*rows);
		*rows = NULL;
	}
	return st;
}
