#include "token/normal_form.h"

#include <stdlib.h>

#include "token/splitter.h"

#ifdef MR_UTF8PROC
#include <utf8proc.h>

#define LONGEST 32 /* characters that one is decomposed to; Unicode has at most 18 */

const char *mr_normal_form_version(void)
{
	return utf8proc_version();
}

static int by_number(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

static uint64_t class_of(int32_t code)
{
	return (uint64_t)utf8proc_get_property(code)->combining_class;
}

/* Put code[from..to), all of which combine, into the order of their classes, and those of one class as they are. */
static mr_status order(int32_t *code, size_t from, size_t to)
{
	bool ordered = true;
	uint64_t *key;

	for (size_t i = from + 1; i < to && ordered; i++)
		ordered = class_of(code[i - 1]) <= class_of(code[i]);
	if (ordered)
		return MR_OK;
	key = malloc((to - from) * sizeof(*key));
	if (!key)
		return mr_fail(MR_ERESOURCE, "no memory for %zu characters that combine", to - from);
	for (size_t i = from; i < to; i++)
		key[i - from] = class_of(code[i]) << 56 | (uint64_t)(i - from) << 21 | (uint32_t)code[i];
	qsort(key, to - from, sizeof(*key), by_number);
	for (size_t i = from; i < to; i++)
		code[i] = (int32_t)(key[i - from] & 0x1fffff);
	free(key);
	return MR_OK;
}

/* The character @c as those that it is decomposed to. */
static mr_status put_parts(mr_normal_form *f, int32_t c, utf8proc_option_t form)
{
	utf8proc_ssize_t n;

	if (f->room - f->n < LONGEST) {
		size_t room = 2 * f->room + LONGEST;
		int32_t *wide = realloc(f->code, room * sizeof(*wide));

		if (!wide)
			return mr_fail(MR_ERESOURCE, "no memory for a text of %zu characters", room);
		f->code = wide;
		f->room = room;
	}
	n = utf8proc_decompose_char(c, f->code + f->n, LONGEST, form, NULL);
	if (n < 0 || n > LONGEST) {
		f->code[f->n] = c;
		n = 1;
	}
	f->n += (size_t)n;
	return MR_OK;
}

/* By parts and not by utf8proc_map, which orders in n^2 steps what combines. */
static mr_status put_form(mr_normal_form *f, const char *text, size_t len)
{
	const utf8proc_option_t form = UTF8PROC_STABLE | (f->compatible ? UTF8PROC_COMPAT : 0) |
				       (f->composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);

	f->n = 0;
	for (size_t i = 0; i < len;) {
		utf8proc_int32_t c;

		i += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(len - i), &c);
		MR_TRY(put_parts(f, c, form));
	}
	for (size_t from = 0, to; from < f->n; from = to + 1) {
		for (to = from; to < f->n && class_of(f->code[to]);)
			to++;
		MR_TRY(order(f->code, from, to));
	}
	if (f->composed)
		f->n = (size_t)utf8proc_normalize_utf32(f->code, (utf8proc_ssize_t)f->n, form);
	for (size_t i = 0; i < f->n; i++) {
		utf8proc_uint8_t bytes[4];

		mr_strbuf_append_n(&f->text, (const char *)bytes,
				   (size_t)utf8proc_encode_char(f->code[i], bytes));
	}
	return MR_OK;
}

static bool is_ascii(char c)
{
	return !((unsigned char)c & 0x80);
}

/* A character of ASCII composes with what follows it only, so the text can be cut in front of each. */
mr_status mr_normal_form_apply(mr_normal_form *f, const char *text, size_t len)
{
	mr_strbuf_reset(&f->text);
	for (size_t at = 0, end; at < len; at = end) {
		size_t n;

		for (end = at; end < len && is_ascii(text[end]) && (end + 1 == len || is_ascii(text[end + 1]));)
			end++;
		mr_strbuf_append_n(&f->text, text + at, end - at);
		at = end;
		end += end < len && is_ascii(text[end]);
		for (; end < len && !is_ascii(text[end]) && (n = mr_utf8_length(text + end, len - end)); end += n)
			;
		MR_TRY(put_form(f, text + at, end - at));
		for (at = end; end < len && !mr_utf8_length(text + end, len - end);)
			end++;
		mr_strbuf_append_n(&f->text, text + at, end - at);
	}
	return f->text.failed ? mr_fail(MR_ERESOURCE, "no memory for a text of %zu bytes", len) : MR_OK;
}

#else

const char *mr_normal_form_version(void)
{
	return "none";
}

mr_status mr_normal_form_apply(mr_normal_form *f, const char *text, size_t len)
{
	(void)f;
	(void)text;
	return mr_fail(MR_EDATA, "this build has no normal form for %zu bytes: it was made without utf8proc", len);
}

#endif

void mr_normal_form_fini(mr_normal_form *f)
{
	mr_strbuf_fini(&f->text);
	free(f->code);
	*f = (mr_normal_form){0};
}
