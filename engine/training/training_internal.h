/* training_internal.h - a training of the library (millrace/training.h). For training.c, training_results.c and
 * own_loss.c only. */
#ifndef MR_TRAINING_TRAINING_INTERNAL_H
#define MR_TRAINING_TRAINING_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "millrace/training.h"
#include "session/logits.h"
#include "training/train.h"

struct mr_training {
	mr_training *next;        /* in the list of open trainings; guarded by its lock */
	pid_t process;            /* that opened it */
	bool busy;                /* a function of it is under way, on thread `by`; guarded by the same lock */
	pthread_t by;
	mr_config *config;        /* its own, checked */
	char *own_plan;           /* the plan of the run that is resumed; NULL: none */
	char *record;             /* a copy of the option, which is used at the end */
	mr_train *train;
	mr_own_loss own_loss;     /* find NULL: none */
	mr_training_own_loss *loss_of; /* the caller's, with its argument */
	void *loss_arg;
	mr_training_progress *progress; /* of the present mr_training_run; NULL: none */
	void *progress_arg;
	_Atomic uint64_t steps;
	_Atomic double loss;
	_Atomic bool stop;        /* mr_training_stop was called */
	mr_training_wait *wait;   /* NULL: none */
	void *wait_arg;
	bool hangs;               /* a thread of it hangs, and uses its memory */
	bool fails;               /* a function has failed so that it can only be closed */
	mr_state state;           /* of the last mr_training_tensors */
	bool has_state;
	mr_logits *predictor;     /* of the present weights; NULL: not made yet */
	char *text;               /* the last one that was asked for; NULL: none */
	mr_values *simulated;     /* options of the virtual time; NULL: it is real */
	mr_strbuf notices;
};

/** Begin @function of @t; mr_training_leave ends it, and returns @st. A function that a training calls may not call one
 * of the same training. Errors: MR_EINVAL. */
mr_status mr_training_enter(mr_training *t, const char *function) MR_MUST_USE;
mr_status mr_training_leave(mr_training *t, mr_status st);
/** Is this thread in a callback of @t? */
bool mr_training_calls_back(const mr_training *t);
/** Errors: after a failure @t can only be closed. */
mr_status mr_training_usable(const mr_training *t, const char *function) MR_MUST_USE;
/** Has nobody asked that @arg, a training, stops? Called only for the decision whether to go on. */
bool mr_training_wanted(void *arg);

/** The function of mr_own_loss for the loss of @arg, a training (own_loss.c). */
mr_status mr_training_find_loss(void *arg, const mr_layer_call *call) MR_MUST_USE;

#endif
