/*
 * repeats.h - one configuration trained several times: on folds of its data, or with seeds in a row; and the mean and
 * deviation of what came out.
 *
 *	<run.dir>/fold-0 ... fold-4   the folder of a run each (checkpoint/rundir.h); of seeds seed-1 ... seed-5
 *	          folds.json          what came out, after each training; of seeds seeds.json
 *
 * Every training is one by itself: fold k is what `train --set data.folds=K --set data.fold=k` trains, and so what its
 * checkpoints say. What counts is its best evaluation, the one with the lowest loss, and the loss of its last step.
 */
#ifndef MR_TRAINING_REPEATS_H
#define MR_TRAINING_REPEATS_H

#include "config/config.h"

/* The keys that make one of the trainings, as texts of --set, and the folder of its run. */
typedef struct mr_repeat {
	char dir[4096], text[3][4200];
	uint32_t n; /* texts */
} mr_repeat;

/** Train with these keys; @resume: from the checkpoint in its folder. MR_ESTOPPED: a signal has ended it. */
typedef mr_status mr_repeat_fn(void *arg, const mr_repeat *keys, bool resume);

/**
 * Carry out @n trainings of @job, on folds or with seeds, and print the table of what came out. @go_on: take over what
 * an earlier call has written, else there must be none. A training that ends with a signal ends all: what is over is
 * in the file. Errors: those of @train; MR_EUSAGE data without folds, or a folder that is in use; MR_EDATA a file of
 * results that is of other trainings; MR_EIO, MR_ERESOURCE.
 */
mr_status mr_repeats_run(const mr_job *job, bool folds, uint32_t n, bool go_on, mr_repeat_fn *train,
			 void *arg) MR_MUST_USE;

#endif
