/* tokenizer_internal.h - what reading a tokenizer (tokenizer_read.c) fills in. */
#ifndef MR_TOKEN_TOKENIZER_INTERNAL_H
#define MR_TOKEN_TOKENIZER_INTERNAL_H

#include "base/json.h"
#include "token/normal_form.h"
#include "token/splitter.h"
#include "token/surroundings.h"
#include "token/tokenizer.h"

/* A token that is found in the text before it is cut into words. */
typedef struct mr_added_token {
	char *text;   /* of the file */
	char *found;  /* what is found in the text: @text, or its normal form */
	size_t len;   /* of @found */
	int32_t token;
	bool raw;     /* found before those that are not, and before the text takes its normal form */
	bool strips_before, strips_behind; /* swallows white space there */
	bool alone;   /* found where no word character stands beside it */
} mr_added_token;

struct mr_tokenizer {
	mr_token_table table;
	mr_merges merges;
	mr_splitter splitter;
	mr_added_token *added;       /* [n_added] by first byte, then the longest first */
	size_t n_added;
	size_t first[2][257];        /* added[first[raw][b]] is the first with byte b; those that are not raw stand
	                                before those that are */
	mr_surroundings beside;      /* of added tokens, where one looks there */
	bool looks_beside;
	bool has_form;               /* text takes the form before it is cut into words */
	mr_normal_form form;
	bool whole_words;            /* a word that is a token is not merged */
	uint64_t hash;
	char *json;                  /* the document that it was read from, without white space */
};

/** Fill @t, which is empty, from the document @root. */
mr_status mr_tokenizer_fill(mr_tokenizer *t, const mr_json *root) MR_MUST_USE;

#endif
