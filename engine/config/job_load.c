/* job_load.c - the job that a configuration file describes, for programs that use the library. */
#include "config/config.h"

static mr_status copy_of(const mr_config *c, mr_job **out)
{
	mr_job *job;
	mr_status st;

	MR_TRY(mr_job_create(&job));
	mr_job_fini(job);
	st = mr_job_copy(mr_config_job(c), job);
	if (st == MR_OK) {
		job->source = (mr_job_source){0}; /* which goes with the configuration */
		st = mr_job_check(job);
	}
	if (st == MR_OK)
		*out = job;
	else
		mr_job_destroy(job);
	return st;
}

mr_status mr_job_load(const char *path, const char *const *sets, size_t n_sets, mr_job **out)
{
	mr_config *c;
	mr_strbuf notes = {0};
	mr_status st;

	if (out)
		*out = NULL;
	if (!path || !out || (n_sets && !sets))
		return mr_fail(MR_EINVAL, "mr_job_load: the %s is NULL",
			       !path ? "path" : !out ? "place for the job" : "list of settings");
	for (size_t i = 0; i < n_sets; i++)
		if (!sets[i])
			return mr_fail(MR_EINVAL, "mr_job_load: setting %zu is NULL", i);
	st = mr_config_load(path, sets, n_sets, &notes, &c);
	if (st == MR_ECONFIG && notes.len)
		st = mr_fail(st, "%.*s", (int)notes.len - 1, mr_strbuf_text(&notes));
	mr_strbuf_fini(&notes);
	MR_TRY(st);
	st = copy_of(c, out);
	mr_config_destroy(c);
	return st;
}
