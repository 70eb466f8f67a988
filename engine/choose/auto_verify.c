/* auto_verify.c - the best candidates in practice. */
#include <stdlib.h>

#include "choose/auto.h"
#include "host/clock.h"
#include "millrace/training.h"

#define WARM_STEPS 3

/* Seconds of a step. */
static mr_status measure(const mr_auto_question *q, const mr_auto_row *r, double *step_s)
{
	mr_training *t = NULL;
	uint64_t begin, from;
	mr_job job;
	mr_status st = mr_auto_job(q, r, &job);

	if (st == MR_OK) {
		job.machine.memory_limit = 0;
		st = mr_training_open(&job, &t);
	}
	if (st == MR_OK)
		st = mr_training_run(t, WARM_STEPS, NULL, NULL);
	from = st == MR_OK ? mr_training_steps(t) : 0;
	begin = mr_clock_ns();
	if (st == MR_OK)
		st = mr_training_run(t, from + MR_AUTO_STEPS, NULL, NULL);
	if (st == MR_OK && mr_training_steps(t) > from)
		*step_s = (double)(mr_clock_ns() - begin) / 1e9 / (double)(mr_training_steps(t) - from);
	mr_training_close(t);
	mr_job_fini(&job);
	return st;
}

static int by_measured(const void *x, const void *y)
{
	const mr_auto_row *a = x, *b = y;

	return (a->measured_s > b->measured_s) - (a->measured_s < b->measured_s);
}

mr_status mr_auto_verify(const mr_auto_question *q, mr_auto *a, uint32_t n)
{
	uint32_t done = 0;

	if (*q->job->machine.topology)
		return mr_fail(MR_ECONFIG, "machine.topology describes another machine: only this one is measured");
	while (done < n && done < a->n && a->row[done].fits) {
		MR_TRY(measure(q, &a->row[done], &a->row[done].measured_s));
		done++;
	}
	qsort(a->row, done, sizeof(*a->row), by_measured);
	a->half = a->n; /* predictions and measurements are not compared */
	return MR_OK;
}
