#include "choose/what_fits.h"

#include <math.h>
#include <stdio.h>

#include "session/session_forecast.h"

#define MOST_TIMES   8u /* more workers or micro-batches than this many times as many are not tried */
#define MOST_SYSTEMS 2u

/* Seconds of a step of @s with @key = @value; INFINITY: it does not fit, or cannot run. */
static double step_with(const mr_session *s, const char *key, const char *value)
{
	double step_s = INFINITY;
	mr_session at;
	mr_job job;
	mr_status st = mr_job_copy(s->job, &job);

	job.source = (mr_job_source){0};
	if (st == MR_OK)
		st = mr_job_set(&job, "partition", "auto");
	if (st == MR_OK)
		st = mr_job_set(&job, key, value);
	if (st == MR_OK)
		st = mr_job_check(&job);
	if (st == MR_OK)
		st = mr_session_open_beside(&job, s, &at);
	if (st == MR_OK) {
		mr_forecast f;

		st = mr_session_forecast(&at, &f);
		if (st == MR_OK && mr_session_forecast_fits(&at, &f) == MR_OK)
			step_s = f.step_s;
		mr_forecast_fini(&f);
		mr_session_close(&at);
	}
	mr_job_fini(&job);
	return step_s;
}

static void offer(mr_strbuf *out, const char *key, const char *value)
{
	mr_strbuf_printf(out, "%s%s = %s", out->len ? ", or " : "", key, value);
}

static void offer_systems(const mr_session *s, mr_strbuf *out)
{
	const mr_sched_ops *own = mr_job_system(s->job), *best[MOST_SYSTEMS] = {0};
	double step[MOST_SYSTEMS];

	for (size_t i = 0; mr_schedule_at(i); i++) {
		const mr_sched_ops *ops = mr_schedule_at(i);
		double x;
		uint32_t at = MOST_SYSTEMS;

		if (ops == own || ops->judged || ops->replicates || (ops->asynchronous && !own->asynchronous))
			continue;
		x = step_with(s, "system.name", ops->name);
		while (at > 0 && x < INFINITY && (!best[at - 1] || x < step[at - 1]))
			at--;
		for (uint32_t k = MOST_SYSTEMS - 1; k > at; k--) {
			best[k] = best[k - 1];
			step[k] = step[k - 1];
		}
		if (at < MOST_SYSTEMS) {
			best[at] = ops;
			step[at] = x;
		}
	}
	for (uint32_t k = 0; k < MOST_SYSTEMS && best[k]; k++)
		offer(out, "system.name", best[k]->name);
}

/* The least number of @key above @now that fits. */
static void offer_more(const mr_session *s, const char *key, uint32_t now, uint32_t most, mr_strbuf *out)
{
	char value[16];

	for (uint32_t n = now + 1; n <= most && n <= MOST_TIMES * now; n++) {
		snprintf(value, sizeof(value), "%u", n);
		if (step_with(s, key, value) < INFINITY) {
			offer(out, key, value);
			return;
		}
	}
}

mr_status mr_what_fits(const mr_session *s, mr_strbuf *out)
{
	const mr_sched_ops *own = mr_job_system(s->job);

	if (own->options && mr_option_find(own->options, "recompute") &&
	    step_with(s, "system.recompute", "always") < INFINITY)
		offer(out, "system.recompute", "always");
	offer_systems(s, out);
	if (!own->workers)
		offer_more(s, "machine.workers", s->place.n_workers, s->topo.n_usable, out);
	if (!own->asynchronous)
		offer_more(s, "train.microbatches", s->n_micro, (uint32_t)s->job->train.batch, out);
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory for what would fit") : MR_OK;
}
