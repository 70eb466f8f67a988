/*
 * text.h - a dataset of characters made from bytes in memory; what text and sources have in common.
 */
#ifndef MR_DATA_TEXT_H
#define MR_DATA_TEXT_H

#include "nn/dataset.h"

#define MR_TEXT_VOCAB                                                                                         \
	{                                                                                                     \
		"vocab", MR_OPT_ENUM, "char", 0, 0, "byte|char", NULL,                                        \
			"tokens: all 256 byte values, or only the bytes that occur, in ascending order"       \
	}

/**
 * Make the dataset from @n bytes at @bytes, which it takes over (also on failure). @values holds "vocab" and
 * "validation";
 * @name stands for the text in sentences.
 */
mr_status mr_text_create(const char *name, char *bytes, size_t n, const mr_values *values, const mr_data_want *want,
			 mr_dataset **out) MR_MUST_USE;

/** As mr_dataset_ops.close. */
void mr_text_close(mr_dataset *d);

#endif
