/*
 * surroundings.h - what stands beside an added token: white space and word characters, as the package tokenizers has
 * them (\s and \w of Rust's regular expressions).
 */
#ifndef MR_TOKEN_SURROUNDINGS_H
#define MR_TOKEN_SURROUNDINGS_H

#include "token/regex.h"

typedef struct mr_surroundings {
	mr_regex *space, *word; /* one character each */
} mr_surroundings;

/** @s begins as {0}. Errors: MR_EDATA, MR_ERESOURCE. */
mr_status mr_surroundings_init(mr_surroundings *s) MR_MUST_USE;
void mr_surroundings_fini(mr_surroundings *s);

/** *@first: where the white space begins that ends before @text[@at], at @least or behind it. Errors: MR_EDATA. */
mr_status mr_space_before(const mr_surroundings *s, const char *text, size_t least, size_t at,
			  size_t *first) MR_MUST_USE;

/** *@end: where the white space ends that begins at @text[@at]. Errors: MR_EDATA. */
mr_status mr_space_behind(const mr_surroundings *s, const char *text, size_t len, size_t at,
			  size_t *end) MR_MUST_USE;

/** Is neither the character before @text[@from] nor the one at @text[@to] part of a word? Errors: MR_EDATA. */
mr_status mr_stands_alone(const mr_surroundings *s, const char *text, size_t len, size_t from, size_t to,
			  bool *out) MR_MUST_USE;

#endif
