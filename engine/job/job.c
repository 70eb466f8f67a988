#include "job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/check.h"
#include "job/plugins.h"

mr_job_plugin *mr_job_plugin_in(mr_job *j, mr_job_group group)
{
	switch (group) {
	case MR_JOB_MODEL: return &j->model;
	case MR_JOB_DATA: return &j->data;
	case MR_JOB_OPTIMIZER: return &j->optimizer;
	case MR_JOB_MITIGATION: return &j->mitigation;
	case MR_JOB_SYSTEM: return &j->system;
	default: return NULL;
	}
}

const mr_job_plugin *mr_job_plugin_of(const mr_job *j, mr_job_group group)
{
	return mr_job_plugin_in((mr_job *)j, group);
}

mr_status mr_job_choose(mr_job *j, mr_job_group group, const char *name)
{
	mr_job_plugin *c = j ? mr_job_plugin_in(j, group) : NULL;
	mr_values *values;
	mr_plugin p;

	if (!j || !name)
		return mr_fail(MR_EINVAL, "mr_job_choose: the %s is NULL", j ? "name" : "job");
	if (!c)
		return mr_fail(MR_EINVAL, "mr_job_choose: group %d has no plug-ins to choose from", (int)group);
	MR_TRY(mr_plugin_get(mr_job_group_of(group)->kind, name, &p));
	MR_TRY(mr_values_create(p.options, &values));
	mr_values_destroy(c->values);
	*c = (mr_job_plugin){.name = p.name, .values = values};
	return MR_OK;
}

mr_status mr_job_init(mr_job *j)
{
	if (!j)
		return mr_fail(MR_EINVAL, "mr_job_init: the job is NULL");
	*j = (mr_job){.name = MR_JOB_UNNAMED};
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_group_info *info = mr_job_group_of((mr_job_group)g);
		mr_status st = MR_OK;
		mr_values *v;

		if (info->plugin) {
			st = info->usual ? mr_job_choose(j, (mr_job_group)g, info->usual) : MR_OK;
		} else {
			st = mr_values_create(info->options, &v);
			if (st == MR_OK) {
				mr_job_take(j, (mr_job_group)g, v); /* defaults: their strings are the tables' */
				mr_values_destroy(v);
			}
		}
		if (st != MR_OK) {
			mr_job_fini(j);
			return st;
		}
	}
	return MR_OK;
}

void mr_job_fini(mr_job *j)
{
	if (!j)
		return;
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		mr_job_plugin *c = mr_job_plugin_in(j, (mr_job_group)g);

		if (c)
			mr_values_destroy(c->values);
	}
	for (uint32_t i = 0; i < j->n_cut; i++)
		free(j->cut[i]);
	free(j->cut);
	for (size_t i = 0; i < j->n_own; i++)
		free(j->own[i]);
	free(j->own);
	*j = (mr_job){0};
}

mr_status mr_job_create(mr_job **out)
{
	mr_job *j;
	mr_status st;

	if (!out)
		return mr_fail(MR_EINVAL, "mr_job_create: the place for the job is NULL");
	j = malloc(sizeof(*j));
	st = j ? mr_job_init(j) : mr_fail(MR_ERESOURCE, "no memory for a job");

	if (st != MR_OK) {
		free(j);
		j = NULL;
	}
	*out = j;
	return st;
}

void mr_job_destroy(mr_job *j)
{
	if (j)
		mr_job_fini(j);
	free(j);
}

static mr_status copy_plugins(const mr_job *from, mr_job *to)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_plugin *c = mr_job_plugin_of(from, (mr_job_group)g);

		if (c && c->values)
			MR_TRY(mr_values_copy(c->values, &mr_job_plugin_in(to, (mr_job_group)g)->values));
	}
	return MR_OK;
}

mr_status mr_job_copy(const mr_job *from, mr_job *to)
{
	mr_status st;

	if (!from || !to || from == to)
		return mr_fail(MR_EINVAL, "mr_job_copy: expected two jobs, got %s",
			       !from || !to ? "NULL" : "the same one twice");
	*to = *from;
	to->cut = NULL;
	to->n_cut = 0;
	to->own = NULL;
	to->n_own = 0;
	if (from->chose_workers)
		to->machine.workers = 0;
	if (from->chose_microbatches)
		to->train.microbatches = 0;
	to->chose_workers = to->chose_microbatches = to->untied = false;
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		mr_job_plugin *c = mr_job_plugin_in(to, (mr_job_group)g);

		if (c)
			c->values = NULL;
	}
	st = copy_plugins(from, to);
	if (st == MR_OK)
		st = mr_job_own_all(to);
	if (st != MR_OK)
		mr_job_fini(to);
	return st;
}

/* --- the place of a mistake --- */

const char *mr_job_key_text(mr_job_group group, const char *key, char buf[128])
{
	const char *name = mr_job_group_of(group)->name;

	snprintf(buf, 128, "%s%s%.80s", name, *name ? "." : "", key);
	return buf;
}

const char *mr_job_subject(const mr_option *table, const char *key, const char **text)
{
	for (const mr_option *o = table; o && o->name; o++) {
		size_t len = strlen(o->name);

		if (!strncmp(*text, o->name, len) && !strncmp(*text + len, ": ", 2)) {
			*text += len + 2;
			return o->name;
		}
	}
	return key;
}

const mr_option *mr_job_table(const mr_job *j, mr_job_group group)
{
	const mr_job_plugin *c = mr_job_plugin_of(j, group);

	if (!c)
		return mr_job_group_of(group)->options;
	return c->values ? mr_values_table(c->values) : NULL;
}

mr_status mr_job_blame(const mr_job *j, mr_job_group group, const char *key, mr_status st)
{
	char text[1024], name[128];
	const char *rest = text;

	if (st != MR_ECONFIG)
		return st;
	if (j->source.blame)
		return j->source.blame(j->source.arg, group, key, st);
	snprintf(text, sizeof(text), "%s", mr_error_text());
	key = mr_job_subject(mr_job_table(j, group), key, &rest);
	return mr_fail(st, "%s: %s", mr_job_key_text(group, key, name), rest);
}

/* --- values derived from a checked job --- */

const mr_model_ops *mr_job_model(const mr_job *j)
{
	return mr_model_find(j->model.name);
}

const mr_dataset_ops *mr_job_data(const mr_job *j)
{
	return mr_dataset_find(j->data.name);
}

const mr_optim_ops *mr_job_optimizer(const mr_job *j)
{
	return mr_optim_find(j->optimizer.name);
}

const mr_mitigate_ops *mr_job_mitigation(const mr_job *j)
{
	return mr_mitigate_find(j->mitigation.name);
}

const mr_sched_ops *mr_job_system(const mr_job *j)
{
	return mr_schedule_find(j->system.name);
}

mr_dtype mr_job_numbers(const mr_job *j)
{
	return mr_types_at((mr_precision)j->precision)->activations;
}

const mr_kernels *mr_job_kernels(const mr_job *j)
{
	return mr_kernels_of(j->backend, (mr_precision)j->precision);
}

uint16_t mr_job_workers(const mr_job *j)
{
	const mr_sched_ops *system = mr_job_system(j);

	return system && system->workers ? system->workers : (uint16_t)j->machine.workers;
}

uint32_t mr_job_stages(const mr_job *j, uint16_t workers)
{
	const mr_sched_ops *system = mr_job_system(j);
	mr_sched_args a = {.n_workers = workers, .n_micro = mr_job_n_micro(j)};

	if (!system)
		return 1;
	if (j->order.workers)
		return j->order.stages;
	a.options = system->options ? j->system.values : NULL;
	a.n_micro = a.n_micro ? a.n_micro : system->default_micro(workers);
	return mr_schedule_stages(system, &a);
}

uint32_t mr_job_n_micro(const mr_job *j)
{
	return (uint32_t)j->train.microbatches;
}

int64_t mr_job_samples(const mr_job *j)
{
	return j->train.batch / mr_job_n_micro(j);
}

uint32_t mr_job_spin_us(const mr_job *j)
{
	return j->machine.spin_us < 0 ? UINT32_MAX : (uint32_t)j->machine.spin_us;
}

bool mr_job_trace_steps(const mr_job *j, uint64_t *first, uint64_t *last)
{
	*first = j->trace.first;
	*last = j->trace.last;
	return j->trace.first > 0;
}
