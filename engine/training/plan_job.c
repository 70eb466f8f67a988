#include "training/plan_job.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/notice.h"
#include "config/config.h"
#include "costs/measured_machine.h"
#include "millrace/training.h"
#include "outline/plan_kernels.h"
#include "session/objective_report.h"
#include "session/plan_file.h"
#include "session/session_forecast.h"

/* The report contains the constants of the theory, which follow from the data. */
static mr_status open_session(const mr_job *job, const char *plan, mr_session *s)
{
	mr_status st;

	if (plan)
		return mr_session_open_plan(job, plan, s);
	MR_TRY(mr_session_survey(job, s));
	if (!mr_objective_report_bytes(s))
		return MR_OK;
	st = mr_session_load(s);
	if (st != MR_OK)
		mr_session_close(s);
	return st;
}

mr_status mr_with_forecast(const mr_job *job, const char *plan,
			   mr_status (*work)(void *arg, const mr_session *s, const mr_forecast *f), void *arg)
{
	mr_measured_machine here = {0};
	mr_forecast f = {0};
	mr_session s;
	mr_status st = MR_OK;

	MR_TRY(open_session(job, plan, &s));
	if (!s.topo.synthetic && !s.costs) {
		st = mr_measured_machine_init(&here, &s.topo);
		s.measured = &here;
	}
	if (st == MR_OK)
		st = mr_session_forecast(&s, &f);
	if (st == MR_OK)
		st = work(arg, &s, &f);
	mr_forecast_fini(&f);
	mr_session_close(&s);
	mr_measured_machine_fini(&here);
	return st;
}

/* --- for the library --- */

static mr_status print(void *arg, const mr_session *s, const mr_forecast *f)
{
	MR_TRY(mr_forecast_print_json(s, f, arg));
	return mr_session_forecast_fits(s, f);
}

static mr_status plan_text(const mr_job *job, const char *plan, char **json)
{
	mr_job_order order = job->order;
	mr_config *config;
	size_t len;
	FILE *out;
	mr_status st;

	if (plan)
		MR_TRY(mr_plan_file_size(plan, &order));
	MR_TRY(mr_config_of_job(job, &order, &config));
	out = open_memstream(json, &len);
	st = out ? mr_with_forecast(mr_config_job(config), plan, print, out) : mr_fail(MR_ERESOURCE, "no memory");
	if (out && fclose(out) && st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for a plan");
	mr_config_destroy(config);
	return st;
}

mr_status mr_plan_job(const mr_job *job, const char *plan, char **json)
{
	mr_strbuf notices = {0};
	mr_status st;

	if (json)
		*json = NULL;
	if (!job || !json)
		return mr_fail(MR_EINVAL, "mr_plan_job: the %s is NULL", job ? "place for the text" : "job");
	MR_TRY(mr_job_no_nulls(job));
	mr_notice_to(&notices); /* a library prints nothing */
	st = plan_text(job, plan, json);
	mr_notice_to(NULL);
	mr_strbuf_fini(&notices);
	if (st != MR_OK) {
		free(*json);
		*json = NULL;
	}
	return st;
}
