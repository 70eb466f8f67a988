/*
 * texts.h - texts of a file, or of standard input, as tokens of a trained language model: its vocabulary or tokenizer
 * stands in the form of its data (form.h).
 *
 * One thread at a time.
 */
#ifndef MR_READER_TEXTS_H
#define MR_READER_TEXTS_H

#include "reader/form.h"

typedef enum mr_texts_kind {
	MR_TEXTS_AUTO,   /* JSON lines and tokens by the ending of the name (.jsonl, .bin), else a text; tokens also
	                    where the model has nothing that spells them, or the file has llm.c's header */
	MR_TEXTS_WHOLE,  /* the file is one text */
	MR_TEXTS_LINES,  /* a text a line */
	MR_TEXTS_JSON,   /* a line is an object with "text" (a string) or "tokens" (numbers) */
	MR_TEXTS_TOKENS  /* one text, a file of token numbers as data "tokens" reads it */
} mr_texts_kind;

typedef struct mr_texts mr_texts;

typedef struct mr_text {
	bool got;            /* false: behind the last one */
	const char *bytes;   /* [len] valid until the next text; NULL: only tokens are known, or it is the whole file */
	size_t len;
	const int32_t *token; /* [n] likewise */
	size_t n;
} mr_text;

/** Open @path ("-": standard input) for a model of @f. Borrows both. Errors: MR_EDATA with the path; MR_EUSAGE when the
 * model has no vocabulary for text; MR_ERESOURCE. */
mr_status mr_texts_open(const mr_form *f, const char *path, mr_texts_kind kind, mr_texts **out) MR_MUST_USE;

/** The next text. Errors: MR_EDATA with file and place; *@skips: it was one text, and those behind it can be read. */
mr_status mr_texts_next(mr_texts *t, mr_text *out, bool *skips) MR_MUST_USE;
void mr_texts_close(mr_texts *t); /* accepts NULL */

/** Are there texts of tokens, so that mr_texts_spell gives them? */
bool mr_texts_spells(const mr_texts *t);
/** The bytes of @token, [*@len], valid until the next call. */
const char *mr_texts_spell(const mr_texts *t, int32_t token, size_t *len);

#endif
