/*
 * regex.h - patterns of tokenizers, matched by PCRE2 in UTF-8.
 *
 * They are written in Oniguruma's dialect (dialect.h). Letters and numbers are those of the Unicode version of the
 * PCRE2 at hand. A build without PCRE2 refuses every pattern.
 */
#ifndef MR_TOKEN_REGEX_H
#define MR_TOKEN_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct mr_regex mr_regex;

/** The version of PCRE2, or "none". */
const char *mr_regex_version(void);

/** Compile @pattern; @literal: it is a text and no pattern. Errors: MR_EDATA with what is wrong at which character;
 * MR_ERESOURCE. */
mr_status mr_regex_create(const char *pattern, bool literal, mr_regex **out) MR_MUST_USE;
void mr_regex_destroy(mr_regex *r); /* accepts NULL */

/** The first match in the valid UTF-8 @text[@len] that begins at @from or later: [*@start, *@end). *@start = @len + 1:
 * there is none. Errors: MR_EDATA when the search takes too many steps. One thread at a time. */
mr_status mr_regex_find(mr_regex *r, const char *text, size_t len, size_t from, size_t *start,
			size_t *end) MR_MUST_USE;

#endif
