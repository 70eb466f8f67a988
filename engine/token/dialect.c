#include "token/dialect.h"

#include <string.h>
#include <strings.h>

#define IN_CLASS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD IN_CLASS "\\xb2\\xb3\\xb9\\xbc-\\xbe" /* \w has these of Latin-1, too, where it is not in a class */

typedef struct spelling {
	const char *pattern, *at;
	mr_strbuf *out;
	unsigned depth; /* of classes */
} spelling;

typedef struct sign {
	const char *here, *pcre2, *in_class; /* NULL: cannot be said */
} sign;

static const sign escapes[] = {
	{"s", "\\p{White_Space}", "\\p{White_Space}"},
	{"S", "\\P{White_Space}", "\\P{White_Space}"},
	{"w", "[" WORD "]", IN_CLASS},
	{"W", "[^" WORD "]", NULL},
	{"b", "(?:(?<=[" WORD "])(?![" WORD "])|(?<![" WORD "])(?=[" WORD "]))", "\\b"},
	{"B", "(?:(?<=[" WORD "])(?=[" WORD "])|(?<![" WORD "])(?![" WORD "]))", NULL},
	{"h", "[0-9A-Fa-f]", "0-9A-Fa-f"},
	{"H", "[^0-9A-Fa-f]", NULL},
	{"v", "\\x0b", "\\x0b"},
	{"Q", "Q", "Q"},
	{"E", "E", "E"},
	{"V", "V", "V"},
	{"C", NULL, NULL},
	{"K", NULL, NULL}, /* keeps an empty match, where the other leaves it out */
};

static const sign classes[] = {
	{"[:alpha:]", NULL, "\\p{Alphabetic}"},
	{"[:alnum:]", NULL, "\\p{Alphabetic}\\p{Nd}"},
	{"[:digit:]", NULL, "\\p{Nd}"},
	{"[:punct:]", NULL, "\\p{P}\\p{S}"},
	{"[:space:]", NULL, "\\p{White_Space}"},
	{"[:upper:]", NULL, "\\p{Uppercase}"},
	{"[:lower:]", NULL, "\\p{Lowercase}"},
	{"[:word:]", NULL, IN_CLASS},
};

static mr_status cannot(const spelling *s, size_t len)
{
	return mr_fail(MR_EDATA, "\"%.60s\" has \"%.*s\" at byte %zu, which cannot be read here", s->pattern, (int)len,
		       s->at, (size_t)(s->at - s->pattern));
}

static const sign *find(const sign *list, size_t n, const char *at)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(at, list[i].here, strlen(list[i].here)))
			return &list[i];
	return NULL;
}

/* \p{NAME}: PCRE2 takes a bare NAME of a script for all that the script uses, the dialect for what is its own. */
static void spell_property(spelling *s)
{
	static const char *const others[] = {"Alphabetic", "Lowercase", "Uppercase", "White_Space", "Any"};
	const char *name = s->at + 3 + (s->at[3] == '^');
	size_t len = strcspn(name, "}");
	bool script = len > 2 && name[len];

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		script = script && strncasecmp(name, others[i], len) != 0;
	mr_strbuf_append_n(s->out, s->at, (size_t)(name - s->at));
	mr_strbuf_append(s->out, script ? "sc:" : "");
	mr_strbuf_append_n(s->out, name, len + (name[len] != '\0'));
	s->at = name + len + (name[len] != '\0');
}

static mr_status spell_escape(spelling *s)
{
	const sign *k = find(escapes, sizeof(escapes) / sizeof(*escapes), s->at + 1);
	const char *text = k ? s->depth ? k->in_class : k->pcre2 : NULL;
	bool code = s->at[1] == 'u' && strspn(s->at + 2, "0123456789abcdefABCDEF") >= 4;
	size_t len = code ? 6 : 1 + (s->at[1] != '\0');

	if (k && !text)
		return cannot(s, 2);
	if ((s->at[1] == 'p' || s->at[1] == 'P') && s->at[2] == '{') {
		spell_property(s);
		return MR_OK;
	}
	if (s->at[1] == 'x' && s->at[2] == '{')
		len = 2 + strspn(s->at + 2, "{0123456789abcdefABCDEF}");
	if (code)
		mr_strbuf_printf(s->out, "\\x{%.4s}", s->at + 2);
	else if (text)
		mr_strbuf_append(s->out, text);
	else
		mr_strbuf_append_n(s->out, s->at, len);
	s->at += len;
	return MR_OK;
}

/* A sign within a class. A class in it that is no opposite adds its characters. */
static mr_status spell_in_class(spelling *s)
{
	const char *c = s->at;

	if (*c == '[' && c[1] == ':' && strstr(c + 2, ":]")) {
		const sign *k = find(classes, sizeof(classes) / sizeof(*classes), c);

		if (!k)
			return cannot(s, (size_t)(strstr(c + 2, ":]") - c) + 2);
		mr_strbuf_append(s->out, k->in_class);
		s->at += strlen(k->here);
		return MR_OK;
	}
	if ((*c == '[' && c[1] == '^') || (*c == '&' && c[1] == '&'))
		return cannot(s, 2);
	if (*c == '[' || *c == ']')
		s->depth += *c == '[' ? 1u : -1u;
	if (*c == '-' && (c[1] == '[' || (c[-1] == ']' && c[-2] != '\\')))
		mr_strbuf_append(s->out, "\\-");
	else if (*c != '[' && (*c != ']' || !s->depth))
		mr_strbuf_append_n(s->out, c, 1);
	s->at++;
	return MR_OK;
}

static mr_status spell_sign(spelling *s)
{
	const char *c = s->at;
	size_t flags = !strncmp(c, "(?", 2) ? strspn(c + 2, "imx-") : 0;
	size_t digits = *c == '{' && c[1] == ',' ? strspn(c + 2, "0123456789") : 0;

	if (*c == '[') {
		s->depth = 1;
		mr_strbuf_append(s->out, c[1] == '^' ? "[^" : "[");
		s->at += c[1] == '^' ? 2 : 1;
		return *s->at == ']' ? cannot(s, 1) : MR_OK;
	}
	if (*c == '(' && c[1] == '*')
		return cannot(s, 2);
	if (flags && (c[2 + flags] == ':' || c[2 + flags] == ')')) {
		for (size_t i = 0; i < 2 + flags; i++)
			mr_strbuf_append_n(s->out, c[i] == 'm' ? "s" : c + i, 1);
		s->at += 2 + flags;
	} else if (digits && c[2 + digits] == '}') {
		mr_strbuf_append(s->out, "{0");
		s->at++;
	} else if (*c == '}' && c[1] == '+') { /* once more, and not without a step back */
		return cannot(s, 2);
	} else {
		mr_strbuf_append_n(s->out, c, 1);
		s->at++;
	}
	return MR_OK;
}

mr_status mr_dialect_spell(const char *pattern, mr_strbuf *out)
{
	spelling s = {pattern, pattern, out, 0};

	mr_strbuf_append(out, "(*LF)(?m)");
	while (*s.at)
		MR_TRY(*s.at == '\\' ? spell_escape(&s) : s.depth ? spell_in_class(&s) : spell_sign(&s));
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory for a pattern") : MR_OK;
}
