/* Reads a configuration and what it includes into one text, and finds in it what libconfig would swallow. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/size.h"
#include "config/config_parts.h"

#define MAX_DEPTH 10
#define MAX_TOTAL ((size_t)4 << 20)
#define MAX_NESTING 32

static mr_status no_memory(void)
{
	return mr_fail(MR_ERESOURCE, "no memory for a configuration");
}

static mr_status add_line(mr_config_text *t, uint16_t file, uint32_t line)
{
	if (t->n_lines == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		mr_origin *more = realloc(t->lines, room * sizeof(*more));

		if (!more)
			return no_memory();
		t->lines = more;
		t->room = room;
	}
	t->lines[t->n_lines++] = (mr_origin){MR_ORIGIN_FILE, file, line};
	return MR_OK;
}

static mr_status add_file(mr_config_text *t, const char *path, uint16_t *file)
{
	char **more = realloc(t->files, (t->n_files + 1u) * sizeof(*more));

	if (!more)
		return no_memory();
	t->files = more;
	t->files[t->n_files] = strdup(path);
	if (!t->files[t->n_files])
		return no_memory();
	*file = (uint16_t)t->n_files++;
	return MR_OK;
}

/* --- reading, with @include --- */

typedef enum scan_state { PLAIN, STRING, LINE_COMMENT, BLOCK_COMMENT } scan_state;

/* State behind @s[0]; *@skip = 1 when s[1] belongs to it. */
static scan_state advance(scan_state state, const char *s, int *skip)
{
	*skip = 0;
	switch (state) {
	case PLAIN:
		if (*s == '"')
			return STRING;
		if (*s == '#')
			return LINE_COMMENT;
		if (*s == '/' && (s[1] == '/' || s[1] == '*')) {
			*skip = 1;
			return s[1] == '/' ? LINE_COMMENT : BLOCK_COMMENT;
		}
		return PLAIN;
	case STRING:
		*skip = *s == '\\' && s[1] && s[1] != '\n';
		return *s == '"' ? PLAIN : STRING;
	case LINE_COMMENT:
		return *s == '\n' ? PLAIN : LINE_COMMENT;
	case BLOCK_COMMENT:
		*skip = *s == '*' && s[1] == '/';
		return *skip ? PLAIN : BLOCK_COMMENT;
	}
	return PLAIN;
}

/* Is the line at @s an @include? Then *@name is the quoted part and *@well says whether the whole line is in order. */
static bool is_include(const char *s, const char **name, size_t *len, bool *well)
{
	s += strspn(s, " \t");
	if (strncmp(s, "@include", 8) != 0)
		return false;
	s += 8;
	s += strspn(s, " \t");
	*well = *s == '"';
	*name = *well ? s + 1 : s;
	*len = strcspn(*name, "\"\n");
	*well = *well && *len && (*name)[*len] == '"';
	if (*well) {
		s = *name + *len + 1;
		s += strspn(s, " \t\r;");
		*well = *s == '\n' || *s == '\0' || *s == '#' || (*s == '/' && s[1] == '/');
	}
	return true;
}

static mr_status read_into(mr_config_text *t, const char *path, unsigned depth, const mr_origin *from, mr_mistakes *m);

static mr_status include(mr_config_text *t, const char *path, const char *name, size_t len, unsigned depth,
			 mr_origin at, mr_mistakes *m)
{
	const char *slash = strrchr(path, '/');
	int folder = *name == '/' || !slash ? 0 : (int)(slash + 1 - path);
	char *inner;
	mr_status st;

	if (depth + 1 > MAX_DEPTH) {
		mr_mistakes_add(m, at, NULL, "@include is nested more than %d deep (does a file include itself?)", MAX_DEPTH);
		t->partial = true;
		return MR_OK;
	}
	if (asprintf(&inner, "%.*s%.*s", folder, path, (int)len, name) < 0)
		return no_memory();
	st = read_into(t, inner, depth + 1, &at, m);
	free(inner);
	return st;
}

/* What no configuration should hold is noted and replaced by something harmless, so that the rest is checked too. */
static void clean(char *text, size_t len, uint16_t file, mr_mistakes *m)
{
	uint32_t line = 1;
	bool told = false;

	if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
		mr_mistakes_add(m, (mr_origin){MR_ORIGIN_FILE, file, 1}, NULL,
				"the file begins with a byte order mark, which libconfig does not take; save it without");
		memset(text, ' ', 3);
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\0') {
			if (!told)
				mr_mistakes_add(m, (mr_origin){MR_ORIGIN_FILE, file, line}, NULL,
						"a NUL byte: is this a text file?");
			told = true;
			text[i] = ' ';
		} else if (text[i] == '\r' && (text[i + 1] == '\n' || text[i + 1] == '\0')) {
			text[i] = ' ';
		}
		line += text[i] == '\n';
	}
}

static mr_status append_text(mr_config_text *t, const char *path, char *text, uint16_t file, unsigned depth,
			     mr_mistakes *m)
{
	scan_state state = PLAIN;
	uint32_t line = 1;
	const char *name;
	bool well;
	size_t len;
	int skip;

	MR_TRY(add_line(t, file, line));
	for (const char *s = text; *s; s++) {
		if (state == PLAIN && (s == text || s[-1] == '\n') && is_include(s, &name, &len, &well)) {
			mr_origin at = {MR_ORIGIN_FILE, file, line};

			if (well)
				MR_TRY(include(t, path, name, len, depth, at, m));
			else
				mr_mistakes_add(m, at, NULL, "expected @include \"file\" alone on its line");
			t->partial |= !well;
			s += strcspn(s, "\n");
			if (!*s)
				break;
			/* the rest of the line is empty: fall through to its newline */
		}
		state = advance(state, s, &skip);
		mr_strbuf_append_n(&t->text, s, (size_t)skip + 1);
		s += skip;
		if (*s == '\n')
			MR_TRY(add_line(t, file, ++line));
	}
	return t->text.failed ? no_memory() : MR_OK;
}

/* The text of an included file ends its last line, so that what follows starts on a line of its own. */
static mr_status read_into(mr_config_text *t, const char *path, unsigned depth, const mr_origin *from, mr_mistakes *m)
{
	size_t len = 0;
	char *text;
	uint16_t file;
	mr_status st = mr_file_read(path, MR_CONFIG_MAX_BYTES, &text, &len);

	if (st == MR_ERESOURCE)
		return st;
	if (st != MR_OK && !from)
		return mr_fail(MR_ECONFIG, "%s", mr_error_text());
	if (st != MR_OK) {
		mr_mistakes_add(m, *from, NULL, "@include: %s", mr_error_text());
		t->partial = true;
		return MR_OK;
	}
	if (t->text.len + len > MAX_TOTAL || t->n_files >= UINT16_MAX) {
		mr_mistakes_add(m, from ? *from : (mr_origin){0}, NULL, "included files add up to more than %zu MiB",
				MAX_TOTAL >> 20);
		t->partial = true;
		free(text);
		return MR_OK;
	}
	st = add_file(t, path, &file);
	if (st == MR_OK) {
		clean(text, len, file, m);
		if (from) {
			/* the line of the @include itself is used up by the first line of the file */
			t->n_lines--;
		}
		st = append_text(t, path, text, file, depth, m);
	}
	if (st == MR_OK && from && len && text[len - 1] == '\n') {
		/* the newline of the @include line ends the (empty) last line of the file */
		t->lines[t->n_lines - 1] = *from;
	}
	free(text);
	return st;
}

mr_status mr_config_text_read(const char *path, mr_config_text *t, mr_mistakes *m)
{
	return read_into(t, path, 0, NULL, m);
}

mr_origin mr_config_text_origin(const mr_config_text *t, uint32_t line)
{
	if (!t->n_lines)
		return (mr_origin){MR_ORIGIN_FILE, 0, 1};
	return t->lines[line && line <= t->n_lines ? line - 1 : t->n_lines - 1];
}

void mr_config_text_fini(mr_config_text *t)
{
	for (uint32_t i = 0; i < t->n_files; i++)
		free(t->files[i]);
	free(t->files);
	free(t->lines);
	mr_strbuf_fini(&t->text);
}

/* --- looking for what libconfig would swallow --- */

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

/* An integer literal of @len digits at @digits, behind its sign or 0x. */
static void judge_integer(const mr_scanner *s, const char *literal, size_t len, bool hex, size_t n_l)
{
	uint64_t limit = n_l ? INT64_MAX : INT32_MAX, value;
	bool minus = *literal == '-';
	char key[256], copy[64];
	char *end;

	limit += minus;
	errno = 0;
	snprintf(copy, sizeof(copy), "%.*s", (int)(len - n_l < 60 ? len - n_l : 60), literal);
	value = strtoull(copy + (minus || *copy == '+'), &end, hex ? 16 : 10);
	if (errno != ERANGE && len - n_l < 60 && value <= limit)
		return;
	if (!n_l && errno != ERANGE && len < 60 && value <= (uint64_t)INT64_MAX + minus)
		mr_mistakes_add(s->m, mr_config_text_origin(s->t, s->line), current_key(s, key),
				"%s does not fit into 32 bits; write %sL", copy, copy);
	else
		mr_mistakes_add(s->m, mr_config_text_origin(s->t, s->line), current_key(s, key),
				"%s%s does not fit into 64 bits", copy, len > 60 ? "..." : "");
}

/* A literal that begins at @p with a digit, a sign or a dot; returns what is behind it. */
static const char *scan_number(const mr_scanner *s, const char *p)
{
	const char *start = p, *digits;
	bool hex;
	size_t n_l;

	p += *p == '-' || *p == '+';
	hex = *p == '0' && (p[1] == 'x' || p[1] == 'X');
	digits = p += hex ? 2 : 0;
	while (hex ? isxdigit((unsigned char)*p) : isdigit((unsigned char)*p))
		p++;
	if (p == digits || (!hex && (*p == '.' || *p == 'e' || *p == 'E'))) {
		while (isalnum((unsigned char)*p) || *p == '.' || ((*p == '-' || *p == '+') && (p[-1] == 'e' || p[-1] == 'E')))
			p++;
		return p > start ? p : start + 1;
	}
	n_l = strspn(p, "L");
	p += n_l;
	judge_integer(s, start, (size_t)(p - start), hex, n_l);
	return p;
}

/* A string that begins at @p; returns what is behind it, NULL when it does not end. */
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
	/* Quotes pair up, so it is the last one that has no partner; the one that was forgotten may be further up. */
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

bool mr_config_text_scan(const mr_config_text *t, mr_mistakes *m)
{
	mr_scanner s = {.t = t, .m = m, .line = 1};
	const char *p = mr_strbuf_text(&t->text);
	int skip;

	while (p && *p) {
		scan_state state = advance(PLAIN, p, &skip);

		if (state == STRING) {
			p = scan_string(&s, p);
		} else if (state != PLAIN) {
			uint32_t first = s.line;

			for (p += skip + 1; *p && state != PLAIN; p += skip + 1) {
				s.line += *p == '\n';
				state = advance(state, p, &skip);
			}
			if (state == BLOCK_COMMENT) /* libconfig would leave out the rest of the file without a word */
				mr_mistakes_add(m, mr_config_text_origin(t, first), NULL, "a comment that does not end: */ is missing");
		} else if (isalpha((unsigned char)*p) || *p == '*') {
			p = scan_name(&s, p);
		} else if (isdigit((unsigned char)*p) || *p == '-' || *p == '+' || *p == '.') {
			p = scan_number(&s, p);
		} else {
			if (*p == '{' || *p == '}')
				scan_brace(&s, *p);
			s.line += *p == '\n';
			p++;
		}
	}
	if (!p || !s.depth)
		return p != NULL;
	mr_mistakes_add(m, mr_config_text_origin(t, s.opened), s.path[0], "the group is not closed: a } is missing");
	return false;
}
