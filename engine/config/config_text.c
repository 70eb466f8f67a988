/* config_text.c - reads a configuration and its includes into one text, and keeps the origin of each line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grown.h"
#include "config/config_internal.h"

#define MAX_DEPTH 10
#define MAX_TOTAL ((size_t)4 << 20)

static mr_status no_memory(void)
{
	return mr_fail(MR_ERESOURCE, "no memory for a configuration");
}

static mr_status add_line(mr_config_text *t, uint16_t file, uint32_t line, uint32_t unit)
{
	mr_config_line *more = mr_grown(t->lines, t->n_lines, sizeof(*more));

	if (!more)
		return no_memory();
	t->lines = more;
	t->lines[t->n_lines++] = (mr_config_line){{MR_ORIGIN_FILE, file, line}, unit};
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

static mr_status begin_unit(mr_config_text *t, const char *group, uint32_t *unit)
{
	mr_config_unit *more = realloc(t->units, (t->n_units + 1u) * sizeof(*more));

	if (!more)
		return no_memory();
	t->units = more;
	more[t->n_units] = (mr_config_unit){.group = ""};
	snprintf(more[t->n_units].group, sizeof(more->group), "%s", group);
	*unit = t->n_units++;
	return MR_OK;
}

static mr_status end_unit(mr_config_text *t, uint32_t unit)
{
	uint32_t *more = realloc(t->order, (t->n_ended + 1u) * sizeof(*more));

	if (!more)
		return no_memory();
	t->order = more;
	more[t->n_ended++] = unit;
	return MR_OK;
}

/* --- reading, with @include --- */

mr_text_state mr_config_text_advance(mr_text_state state, const char *s, int *skip)
{
	*skip = 0;
	switch (state) {
	case MR_TEXT_PLAIN:
		if (*s == '"')
			return MR_TEXT_STRING;
		if (*s == '#')
			return MR_TEXT_LINE_COMMENT;
		if (*s == '/' && (s[1] == '/' || s[1] == '*')) {
			*skip = 1;
			return s[1] == '/' ? MR_TEXT_LINE_COMMENT : MR_TEXT_BLOCK_COMMENT;
		}
		return MR_TEXT_PLAIN;
	case MR_TEXT_STRING:
		*skip = *s == '\\' && s[1] && s[1] != '\n';
		return *s == '"' ? MR_TEXT_PLAIN : MR_TEXT_STRING;
	case MR_TEXT_LINE_COMMENT:
		return *s == '\n' ? MR_TEXT_PLAIN : MR_TEXT_LINE_COMMENT;
	case MR_TEXT_BLOCK_COMMENT:
		*skip = *s == '*' && s[1] == '/';
		return *skip ? MR_TEXT_PLAIN : MR_TEXT_BLOCK_COMMENT;
	}
	return MR_TEXT_PLAIN;
}

/* Is the line at @s an @include? Then *@name is the quoted part, and *@well tells whether the whole line is valid. */
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

/* A file that is being read. */
typedef struct mr_reading {
	mr_config_text *t;
	mr_mistakes *m;
	const char *path;
	const char *given; /* its text; NULL: it is to be read */
	uint16_t file;
	uint32_t unit;
	bool inside;       /* its unit continues around it: it is a part of a setting */
	unsigned depth;    /* of files that include each other */
	unsigned brackets; /* open ones, of any kind, at the present place */
	char word[64];     /* the last one: a key, once = or : follows */
	char group[64];    /* key of the outermost open bracket */
	char last;         /* the last character that is no blank */
} mr_reading;

/* Follow the character at @s, which is outside of strings and comments. */
static void follow(mr_reading *r, const char *s)
{
	size_t len = strlen(r->word);
	bool in_word = isalnum((unsigned char)*s) || *s == '_' || *s == '-' || *s == '*';

	if (in_word && !(isalnum((unsigned char)r->last) || (r->last && strchr("_-*", r->last))))
		len = 0;
	if (in_word && len + 1 < sizeof(r->word)) {
		r->word[len] = *s;
		r->word[len + 1] = '\0';
	}
	if (strchr("{[(", *s) && !r->brackets++)
		memcpy(r->group, *s == '{' ? r->word : "", *s == '{' ? sizeof(r->group) : 1);
	else if (strchr("}])", *s) && r->brackets)
		r->brackets--;
	if (*s != ' ' && *s != '\t' && *s != '\r' && *s != '\n')
		r->last = *s;
	else if (r->last && !strchr("=:", r->last))
		r->last = ' '; /* a blank ends a word */
}

/* The unit of a file that is included at the place of @r: one of its own, unless it is a part of a setting there. */
static mr_status unit_of(const mr_reading *r, uint32_t *unit, bool *inside)
{
	const char *group = r->t->units[r->unit].group;
	unsigned level = r->brackets + (*group != '\0');
	char own[64];

	*unit = r->unit;
	*inside = r->inside || level > 1 || (r->last && strchr("=:", r->last)) || (r->brackets && !*r->group);
	if (*inside)
		return MR_OK;
	memcpy(own, r->brackets ? r->group : group, sizeof(own));
	return begin_unit(r->t, own, unit);
}

static mr_status read_into(mr_reading *r, const mr_origin *from);

static mr_status include(const mr_reading *by, const char *name, size_t len, mr_origin at)
{
	const char *slash = strrchr(by->path, '/');
	int folder = *name == '/' || !slash ? 0 : (int)(slash + 1 - by->path);
	mr_reading r = {.t = by->t, .m = by->m, .depth = by->depth + 1};
	char *inner;
	mr_status st;

	if (r.depth > MAX_DEPTH) {
		mr_mistakes_add(by->m, at, NULL, "@include is nested more than %d deep (does a file include itself?)",
				MAX_DEPTH);
		by->t->partial = true;
		return MR_OK;
	}
	MR_TRY(unit_of(by, &r.unit, &r.inside));
	if (asprintf(&inner, "%.*s%.*s", folder, by->path, (int)len, name) < 0)
		return no_memory();
	r.path = inner;
	st = read_into(&r, &at);
	free(inner);
	if (st == MR_OK && !r.inside)
		st = end_unit(by->t, r.unit);
	return st;
}

/* Note bytes that no configuration may hold, and replace them by harmless ones, so that the rest is checked, too. */
static void clean(char *text, size_t len, uint16_t file, mr_mistakes *m)
{
	uint32_t line = 1;
	bool told = false;

	if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
		mr_mistakes_add(
			m, (mr_origin){MR_ORIGIN_FILE, file, 1}, NULL,
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

static mr_status append_text(mr_reading *r, const char *text)
{
	mr_text_state state = MR_TEXT_PLAIN;
	mr_config_text *t = r->t;
	uint32_t line = 1;
	const char *name;
	bool well;
	size_t len;
	int skip;

	MR_TRY(add_line(t, r->file, line, r->unit));
	for (const char *s = text; *s; s++) {
		if (state == MR_TEXT_PLAIN && (s == text || s[-1] == '\n') && is_include(s, &name, &len, &well)) {
			mr_origin at = {MR_ORIGIN_FILE, r->file, line};

			if (well)
				MR_TRY(include(r, name, len, at));
			else
				mr_mistakes_add(r->m, at, NULL, "expected @include \"file\" alone on its line");
			t->partial |= !well;
			s += strcspn(s, "\n");
			if (!*s)
				break;
			/* the rest of the line is empty: fall through to its newline */
		}
		if (state == MR_TEXT_PLAIN)
			follow(r, s);
		state = mr_config_text_advance(state, s, &skip);
		mr_strbuf_append_n(&t->text, s, (size_t)skip + 1);
		s += skip;
		if (*s == '\n')
			MR_TRY(add_line(t, r->file, ++line, r->unit));
	}
	return t->text.failed ? no_memory() : MR_OK;
}

static mr_status take_text(const mr_reading *r, char **text, size_t *len)
{
	if (!r->given)
		return mr_file_read(r->path, MR_CONFIG_MAX_BYTES, text, len);
	*len = strlen(r->given);
	if (*len > MR_CONFIG_MAX_BYTES)
		return mr_fail(MR_EIO, "%s: its configuration has more than %zu bytes", r->path, MR_CONFIG_MAX_BYTES);
	*text = strdup(r->given);
	return *text ? MR_OK : no_memory();
}

/* Read an included file; its last line is ended, so that the following text starts on a line of its own. */
static mr_status read_into(mr_reading *r, const mr_origin *from)
{
	mr_config_text *t = r->t;
	size_t len = 0;
	char *text;
	mr_status st = take_text(r, &text, &len);

	if (st == MR_ERESOURCE)
		return st;
	if (st != MR_OK && !from)
		return mr_fail(MR_ECONFIG, "%s", mr_error_text());
	if (st != MR_OK) {
		mr_mistakes_add(r->m, *from, NULL, "@include: %s", mr_error_text());
		t->partial = true;
		return MR_OK;
	}
	if (t->text.len + len > MAX_TOTAL || t->n_files >= UINT16_MAX) {
		mr_mistakes_add(r->m, from ? *from : (mr_origin){0}, NULL, "included files add up to more than %zu MiB",
				MAX_TOTAL >> 20);
		t->partial = true;
		free(text);
		return MR_OK;
	}
	st = add_file(t, r->path, &r->file);
	if (st == MR_OK) {
		uint32_t around = from ? t->lines[t->n_lines - 1].unit : 0;

		clean(text, len, r->file, r->m);
		if (from) {
			/* the first line of the file takes the place of the @include line */
			t->n_lines--;
		}
		st = append_text(r, text);
		if (st == MR_OK && from && len && text[len - 1] == '\n') {
			/* the newline of the @include line ends the (empty) last line of the file */
			t->lines[t->n_lines - 1] = (mr_config_line){*from, around};
		}
	}
	free(text);
	return st;
}

mr_status mr_config_text_read(const char *path, const char *given, mr_config_text *t, mr_mistakes *m)
{
	mr_reading r = {.t = t, .m = m, .path = path, .given = given};

	MR_TRY(begin_unit(t, "", &r.unit));
	MR_TRY(read_into(&r, NULL));
	return end_unit(t, r.unit);
}

mr_origin mr_config_text_origin(const mr_config_text *t, uint32_t line)
{
	if (!t->n_lines)
		return (mr_origin){MR_ORIGIN_FILE, 0, 1};
	return t->lines[line && line <= t->n_lines ? line - 1 : t->n_lines - 1].at;
}

mr_origin mr_config_unit_origin(const mr_config_text *t, const mr_config_unit *u, uint32_t line)
{
	if (!u->n_lines)
		return mr_config_text_origin(t, 1);
	return t->lines[u->line[line && line <= u->n_lines ? line - 1 : u->n_lines - 1]].at;
}

void mr_config_text_fini(mr_config_text *t)
{
	for (uint32_t i = 0; i < t->n_files; i++)
		free(t->files[i]);
	for (uint32_t i = 0; i < t->n_units; i++) {
		mr_strbuf_fini(&t->units[i].text);
		free(t->units[i].line);
	}
	free(t->files);
	free(t->units);
	free(t->order);
	free(t->lines);
	mr_strbuf_fini(&t->text);
}
