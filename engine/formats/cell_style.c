#include "formats/cell_style.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_BYTES 64 /* of a number that is not plain */

static const char *const style_names[MR_CELL_STYLES] = {"plain", "point", "comma", "truth", "ymd", "mdy", "dmy"};

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcasecmp(text, *words))
			return true;
	return false;
}

bool mr_cell_is_missing(const char *text)
{
	static const char *const words[] = {"NA", "N/A", "#N/A", "NaN", "null", "nil", "none", "?", "-", NULL};

	switch (*text) {
	case 0:
		return true;
	case 'n':
	case 'N':
	case '#':
	case '?':
	case '-':
		return strlen(text) <= 4 && is_one_of(text, words);
	default: /* most cells */
		return false;
	}
}

static bool plain(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && isfinite(*out);
}

static bool truth(const char *text, double *out)
{
	static const char *const yes[] = {"true", "yes", "on", "y", "t", "1", NULL};
	static const char *const no[] = {"false", "no", "off", "n", "f", "0", NULL};

	*out = is_one_of(text, yes);
	return *out > 0 || is_one_of(text, no);
}

/* --- numbers with groups, currencies and percent --- */

/* What may stand around a number. */
static const char *const marks[] = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "USD", "EUR", "GBP", "CHF", "JPY",
				    "%", " ", "\xc2\xa0", NULL};
/* What may stand between groups of three digits in either style. */
static const char *const gaps[] = {" ", "\xc2\xa0", "\xe2\x80\xaf", "'", "\xe2\x80\x99", NULL};

/* Bytes of the one of @words with which @text begins; 0: it begins with none. */
static size_t begins(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(text, *words, strlen(*words)))
			return strlen(*words);
	return 0;
}

/* Move @text behind marks and one sign, which is noted. */
static const char *skip_front(const char *text, bool *minus, bool *bracket)
{
	bool sign = false;

	for (;;) {
		size_t n = begins(text, marks);

		if (!n && !sign && (*text == '-' || *text == '+' || *text == '(')) {
			sign = true;
			*minus = *text != '+';
			*bracket = *text == '(';
			n = 1;
		}
		if (!n || *text == '%')
			return text;
		text += n;
	}
}

static size_t digits(const char *text)
{
	size_t n = 0;

	while (isdigit((unsigned char)text[n]))
		n++;
	return n;
}

/* Bytes of what stands at @text between two groups, if three digits and no fourth follow: @group or a gap. */
static size_t group_gap(const char *text, char group)
{
	size_t n = *text == group ? 1 : begins(text, gaps);

	return n && digits(text + n) == 3 ? n : 0;
}

/* Copy the number at *@at, grouped by @group and with the decimal sign @point, to @to as strtod takes it. */
static bool copy_number(const char **at, char group, char point, char to[MOST_BYTES + 1])
{
	const char *text = *at;
	size_t n = digits(text), used = 0, gap;

	if (n > MOST_BYTES / 2)
		return false;
	memcpy(to, text, used = n);
	text += n;
	for (bool first = true; n && (!first || n <= 3) && (gap = group_gap(text, group)); first = false) {
		if (used + 3 > MOST_BYTES / 2)
			return false;
		memcpy(to + used, text + gap, 3);
		used += 3;
		text += gap + 3;
	}
	if (*text == point) {
		n = digits(++text);
		if (!used && !n)
			return false;
		n = n > MOST_BYTES / 4 ? MOST_BYTES / 4 : n;
		to[used++] = '.';
		memcpy(to + used, text, n);
		used += n;
		text += digits(text);
	}
	if (used && (*text == 'e' || *text == 'E')) {
		size_t sign = text[1] == '-' || text[1] == '+';

		n = digits(text + 1 + sign);
		if (n < 1 || n > 3)
			return false;
		memcpy(to + used, text, 1 + sign + n);
		used += 1 + sign + n;
		text += 1 + sign + n;
	}
	to[used] = 0;
	*at = text;
	return used > 0;
}

static bool grouped(const char *text, char group, char point, double *out)
{
	bool minus = false, bracket = false;
	char copy[MOST_BYTES + 1];
	size_t n;

	text = skip_front(text, &minus, &bracket);
	if (!copy_number(&text, group, point, copy))
		return false;
	if (bracket && *text++ != ')')
		return false;
	while ((n = begins(text, marks)))
		text += n;
	*out = strtod(copy, NULL);
	if (minus)
		*out = -*out;
	return !*text && isfinite(*out);
}

/* --- dates --- */

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
				     "jul", "aug", "sep", "oct", "nov", "dec"};

/* The number of at most @most digits at *@at. */
static bool take_digits(const char **at, size_t most, int *out)
{
	size_t n = digits(*at);

	if (n < 1 || n > most)
		return false;
	*out = atoi(*at);
	*at += n;
	return true;
}

/* A month by its number, or by the first three letters of its English name. */
static bool take_month(const char **at, int *out)
{
	if (isdigit((unsigned char)**at))
		return take_digits(at, 2, out);
	for (int i = 0; i < 12; i++)
		if (!strncasecmp(*at, months[i], 3)) {
			*at += 3;
			while (isalpha((unsigned char)**at))
				++*at;
			*out = i + 1;
			return true;
		}
	return false;
}

/* Two digits are a year from 1970 to 2069. */
static bool take_year(const char **at, int *out)
{
	size_t n = digits(*at);

	if (!take_digits(at, 4, out) || n == 3 || n == 1)
		return false;
	if (n == 2)
		*out += *out < 70 ? 2000 : 1900;
	return true;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar. */
static double days_of(int year, int month, int day)
{
	int y = year - (month <= 2), era, of_era, of_year;

	era = (y >= 0 ? y : y - 399) / 400;
	of_era = y - era * 400;
	of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097.0 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* " 13:45", "T13:45:30.5Z", "13:45:30+02:00" or nothing: a part of a day. Zones are not told apart. */
static bool take_time(const char *text, double *out)
{
	int h = 0, m = 0;
	double s = 0;

	*out = 0;
	if (!*text)
		return true;
	text += *text == 'T' || *text == ' ';
	if (!take_digits(&text, 2, &h) || *text++ != ':' || !take_digits(&text, 2, &m) || h > 23 || m > 59)
		return false;
	if (*text == ':') {
		char *end;

		if (!isdigit((unsigned char)*++text))
			return false;
		s = strtod(text, &end);
		text = end;
	}
	*out = (h + m / 60.0 + s / 3600) / 24;
	if ((*text == '+' || *text == '-') && isdigit((unsigned char)text[1]))
		text += 1 + strspn(text + 1, "0123456789:");
	return s < 61 && (!*text || !strcmp(text, "Z"));
}

static bool date(const char *text, mr_cell_style s, double *out)
{
	int year, month, day;
	double time;
	char sign;

	if (s == MR_CELL_YMD) {
		if (digits(text) != 4 || !take_year(&text, &year) || !strchr("-/.", sign = *text) || !sign)
			return false;
		text++;
		if (!take_month(&text, &month) || *text++ != sign || !take_digits(&text, 2, &day))
			return false;
	} else {
		bool first = s == MR_CELL_MDY ? take_month(&text, &month) : take_digits(&text, 2, &day);

		sign = *text;
		if (!first || !sign || !strchr(s == MR_CELL_MDY ? "/ " : "-/. ", sign))
			return false;
		text++;
		if (!(s == MR_CELL_MDY ? take_digits(&text, 2, &day) : take_month(&text, &month)))
			return false;
		text += sign == ' ' && *text == ',';
		if (*text++ != sign || !take_year(&text, &year))
			return false;
	}
	if (month < 1 || month > 12 || day < 1 || day > 31 || !take_time(text, &time))
		return false;
	*out = days_of(year, month, day) + time;
	return true;
}

bool mr_cell_number(mr_cell_style s, const char *text, double *out)
{
	switch (s) {
	case MR_CELL_PLAIN: return plain(text, out);
	case MR_CELL_POINT: return grouped(text, ',', '.', out);
	case MR_CELL_COMMA: return grouped(text, '.', ',', out);
	case MR_CELL_TRUTH: return truth(text, out);
	default: return date(text, s, out);
	}
}

void mr_cell_vote(mr_cell_votes *v, const char *text)
{
	double x;

	v->n++;
	for (int s = 0; s < MR_CELL_STYLES; s++)
		v->miss[s] += !mr_cell_number((mr_cell_style)s, text, &x);
}

mr_cell_style mr_cell_elect(const mr_cell_votes *v, bool semicolon)
{
	mr_cell_style best = MR_CELL_PLAIN;

	for (int s = 1; s < MR_CELL_STYLES; s++)
		if (v->miss[s] < v->miss[best] ||
		    (semicolon && s == MR_CELL_COMMA && best == MR_CELL_POINT && v->miss[s] == v->miss[best]))
			best = (mr_cell_style)s;
	return best;
}

const char *mr_cell_style_name(mr_cell_style s)
{
	return style_names[s];
}

mr_cell_style mr_cell_style_of(const char *name)
{
	int s = 0;

	while (s < MR_CELL_STYLES && strcmp(name, style_names[s]) != 0)
		s++;
	return (mr_cell_style)s;
}
