/* config_job.c - makes a job of the values that a file and --set gave, and copies the values that the job derives back
 * into the resolved configuration. */
#include <string.h>

#include "config/config_internal.h"

static void note(void *arg, mr_job_group group, const char *key, const char *text)
{
	mr_config_mistake(arg, group, key, text);
}

/* Is there a mistake about @key of @group, or for NULL about the group itself or any key of it? */
static bool known(void *arg, mr_job_group group, const char *key)
{
	const mr_config *c = arg;
	const char *word = mr_job_group_of(group)->name;
	size_t len = strlen(word);
	char name[128];

	if (key)
		return mr_mistakes_has(&c->mistakes, mr_job_key_text(group, key, name));
	for (size_t i = 0; i < c->mistakes.n; i++) {
		const char *about = c->mistakes.list[i].key;

		if (about && !strncmp(about, word, len) && (!about[len] || about[len] == '.'))
			return true;
	}
	return false;
}

static mr_status blame(const void *arg, mr_job_group group, const char *key, mr_status st)
{
	return mr_config_blame(arg, group, key, st);
}

/*
 * Reports keys of the system that have no effect beside another one. A default value that a user wrote is a mistake,
 * too; in a resolved configuration, which writes out all keys of the group, it is none.
 */
static void check_system_needs(mr_config *c)
{
	const mr_config_section *part = &c->part[MR_JOB_SYSTEM];
	const mr_sched_ops *system = part->values ? mr_schedule_find(part->plugin.name) : NULL;
	bool resolved = true;

	for (size_t i = 0; system && part->table[i].name; i++)
		resolved = resolved && part->origin[i].kind != MR_ORIGIN_DEFAULT;
	if (system && system->needs && !resolved && mr_values_check_needs(part->values, system->needs) != MR_OK)
		mr_config_mistake(c, MR_JOB_SYSTEM, "name", mr_error_text());
}

/* Move the values of plug-ins into the job. */
static void handoff(mr_config *c)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		mr_config_section *part = &c->part[g];
		mr_job_plugin *plugin = mr_job_plugin_in(&c->job, (mr_job_group)g);

		if (!part->values)
			continue;
		if (!plugin) {
			mr_job_take(&c->job, (mr_job_group)g, part->values);
			continue;
		}
		mr_values_destroy(plugin->values);
		*plugin = (mr_job_plugin){part->plugin.name, part->values};
	}
}

/* Copy the values that the job derived to the place from which they are printed. */
static mr_status take_back(mr_config *c)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		mr_config_section *part = &c->part[g];
		const mr_job_plugin *plugin = mr_job_plugin_of(&c->job, (mr_job_group)g);

		if (plugin) {
			part->values = plugin->values;
			continue;
		}
		MR_TRY(mr_job_put(&c->job, (mr_job_group)g, part->values));
		mr_job_take(&c->job, (mr_job_group)g, part->values); /* its strings have new addresses */
	}
	return MR_OK;
}

mr_status mr_config_make_job(mr_config *c)
{
	mr_job_listener listener = {.note = note, .known = known, .incomplete = c->text.partial, .arg = c};
	mr_status st;

	MR_TRY(mr_job_init(&c->job));
	c->job.name = c->name;
	c->job.base_dir = c->base_dir;
	c->job.source = (mr_job_source){blame, c};
	check_system_needs(c);
	handoff(c);
	st = c->before ? c->before(c->before_arg, &c->job) : MR_OK;
	if (st == MR_OK)
		st = mr_job_check_for(&c->job, &listener);
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) /* groups that could not be read have no values */
		if (mr_job_plugin_in(&c->job, (mr_job_group)g))
			c->part[g].values = mr_job_plugin_in(&c->job, (mr_job_group)g)->values;
	return st == MR_OK && !c->mistakes.n ? take_back(c) : st;
}
