/* config_set.c - --set key=value: splits the texts and applies them to the values. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config_internal.h"
#include "job/check.h"

/* Remove the quotes in which a plug-in's name may stand, as in a file. A malformed quote stays, and is then reported as
 * an invalid plug-in name. */
static mr_status plain_name(mr_set *s)
{
	s->plain = strdup(s->value);
	if (!s->plain)
		return mr_fail(MR_ERESOURCE, "no memory for --set %s", s->text);
	if (mr_value_unquote(s->value, s->plain))
		s->value = s->plain;
	return MR_OK;
}

/* Split "train.steps=5" or "backend=reference". Mistakes are noted, and the set then has no key. */
static mr_status read_one(mr_config *c, const char *text, uint32_t i, mr_set *out)
{
	mr_origin at = {MR_ORIGIN_SET, 0, i};
	const char *equals = strchr(text, '='), *dot;
	char word[64];

	*out = (mr_set){.text = text, .group = MR_N_JOB_GROUPS};
	if (!equals || equals == text || *text == '.') {
		mr_mistakes_add(&c->mistakes, at, NULL, "expected key=value such as train.steps=100, got \"%.100s\"",
				text);
		return MR_OK;
	}
	dot = memchr(text, '.', (size_t)(equals - text));
	snprintf(word, sizeof(word), "%.*s", (int)((dot ? dot : equals) - text), text);
	out->group = dot ? mr_config_group_find(word) : MR_JOB_TOP;
	if (!dot && mr_config_group_find(word) != MR_N_JOB_GROUPS) {
		mr_mistakes_add(&c->mistakes, at, word, "is a group; name a key in it, such as %s.%s", word,
				mr_job_group_of(mr_config_group_find(word))->plugin
					? "name"
					: mr_job_group_of(mr_config_group_find(word))->options->name);
		return MR_OK;
	}
	if (out->group == MR_N_JOB_GROUPS || (!dot && !mr_option_find(mr_job_group_of(MR_JOB_TOP)->options, word))) {
		if (mr_config_unknown_group(word, !dot) != MR_OK)
			mr_mistakes_add(&c->mistakes, at, word, "%s", mr_error_text());
		return MR_OK;
	}
	out->value = equals + 1;
	out->key = dot ? strndup(dot + 1, (size_t)(equals - dot - 1)) : strdup(word);
	if (!out->key)
		return mr_fail(MR_ERESOURCE, "no memory for --set %s", text);
	return mr_job_group_of(out->group)->plugin && !strcmp(out->key, "name") ? plain_name(out) : MR_OK;
}

mr_status mr_config_sets_read(mr_config *c, const char *const *texts, size_t n, mr_set **out)
{
	mr_set *sets = calloc(n + 1, sizeof(*sets));

	if (!sets)
		return mr_fail(MR_ERESOURCE, "no memory for %zu --set", n);
	for (size_t i = 0; i < n; i++) {
		mr_status st = read_one(c, texts[i], (uint32_t)i, &sets[i]);

		if (st != MR_OK) {
			mr_config_sets_free(sets, n);
			return st;
		}
	}
	*out = sets;
	return MR_OK;
}

void mr_config_sets_free(mr_set *sets, size_t n)
{
	for (size_t i = 0; sets && i < n; i++) {
		free(sets[i].key);
		free(sets[i].plain);
	}
	free(sets);
}

/* Paths on the command line are relative to the current folder, not to that of the file. */
static char *absolute_path(const char *value)
{
	char cwd[PATH_MAX], *path;

	if (!getcwd(cwd, sizeof(cwd)) || asprintf(&path, "%s/%s", cwd, value) < 0)
		return strdup(value);
	return path;
}

static mr_status apply_path(mr_values *values, const mr_set *s)
{
	char *path;
	mr_status st = mr_values_set_text(values, s->key, s->value);

	if (st != MR_OK || !*mr_values_string(values, s->key) || *mr_values_string(values, s->key) == '/')
		return st;
	path = absolute_path(mr_values_string(values, s->key));
	if (!path)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	st = mr_values_set_string(values, s->key, path);
	free(path);
	return st;
}

/* h.1,h.3 or ["h.1", "h.3"]: the same as the list of a file. */
static mr_status apply_names(mr_values *values, const char *key, const char *value)
{
	char *text = malloc(strlen(value) + 1), *to = text;
	mr_status st;

	if (!text)
		return mr_fail(MR_ERESOURCE, "no memory for the names of layers");
	for (const char *s = value; *s; s++)
		if (!strchr("[]() \"", *s))
			*to++ = *s;
	*to = '\0';
	st = mr_values_set_string(values, key, text);
	free(text);
	return st;
}

mr_status mr_config_sets_apply(mr_config *c, const mr_set *sets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const mr_set *s = &sets[i];
		mr_origin at = {MR_ORIGIN_SET, 0, (uint32_t)i};
		const mr_job_group_info *info;
		const mr_option *o;
		mr_values *values;
		char key[128];
		mr_status st;

		if (!s->key)
			continue;
		info = mr_job_group_of(s->group);
		values = c->part[s->group].values;
		if (!values || (info->plugin && !strcmp(s->key, "name")))
			continue;
		o = mr_option_find(mr_values_table(values), s->key);
		st = o ? MR_OK : mr_job_key_elsewhere(s->group, s->key);
		if (st != MR_OK)
			; /* noted below */
		else if (mr_config_takes_names(s->group, s->key))
			st = apply_names(values, s->key, s->value);
		else if ((s->group == MR_JOB_DATA && o && o->type == MR_OPT_STRING && !o->unit) ||
			 (s->group == MR_JOB_TOP && !strcmp(s->key, "costs")) ||
			 (s->group == MR_JOB_MACHINE && !strcmp(s->key, "choices")))
			st = apply_path(values, s);
		else
			st = mr_values_set_text(values, s->key, s->value);
		if (st == MR_ERESOURCE)
			return st;
		if (st != MR_OK)
			mr_mistakes_add(&c->mistakes, at, mr_job_key_text(s->group, s->key, key), "%s",
					mr_error_text());
		else
			mr_config_section_mark(c, s->group, s->key, at);
	}
	return MR_OK;
}

mr_status mr_config_take_up(mr_config *c, mr_job_group group, const char *key, const char *value)
{
	mr_values *v = c->part[group].values;

	MR_TRY(mr_values_set_string(v, key, value));
	mr_config_section_mark(c, group, key, (mr_origin){.kind = MR_ORIGIN_RESUMED});
	return mr_job_take_one(&c->job, group, key, v);
}

mr_status mr_config_count_as(mr_config *c, uint64_t n)
{
	const mr_sched_ops *ops = mr_job_system(&c->job);
	mr_config_section *part = &c->part[MR_JOB_SYSTEM];
	const mr_option *table = mr_values_table(part->values);

	for (size_t i = 0; table[i].name; i++)
		/* the number of tries has the origin of the time limit that it replaces */
		if (!strcmp(table[i].name, ops->time_budget_option))
			mr_config_section_mark(c, MR_JOB_SYSTEM, ops->tries_option, part->origin[i]);
	MR_TRY(mr_values_set_float(part->values, ops->time_budget_option, 0));
	return mr_values_set_int(part->values, ops->tries_option, (int64_t)n);
}
