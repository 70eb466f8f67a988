#include "token/splitter.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

typedef struct cutting {
	mr_splitter *s;
	mr_word_fn *each;
	void *arg;
} cutting;

void mr_splitter_fini(mr_splitter *s)
{
	for (unsigned i = 0; i < s->n; i++)
		mr_regex_destroy(s->step[i].regex);
	free(s->blank);
	*s = (mr_splitter){0};
}

static mr_status cut(const cutting *c, unsigned i, const char *text, size_t len);

/* A match of nothing cuts the text where it stands, unless the last match ends there. */
static mr_status cut_by_pattern(const cutting *c, unsigned i, const char *text, size_t len)
{
	const mr_split_step *step = &c->s->step[i];
	size_t from = 0, done = 0, last = len + 1, start, end;

	while (from <= len) {
		MR_TRY(mr_regex_find(step->regex, text, len, from, &start, &end));
		if (start > len)
			break;
		from = end;
		if (start == end) {
			from += start < len ? mr_utf8_length(text + start, len - start) : 1;
			if (start == last)
				continue;
		}
		if (start > done && !step->drops_rest)
			MR_TRY(cut(c, i + 1, text + done, start - done));
		if (end > start && !step->drops_matches)
			MR_TRY(cut(c, i + 1, text + start, end - start));
		done = last = end;
	}
	return done < len && !step->drops_rest ? cut(c, i + 1, text + done, len - done) : MR_OK;
}

static mr_status put_blank(const cutting *c, unsigned i, const char *text, size_t len)
{
	mr_splitter *s = c->s;

	if (*text == ' ')
		return cut(c, i + 1, text, len);
	if (s->room < len + 1) {
		char *wide = realloc(s->blank, 2 * len + 1);

		if (!wide)
			return mr_fail(MR_ERESOURCE, "no memory for a text of %zu bytes", len);
		s->blank = wide;
		s->room = 2 * len + 1;
	}
	s->blank[0] = ' ';
	memcpy(s->blank + 1, text, len);
	return cut(c, i + 1, s->blank, len + 1);
}

static mr_status cut(const cutting *c, unsigned i, const char *text, size_t len)
{
	if (i == c->s->n)
		return c->each(c->arg, text, len);
	return c->s->step[i].regex ? cut_by_pattern(c, i, text, len) : put_blank(c, i, text, len);
}

mr_status mr_splitter_cut(mr_splitter *s, const char *text, size_t len, mr_word_fn *each, void *arg)
{
	const cutting c = {s, each, arg};

	for (size_t at = 0, end; at < len; at = end) {
		size_t n = 0;

		for (end = at; end < len && (n = mr_utf8_length(text + end, len - end)); end += n)
			;
		if (end > at)
			MR_TRY(cut(&c, 0, text + at, end - at));
		for (; end < len && !mr_utf8_length(text + end, len - end); end++)
			MR_TRY(each(arg, text + end, 1));
	}
	return MR_OK;
}
