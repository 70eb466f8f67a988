/*
 * cell_style.h - how people write the numbers of a column: 1234.5, 1,234.5, 1.234,5, yes, 2024-03-01; and cells without
 * a value.
 *
 * A column has one style, the one that most of its cells have. Currency signs, a percent sign behind the number (which
 * is kept in percent), blanks or apostrophes between groups of three digits, and parentheses for a minus belong to the
 * styles point and comma. Truth is 1 or 0. A date is the number of days since 1970-01-01, with the time of the day as
 * a fraction.
 */
#ifndef MR_FORMATS_CELL_STYLE_H
#define MR_FORMATS_CELL_STYLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mr_cell_style {
	MR_CELL_PLAIN, /* as strtod reads it */
	MR_CELL_POINT, /* decimal point; commas may group digits */
	MR_CELL_COMMA, /* decimal comma; points may group digits */
	MR_CELL_TRUTH, /* true, yes, on, y, t or 1 against false, no, off, n, f or 0 */
	MR_CELL_YMD,   /* year, month and day, with "-", "/" or "." between */
	MR_CELL_MDY,   /* month, day and year, with "/" between */
	MR_CELL_DMY,   /* day, month and year, with "-", "/" or "." between */
	MR_CELL_STYLES
} mr_cell_style;

/* How many cells of a column each style cannot read. */
typedef struct mr_cell_votes {
	uint64_t n;
	uint64_t miss[MR_CELL_STYLES];
} mr_cell_votes;

/** Is there no value in @text: nothing, NA, N/A, NaN, null, nil, none, ?, -, in any case? */
bool mr_cell_is_missing(const char *text);

/** Read @text, all of it, as a finite number of style @s into *@out. */
bool mr_cell_number(mr_cell_style s, const char *text, double *out);

/** Let @text, which is not missing, vote. */
void mr_cell_vote(mr_cell_votes *v, const char *text);

/** The style that reads most cells; of equals the first, but the decimal comma where @semicolon separates fields. */
mr_cell_style mr_cell_elect(const mr_cell_votes *v, bool semicolon);

/** "plain", "point", ..., as a checkpoint has it; what mr_cell_style_of reads, MR_CELL_STYLES: no style. */
const char *mr_cell_style_name(mr_cell_style s);
mr_cell_style mr_cell_style_of(const char *name);

#endif
