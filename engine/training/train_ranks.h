/* train_ranks.h - a training over several processes (link/ranks.h): rank 0 has the course, the others follow. */
#ifndef MR_TRAINING_TRAIN_RANKS_H
#define MR_TRAINING_TRAIN_RANKS_H

#include "training/train.h"

/** Open the session of @t over opts.ranks; every rank calls it. Errors: those of mr_session_open_ranks, and MR_ECONFIG
 * for what goes in one process only. */
mr_status mr_train_open_ranks(mr_train *t) MR_MUST_USE;

/** Take part in the training of @config over opts.ranks, as another than rank 0, until that ends. Errors: any; rank 0
 * has been told, and says them. */
mr_status mr_train_follow(mr_config *config, const mr_train_opts *opts) MR_MUST_USE;

#endif
