#include "training/search_limit.h"

double mr_search_limit_of(const mr_config *config)
{
	const mr_job *j = mr_config_job(config);
	const mr_sched_ops *ops = mr_job_system(j);

	return ops->time_budget_option ? mr_values_float(j->system.values, ops->time_budget_option) : 0;
}

void mr_search_limit_print(const mr_sched_ops *ops, double seconds, uint64_t n, FILE *out)
{
	fprintf(out, "%s = %llu is what %s = %g came to, and gives the same plan\n", ops->tries_option,
		(unsigned long long)n, ops->time_budget_option, seconds);
}

mr_status mr_search_limit_settle(mr_config *config, uint64_t n)
{
	if (!n || mr_search_limit_of(config) <= 0)
		return MR_OK;
	return mr_config_count_as(config, n);
}

/* The number of tries in the resolved configuration @path; 0: it has none. */
static mr_status read_count(const char *path, const mr_sched_ops *ops, uint64_t *n)
{
	mr_config *then;
	mr_strbuf mistakes = {0};
	mr_status st;

	*n = 0;
	st = mr_config_load(path, NULL, 0, &mistakes, &then);
	mr_strbuf_fini(&mistakes);
	if (st != MR_OK)
		return st == MR_ERESOURCE ? st : MR_OK;
	if (mr_job_system(mr_config_job(then)) == ops && mr_search_limit_of(then) <= 0)
		*n = (uint64_t)mr_values_int(mr_config_job(then)->system.values, ops->tries_option);
	mr_config_destroy(then);
	return MR_OK;
}

mr_status mr_search_limit_take_up(mr_config *config)
{
	mr_strbuf path = {0};
	uint64_t n = 0;
	mr_status st;

	if (mr_search_limit_of(config) <= 0)
		return MR_OK;
	mr_strbuf_printf(&path, "%s/resolved.cfg", mr_config_job(config)->run_dir);
	st = path.failed ? mr_fail(MR_ERESOURCE, "no memory for a path")
			 : read_count(mr_strbuf_text(&path), mr_job_system(mr_config_job(config)), &n);
	mr_strbuf_fini(&path);
	return st == MR_OK && n ? mr_config_count_as(config, n) : st;
}
