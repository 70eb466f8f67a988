#include "choose/first_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/auto.h"
#include "host/memory.h"
#include "schedules/registry.h"
#include "session/session.h"

#define NEAR_BEST 1.05
#define OVERHEAD_S 20e-6 /* of a step of several threads, about, that no prediction knows */
#define MOST_LATE 1000000u /* commits: any system that is asked for */

static double step_of(const mr_auto_row *r)
{
	return mr_auto_is_done(r) ? r->step_s : INFINITY;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Is @a the simpler one? */
static bool is_simpler(const mr_auto_row *a, const mr_auto_row *b)
{
	int by = compare(a->workers, b->workers);

	by = by ? by : compare((uint64_t)a->workers * a->threads, (uint64_t)b->workers * b->threads);
	by = by ? by : compare(a->n_micro, b->n_micro);
	by = by ? by : compare(a->bytes, b->bytes);
	by = by ? by : strcmp(a->label, b->label);
	return by < 0;
}

static const mr_auto_row *simplest(const mr_auto *a)
{
	const mr_auto_row *best = &a->row[0];
	double most = NEAR_BEST * best->step_s + OVERHEAD_S;

	for (uint32_t i = 1; i < a->n; i++)
		if (step_of(&a->row[i]) <= most && is_simpler(&a->row[i], best))
			best = &a->row[i];
	return best;
}

/* The fastest with one worker, or with several; NULL: none can run. */
static const mr_auto_row *fastest(const mr_auto *a, bool alone)
{
	const mr_auto_row *best = NULL;

	for (uint32_t i = 0; i < a->n; i++) {
		const mr_auto_row *r = &a->row[i];

		if ((r->workers == 1) == alone && step_of(r) < (best ? best->step_s : INFINITY))
			best = r;
	}
	return best;
}

/* "0.012 ms", "140 ms": two digits are all that a prediction is worth. */
static void ms_text(double seconds, char text[16])
{
	double ms = 1e3 * seconds;

	snprintf(text, 16, ms < 99.5 ? "%.2g ms" : "%.0f ms", ms);
}

static void take(const mr_auto *a, const char *asked, mr_first_choice *out)
{
	const mr_auto_row *r = simplest(a), *other = fastest(a, r->workers > 1);
	char step[16], others[16];

	out->system = mr_schedule_find(mr_auto_value(r, "system.name"))->name;
	out->workers = r->workers;
	out->threads = r->threads == a->cores / r->workers ? 0 : r->threads;
	out->n_micro = r->n_micro;
	snprintf(out->busy, sizeof(out->busy), "%s", a->busy);
	ms_text(r->step_s, step);
	ms_text(other ? other->step_s : 0, others);
	if (asked)
		snprintf(out->why, sizeof(out->why), "As it was asked for; plan --auto predicts %s a step.", step);
	else if (r->workers > 1)
		snprintf(out->why, sizeof(out->why), "The fastest by plan --auto: %s a step predicted%s%s.", step,
			 other ? ", without a pipeline " : "", other ? others : "");
	else if (other && other->step_s < r->step_s)
		snprintf(out->why, sizeof(out->why),
			 "By plan --auto %s a step; with several workers (%.24s) %s, too little gain to pay for waking "
			 "them.", step, other->label, others);
	else if (other)
		snprintf(out->why, sizeof(out->why),
			 "The fastest by plan --auto: %s a step predicted, with several workers (%.24s) %s.", step,
			 other->label, others);
	else
		snprintf(out->why, sizeof(out->why), "One core: no pipeline.");
}

/* Can @job be trained with @c? */
static mr_status try(const mr_job *job, const mr_first_choice *c)
{
	char workers[16], n_micro[16];
	mr_session s;
	mr_job with;
	mr_status st;

	snprintf(workers, sizeof(workers), "%u", c->workers);
	snprintf(n_micro, sizeof(n_micro), "%u", c->n_micro);
	MR_TRY(mr_job_copy(job, &with));
	st = mr_job_set(&with, "system.name", c->system);
	if (st == MR_OK)
		st = mr_job_set(&with, "machine.workers", workers);
	if (st == MR_OK)
		st = mr_job_set(&with, "train.microbatches", n_micro);
	if (st == MR_OK)
		st = mr_job_check(&with);
	if (st == MR_OK)
		st = mr_session_survey(&with, &s);
	if (st == MR_OK)
		mr_session_close(&s);
	mr_job_fini(&with);
	return st;
}

/* There is no plan, for the reason in this thread's error text. */
static mr_status fall_back(const mr_job *job, const mr_sched_ops *asked, uint32_t usual, mr_first_choice *out)
{
	const uint32_t shapes[][2] = {{usual, 2 * usual}, {usual, usual}, {usual, 1}, {1, 1}};
	mr_status st = MR_OK;

	*out = (mr_first_choice){.system = asked ? asked->name : "sequential", .workers = 1, .n_micro = 1};
	snprintf(out->why, sizeof(out->why), "%s; no plan --auto: %.*s", asked ? "As it was asked for" : "No pipeline",
		 (int)strcspn(mr_error_text(), "\n"), mr_error_text());
	if (!asked)
		return MR_OK;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		out->workers = shapes[i][0];
		out->n_micro = shapes[i][1];
		if ((asked->workers && asked->workers != out->workers) || job->train.batch % out->n_micro)
			continue;
		st = try(job, out);
		if (st != MR_ECONFIG)
			return st;
	}
	return st;
}

mr_status mr_first_choice_find(const mr_job *job, const char *asked, uint32_t usual, mr_first_choice *out)
{
	const mr_sched_ops *ops = asked ? mr_schedule_find(asked) : NULL;
	mr_auto_question q = {
		.job = job,
		.systems = ops ? ops->name : NULL,
		.allow_stale = ops ? MOST_LATE : 0,
		.plain = true,
		.recalls = true,
	};
	mr_auto a;
	mr_status st;

	*out = (mr_first_choice){0};
	if (asked && !ops)
		return mr_fail(MR_EUSAGE, "--system: no system is called \"%s\"; millrace list systems names them",
			       asked);
	mr_memory_keep_freed(); /* hundreds of plans are made */
	st = mr_auto_search(&q, &a);
	if (st == MR_OK)
		take(&a, asked, out);
	else if (st != MR_EDATA)
		st = fall_back(job, ops, usual, out);
	mr_auto_fini(&a);
	return st;
}
