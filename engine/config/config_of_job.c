/* config_of_job.c - the configuration of a job that a program has made, without a file. */
#include <stdlib.h>
#include <string.h>

#include "config/config_internal.h"

/* Does @key have another value than its default? Also where there is no memory to compare. */
static bool differs(const mr_values *v, const mr_values *usual, const char *key)
{
	int a = mr_values_print(v, key, NULL, 0), b = mr_values_print(usual, key, NULL, 0);
	char *x = malloc((size_t)a + 1), *y = malloc((size_t)b + 1);
	bool other = true;

	if (x && y) {
		mr_values_print(v, key, x, (size_t)a + 1);
		mr_values_print(usual, key, y, (size_t)b + 1);
		other = strcmp(x, y) != 0;
	}
	free(x);
	free(y);
	return other;
}

static void mark(mr_config_section *part, const mr_values *usual)
{
	for (size_t i = 0; part->table[i].name; i++)
		if (differs(part->values, usual, part->table[i].name))
			part->origin[i].kind = MR_ORIGIN_JOB;
}

/* Fill the section of @group from the job. */
static mr_status fill(mr_config *c, mr_job_group group)
{
	mr_config_section *part = &c->part[group];
	const mr_job_plugin *plugin = mr_job_plugin_of(&c->job, group);
	mr_values *usual;
	mr_status st = MR_OK;

	MR_TRY(mr_config_section_open(c, group, plugin ? plugin->name : NULL, (mr_origin){.kind = MR_ORIGIN_JOB}));
	MR_TRY(mr_values_create(part->table, &usual));
	if (plugin) {
		mr_values_destroy(part->values);
		part->values = plugin->values;
	} else {
		st = mr_job_put(&c->job, group, part->values);
		if (st == MR_OK)
			mr_job_take(&c->job, group, part->values); /* its strings have new addresses */
	}
	mark(part, usual);
	mr_values_destroy(usual);
	return st;
}

static mr_status fill_all(mr_config *c, const mr_job *job, const mr_job_order *order)
{
	c->path = strdup("a job of the library");
	if (!c->path)
		return mr_fail(MR_ERESOURCE, "no memory for a configuration");
	MR_TRY(mr_job_copy(job, &c->job));
	if (order)
		c->job.order = *order;
	MR_TRY(mr_job_check(&c->job));
	for (int g = 0; g < MR_N_JOB_GROUPS; g++)
		MR_TRY(fill(c, (mr_job_group)g));
	return MR_OK;
}

mr_status mr_config_of_job(const mr_job *job, const mr_job_order *order, mr_config **out)
{
	mr_config *c = calloc(1, sizeof(*c));
	mr_status st;

	*out = NULL;
	if (!c)
		return mr_fail(MR_ERESOURCE, "no memory for a configuration");
	st = fill_all(c, job, order);
	if (st == MR_OK)
		*out = c;
	else
		mr_config_destroy(c);
	return st;
}
