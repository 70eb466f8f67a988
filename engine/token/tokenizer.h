/*
 * tokenizer.h - text to tokens and back by a tokenizer.json of Hugging Face: byte-level byte-pair encoding, as GPT-2
 * and Llama 3 have it.
 *
 * Text goes three ways: an added token (such as <|endoftext|>) is found wherever it stands, the longest first; the text
 * between takes a normal form (normal_form.h) where the file has a normalizer, and is cut into words (splitter.h); a
 * word's bytes are merged (merges.h). This is the package tokenizers' encode
 * with add_special_tokens=False: what the file says about post-processing, padding and truncation concerns batches of
 * examples and has no effect here.
 *
 * Every text has tokens: bytes that are no UTF-8 become the tokens of single bytes. What mr_tokenizer_bytes gives for
 * the tokens of a text, one behind the other, is the text again, unless the file has a normalizer, puts blanks in front
 * of words, or drops what lies between words or beside added tokens.
 *
 * Read are: a model of type BPE without dropout, prefixes and suffixes; normalizers NFC, NFD, NFKC, NFKD and a Sequence
 * of these; pre-tokenizers ByteLevel, Split (Isolated or Removed), Digits, and a Sequence of these; added tokens. All
 * else is refused.
 */
#ifndef MR_TOKEN_TOKENIZER_H
#define MR_TOKEN_TOKENIZER_H

#include "token/merges.h"

typedef struct mr_tokenizer mr_tokenizer;

/** Read the file @path. Errors: MR_EDATA with file, key and what was expected; MR_ERESOURCE. */
mr_status mr_tokenizer_open(const char *path, mr_tokenizer **out) MR_MUST_USE;
/** The same of the text that mr_tokenizer_json gave. */
mr_status mr_tokenizer_read(const char *json, mr_tokenizer **out) MR_MUST_USE;
void mr_tokenizer_close(mr_tokenizer *t); /* accepts NULL */

/** The file that it was read from, without its white space: owned by @t. */
const char *mr_tokenizer_json(const mr_tokenizer *t);

/** The largest number of a token plus 1. */
int64_t mr_tokenizer_size(const mr_tokenizer *t);

/** A hash of all that tokens depend on: the same for two files that differ in their spelling only. */
uint64_t mr_tokenizer_hash(const mr_tokenizer *t);

/** The bytes of a token, which @t owns, with a NUL behind them; "" for a number that no token has. */
const char *mr_tokenizer_bytes(const mr_tokenizer *t, int32_t token, size_t *len);

/** The added token @text; -1: there is none. */
int32_t mr_tokenizer_added(const mr_tokenizer *t, const char *text);

/** Append the tokens of @text[@len] to @out. Errors: MR_EDATA, MR_ERESOURCE. One thread at a time. */
mr_status mr_tokenizer_encode(mr_tokenizer *t, const char *text, size_t len, mr_tokens *out) MR_MUST_USE;

#endif
