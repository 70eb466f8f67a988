#include "session/lone_profile.h"

static mr_status make_job(const mr_session *s, uint32_t threads, uint32_t n_micro, mr_job *job)
{
	MR_TRY(mr_job_copy(s->job, job));
	MR_TRY(mr_job_choose(job, MR_JOB_SYSTEM, MR_SEQUENTIAL));
	job->machine.workers = 1;
	job->machine.threads = threads;
	job->machine.cpus = "";
	job->partition = "auto";
	job->source = (mr_job_source){0};
	job->train.microbatches = n_micro ? n_micro : job->train.microbatches;
	return mr_job_check(job);
}

mr_status mr_lone_profile_measure(const mr_session *s, uint32_t threads, uint32_t n_micro, mr_profile_method method,
				  double seconds, mr_lone_profile *out)
{
	mr_profile p = {0};
	mr_run_config r;
	mr_status st;

	*out = (mr_lone_profile){.open = false};
	MR_TRY(make_job(s, threads, n_micro, &out->job));
	MR_TRY(mr_session_open_beside(&out->job, s, &out->at));
	out->open = true;
	r = mr_session_run_config(&out->at, NULL);
	r.norm_every = 0;
	st = mr_profile_measure(&r, out->at.n_micro, seconds, method, &p);
	if (st == MR_OK) {
		mr_workload of = mr_session_workload(&out->at);

		out->worst = p.worst;
		st = mr_costs_of_profile(&of, &p, &out->costs);
	}
	mr_profile_fini(&p);
	return st;
}

void mr_lone_profile_fini(mr_lone_profile *p)
{
	mr_costs_fini(&p->costs);
	if (p->open)
		mr_session_close(&p->at);
	mr_job_fini(&p->job);
	*p = (mr_lone_profile){.open = false};
}
