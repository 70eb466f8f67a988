/* set.c - sets a value of a job from a key and a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/check.h"

/* The group of "group.key", and the key after the dot; a key without a dot belongs to the top. */
static mr_status find_group(const char *key, mr_job_group *group, const char **name)
{
	const char *dot = strchr(key, '.'), *names[MR_N_JOB_GROUPS], *near;
	char word[64];
	size_t n = 0;

	*group = MR_JOB_TOP;
	*name = key;
	if (!dot)
		return MR_OK;
	snprintf(word, sizeof(word), "%.*s", (int)(dot - key), key);
	*name = dot + 1;
	for (int g = MR_JOB_TOP + 1; g < MR_N_JOB_GROUPS; g++) {
		names[n++] = mr_job_group_of((mr_job_group)g)->name;
		*group = (mr_job_group)g;
		if (!strcmp(names[n - 1], word))
			return MR_OK;
	}
	near = mr_nearest(word, names, n);
	return mr_fail(MR_ECONFIG, "%s: unknown group%s%s%s", key, near ? ", did you mean \"" : "", near ? near : "",
		       near ? "\"?" : "");
}

/* Which optimizers have the key that this one lacks? */
static mr_status of_other_optimizers(const char *key)
{
	mr_strbuf text = {0};
	mr_status st = MR_OK;
	mr_plugin p;

	for (uint32_t i = 0; mr_plugin_at(MR_PLUGIN_OPTIMIZER, i, &p); i++)
		if (mr_option_find(p.options, key))
			mr_strbuf_printf(&text, "%s%s", text.len ? ", " : "", p.name);
	if (text.len)
		st = mr_fail(MR_ECONFIG, "unknown key \"%s\" for this optimizer, which belongs to %s", key,
			     mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	return st;
}

mr_status mr_job_key_elsewhere(mr_job_group group, const char *key)
{
	static const struct {
		mr_job_group group;
		const char *key, *now;
	} renamed[] = {
		{MR_JOB_TOP, "dtype", "precision"},
		{MR_JOB_TRAIN, "schedule", "lr_schedule.name"},
	};
	char text[128];
	mr_plugin p;

	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (renamed[i].group == group && !strcmp(renamed[i].key, key))
			return mr_fail(MR_ECONFIG, "is called %s now", renamed[i].now);
	for (int g = MR_JOB_TOP; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_group_info *info = mr_job_group_of((mr_job_group)g);

		if (g != (int)group && !info->plugin && mr_option_find(info->options, key))
			return mr_fail(MR_ECONFIG, "unknown key \"%s\", did you mean %s%s?", key,
				       mr_job_key_text((mr_job_group)g, key, text),
				       g == MR_JOB_TOP ? " outside of the groups" : "");
	}
	if (group != MR_JOB_OPTIMIZER && mr_plugin_at(MR_PLUGIN_OPTIMIZER, 0, &p) && mr_option_find(p.options, key))
		return mr_fail(MR_ECONFIG, "unknown key \"%s\", did you mean %s?", key,
			       mr_job_key_text(MR_JOB_OPTIMIZER, key, text));
	return group == MR_JOB_OPTIMIZER ? of_other_optimizers(key) : MR_OK;
}

static mr_status set_typed(mr_job *j, mr_job_group group, const char *name, const char *text)
{
	mr_values *v;
	mr_status st;

	MR_TRY(mr_values_create(mr_job_group_of(group)->options, &v));
	st = mr_option_find(mr_values_table(v), name) ? MR_OK : mr_job_key_elsewhere(group, name);
	if (st == MR_OK)
		st = mr_values_set_text(v, name, text);
	if (st == MR_OK)
		st = mr_job_take_one(j, group, name, v);
	mr_values_destroy(v);
	return st;
}

mr_status mr_job_set(mr_job *j, const char *key, const char *text)
{
	mr_job_group group;
	mr_job_plugin *plugin;
	const char *name;
	mr_status st;

	if (!j || !key || !text)
		return mr_fail(MR_EINVAL, "mr_job_set: the %s is NULL", !j ? "job" : !key ? "key" : "text");
	MR_TRY(find_group(key, &group, &name));
	plugin = mr_job_plugin_in(j, group);
	if (!plugin)
		st = set_typed(j, group, name, text);
	else if (!strcmp(name, "name"))
		st = mr_job_choose(j, group, text);
	else if (!plugin->values)
		st = mr_fail(MR_ECONFIG, "choose %s.name first", mr_job_group_of(group)->name);
	else
		st = mr_values_set_text(plugin->values, name, text);
	return st == MR_OK ? st : mr_fail_in(st, "%s", key);
}
