/* rank_words.h - what `millrace train` says of the ranks over which a training is spread. */
#ifndef MR_CLI_RANK_WORDS_H
#define MR_CLI_RANK_WORDS_H

#include "training/train.h"

/** A line for each rank: its host and workers, and the bytes that a step sends to each other rank. Nothing in one
 * process. */
void mr_rank_words_start(const mr_train *t);

/** A line: bytes that were sent between ranks, beside what the plan says. */
void mr_rank_words_end(const mr_train *t);

#endif
