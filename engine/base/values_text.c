#include "base/values.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

static const char *skip_space(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

#define UNIT_HINT ": only k, M or G may stand behind a number"

/* Is @text a number with a unit such as "1GB"? */
static bool has_unit(const mr_option *o, const char *text)
{
	size_t n = strspn(text, "0123456789.");

	return (o->type == MR_OPT_INT || o->type == MR_OPT_FLOAT) && n && isalpha((unsigned char)text[n]) &&
	       text[n] != 'e' && text[n] != 'E' && text[n] != 'x';
}

static mr_status wrong_text(const mr_option *o, const char *text)
{
	char got[112 + sizeof(UNIT_HINT)];

	snprintf(got, sizeof(got), "\"%.100s\"%s", text, has_unit(o, text) ? UNIT_HINT : "");
	return mr_values_expected(o, got);
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Read an integer in libconfig's syntax: decimal, or hexadecimal without a sign, with an optional suffix L or LL.
 * *@end points behind it and the space after it. */
static bool read_int(const char *s, int64_t *x, const char **end)
{
	bool hex;
	char *stop;

	s = skip_space(s);
	hex = *s == '0' && (s[1] == 'x' || s[1] == 'X') && hex_digit(s[2]) >= 0;
	errno = 0;
	*x = strtoll(s, &stop, hex ? 16 : 10);
	if (stop == s || errno == ERANGE)
		return false;
	for (int i = 0; i < 2 && *stop == 'L'; i++)
		stop++;
	*end = skip_space(stop);
	return true;
}

const char *mr_number_suffix(char c)
{
	return c == 'k' ? "e3" : c == 'M' ? "e6" : c == 'G' ? "e9" : NULL;
}

/* Read a number with point, exponent or suffix. strtod also accepts "inf" and "nan", which no configuration file has.
 * An underflow to 0 is accepted. A suffix is read as its exponent, so that 2.3k is 2300 to the bit. */
static bool read_double(const char *s, double *x, const char **end)
{
	size_t n = strspn(s = skip_space(s), "+-.0123456789eE");
	const char *power = n ? mr_number_suffix(s[n]) : NULL;
	char copy[80], *stop;

	if (n < strcspn(s, ",]) \t\n\v\f\r") - (power ? 1 : 0) || n + 3 > sizeof(copy))
		return false;
	snprintf(copy, sizeof(copy), "%.*s%s", (int)n, s, power ? power : "");
	*x = strtod(copy, &stop);
	*end = skip_space(s + n + (power ? 1 : 0));
	return stop != copy && !*stop;
}

/* Read any number; *@whole: it was written as an integer, whose value is *@integer. */
static bool read_number(const char *s, double *x, int64_t *integer, bool *whole, const char **end)
{
	*whole = read_int(s, integer, end) && (!**end || strchr(",])", **end));
	if (*whole)
		*x = (double)*integer;
	return *whole || read_double(s, x, end);
}

static mr_status set_number_text(mr_values *v, const mr_option *o, const char *text)
{
	int64_t integer;
	const char *end;
	bool whole;
	double x;

	if (!read_number(text, &x, &integer, &whole, &end) || *end)
		return wrong_text(o, text);
	if (whole)
		return mr_values_set_int(v, o->name, integer);
	if (o->type == MR_OPT_INT && x != trunc(x))
		return wrong_text(o, text);
	return mr_values_set_float(v, o->name, x);
}

static mr_status set_floats_text(mr_values *v, const mr_option *o, const char *text)
{
	const char *s = skip_space(text);
	size_t n = 0, cap = 1;
	double *list;
	mr_status st;
	bool well = *s == '[' || *s == '(', whole;
	int64_t integer;
	char close = *s == '(' ? ')' : ']';

	for (const char *c = s; *c; c++)
		cap += *c == ',';
	list = malloc(cap * sizeof(double));
	if (!list)
		return mr_fail(MR_ERESOURCE, "no memory for a list of %zu numbers", cap);
	s = well ? skip_space(s + 1) : s;
	while (well && *s != close) {
		well = n < cap && read_number(s, &list[n], &integer, &whole, &s) && (*s == ',' || *s == close);
		if (!well)
			break;
		n++;
		if (*s == ',') {
			s = skip_space(s + 1);
			well = *s != close; /* libconfig has no comma at the end */
		}
	}
	well = well && !*skip_space(s + 1);
	st = well ? mr_values_set_floats(v, o->name, list, n) : wrong_text(o, text);
	free(list);
	return st;
}

/* @s is a closing quote: return where the next string begins, NULL if none does. Adjacent strings are one string. */
static const char *next_string(const char *s)
{
	const char *next = *s == '"' ? skip_space(s + 1) : s;

	return next > s && *next == '"' ? next : NULL;
}

bool mr_value_unquote(const char *text, char *out)
{
	static const char from[] = "\"\\nrtfabv", to[] = "\"\\\n\r\t\f\a\b\v";
	const char *s;

	if (*text != '"')
		return false;
	for (s = text + 1; *s && (*s != '"' || next_string(s)); s++) {
		const char *letter;

		if (*s == '"') {
			s = next_string(s);
			continue;
		}
		if (*s != '\\') {
			*out++ = *s;
			continue;
		}
		s++;
		letter = *s ? strchr(from, *s) : NULL;
		if (letter) {
			*out++ = to[letter - from];
		} else if (*s == 'x' && hex_digit(s[1]) >= 0 && hex_digit(s[2]) >= 0 && (s[1] != '0' || s[2] != '0')) {
			*out++ = (char)(hex_digit(s[1]) << 4 | hex_digit(s[2]));
			s += 2;
		} else {
			return false;
		}
	}
	*out = '\0';
	return *s == '"' && !*skip_space(s + 1);
}

static mr_status set_string_text(mr_values *v, const mr_option *o, const char *text)
{
	char *plain;
	mr_status st;

	if (*text != '"')
		return mr_values_set_string(v, o->name, text);
	plain = malloc(strlen(text) + 1);
	if (!plain)
		return mr_fail(MR_ERESOURCE, "no memory for a string of %zu bytes", strlen(text));
	if (mr_value_unquote(text, plain))
		st = mr_values_set_string(v, o->name, plain);
	else
		st = mr_fail(MR_ECONFIG, "expected a closing quote and known escapes, got %.100s", text);
	free(plain);
	return st;
}

mr_status mr_values_set_text(mr_values *v, const char *name, const char *text)
{
	const mr_option *o = mr_option_find(v->table, name);

	if (!o)
		return mr_values_unknown(v, name);
	switch (o->type) {
	case MR_OPT_INT:
	case MR_OPT_FLOAT:
		return set_number_text(v, o, text);
	case MR_OPT_BOOL:
		if (strcasecmp(text, "true") && strcasecmp(text, "false"))
			return wrong_text(o, text);
		return mr_values_set_bool(v, name, !strcasecmp(text, "true"));
	case MR_OPT_STRING:
	case MR_OPT_ENUM:
		return set_string_text(v, o, text);
	case MR_OPT_FLOATS:
		break;
	}
	return set_floats_text(v, o, text);
}

/* Appends pieces as snprintf would: @at counts the length of the whole text, even beyond the buffer. */
struct sink {
	char *buf;
	size_t size;
	size_t at;
};

static void put(struct sink *s, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (s->at + i + 1 < s->size)
			s->buf[s->at + i] = text[i];
	s->at += len;
}

static void put_quoted(struct sink *s, const char *text)
{
	static const char to[] = "\"\\nrtf", from[] = "\"\\\n\r\t\f";

	put(s, "\"");
	for (; *text; text++) {
		const char *letter = strchr(from, *text);
		char piece[8];

		if (letter)
			snprintf(piece, sizeof(piece), "\\%c", to[letter - from]);
		else if ((unsigned char)*text < 0x20 || *text == 0x7F)
			snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)*text);
		else
			snprintf(piece, sizeof(piece), "%c", *text);
		put(s, piece);
	}
	put(s, "\"");
}

static void put_floats(struct sink *s, const double *list, size_t n)
{
	char number[32];

	put(s, "[");
	for (size_t i = 0; i < n; i++) {
		put(s, i ? ", " : "");
		put(s, mr_double_text(list[i], number));
	}
	put(s, "]");
}

static void put_entry(struct sink *s, const mr_option *o, const struct mr_entry *e)
{
	char number[32];

	switch (o->type) {
	case MR_OPT_INT:
		/* libconfig reads an unmarked integer beyond 32 bits as 0 (1.5) or refuses it */
		snprintf(number, sizeof(number), "%" PRId64 "%s", e->integer,
			 e->integer > INT32_MAX || e->integer < INT32_MIN ? "L" : "");
		put(s, number);
		break;
	case MR_OPT_FLOAT:
		put(s, mr_double_text(e->number, number));
		break;
	case MR_OPT_BOOL:
		put(s, e->truth ? "true" : "false");
		break;
	case MR_OPT_STRING:
	case MR_OPT_ENUM:
		put_quoted(s, e->text);
		break;
	case MR_OPT_FLOATS:
		put_floats(s, e->list, e->n_list);
		break;
	}
}

int mr_values_print(const mr_values *v, const char *name, char *buf, size_t size)
{
	const mr_option *o = mr_option_find(v->table, name);
	struct sink s = {.buf = buf, .size = size};

	assert(o);
	if (v->entries[o - v->table].known)
		put_entry(&s, o, &v->entries[o - v->table]);
	if (size)
		buf[s.at < size ? s.at : size - 1] = '\0';
	return (int)s.at;
}

char *mr_values_text(const mr_values *v, const char *name)
{
	int len = mr_values_print(v, name, NULL, 0);
	char *text = malloc((size_t)len + 1);

	if (text)
		mr_values_print(v, name, text, (size_t)len + 1);
	return text;
}

mr_status mr_values_each_changed(const mr_values *v, mr_option_fn *each, void *arg)
{
	mr_status st = MR_OK;
	mr_values *usual;

	MR_TRY(mr_values_create(v->table, &usual));
	for (const mr_option *o = v->table; st == MR_OK && o->name; o++) {
		char *now = mr_values_text(v, o->name), *def = mr_values_text(usual, o->name);

		if (!now || !def)
			st = mr_fail(MR_ERESOURCE, "no memory for the value of %s", o->name);
		else if (strcmp(now, def) != 0)
			st = each(arg, o, now);
		free(now);
		free(def);
	}
	mr_values_destroy(usual);
	return st;
}

/* Is @word one of @words? */
static bool is_among(const char *word, const char *words)
{
	size_t len = strlen(word);

	for (const char *at = words;; at++) {
		size_t n = strcspn(at, "|");

		if (n == len && !strncmp(at, word, n))
			return true;
		at += n;
		if (!*at)
			return false;
	}
}

mr_status mr_values_check_needs(const mr_values *v, const mr_option_need *needs)
{
	for (; needs->key; needs++) {
		const char *other = needs->other, *now;
		char alternatives[128], *bar;

		now = mr_option_find(mr_values_table(v), other)->type != MR_OPT_BOOL ? mr_values_string(v, other)
		      : mr_values_bool(v, other)				     ? "true"
										     : "false";
		if (!mr_values_is_set(v, needs->key) || is_among(now, needs->words))
			continue;
		if (!*needs->words)
			return mr_fail(MR_ECONFIG, "%s: has no effect with %s = \"%.200s\"", needs->key, other, now);
		snprintf(alternatives, sizeof(alternatives), "%s", needs->words);
		while ((bar = strchr(alternatives, '|')))
			*bar = '/';
		return mr_fail(MR_ECONFIG, "%s: has no effect with %s = %s; it is for %s = %s", needs->key, other, now,
			       other, alternatives);
	}
	return MR_OK;
}
