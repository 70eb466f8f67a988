/*
 * splitter.h - cuts text into words, as the key pre_tokenizer of a tokenizer file says.
 *
 * A splitter is a list of steps, each of which cuts what the one before it left: by the matches of a pattern (matches
 * and what lies between them are words; one of both may be dropped), or by putting a blank in front of what begins with
 * none. Text that is no UTF-8 is cut out first: each byte of it is a word that no step sees.
 */
#ifndef MR_TOKEN_SPLITTER_H
#define MR_TOKEN_SPLITTER_H

#include "token/regex.h"

#define MR_SPLITTER_STEPS 16

typedef struct mr_split_step {
	mr_regex *regex;      /* NULL: a blank in front */
	bool drops_matches;
	bool drops_rest;
} mr_split_step;

typedef struct mr_splitter {
	mr_split_step step[MR_SPLITTER_STEPS];
	unsigned n;
	char *blank; /* a blank and a word behind it */
	size_t room;
} mr_splitter;

typedef mr_status mr_word_fn(void *arg, const char *word, size_t len);

void mr_splitter_fini(mr_splitter *s);

/** Call @each with the words of @text[@len], none of which is empty. Errors: those of @each; MR_EDATA, MR_ERESOURCE. */
mr_status mr_splitter_cut(mr_splitter *s, const char *text, size_t len, mr_word_fn *each, void *arg) MR_MUST_USE;

#endif
