/*
 * offer.h - what a shell may offer at one place of the command line, for all shells alike.
 *
 * An operand is judged by its word in the usage line: CONF is a configuration, RUN a folder, SYSTEM a system, "a|b"
 * one of these words, and anything else a file. An option's values follow from its type.
 */
#ifndef MR_MANUAL_OFFER_H
#define MR_MANUAL_OFFER_H

#include "base/str.h"
#include "manual/command.h"

typedef enum mr_offer_kind {
	MR_OFFER_NOTHING, /* numbers */
	MR_OFFER_WORDS,
	MR_OFFER_CONFIGS, /* files *.cfg, and folders on the way to them */
	MR_OFFER_FOLDERS,
	MR_OFFER_FILES
} mr_offer_kind;

/** What to offer for the operands of @c; words go to @words, with a blank behind each. */
mr_offer_kind mr_offer_operand(const mr_command *c, mr_strbuf *words);

/** What to offer as the value of @o; words go to @words, as above. */
mr_offer_kind mr_offer_value(const mr_option *o, mr_strbuf *words);

/** Is @o an option without a value? */
bool mr_offer_is_flag(const mr_option *o);

/** The keys of a configuration, as --set takes them, with "=" and a blank behind each: "train.steps= model.name= ". */
void mr_offer_keys(mr_strbuf *words);

typedef void mr_offer_fn(void *arg, const char *key, const char *words);

/** Call @each for every key of a configuration whose values are words: key "lr_schedule.name", words "constant cosine "
 */
void mr_offer_each_choice(mr_offer_fn *each, void *arg);

#endif
