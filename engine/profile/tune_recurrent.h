/*
 * tune_recurrent.h - a layer of LSTM or GRU that tune.h measures: forward, backward, and the steps of its weights.
 */
#ifndef MR_PROFILE_TUNE_RECURRENT_H
#define MR_PROFILE_TUNE_RECURRENT_H

#include "nn/kernels.h"

typedef struct mr_tune_recurrent mr_tune_recurrent;

/** Make a layer called @name with @width columns in and out, over @rows rows of up to 16 samples, for @k and its
 * context. Errors: MR_ERESOURCE. */
mr_status mr_tune_recurrent_create(const char *name, const mr_kernels *k, mr_kctx *kc, int64_t rows, int64_t width,
				   mr_tune_recurrent **out) MR_MUST_USE;
void mr_tune_recurrent_destroy(mr_tune_recurrent *t); /* accepts NULL */

/** All passes of one micro-batch. */
mr_status mr_tune_recurrent_run(mr_tune_recurrent *t) MR_MUST_USE;

#endif
