/*
 * split.h - which rows of a file validate: drawn once, at random, with the same part of each class where that is asked
 * for; or one of K folds, for cross-validation.
 *
 * How they are drawn is said in base/deal.h; train.seed does not change it.
 */
#ifndef MR_DATA_SPLIT_H
#define MR_DATA_SPLIT_H

#include "base/deal.h"
#include "data/part.h"

typedef struct mr_split {
	bool random, stratified; /* as asked for; both false: as the source pleases */
	mr_deal deal;
} mr_split;

/* The options of sources with classes in rows; the source says what auto is. */
#define MR_SPLIT_OPTIONS(AUTO) \
	{ \
		"split", MR_OPT_ENUM, "auto", 0, 0, "auto|random|stratified", NULL, \
			"rows that validate: random: drawn from all of them; stratified: from each class the same " \
			"part; auto: " AUTO ", and of folds stratified where there are classes" \
	}, \
	{"split_seed", MR_OPT_INT, "0", 0, 1e15, NULL, NULL, \
	 "of the order in which they are drawn; train.seed does not change it"}, \
	{"folds", MR_OPT_INT, "0", 0, 1000000, NULL, NULL, \
	 "number of folds that the rows are dealt out to; fold validates in place of validation; 0: none (train " \
	 "--folds)"}, \
	{"fold", MR_OPT_INT, "0", 0, 999999, NULL, NULL, "of folds: the one that validates, from 0"}

/** Read the options of @values. Errors: MR_ECONFIG with the key in front. */
mr_status mr_split_read(const mr_values *values, mr_split *out) MR_MUST_USE;

/** Refuse options that have no effect beside a validation file. @name is that of the source. */
mr_status mr_split_refuse(const mr_split *s, const char *name) MR_MUST_USE;

/** Does @s draw rows as above? Otherwise the source splits as it pleases. @classes: its targets are classes. Errors:
 * MR_ECONFIG stratified numbers. */
mr_status mr_split_draws(mr_split *s, bool classes, bool *draws) MR_MUST_USE;

/** How many of @n rows train; @name goes in front of messages. Errors: MR_EDATA. */
mr_status mr_split_count(const mr_split *s, const char *name, const mr_values *values, uint64_t n,
			 uint64_t *n_train) MR_MUST_USE;

/** Bytes that drawing takes for a while. */
static inline uint64_t mr_split_bytes(uint64_t n)
{
	return n * (2 * sizeof(uint64_t) + sizeof(int32_t));
}

#endif
