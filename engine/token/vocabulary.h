/*
 * vocabulary.h - the different words of a text, numbered by how often they occur.
 *
 * Count all words, seal the vocabulary, then find the number of each. Words that are as frequent are numbered in
 * ascending order of their bytes, so the numbers depend on the words alone.
 */
#ifndef MR_TOKEN_VOCABULARY_H
#define MR_TOKEN_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_word {
	char *text;     /* NULL: a free place */
	size_t len;
	uint64_t count;
	int32_t number; /* after sealing; -1: left out */
} mr_word;

typedef struct mr_vocabulary {
	mr_word *place; /* [room] by hash, the next free one where it is taken */
	size_t room, n; /* room is a power of 2; n words */
} mr_vocabulary;

/** Count the word of @len bytes at @text once more. @v begins as {0}. Errors: MR_ERESOURCE. */
mr_status mr_vocabulary_count(mr_vocabulary *v, const char *text, size_t len) MR_MUST_USE;

/** Number the words from @first on, the most frequent first, at most @most of them (0: all). *@n is how many.
 * Errors: MR_ERESOURCE. */
mr_status mr_vocabulary_seal(mr_vocabulary *v, int32_t first, size_t most, size_t *n) MR_MUST_USE;

/** The number of the word; -1: it has none. */
int32_t mr_vocabulary_find(const mr_vocabulary *v, const char *text, size_t len);

void mr_vocabulary_fini(mr_vocabulary *v);

#endif
