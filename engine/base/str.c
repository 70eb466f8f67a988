#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

void mr_strbuf_fini(mr_strbuf *b)
{
	free(b->data);
	*b = (mr_strbuf){0};
}

/* Make room for @n more bytes and the NUL. */
static bool reserve(mr_strbuf *b, size_t n)
{
	size_t need, cap = b->cap ? b->cap : 64;
	char *data;

	if (b->failed)
		return false;
	if (!mr_size_add(b->len, n, &need) || !mr_size_add(need, 1, &need))
		return !(b->failed = true);
	if (need <= b->cap)
		return true;
	while (cap < need)
		if (!mr_size_mul(cap, 2, &cap))
			cap = need;
	data = realloc(b->data, cap);
	if (!data)
		return !(b->failed = true);
	b->data = data;
	b->cap = cap;
	return true;
}

bool mr_strbuf_append_n(mr_strbuf *b, const char *s, size_t n)
{
	if (!reserve(b, n))
		return false;
	memcpy(b->data + b->len, s, n);
	b->len += n;
	b->data[b->len] = '\0';
	return true;
}

bool mr_strbuf_append(mr_strbuf *b, const char *s)
{
	return mr_strbuf_append_n(b, s, strlen(s));
}

bool mr_strbuf_printf(mr_strbuf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return !(b->failed = true);
	if (!reserve(b, (size_t)n))
		return false;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return true;
}

const char *mr_strbuf_text(const mr_strbuf *b)
{
	return b->data ? b->data : "";
}

void mr_strbuf_reset(mr_strbuf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

char *mr_strbuf_take(mr_strbuf *b)
{
	char *data = mr_strbuf_append_n(b, "", 0) ? b->data : NULL;

	if (!data)
		free(b->data);
	*b = (mr_strbuf){0};
	return data;
}

char *mr_path_join(const char *dir, const char *name)
{
	mr_strbuf b = {0};

	mr_strbuf_printf(&b, "%s/%s", dir, name);
	return mr_strbuf_take(&b);
}

#define MAX_NAME 64

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: three rows of the usual table, the third for swapped neighbours. */
unsigned mr_edit_distance(const char *a, const char *b)
{
	unsigned rows[3][MAX_NAME + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];
	size_t na = strnlen(a, MAX_NAME), nb = strnlen(b, MAX_NAME);

	for (unsigned j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *recycled = before;

		before = last;
		last = row;
		row = recycled;
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = min_of(min_of(last[j], row[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min_of(row[j], before[j - 2] + 1);
		}
	}
	return row[nb];
}

unsigned mr_nearest_limit(const char *name)
{
	unsigned n = (unsigned)strnlen(name, MAX_NAME);

	return n >= 6 ? n / 3 : n / 2;
}

const char *mr_nearest(const char *name, const char *const *names, size_t n)
{
	unsigned best = mr_nearest_limit(name) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		unsigned d = names[i] ? mr_edit_distance(name, names[i]) : best;

		if (d < best) {
			best = d;
			found = names[i];
		}
	}
	return found;
}

/* Three digits or so: 1.5 below 10, 12 above; a quotient that rounds up to @step takes the next unit. */
static char *scaled_text(uint64_t x, double step, const char *const *units, size_t n_units, char buf[16])
{
	double q = (double)x;
	size_t u = 0;

	while (u + 1 < n_units && q >= (u ? step - 0.5 : step)) {
		q /= step;
		u++;
	}
	if (!u)
		snprintf(buf, 16, "%u%s%s", (unsigned)x, units[0][0] ? " " : "", units[0]);
	else if (q < 9.95)
		snprintf(buf, 16, "%.1f %s", q, units[u]);
	else
		snprintf(buf, 16, "%.0f %s", q, units[u]);
	return buf;
}

bool mr_matches(const char *pattern, const char *text, size_t len)
{
	const char *star = NULL; /* the last one, which has taken the text up to @from */
	size_t at = 0, from = 0;

	while (at < len) {
		if (*pattern == '*') {
			star = pattern++;
			from = at;
		} else if (*pattern && (*pattern == '?' || *pattern == text[at])) {
			pattern++;
			at++;
		} else if (star) {
			pattern = star + 1;
			at = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

size_t mr_utf8_length(const char *text, size_t len)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;

	if (!n || n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than needed, halves of surrogates, and what lies beyond U+10FFFF. */
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
	    (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return n;
}

char *mr_bytes_text(uint64_t bytes, char buf[16])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

	return scaled_text(bytes, 1024, units, sizeof(units) / sizeof(units[0]), buf);
}

char *mr_count_text(uint64_t n, char buf[16])
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};

	return scaled_text(n, 1000, units, sizeof(units) / sizeof(units[0]), buf);
}

char *mr_duration_text(double seconds, char buf[16])
{
	unsigned s;

	if (!(seconds >= 0 && seconds < 9999 * 3600.0)) {
		snprintf(buf, 16, "-:--");
		return buf;
	}
	s = (unsigned)(seconds + 0.5);
	if (s >= 3600)
		snprintf(buf, 16, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(buf, 16, "%u:%02u", s / 60, s % 60);
	return buf;
}

char *mr_double_text(double x, char buf[32])
{
	if (isnan(x) || isinf(x)) {
		snprintf(buf, 32, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
		return buf;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, 32, "%.*g", digits, x);
		if (strtod(buf, NULL) == x)
			break;
	}
	if (!strpbrk(buf, ".e"))
		memcpy(buf + strlen(buf), ".0", 3);
	return buf;
}
