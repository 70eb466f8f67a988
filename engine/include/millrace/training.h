/*
 * millrace/training.h - trains a job, as the program's `train` does.
 *
 * mr_training_open reads the data, makes the plan, places the workers and starts them; mr_training_run lets them train
 * to a commit and pauses them there. The weights depend on the job alone, not on how a run is cut into calls. Several
 * trainings may follow each other in a process. Two at once share the machine's cores, and need two folders.
 *
 * A job with a name of its own (mr_job.name) or with run.dir has a folder, in which the training writes what `millrace
 * train` would write: the resolved configuration, metrics.jsonl, status.json, run.json, checkpoints as checkpoint.*
 * says, events for TensorBoard and a trace where the job asks for them. mr_training_close saves what is not saved and
 * writes the files of the end; a training without a step leaves its folder as it was. A job without a folder writes
 * nothing; one that asks for files then is refused. train.eval_every is obeyed in either case.
 *
 * One function of a training at a time, of any thread. All refuse with MR_EINVAL and a sentence, and do nothing else:
 * a training that is NULL or was closed; a call while another function of the same training has not returned, be it on
 * another thread or in a callback; a call in a process that was forked from the one that opened the training, whose
 * threads it does not have; a result's place that is NULL. Only mr_training_stop, and mr_training_steps, _loss, _lag
 * and _notices, which cannot fail, may be called at any time and in callbacks, and mr_training_figure in callbacks.
 */
#ifndef MILLRACE_TRAINING_H
#define MILLRACE_TRAINING_H

#include "millrace/job.h"

typedef struct mr_training mr_training;

typedef struct mr_training_step {
	uint64_t step; /* commits so far: 1 after the first */
	double loss;   /* mean over the step's micro-batches, before the commit */
	double lr;
	double seconds; /* from the first run of this training to the commit, without pauses; simulated where time is */
} mr_training_step;

/**
 * Called after each step, in their order, on the training's thread or on the caller's. Returning false for step k stops
 * the run behind step k + mr_training_lag, always, whatever the timing: the same calls give the same weights. It is
 * called for the steps until then as well.
 */
typedef bool mr_training_progress(void *arg, const mr_training_step *step);

/** Called about ten times a second while a function of the training runs, on the thread that called it, and during an
 * evaluation on the training's thread as well; never on both at once. False: as mr_training_stop. */
typedef bool mr_training_wait(void *arg);

typedef struct mr_training_tensor {
	const char *name;
	const void *data; /* dense, row-major; valid until the training is closed, but a run changes what is there */
	mr_job_dtype dtype;
	uint32_t n_dims;
	int64_t dim[8];
} mr_training_tensor;

/* The values that would enter the model's loss, for the samples of one micro-batch, and their targets. */
typedef struct mr_training_outputs {
	uint64_t n;               /* samples */
	size_t n_outputs, n_targets; /* numbers of a sample */
	const double *output;     /* [n][n_outputs] */
	const double *target;     /* [n][n_targets]; classes and tokens as their numbers */
	bool train;               /* false: of an evaluation */
} mr_training_outputs;

/* A loss of the caller's own: the mean over the samples to *@loss, and its gradient by each output to @gradient
 * [n][n_outputs], which is all zero before. A function of its arguments alone, on a thread of the training, and on
 * several at once where a system has replicas. False: the training fails. */
typedef bool mr_training_own_loss(void *arg, const mr_training_outputs *o, double *gradient, double *loss);

/* How a training begins. All zero: a new one, as its job says. */
typedef struct mr_training_opts {
	const char *resume; /* go on from a checkpoint in the job's folder: "" from the newest, "best", or its name, as
	                       "step-00000100". NULL: from the start, in a folder without a run */
	const char *init;   /* begin with the weights of this safetensors file, index or folder, also of a run or of a
	                       model of Hugging Face. NULL: random ones */
	const char *plan;   /* train the plan in this file. NULL: the system's own, or that of the run that is resumed
	                       */
	bool simulate;      /* on one thread and in virtual time, as `millrace simulate` does: the weights are the same,
	                       the seconds of a step those of the cost model */
	bool init_anyway;   /* with init: also if something of the file has no place, or config.json beside it says
	                       something else; then it is among the warnings of the log */
	bool counters;      /* count processor events: counters.json in the job's folder */
	const char *record; /* racing systems, and steal = true: write the order that was taken to this file when the
	                       training is closed, as a plan. NULL: no */
	const char *replay; /* carry out the record in this file: the same weights to the bit. NULL: none */
	mr_training_own_loss *loss; /* in place of the model's, also in evaluations, which then know no accuracy; NULL:
	                       the model's. It is called with loss_arg */
	void *loss_arg;
} mr_training_opts;

/* Dimensions of one sample. */
typedef struct mr_training_shape {
	bool tokens;        /* int32_t; else numbers */
	uint32_t n_dims;
	int64_t dim[8];
	size_t n;           /* their product */
} mr_training_shape;

/** Make a training of a copy of @job, which is checked (mr_job_check). Errors: MR_EINVAL, MR_EDATA, MR_ECONFIG,
 * MR_ERESOURCE (with the figures of the memory that it needs), MR_EDNN. *@out is NULL then. */
MR_API mr_status mr_training_open(const mr_job *job, mr_training **out) MR_MUST_USE;

/** The same with options. Errors: also MR_EUSAGE: the folder holds a run already; MR_ECKPT: there is no checkpoint, or
 * it is of another training; MR_EIO. */
MR_API mr_status mr_training_open_with(const mr_job *job, const mr_training_opts *opts, mr_training **out) MR_MUST_USE;

/** Save, write the files of the end, end the workers and free everything. Accepts NULL. Errors: MR_EINVAL as above; the
 * training stays open then. After others (MR_EIO, MR_ERESOURCE, MR_EDIVERGED) it is closed, and was not saved. */
MR_API mr_status mr_training_close(mr_training *t);

/** What the user should know although nothing failed, a line each: "warning: ..."; "": nothing. "" also while a
 * function of the training runs. Valid until the next function of it. */
MR_API const char *mr_training_notices(const mr_training *t);

/** What a training of @job would be, without training it, as `millrace plan --format json` says: stages, placement,
 * memory, kernels, predicted times; of the plan in the file @plan (NULL: the system's own). The caller frees *@json
 * with free(). Any thread. Errors: as mr_training_open; MR_ERESOURCE also where the plan does not fit. */
MR_API mr_status mr_plan_job(const mr_job *job, const char *plan, char **json) MR_MUST_USE;

#define MR_TRAINING_ALL UINT64_MAX /* as many commits as the job's train.steps */

/** Train until @until commits are done since the start (or MR_TRAINING_ALL), or until @progress (may be NULL) returns
 * false, with the evaluations, checkpoints and files that are due on the way. Errors: MR_EINVAL; MR_EDIVERGED, MR_EIO,
 * MR_ERESOURCE, MR_ESTALLED, MR_EDATA, MR_EDNN, after which it can only be closed. After MR_ESTALLED a thread hangs and
 * closing gives no memory back. */
MR_API mr_status mr_training_run(mr_training *t, uint64_t until, mr_training_progress *progress, void *arg) MR_MUST_USE;

/** The number of commits after step k at which mr_training_run stops if its progress returns false for step k: 0 for
 * systems that flush; 1 for systems that never flush, whose pipeline would otherwise drain at each
 * step. A system that can pause only at some steps (with replicas: where they are averaged) stops at the next of them.
 */
MR_API uint32_t mr_training_lag(const mr_training *t);

/** Call @wait (NULL: nothing) during later calls of mr_training_run and mr_training_evaluate. Errors: MR_EINVAL. */
MR_API mr_status mr_training_on_wait(mr_training *t, mr_training_wait *wait, void *arg) MR_MUST_USE;

/** The function of @t that runs at this moment ends at the next point where it can, some steps on, and an evaluation
 * with MR_ESTOPPED; without one nothing happens. Any thread. Errors: MR_EINVAL. */
MR_API mr_status mr_training_stop(mr_training *t);

/** Save a checkpoint of the present weights now, and wait until the disk has it. Errors: MR_EINVAL: the job has no
 * folder, or no step was made; MR_EDIVERGED, MR_EIO, MR_ERESOURCE: nothing was saved. */
MR_API mr_status mr_training_save(mr_training *t) MR_MUST_USE;

/** Commits done so far; 0 for no open training. */
MR_API uint64_t mr_training_steps(const mr_training *t);
/** Loss of the last step; NAN before the first. */
MR_API double mr_training_loss(const mr_training *t);

/** Mean loss over the validation samples at the present weights, and the fraction of the targets that were predicted
 * (NAN if the loss has no classes). @accuracy may be NULL. Errors: MR_EINVAL; MR_EDATA: there are no validation
 * samples; MR_ESTOPPED: it was stopped, and the training can go on. */
MR_API mr_status mr_training_evaluate(mr_training *t, double *loss, double *accuracy) MR_MUST_USE;

/** Figure @name (`millrace list figures`) as it is now: of the last step, of the last evaluation, or of the present
 * state; NAN where it is unknown. Also in callbacks. *@value is NAN after an error. Errors: MR_EINVAL, also for a name
 * that no figure has. */
MR_API mr_status mr_training_figure(mr_training *t, const char *name, double *value) MR_MUST_USE;
/** The name of figure @i, from 0; NULL behind the last. */
MR_API const char *mr_training_figure_name(size_t i);

/** The shapes of a sample's input, and of what the network makes of it: the values that enter its loss (of classes
 * logits). Errors: MR_EINVAL. */
MR_API mr_status mr_training_shapes(mr_training *t, mr_training_shape *input, mr_training_shape *output) MR_MUST_USE;

/** Let the network predict @n samples with the present weights: @inputs are [n][input] int32_t where the input is
 * tokens, else double, as the job's data give them to the network; @outputs [n][output]. Errors: MR_EINVAL,
 * MR_ERESOURCE; MR_ESTOPPED: it was stopped. */
MR_API mr_status mr_training_predict(mr_training *t, const void *inputs, uint64_t n, double *outputs) MR_MUST_USE;

/** Let a language model write sample.tokens tokens after sample.prompt, as the keys of that group say. *@text is valid
 * until the next text of @t. Errors: MR_ECONFIG: the model or the data are no text, or the prompt has a character that
 * the vocabulary lacks; MR_EINVAL, MR_ERESOURCE. */
MR_API mr_status mr_training_sample(mr_training *t, const char **text) MR_MUST_USE;

/** The plan that is trained, in the text form that `millrace check` and the option `plan` read. *@text is valid until
 * the next text of @t. Errors: MR_ECONFIG: `sequential` has none; MR_EINVAL, MR_ERESOURCE. */
MR_API mr_status mr_training_plan(mr_training *t, const char **text) MR_MUST_USE;

/** Count the model's tensors. Errors: MR_EINVAL, MR_ERESOURCE. */
MR_API mr_status mr_training_tensors(mr_training *t, size_t *n) MR_MUST_USE;
/** Tensor @i of the latest weights, after mr_training_tensors and before the next run. Errors: MR_EINVAL, *@out is
 * empty then. */
MR_API mr_status mr_training_tensor_at(mr_training *t, size_t i, mr_training_tensor *out);

#endif
