#include "timing/cost_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"

#define MAX_TIME 1e9

static const char *const heads[] = {"stage,f,i,w", "stage,f,i,w,u", "stage,f,i,w,u,c", "stage,f,i,w,u,c,r",
				    "stage,f,i,w,u,c,r,n", "stage,f,i,w,u,c,r,n,s", "stage,f,i,w,u,c,r,n,s,a",
				    "stage,f,i,w,u,c,r,n,s,a,v"};

#define N_HEADS (sizeof(heads) / sizeof(heads[0]))

/* One line without its end; a carriage return counts as part of the end. */
static int line_length(const char *line)
{
	int n = (int)strcspn(line, "\n");

	return n && line[n - 1] == '\r' ? n - 1 : n;
}

/* The number of columns after the first: 3 to 10, or 0 when @line is no head. */
static unsigned columns_of(const char *line)
{
	int n = line_length(line);

	for (unsigned k = 0; k < N_HEADS; k++)
		if (n == (int)strlen(heads[k]) && !strncmp(line, heads[k], (size_t)n))
			return 3 + k;
	return 0;
}

static mr_status read_row(const char *line, unsigned columns, unsigned stage, mr_stage_cost *out)
{
	double x[11] = {0};
	const char *at = line, *stop = line + line_length(line);

	for (unsigned k = 0; k <= columns; k++) {
		char *end;

		x[k] = strtod(at, &end);
		if (end == at || end > stop || (k < columns ? *end != ',' : end != stop))
			return mr_fail(MR_ECONFIG, "expected %u numbers, as in \"%s\", got \"%.*s\"", columns + 1,
				       heads[columns - 3], (int)(stop - line), line);
		if (!isfinite(x[k]) || x[k] < 0 || x[k] > MAX_TIME)
			return mr_fail(MR_ECONFIG, "times are numbers from 0 to %g, got %.*s", MAX_TIME,
				       (int)(end - at), at);
		at = end + 1;
	}
	if (x[0] != stage)
		return mr_fail(MR_ECONFIG, "expected the row of stage %u, got %g", stage, x[0]);
	if (x[8] > x[4])
		return mr_fail(MR_ECONFIG,
			       "a step inside a B or W takes at most u = %g less than one alone, got s = %g", x[4],
			       x[8]);
	*out = (mr_stage_cost){.f = x[1], .i = x[2], .w = x[3], .u = x[4], .c = x[5], .r = x[6], .n = x[7], .s = x[8],
		.a = x[9],
			       .v = x[10]};
	return MR_OK;
}

static mr_status grow(mr_stage_cost **stage, unsigned n)
{
	mr_stage_cost *more;

	if (n == UINT16_MAX)
		return mr_fail(MR_ECONFIG, "more than %u stages", UINT16_MAX);
	more = mr_grown(*stage, n, sizeof(*more));
	if (!more)
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", n + 1);
	*stage = more;
	return MR_OK;
}

static mr_status read_all(const char *text, mr_stage_cost **stage, unsigned *n)
{
	unsigned columns = 0, number = 0;
	double sum = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		mr_status st = MR_OK;

		number++;
		if (!line_length(line) || *line == '#')
			continue;
		if (!columns) {
			columns = columns_of(line);
			if (!columns)
				return mr_fail(MR_ECONFIG, "line %u: expected the head \"%s\", got \"%.*s\"", number,
					       heads[N_HEADS - 1], line_length(line) < 60 ? line_length(line) : 60,
					       line);
			continue;
		}
		st = grow(stage, *n);
		if (st == MR_OK)
			st = read_row(line, columns, *n, &(*stage)[*n]);
		if (st != MR_OK)
			return mr_fail_in(st, "line %u", number);
		sum += (*stage)[*n].f + (*stage)[*n].i + (*stage)[*n].w;
		++*n;
	}
	if (!*n)
		return mr_fail(MR_ECONFIG, "it has no row of costs: expected \"%s\" and a row a stage",
			       heads[N_HEADS - 1]);
	return sum > 0 ? MR_OK : mr_fail(MR_ECONFIG, "all times of f, i and w are 0");
}

mr_status mr_cost_csv_read(const char *text, mr_stage_cost **stage, uint16_t *n)
{
	unsigned rows = 0;
	mr_status st;

	*stage = NULL;
	st = read_all(text, stage, &rows);
	*n = (uint16_t)rows;
	if (st != MR_OK) {
		free(*stage);
		*stage = NULL;
	}
	return st;
}
