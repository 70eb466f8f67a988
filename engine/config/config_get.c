/* A loaded configuration as the other layers want it. */
#include "config/config_parts.h"

const mr_job *mr_config_job(const mr_config *c)
{
	return &c->job;
}

const mr_values *mr_config_values(const mr_config *c, mr_job_group group)
{
	return c->part[group].values;
}

const char *mr_config_plugin(const mr_config *c, mr_job_group group)
{
	return c->part[group].plugin.name;
}

const char *mr_config_name(const mr_config *c)
{
	return c->name;
}

const char *mr_config_base_dir(const mr_config *c)
{
	return c->base_dir;
}

const char *mr_config_run_dir(const mr_config *c)
{
	return c->job.run_dir;
}

const mr_model_ops *mr_config_model(const mr_config *c)
{
	return mr_job_model(&c->job);
}

const mr_dataset_ops *mr_config_data(const mr_config *c)
{
	return mr_job_data(&c->job);
}

const mr_optim_ops *mr_config_optimizer(const mr_config *c)
{
	return mr_job_optimizer(&c->job);
}

const mr_mitigate_ops *mr_config_mitigation(const mr_config *c)
{
	return mr_job_mitigation(&c->job);
}

const mr_sched_ops *mr_config_system(const mr_config *c)
{
	return mr_job_system(&c->job);
}

const mr_kernels *mr_config_kernels(const mr_config *c)
{
	return mr_job_kernels(&c->job);
}

mr_dtype mr_config_dtype(const mr_config *c)
{
	return (mr_dtype)c->job.dtype;
}

uint16_t mr_config_workers(const mr_config *c)
{
	return mr_job_workers(&c->job);
}

uint32_t mr_config_n_micro(const mr_config *c)
{
	return mr_job_n_micro(&c->job);
}

int64_t mr_config_samples(const mr_config *c)
{
	return mr_job_samples(&c->job);
}

mr_lr mr_config_lr(const mr_config *c)
{
	return mr_job_lr(&c->job);
}

uint32_t mr_config_spin_us(const mr_config *c)
{
	return mr_job_spin_us(&c->job);
}

const char *const *mr_config_partition(const mr_config *c, uint32_t *n)
{
	*n = c->job.n_cut;
	return (const char *const *)c->job.cut;
}

bool mr_config_trace_steps(const mr_config *c, uint64_t *first, uint64_t *last)
{
	*first = c->job.trace.first;
	*last = c->job.trace.last;
	return c->job.trace.first > 0;
}
