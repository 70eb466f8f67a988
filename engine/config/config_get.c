/* A loaded configuration as the other layers want it. */
#include <string.h>

#include "config/config_parts.h"

const mr_values *mr_config_values(const mr_config *c, mr_config_group group)
{
	return c->part[group].values;
}

const char *mr_config_plugin(const mr_config *c, mr_config_group group)
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
	return c->run_dir;
}

const mr_model_ops *mr_config_model(const mr_config *c)
{
	return mr_model_find(mr_config_plugin(c, MR_CONFIG_MODEL));
}

const mr_dataset_ops *mr_config_data(const mr_config *c)
{
	return mr_dataset_find(mr_config_plugin(c, MR_CONFIG_DATA));
}

const mr_optim_ops *mr_config_optimizer(const mr_config *c)
{
	return mr_optim_find(mr_config_plugin(c, MR_CONFIG_OPTIMIZER));
}

const mr_mitigate_ops *mr_config_mitigation(const mr_config *c)
{
	return mr_mitigate_find(mr_config_plugin(c, MR_CONFIG_MITIGATION));
}

const mr_sched_ops *mr_config_system(const mr_config *c)
{
	return mr_schedule_find(mr_config_plugin(c, MR_CONFIG_SYSTEM));
}

const mr_kernels *mr_config_kernels(const mr_config *c)
{
	return mr_kernels_find(mr_values_string(c->part[MR_CONFIG_TOP].values, "backend"), mr_config_dtype(c));
}

mr_dtype mr_config_dtype(const mr_config *c)
{
	return strcmp(mr_values_string(c->part[MR_CONFIG_TOP].values, "dtype"), "f64") ? MR_F32 : MR_F64;
}

uint16_t mr_config_workers(const mr_config *c)
{
	return mr_config_system(c) ? (uint16_t)mr_values_int(c->part[MR_CONFIG_MACHINE].values, "workers") : 1;
}

uint32_t mr_config_stages(const mr_config *c, uint16_t workers)
{
	const mr_sched_ops *system = mr_config_system(c);
	mr_sched_args a = {.n_workers = workers, .n_micro = mr_config_n_micro(c)};

	if (!system)
		return 1;
	a.options = system->options ? c->part[MR_CONFIG_SYSTEM].values : NULL;
	a.n_micro = a.n_micro ? a.n_micro : system->default_micro(workers);
	return mr_schedule_stages(system, &a);
}

uint32_t mr_config_n_micro(const mr_config *c)
{
	return (uint32_t)mr_values_int(c->part[MR_CONFIG_TRAIN].values, "microbatches");
}

int64_t mr_config_samples(const mr_config *c)
{
	return mr_values_int(c->part[MR_CONFIG_TRAIN].values, "batch") / mr_config_n_micro(c);
}

mr_lr mr_config_lr(const mr_config *c)
{
	const mr_values *train = c->part[MR_CONFIG_TRAIN].values;
	const char *schedule = mr_values_string(train, "schedule");

	return (mr_lr){
		.kind = !strcmp(schedule, "cosine") ? MR_LR_COSINE : !strcmp(schedule, "linear") ? MR_LR_LINEAR : MR_LR_CONSTANT,
		.base = mr_values_float(train, "lr"),
		.min_ratio = mr_values_float(train, "min_ratio"),
		.warmup = (uint64_t)mr_values_int(train, "warmup"),
		.total = (uint64_t)mr_values_int(train, "steps"),
	};
}

uint32_t mr_config_spin_us(const mr_config *c)
{
	int64_t us = mr_values_int(c->part[MR_CONFIG_MACHINE].values, "spin_us");

	return us < 0 ? UINT32_MAX : (uint32_t)us;
}

const char *const *mr_config_partition(const mr_config *c, uint32_t *n)
{
	*n = c->n_partition;
	return (const char *const *)c->partition;
}

bool mr_config_trace_steps(const mr_config *c, uint64_t *first, uint64_t *last)
{
	*first = c->trace_first;
	*last = c->trace_last;
	return c->trace;
}
