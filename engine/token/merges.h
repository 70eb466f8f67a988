/*
 * merges.h - byte-pair encoding of a word: of all neighbours that a rule merges, those of the rule that comes first in
 * the list are merged first, the leftmost before the others, until no rule holds.
 *
 * The neighbours wait in a heap, so a word of n bytes takes n log n steps. Short words are kept with their tokens.
 */
#ifndef MR_TOKEN_MERGES_H
#define MR_TOKEN_MERGES_H

#include "token/token_table.h"

typedef struct mr_merge {
	int32_t left, right; /* left -1: a free place */
	int32_t rank;        /* in the list */
	int32_t token;       /* what both become */
} mr_merge;

/* Tokens that follow each other. Begins as {0}; the owner frees @at. */
typedef struct mr_tokens {
	int32_t *at;
	size_t n, room;
} mr_tokens;

/** Room for @more tokens behind those there. Errors: MR_ERESOURCE. */
mr_status mr_tokens_reserve(mr_tokens *t, size_t more) MR_MUST_USE;

typedef struct mr_symbol mr_symbol;       /* a part of a word */
typedef struct mr_neighbours mr_neighbours; /* two parts that a rule merges */
typedef struct mr_known_word mr_known_word;

typedef struct mr_merges {
	mr_merge *place;     /* [places] by hash, the next free one where it is taken */
	size_t places, n;
	mr_symbol *symbol;   /* of the word at hand: [room] */
	mr_neighbours *heap; /* [3 room] */
	size_t room, waiting;
	mr_known_word *known;
} mr_merges;

/** @m begins as {0}; prepare for @n rules. Errors: MR_ERESOURCE. */
mr_status mr_merges_init(mr_merges *m, size_t n) MR_MUST_USE;
void mr_merges_fini(mr_merges *m);

/** Add a rule; a pair that has one already takes the new one. At most the @n of init. */
void mr_merges_put(mr_merges *m, mr_merge rule);

/** Append the tokens of @word[@len] to @out. Errors: MR_EDATA when a byte is no token of @t; MR_ERESOURCE. One thread
 * at a time. */
mr_status mr_merges_encode(mr_merges *m, const mr_token_table *t, const char *word, size_t len,
			   mr_tokens *out) MR_MUST_USE;

#endif
