#include "token/regex.h"

#ifdef MR_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "token/dialect.h"

#define STACK_BEGINS ((size_t)32 << 10)
#define STACK_ENDS ((size_t)4 << 20)

struct mr_regex {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

const char *mr_regex_version(void)
{
	static char text[64];

	if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) < (int)sizeof(text))
		pcre2_config(PCRE2_CONFIG_VERSION, text);
	return text;
}

/* @spelled is @pattern in the dialect of PCRE2. */
static mr_status compile(mr_regex *r, const char *pattern, const char *spelled, bool literal)
{
	uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C);
	char why[160];
	PCRE2_SIZE at;
	int error;

	r->code = pcre2_compile((PCRE2_SPTR)spelled, PCRE2_ZERO_TERMINATED, options, &error, &at, NULL);
	if (!r->code) {
		pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof(why));
		return mr_fail(MR_EDATA, "\"%.60s\" is no pattern: %s", pattern, why);
	}
	r->match = pcre2_match_data_create(1, NULL);
	r->context = pcre2_match_context_create(NULL);
	if (!r->match || !r->context)
		return mr_fail(MR_ERESOURCE, "no memory for a pattern");
	/* Without compiled code a pattern is interpreted: slower, and the same. */
	if (!pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE)) {
		r->stack = pcre2_jit_stack_create(STACK_BEGINS, STACK_ENDS, NULL);
		pcre2_jit_stack_assign(r->context, NULL, r->stack);
	}
	return MR_OK;
}

mr_status mr_regex_create(const char *pattern, bool literal, mr_regex **out)
{
	mr_regex *r = calloc(1, sizeof(*r));
	mr_strbuf spelled = {0};
	mr_status st;

	if (!r)
		return mr_fail(MR_ERESOURCE, "no memory for a pattern");
	st = literal ? MR_OK : mr_dialect_spell(pattern, &spelled);
	if (st == MR_OK)
		st = compile(r, pattern, literal ? pattern : mr_strbuf_text(&spelled), literal);
	mr_strbuf_fini(&spelled);
	if (st != MR_OK)
		mr_regex_destroy(r);
	else
		*out = r;
	return st;
}

void mr_regex_destroy(mr_regex *r)
{
	if (!r)
		return;
	pcre2_match_data_free(r->match);
	pcre2_match_context_free(r->context);
	pcre2_jit_stack_free(r->stack);
	pcre2_code_free(r->code);
	free(r);
}

mr_status mr_regex_find(mr_regex *r, const char *text, size_t len, size_t from, size_t *start, size_t *end)
{
	uint32_t options = PCRE2_NO_UTF_CHECK;
	int found = pcre2_match(r->code, (PCRE2_SPTR)text, len, from, options, r->match, r->context);
	const PCRE2_SIZE *at;

	if (found == PCRE2_ERROR_JIT_STACKLIMIT)
		found = pcre2_match(r->code, (PCRE2_SPTR)text, len, from, options | PCRE2_NO_JIT, r->match,
				    r->context);
	*start = *end = len + 1;
	if (found == PCRE2_ERROR_NOMATCH)
		return MR_OK;
	if (found < 0)
		return mr_fail(MR_EDATA, "a pattern takes too many steps at byte %zu of a text of %zu (PCRE2: %d)",
			       from, len, found);
	at = pcre2_get_ovector_pointer(r->match);
	*start = at[0];
	*end = at[1] < at[0] ? at[0] : at[1];
	return MR_OK;
}

#else

const char *mr_regex_version(void)
{
	return "none";
}

mr_status mr_regex_create(const char *pattern, bool literal, mr_regex **out)
{
	(void)pattern;
	(void)literal;
	(void)out;
	return mr_fail(MR_EDATA, "this build cuts no text into words: it was made without PCRE2 (libpcre2-dev)");
}

void mr_regex_destroy(mr_regex *r)
{
	(void)r;
}

mr_status mr_regex_find(mr_regex *r, const char *text, size_t len, size_t from, size_t *start, size_t *end)
{
	(void)r;
	(void)text;
	(void)from;
	*start = *end = len + 1;
	return MR_OK;
}

#endif
