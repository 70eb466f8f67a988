/*
 * text.h - a dataset of characters made from the bytes of a file or of memory; shared by text and sources.
 */
#ifndef MR_DATA_TEXT_H
#define MR_DATA_TEXT_H

#include "base/contents.h"
#include "data/dataset.h"

#define MR_TEXT_VOCAB                                                                                         \
	{                                                                                                     \
		"vocab", MR_OPT_ENUM, "char", 0, 0, "byte|char", NULL,                                        \
			"tokens: all 256 byte values, or only the bytes that occur, in ascending order"       \
	}

/**
 * Make the dataset from @in, which it takes over (also on failure). @values holds "vocab" and "validation"; @name
 * stands for the text in messages.
 */
mr_status mr_text_create(const char *name, mr_contents *in, const mr_values *values, const mr_data_want *want,
			 mr_dataset **out) MR_MUST_USE;

/** A dataset of @want->alphabet without a text: it decodes tokens and has no samples. Errors: MR_EDATA, MR_ERESOURCE.
 */
mr_status mr_text_of_alphabet(const mr_data_want *want, mr_dataset **out) MR_MUST_USE;

/* As mr_dataset_ops.form, load and close. */
void mr_text_form(const mr_dataset *d, mr_json_writer *w);
mr_status mr_text_load(mr_dataset *d) MR_MUST_USE;
void mr_text_close(mr_dataset *d);

#endif
