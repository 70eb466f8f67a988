/*
 * text_words.h - the words of the text form that printer and reader share. Only text.c and text_read.c include it.
 */
#ifndef MR_IR_TEXT_WORDS_H
#define MR_IR_TEXT_WORDS_H

#include "ir/plan.h"

/* Indexed by their enums. */
static const char *const mr_text_coverage[] = {[MR_COVER_TRAIN] = "train", [MR_COVER_FORWARD] = "forward",
					       [MR_COVER_BLOCK] = "block"};
static const char *const mr_text_flush[] = {[MR_FLUSH_BARRIER] = "barrier",
					    [MR_FLUSH_LOCAL] = "local",
					    [MR_FLUSH_VALIDATED] = "validated",
					    [MR_FLUSH_NONE] = "none"};
static const char *const mr_text_read_rule[] = {[MR_READ_BATCH] = "batch",
						[MR_READ_LATEST] = "latest",
						[MR_READ_TAG] = "tag",
						[MR_READ_AGED] = "aged",
						[MR_READ_FIRST] = "first"};
static const char *const mr_text_sum[] = {[MR_SUM_ASCENDING] = "ascending",
					  [MR_SUM_DESCENDING] = "descending",
					  [MR_SUM_LISTED] = "listed"};
static const char *const mr_text_predict[] = {[MR_PREDICT_NONE] = "none",
					      [MR_PREDICT_AHEAD] = "ahead",
					      [MR_PREDICT_BACK] = "back",
					      [MR_PREDICT_STEPS] = "steps"};
static const char *const mr_text_average[] = {
	[MR_AVERAGE_NONE] = "none", [MR_AVERAGE_MEAN] = "mean", [MR_AVERAGE_ELASTIC] = "elastic"};
static const char *const mr_text_storage[] = {[MR_STORED] = "stored", [MR_MODULO] = "modulo"};
/* Of an instruction: bit k is MR_INSTR_*. */
static const char *const mr_text_flags[] = {"first", "update", "drop", "keep", "pass", "any"};

#define MR_TEXT_COUNT(words) (sizeof(words) / sizeof((words)[0]))

#endif
