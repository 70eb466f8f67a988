/* training.c - the library's interface to a session (millrace/training.h). */
#include "millrace/training.h"

#include <math.h>
#include <stdlib.h>

#include "millrace/millrace.h"
#include "session/session.h"

struct mr_training {
	mr_session s;
	uint64_t steps;
	double loss;
	mr_state state; /* of the last mr_training_tensors; empty: none */
};

const char *mr_version(void)
{
	return MR_VERSION;
}

mr_status mr_training_open(const mr_job *job, mr_training **out)
{
	mr_training *t = calloc(1, sizeof(*t));
	mr_status st;

	*out = NULL;
	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory for a training");
	t->loss = NAN;
	st = mr_session_open(job, &t->s);
	if (st == MR_OK)
		st = mr_session_start(&t->s, NULL);
	if (st != MR_OK) {
		mr_training_close(t);
		return st;
	}
	*out = t;
	return MR_OK;
}

void mr_training_close(mr_training *t)
{
	if (!t)
		return;
	mr_state_fini(&t->state);
	mr_session_close(&t->s);
	free(t);
}

typedef struct watch {
	mr_training *t;
	mr_training_progress *progress;
	void *arg;
} watch;

static bool follow(void *arg, const mr_step_rec *rec)
{
	watch *w = arg;
	mr_training_step step;

	if (!rec) /* called only for the decision whether to go on */
		return true;
	step = (mr_training_step){.step = rec->step, .loss = rec->loss, .lr = rec->lr};
	w->t->loss = rec->loss;
	return !w->progress || w->progress(w->arg, &step);
}

mr_status mr_training_run(mr_training *t, uint64_t until, mr_training_progress *progress, void *arg)
{
	watch w = {t, progress, arg};

	mr_state_fini(&t->state);
	t->state = (mr_state){0};
	return mr_executor_run(&t->s.executor, until, follow, &w, &t->steps);
}

uint64_t mr_training_steps(const mr_training *t)
{
	return t->steps;
}

double mr_training_loss(const mr_training *t)
{
	return t->loss;
}

mr_status mr_training_evaluate(mr_training *t, double *loss, double *accuracy)
{
	if (!t->s.data->n_valid)
		return mr_fail(MR_EDATA, "%s has no validation part", t->s.data->ops->name);
	MR_TRY(mr_executor_eval(&t->s.executor, NULL, NULL, loss));
	if (accuracy)
		*accuracy = mr_executor_scores(&t->s.executor).accuracy;
	return MR_OK;
}

mr_status mr_training_tensors(mr_training *t, size_t *n)
{
	mr_state_fini(&t->state);
	t->state = (mr_state){0};
	MR_TRY(mr_executor_state(&t->s.executor, &t->state));
	*n = t->state.model.n;
	return MR_OK;
}

void mr_training_tensor_at(const mr_training *t, size_t i, mr_training_tensor *out)
{
	const mr_saved_tensor *x = &t->state.model.at[i];

	_Static_assert(MR_SAVED_MAX_DIMS <= sizeof(out->dim) / sizeof(out->dim[0]), "room for all dimensions");
	*out = (mr_training_tensor){.name = x->name, .data = x->data, .n_dims = x->n_dims,
				    .dtype = x->dtype == MR_SAVED_F64    ? MR_JOB_F64
					     : x->dtype == MR_SAVED_BF16 ? MR_JOB_BF16
									 : MR_JOB_F32};
	for (uint32_t d = 0; d < x->n_dims; d++)
		out->dim[d] = x->shape[d];
}
