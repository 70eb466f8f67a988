/*
 * train_words.h - what `millrace train` and `simulate` print: the tables before and after a training, its progress
 * line, its status on request.
 */
#ifndef MR_CLI_TRAIN_WORDS_H
#define MR_CLI_TRAIN_WORDS_H

#include "report/progress.h"
#include "training/train.h"

typedef struct mr_train_words {
	mr_train *t; /* borrowed */
	mr_progress progress;
} mr_train_words;

/** The hooks by which a training shows its progress on standard output; they borrow @w, which mr_train_words_begin
 * fills in before the first step. */
mr_train_hooks mr_train_words_hooks(mr_train_words *w);
void mr_train_words_begin(mr_train_words *w, mr_train *t);

/** The tables before the first step. */
void mr_train_words_start(const mr_train *t);
/** The tables after the last, once mr_train_end has been called. */
void mr_train_words_end(const mr_train *t);

/** The command's training: mr_train_open to mr_train_close with these words. *@signal is the signal that ended it, or
 * 0. Errors: any; saved files stay. */
mr_status mr_train_run(mr_config *config, const mr_train_opts *opts, int *signal) MR_MUST_USE;

#endif
