/*
 * tokenized.h - text whose tokens a tokenizer.json gives (token/tokenizer.h); shared by text and tokens.
 *
 * A text is read into memory and encoded when it is opened, since the number of its tokens is that of the samples; what
 * stays are its tokens, of two bytes each, or of four where the vocabulary needs that. A text above
 * mr_data_want.keep_bytes is refused: `millrace tokenize` writes its tokens into a file.
 */
#ifndef MR_DATA_TOKENIZED_H
#define MR_DATA_TOKENIZED_H

#include "data/dataset.h"

#define MR_DATA_TOKENIZER \
	{ \
		"tokenizer", MR_OPT_STRING, "", 0, 0, NULL, NULL, \
			"tokenizer.json of Hugging Face (byte-level BPE), by which text becomes tokens and tokens " \
			"text; empty: none" \
	}

/** Open the tokenizer that the key "tokenizer" of @values names; it must be that of @want->alphabet, if there is one.
 * *@alphabet is its mark, on the heap. Errors: MR_EDATA, MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_tokenized_open(const mr_values *values, const mr_data_want *want, mr_tokenizer **out,
			    char **alphabet) MR_MUST_USE;

/** The dataset of the text at "path" and the keys "validation", "order" and "vocab_size". Errors: also those of
 * mr_excerpts_init. */
mr_status mr_tokenized_create(const mr_values *values, const mr_data_want *want, mr_dataset **out) MR_MUST_USE;

/** A dataset of the tokenizer alone, without a text: it decodes tokens and has no samples. @options: the keys of the
 * data source that @values are of. */
mr_status mr_tokenized_without_text(const mr_option *options, const mr_values *values, const mr_data_want *want,
				    mr_dataset **out) MR_MUST_USE;

#endif
