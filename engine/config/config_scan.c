/*
 * config_scan.c - finds text that libconfig would silently misread, and rewrites text that it does not support.
 *
 * libconfig 1.5 misreads integers beyond 32 bits and skips everything after an open comment, without a message; no
 * version reads 10k or a list of 1 and 2.5. So the text is scanned once: mistakes are noted, numbers and brackets
 * are rewritten, and each line goes to the unit that it belongs to. Lines stay lines, so that messages name the
 * right ones.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_internal.h"

#define MAX_NESTING 32

typedef struct mr_scanner {
	const mr_config_text *t;
	mr_mistakes *m;
	uint32_t line;
	char name[64];                /* the last name: a key, once = or : follows */
	char path[MAX_NESTING][64];   /* keys of the open groups */
	uint32_t opened;              /* line of the outermost open one */
	uint32_t long_line;           /* line of the first string that goes on over its line; 0: none did */
	char long_key[256];           /* its key */
	unsigned depth;
	mr_strbuf out;                /* the text in libconfig's syntax */
} mr_scanner;

static const char *current_key(const mr_scanner *s, char buf[256])
{
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < s->depth && i < MAX_NESTING && at < 128; i++)
		at += (size_t)snprintf(buf + at, 256 - at, "%s%s", s->path[i], *s->path[i] ? "." : "");
	snprintf(buf + at, 256 - at, "%s", s->name);
	return buf;
}

/* The integer literal of @len bytes at @literal, without L, in as many bits as it needs. */
static void put_integer(mr_scanner *s, const char *literal, size_t len, bool hex)
{
	bool minus = *literal == '-';
	char key[256], copy[64];
	uint64_t value;
	char *end;

	errno = 0;
	snprintf(copy, sizeof(copy), "%.*s", (int)(len < 60 ? len : 60), literal);
	value = strtoull(copy + (minus || *copy == '+'), &end, hex ? 16 : 10);
	if (errno == ERANGE || len >= 60 || value > (uint64_t)INT64_MAX + minus)
		mr_mistakes_add(s->m, mr_config_text_origin(s->t, s->line), current_key(s, key),
				"%s%s does not fit into 64 bits", copy, len > 60 ? "..." : "");
	mr_strbuf_append_n(&s->out, literal, len);
	if (value > (uint64_t)INT32_MAX + minus)
		mr_strbuf_append(&s->out, "L");
}

/* Scan a literal that begins at @p with a digit, a sign or a dot; returns the place after it. */
static const char *scan_number(mr_scanner *s, const char *p)
{
	const char *start = p, *digits, *power;
	size_t n_l;
	bool hex;

	p += *p == '-' || *p == '+';
	hex = *p == '0' && (p[1] == 'x' || p[1] == 'X');
	digits = p += hex ? 2 : 0;
	while (hex ? isxdigit((unsigned char)*p) : isdigit((unsigned char)*p))
		p++;
	n_l = strspn(p, "L");
	if (p > digits && n_l <= 2 && !isalnum((unsigned char)p[n_l]) && p[n_l] != '.') {
		put_integer(s, start, (size_t)(p - start), hex);
		return p + n_l;
	}
	while (isalnum((unsigned char)*p) || *p == '.' || ((*p == '-' || *p == '+') && (p[-1] == 'e' || p[-1] == 'E')))
		p++;
	p = p > start ? p : start + 1;
	power = hex ? NULL : mr_number_suffix(p[-1]);
	mr_strbuf_append_n(&s->out, start, (size_t)(p - start) - (power ? 1 : 0));
	if (power)
		mr_strbuf_append(&s->out, power);
	return p;
}

/* Scan a string that begins at @p; returns the place after it, NULL when it does not end. */
static const char *scan_string(mr_scanner *s, const char *p)
{
	uint32_t first = s->line;
	char key[256];

	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1] == 'x' && p[2] == '0' && p[3] == '0')
			mr_mistakes_add(s->m, mr_config_text_origin(s->t, s->line), current_key(s, key),
					"\\x00 cannot stand in a string");
		if (*p == '\\' && p[1])
			p++;
		s->line += *p == '\n';
	}
	if (!s->long_line && s->line > first) {
		s->long_line = first;
		snprintf(s->long_key, sizeof(s->long_key), "%s", current_key(s, key));
	}
	if (*p)
		return p + 1;
	/* Quotes pair up, so the last one has no partner; the forgotten one may be further up. */
	mr_mistakes_add(s->m, mr_config_text_origin(s->t, s->long_line), s->long_key,
			"a string that does not end on its line, and one quote too few");
	return NULL;
}

static const char *scan_name(mr_scanner *s, const char *p)
{
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_*");

	snprintf(s->name, sizeof(s->name), "%.*s", (int)(n < 63 ? n : 63), p);
	return p + n;
}

static void scan_brace(mr_scanner *s, char c)
{
	if (c == '}') {
		s->depth -= s->depth > 0;
		s->name[0] = '\0';
		return;
	}
	if (!s->depth)
		s->opened = s->line;
	if (s->depth < MAX_NESTING)
		memcpy(s->path[s->depth], s->name, sizeof(s->name));
	s->depth++;
	s->name[0] = '\0';
}

/* Skip the comment that begins at @p; @state: its kind, and @skip as mr_config_text_advance gave it. */
static const char *scan_comment(mr_scanner *s, const char *p, mr_text_state state, int skip)
{
	uint32_t first = s->line;

	for (p += skip + 1; *p && state != MR_TEXT_PLAIN; p += skip + 1) {
		s->line += *p == '\n';
		state = mr_config_text_advance(state, p, &skip);
	}
	if (state == MR_TEXT_BLOCK_COMMENT) /* libconfig would silently skip the rest of the file */
		mr_mistakes_add(s->m, mr_config_text_origin(s->t, first), NULL,
				"a comment that does not end: */ is missing");
	return p;
}

/* Scan a character without a meaning of its own; a list ( ) may mix types, and an array [ ] may not. */
static const char *scan_plain(mr_scanner *s, const char *p)
{
	char c = *p, as = c == '[' ? '(' : c == ']' ? ')' : c;

	if (c == '{' || c == '}')
		scan_brace(s, c);
	s->line += c == '\n';
	mr_strbuf_append_n(&s->out, &as, 1);
	return p + 1;
}

/* Scan the token that begins at @p; returns the place after it, NULL when it does not end. */
static const char *scan_next(mr_scanner *s, const char *p)
{
	const char *start = p;
	int skip;
	mr_text_state state = mr_config_text_advance(MR_TEXT_PLAIN, p, &skip);

	if (state == MR_TEXT_PLAIN && (isdigit((unsigned char)*p) || *p == '-' || *p == '+' || *p == '.'))
		return scan_number(s, p);
	if (state == MR_TEXT_STRING)
		p = scan_string(s, p);
	else if (state != MR_TEXT_PLAIN)
		p = scan_comment(s, p, state, skip);
	else if (isalpha((unsigned char)*p) || *p == '*')
		p = scan_name(s, p);
	else
		return scan_plain(s, p);
	if (p)
		mr_strbuf_append_n(&s->out, start, (size_t)(p - start));
	return p;
}

/* Distribute the lines of @text to the units. */
static mr_status cut(mr_config_text *t, const char *text)
{
	for (size_t i = 0; i < t->n_lines; i++)
		t->units[t->lines[i].unit].n_lines++;
	for (uint32_t u = 0; u < t->n_units; u++) {
		t->units[u].line = calloc(t->units[u].n_lines + 1u, sizeof(*t->units[u].line));
		if (!t->units[u].line)
			return mr_fail(MR_ERESOURCE, "no memory for %u lines", t->units[u].n_lines);
		t->units[u].n_lines = 0;
		if (*t->units[u].group)
			mr_strbuf_printf(&t->units[u].text, "%s = { ", t->units[u].group);
	}
	for (size_t i = 0; i < t->n_lines; i++) {
		mr_config_unit *u = &t->units[t->lines[i].unit];
		size_t len = strcspn(text, "\n");

		u->line[u->n_lines++] = (uint32_t)i;
		mr_strbuf_append_n(&u->text, text, len);
		mr_strbuf_append(&u->text, "\n");
		text += len + (text[len] == '\n');
	}
	for (uint32_t u = 0; u < t->n_units; u++) {
		if (*t->units[u].group)
			mr_strbuf_append(&t->units[u].text, "};");
		if (t->units[u].text.failed)
			return mr_fail(MR_ERESOURCE, "no memory for a configuration");
	}
	return MR_OK;
}

mr_status mr_config_text_scan(mr_config_text *t, mr_mistakes *m, bool *whole)
{
	mr_scanner s = {.t = t, .m = m, .line = 1};
	const char *p = mr_strbuf_text(&t->text);
	mr_status st;

	while (p && *p)
		p = scan_next(&s, p);
	*whole = p && !s.depth;
	if (p && s.depth)
		mr_mistakes_add(m, mr_config_text_origin(t, s.opened), s.path[0],
				"the group is not closed: a } is missing");
	st = s.out.failed ? mr_fail(MR_ERESOURCE, "no memory for a configuration")
	     : *whole     ? cut(t, mr_strbuf_text(&s.out))
			  : MR_OK;
	mr_strbuf_fini(&s.out);
	return st;
}
