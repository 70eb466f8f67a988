#include "token/surroundings.h"

#include "base/str.h"

mr_status mr_surroundings_init(mr_surroundings *s)
{
	MR_TRY(mr_regex_create("\\s", false, &s->space));
	return mr_regex_create("[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}]", false, &s->word);
}

void mr_surroundings_fini(mr_surroundings *s)
{
	mr_regex_destroy(s->space);
	mr_regex_destroy(s->word);
	*s = (mr_surroundings){0};
}

/* Bytes of the character that ends before @text[@at]; 0: there is none. */
static size_t length_before(const char *text, size_t at)
{
	for (size_t n = 1; n <= 4 && n <= at; n++)
		if (mr_utf8_length(text + at - n, n) == n)
			return n;
	return 0;
}

/* Is the character @text[@n] one of @kind? @n 0: there is none. */
static mr_status is_one(mr_regex *kind, const char *text, size_t n, bool *out)
{
	size_t start = 1, end;

	if (n)
		MR_TRY(mr_regex_find(kind, text, n, 0, &start, &end));
	*out = !start;
	return MR_OK;
}

mr_status mr_space_before(const mr_surroundings *s, const char *text, size_t least, size_t at, size_t *first)
{
	for (*first = at; *first > least;) {
		size_t n = length_before(text + least, *first - least);
		bool yes;

		MR_TRY(is_one(s->space, text + *first - n, n, &yes));
		if (!yes)
			break;
		*first -= n;
	}
	return MR_OK;
}

mr_status mr_space_behind(const mr_surroundings *s, const char *text, size_t len, size_t at, size_t *end)
{
	for (*end = at; *end < len;) {
		size_t n = mr_utf8_length(text + *end, len - *end);
		bool yes;

		MR_TRY(is_one(s->space, text + *end, n, &yes));
		if (!yes)
			break;
		*end += n;
	}
	return MR_OK;
}

mr_status mr_stands_alone(const mr_surroundings *s, const char *text, size_t len, size_t from, size_t to, bool *out)
{
	size_t before = length_before(text, from);
	bool left, right;

	MR_TRY(is_one(s->word, text + from - before, before, &left));
	MR_TRY(is_one(s->word, text + to, to < len ? mr_utf8_length(text + to, len - to) : 0, &right));
	*out = !left && !right;
	return MR_OK;
}
