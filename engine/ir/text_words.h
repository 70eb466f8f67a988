/*
 * text_words.h - words of the text form that printer and reader share; those of contracts are in contract_field.h. Only
 * text.c and text_read.c include it.
 */
#ifndef MR_IR_TEXT_WORDS_H
#define MR_IR_TEXT_WORDS_H

#include "ir/plan.h"

/* Indexed by mr_storage. */
static const char *const mr_text_storage[] = {[MR_STORED] = "stored", [MR_MODULO] = "modulo"};
/* Of an instruction: bit k is MR_INSTR_*. */
static const char *const mr_text_flags[] = {"first", "update", "drop", "keep", "pass", "any"};

#define MR_TEXT_COUNT(words) (sizeof(words) / sizeof((words)[0]))

#endif
