/*
 * millrace/training.h - trains a job.
 *
 * mr_training_open reads the data, makes the plan, places the workers and starts them; mr_training_run lets them train
 * to a commit and pauses them there. The weights depend on the job alone, not on how a run is cut into calls. All
 * functions of one training must be called by the same thread; different trainings may use different threads. Several
 * trainings may follow each other in a process. Two at once share the machine's cores.
 */
#ifndef MILLRACE_TRAINING_H
#define MILLRACE_TRAINING_H

#include "millrace/job.h"

typedef struct mr_training mr_training;

typedef struct mr_training_step {
	uint64_t step; /* commits so far: 1 after the first */
	double loss;   /* mean over the step's micro-batches, before the commit */
	double lr;
} mr_training_step;

/** Called after steps, in their order, on the training's thread or on the caller's. Returning false stops the run at
 * the next pause point. */
typedef bool mr_training_progress(void *arg, const mr_training_step *step);

typedef struct mr_training_tensor {
	const char *name;
	const void *data; /* dense, row-major; valid until the next call of this training */
	mr_job_dtype dtype;
	uint32_t n_dims;
	int64_t dim[8];
} mr_training_tensor;

/**
 * Make a training of @job, which must have passed mr_job_check and must stay until mr_training_close. Errors: MR_EDATA,
 * MR_ECONFIG, MR_ERESOURCE (with the figures of the memory that it needs), MR_EDNN. *@out is NULL then.
 */
MR_API mr_status mr_training_open(const mr_job *job, mr_training **out) MR_MUST_USE;
/** Ends the workers and frees everything. Accepts NULL. */
MR_API void mr_training_close(mr_training *t);

/** Train until @until commits are done since the start, or until @progress (may be NULL) returns false. Errors:
 * MR_EDIVERGED, MR_ESTALLED, MR_EDATA, MR_EDNN. */
MR_API mr_status mr_training_run(mr_training *t, uint64_t until, mr_training_progress *progress, void *arg) MR_MUST_USE;

/** Commits done so far. */
MR_API uint64_t mr_training_steps(const mr_training *t);
/** Loss of the last step; NAN before the first. */
MR_API double mr_training_loss(const mr_training *t);

/** Mean loss over the validation samples at the present weights, and the fraction of the targets that were predicted
 * (NAN if the loss has no classes). @accuracy may be NULL. Errors: MR_EDATA there are no validation samples. */
MR_API mr_status mr_training_evaluate(mr_training *t, double *loss, double *accuracy) MR_MUST_USE;

/** Count the model's tensors. Errors: MR_ERESOURCE. */
MR_API mr_status mr_training_tensors(mr_training *t, size_t *n) MR_MUST_USE;
/** Tensor @i of the latest weights, after mr_training_tensors and before the next run. */
MR_API void mr_training_tensor_at(const mr_training *t, size_t i, mr_training_tensor *out);

#endif
