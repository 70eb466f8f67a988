/*
 * language.h - what a trained language model says of texts: at each place the probability of the token that stands
 * there, and of those that could.
 *
 * A text is read in windows of the model's context that follow each other, as an evaluation reads it; the last window
 * reaches back as far as it can. Windows of several texts go through the model at once. The first token of a text has
 * no probability: nothing stands before it.
 *
 * One thread at a time.
 */
#ifndef MR_TRAINED_LANGUAGE_H
#define MR_TRAINED_LANGUAGE_H

#include "trained/trained.h"

typedef struct mr_language_text {
	char *bytes;            /* [len], with a NUL behind it; NULL: not given */
	size_t len;
	int32_t *token;         /* [n] */
	size_t n;
	uint64_t number;        /* from 1 */
	double log_probability; /* the sum over the places so far, in nats */
	uint64_t n_scored, n_right; /* places so far; those whose token was the most probable one */
} mr_language_text;

/* A place of a text. */
typedef struct mr_language_place {
	size_t at;              /* of text->token; n: behind the text, where no token is known */
	double log_probability; /* of that token; NAN: none is known */
	int32_t best;           /* the most probable token, the first of equal ones */
	double best_probability;
	const float *value;     /* [vocabulary] logits, and */
	double log_sum;         /* the logarithm of the sum of their exponentials: valid in the call alone */
} mr_language_place;

/* Called for all places of a text but the first, in their order, and then the text after it. */
typedef struct mr_language_hooks {
	void (*place)(void *arg, const mr_language_text *t, const mr_language_place *p);
	void (*end)(void *arg, const mr_language_text *t); /* of the text; never called before its places */
	void *arg;
} mr_language_hooks;

typedef struct mr_language mr_language;

/** For @t, which is open and whose form is a language's; borrows it. Errors: MR_ERESOURCE. */
mr_status mr_language_create(mr_trained *t, mr_language_hooks hooks, mr_language **out) MR_MUST_USE;
void mr_language_destroy(mr_language *l); /* accepts NULL */

/** One more text, which is copied. Hooks are called in this call or a later one. Errors: MR_ERESOURCE, MR_EDNN. */
mr_status mr_language_add(mr_language *l, const char *bytes, size_t len, const int32_t *token, size_t n) MR_MUST_USE;
/** Call the hooks for all that waits. Errors: as mr_language_add. */
mr_status mr_language_flush(mr_language *l) MR_MUST_USE;

/** The @k (at most 16) most probable tokens at @p in their order, of a vocabulary of @n, to @token. Returns how
 * many there are. */
size_t mr_language_likely(const mr_language_place *p, size_t n, size_t k, int32_t *token);
/** The probability of @token at @p. */
double mr_language_probability(const mr_language_place *p, int32_t token);

#endif
