#include "choose/auto_runner.h"

#include <stdlib.h>

/* Plans that end with the run are made for all steps that a candidate may make. */
#define LONGEST ((MR_AUTO_ROUNDS + MR_AUTO_AGAIN) * MR_AUTO_STEPS + MR_AUTO_LOSS_STEPS)

static mr_status make_job(const mr_auto_search_state *s, const mr_auto_row *r, const char *cpus, mr_auto_runner *x)
{
	MR_TRY(mr_auto_job(&s->q, r, &x->made));
	MR_TRY(mr_job_copy(&x->made, &x->job));
	x->job.machine.memory_limit = 0;
	if (x->job.train.steps < LONGEST)
		x->job.train.steps = LONGEST;
	if (cpus) {
		MR_TRY(mr_job_set(&x->job, "machine.cpus", cpus));
		MR_TRY(mr_job_set(&x->job, "machine.threads", "0"));
	}
	return mr_job_check(&x->job);
}

mr_status mr_auto_runner_open(const mr_auto_search_state *s, uint32_t row, const char *cpus, mr_auto_runner *x)
{
	mr_status st;

	*x = (mr_auto_runner){.row = row};
	st = make_job(s, &s->a->row[row], cpus, x);
	if (st == MR_OK) {
		st = mr_session_open_beside(&x->job, &s->base, &x->s);
		x->open = st == MR_OK;
	}
	return st == MR_OK ? mr_session_start(&x->s, NULL) : st;
}

void mr_auto_runner_close(mr_auto_runner *x)
{
	if (x->open)
		mr_session_close(&x->s);
	mr_job_fini(&x->job);
	mr_job_fini(&x->made);
	free(x->warm);
	*x = (mr_auto_runner){0};
}

/* Commits of a burst: the first and the last one's time, and the losses. */
typedef struct watch {
	uint64_t first_ns, last_ns, n;
	double *loss; /* [most]; NULL: none is kept */
	uint32_t most;
} watch;

static bool follow(void *arg, const mr_step_rec *rec)
{
	watch *w = arg;

	if (!rec)
		return true;
	if (w->loss && w->n < w->most)
		w->loss[w->n] = rec->loss;
	w->first_ns = w->n++ ? w->first_ns : rec->time_ns;
	w->last_ns = rec->time_ns;
	return true;
}

mr_status mr_auto_runner_burst(mr_auto_runner *x, uint32_t n, double *loss, double *step_s)
{
	watch w = {.loss = loss, .most = n};

	MR_TRY(mr_executor_run(&x->s.executor, x->steps + n, follow, &w, &x->steps));
	*step_s = w.n > 1 ? (double)(w.last_ns - w.first_ns) / 1e9 / (double)(w.n - 1) : 0;
	return MR_OK;
}

mr_status mr_auto_runner_is_warm(mr_auto_runner *x)
{
	const mr_run *run = mr_executor_run_of(&x->s.executor);

	free(x->warm);
	x->warm = malloc(run->n_workers * sizeof(*x->warm));
	if (!x->warm)
		return mr_fail(MR_ERESOURCE, "no memory for the times of %u workers", run->n_workers);
	for (uint16_t w = 0; w < run->n_workers; w++)
		x->warm[w] = run->worker[w].stats;
	x->warm_steps = x->steps;
	return MR_OK;
}
