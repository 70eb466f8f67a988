/* What no single table can judge: keys that must suit each other, and values that follow from others. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_parts.h"

static mr_origin origin(const mr_config *c, mr_config_group group, const char *key)
{
	const mr_config_part *part = &c->part[group];

	return part->origin[mr_option_find(mr_values_table(part->values), key) - mr_values_table(part->values)];
}

static void check_missing(mr_config *c)
{
	for (int g = 0; g < MR_N_CONFIG_GROUPS; g++) {
		const mr_config_part *part = &c->part[g];
		const mr_option *table = part->values ? mr_values_table(part->values) : NULL;

		for (size_t i = 0; table && table[i].name; i++) {
			char text[192], key[128];

			if (table[i].def || c->text.partial || part->origin[i].kind != MR_ORIGIN_DEFAULT ||
			    mr_mistakes_has(&c->mistakes, mr_config_key_text((mr_config_group)g, table[i].name, key)))
				continue;
			snprintf(text, sizeof(text), "is missing (%s: %s)", mr_option_type_text(table[i].type), table[i].help);
			mr_config_mistake(c, (mr_config_group)g, table[i].name, text);
		}
	}
}

static void check_kernels(mr_config *c)
{
	const char *key = origin(c, MR_CONFIG_TOP, "dtype").kind != MR_ORIGIN_DEFAULT ? "dtype" : "backend";

	if (!mr_config_kernels(c))
		mr_config_mistake(c, MR_CONFIG_TOP, key, mr_error_text());
}

static mr_status settle_partition(mr_config *c)
{
	const char *text = mr_values_string(c->part[MR_CONFIG_TOP].values, "partition");
	uint32_t n = 1;

	if (!strcmp(text, "auto"))
		return MR_OK;
	for (const char *s = text; *s; s++)
		n += *s == ',';
	c->partition = calloc(n, sizeof(*c->partition));
	if (!c->partition)
		return mr_fail(MR_ERESOURCE, "no memory for a partition of %u names", n);
	for (; c->n_partition < n; c->n_partition++) {
		size_t len = strcspn(text, ",");

		if (!len) {
			mr_config_mistake(c, MR_CONFIG_TOP, "partition", "expected \"auto\" or names of layers, got an empty name");
			return MR_OK;
		}
		c->partition[c->n_partition] = strndup(text, len);
		if (!c->partition[c->n_partition])
			return mr_fail(MR_ERESOURCE, "no memory for a partition of %u names", n);
		text += len + (text[len] == ',');
	}
	return MR_OK;
}

/* Partition names and workers must make the same number of stages; a system that cannot tell beforehand is asked later. */
static void check_stages(mr_config *c, int64_t workers)
{
	uint32_t stages = mr_config_stages(c, (uint16_t)workers);
	char text[200], make[40] = "";

	if (!stages || stages == c->n_partition + 1)
		return;
	if (stages != workers)
		snprintf(make, sizeof(make), " make %u stages", stages);
	snprintf(text, sizeof(text), "%lld workers%s, but partition names the begin of %u further stages, which makes %u",
		 (long long)workers, make, c->n_partition, c->n_partition + 1);
	mr_config_mistake(c, MR_CONFIG_MACHINE, "workers", text);
}

/* As many workers as make the stages that partition names. */
static int64_t workers_for(const mr_config *c)
{
	uint32_t stages = c->n_partition + 1, each = mr_config_stages(c, 1);

	return each && stages % each == 0 ? stages / each : stages;
}

/* workers = 0 becomes what it stands for. */
static mr_status settle_workers(mr_config *c)
{
	bool sequential = !mr_config_system(c);
	mr_values *machine = c->part[MR_CONFIG_MACHINE].values;
	int64_t workers = mr_values_int(machine, "workers");

	if (sequential && c->n_partition)
		mr_config_mistake(c, MR_CONFIG_TOP, "partition", "sequential is one stage and takes no names of others");
	if (!workers) {
		workers = sequential ? 1 : c->n_partition ? workers_for(c) : 2;
		MR_TRY(mr_values_set_int(machine, "workers", workers));
	}
	if (!sequential && c->n_partition)
		check_stages(c, workers);
	return MR_OK;
}

/* microbatches = 0 becomes the system's default; all must divide the batch. */
static mr_status settle_micro(mr_config *c)
{
	const mr_sched_ops *system = mr_config_system(c);
	const char *name = c->part[MR_CONFIG_SYSTEM].plugin.name;
	mr_values *train = c->part[MR_CONFIG_TRAIN].values;
	int64_t micro = mr_values_int(train, "microbatches"), batch;
	int64_t fixed = system ? mr_schedule_step_micro(system, c->part[MR_CONFIG_SYSTEM].values) : 1;
	bool given = micro != 0;
	char text[192];

	if (system && system->asynchronous && !system->accumulates && given && micro != fixed) {
		snprintf(text, sizeof(text), fixed == 1 ? "%s commits after every micro-batch, so it takes %lld a commit, got %lld"
							: "with its replicas %s takes %lld a step, got %lld",
			 name, (long long)fixed, (long long)micro);
		mr_config_mistake(c, MR_CONFIG_TRAIN, "microbatches", text);
		return MR_OK;
	}
	if (!given)
		micro = fixed > 1 ? fixed : system ? system->default_micro(mr_config_workers(c)) : 1;
	if (origin(c, MR_CONFIG_TRAIN, "batch").kind == MR_ORIGIN_DEFAULT)
		return MR_OK; /* missing, and said so */
	if (!given && mr_mistakes_has(&c->mistakes, "machine.workers"))
		return MR_OK; /* it would be the default for a number of workers that cannot be */
	batch = mr_values_int(train, "batch");
	if (batch % micro) {
		if (given)
			snprintf(text, sizeof(text), "%lld samples cannot be cut into %lld equal micro-batches", (long long)batch,
				 (long long)micro);
		else
			snprintf(text, sizeof(text),
				 "%lld samples cannot be cut into %lld equal micro-batches, the default of %s for %u workers; "
				 "set train.microbatches or another batch",
				 (long long)batch, (long long)micro, name, mr_config_workers(c));
		mr_config_mistake(c, MR_CONFIG_TRAIN, "batch", text);
		return MR_OK;
	}
	return given ? MR_OK : mr_values_set_int(train, "microbatches", micro);
}

static void check_train(mr_config *c)
{
	const mr_values *train = c->part[MR_CONFIG_TRAIN].values;
	int64_t steps, warmup = mr_values_int(train, "warmup");
	char text[128];

	if (!strcmp(mr_values_string(train, "nonfinite"), "skip") && mr_values_float(train, "clip") <= 0)
		mr_config_mistake(c, MR_CONFIG_TRAIN, "nonfinite", "only a run that clips knows its gradient norm: set clip too");
	if (origin(c, MR_CONFIG_TRAIN, "steps").kind == MR_ORIGIN_DEFAULT)
		return;
	steps = mr_values_int(train, "steps");
	if (warmup > steps) {
		snprintf(text, sizeof(text), "warm-up of %lld steps is longer than the run of %lld", (long long)warmup,
			 (long long)steps);
		mr_config_mistake(c, MR_CONFIG_TRAIN, "warmup", text);
	}
}

/* "100-120" or "100". */
static bool read_range(const char *text, uint64_t *first, uint64_t *last)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*first = *last = strtoull(text, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		*last = strtoull(end + 1, &end, 10);
	return !*end && !errno && *first >= 1 && *first <= *last;
}

static void settle_trace(mr_config *c)
{
	const char *steps = mr_values_string(c->part[MR_CONFIG_TRACE].values, "steps");
	char text[160];

	if (!*steps)
		return;
	c->trace = read_range(steps, &c->trace_first, &c->trace_last);
	if (c->trace)
		return;
	snprintf(text, sizeof(text), "expected a range of steps from 1 on, such as \"100-120\", got \"%.60s\"", steps);
	mr_config_mistake(c, MR_CONFIG_TRACE, "steps", text);
}

/* The path under @key starts at the configuration's folder; one from --set is absolute already. */
static mr_status make_absolute(const mr_config *c, mr_values *values, const char *key)
{
	char *joined, resolved[PATH_MAX];
	const char *path = mr_values_string(values, key);
	mr_status st;

	if (!*path || *path == '/')
		return MR_OK;
	if (asprintf(&joined, "%s/%s", c->base_dir, path) < 0)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	st = mr_values_set_string(values, key, realpath(joined, resolved) ? resolved : joined);
	free(joined);
	return st;
}

static mr_status settle_paths(mr_config *c)
{
	mr_config_part *part = &c->part[MR_CONFIG_DATA];
	const mr_option *table = part->values ? mr_values_table(part->values) : NULL;

	for (size_t i = 0; table && table[i].name; i++) {
		if (table[i].type != MR_OPT_STRING || (!table[i].def && part->origin[i].kind == MR_ORIGIN_DEFAULT))
			continue;
		if (!*mr_values_string(part->values, table[i].name) && !table[i].def)
			mr_config_mistake(c, MR_CONFIG_DATA, table[i].name, "empty; expected the name of a file");
		MR_TRY(make_absolute(c, part->values, table[i].name));
	}
	return make_absolute(c, c->part[MR_CONFIG_TOP].values, "costs");
}

/* An empty run.dir becomes runs/<name>, so that a copy of the resolved configuration means the same folder. */
static mr_status settle_dir(mr_config *c)
{
	mr_values *run = c->part[MR_CONFIG_RUN].values;
	const char *dir = mr_values_string(run, "dir");

	if (*dir)
		c->run_dir = strdup(dir);
	else if (asprintf(&c->run_dir, "runs/%s", c->name) < 0)
		c->run_dir = NULL;
	if (!c->run_dir)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	return mr_values_set_string(run, "dir", c->run_dir);
}

/* The caller frees it; NULL without memory. */
static char *value_text(const mr_values *values, const char *key)
{
	int len = mr_values_print(values, key, NULL, 0);
	char *text = malloc((size_t)len + 1);

	if (text)
		mr_values_print(values, key, text, (size_t)len + 1);
	return text;
}

/*
 * A key that is given its default is as good as not given: some plug-ins take "either this key or those two", and a
 * resolved configuration, which gives all of them, must mean the same as the one that it came from.
 */
static mr_status forget_defaults(mr_config_part *part)
{
	const mr_option *table = mr_values_table(part->values);
	mr_values *fresh = NULL;
	mr_status st;

	st = mr_values_create(table, &fresh);
	for (size_t i = 0; st == MR_OK && table[i].name; i++) {
		char *now = value_text(part->values, table[i].name), *def = value_text(fresh, table[i].name);

		if (!now || !def)
			st = mr_fail(MR_ERESOURCE, "no memory for the value of %s", table[i].name);
		else if (strcmp(now, def) != 0)
			st = mr_values_set_text(fresh, table[i].name, now);
		free(now);
		free(def);
	}
	if (st != MR_OK) {
		mr_values_destroy(fresh);
		return st;
	}
	mr_values_destroy(part->values);
	part->values = fresh;
	return MR_OK;
}

/*
 * A key of the system that has no effect beside another one. Where somebody wrote it that holds for its default too; a resolved
 * configuration gives all keys of the group, and means nothing by it.
 */
static void check_system_needs(mr_config *c)
{
	const mr_config_part *part = &c->part[MR_CONFIG_SYSTEM];
	const mr_sched_ops *system = part->values ? mr_config_system(c) : NULL;
	const mr_option *table = system ? mr_values_table(part->values) : NULL;
	bool resolved = true;

	for (size_t i = 0; table && table[i].name; i++)
		resolved = resolved && part->origin[i].kind != MR_ORIGIN_DEFAULT;
	if (system && system->needs && !resolved && mr_values_check_needs(part->values, system->needs) != MR_OK)
		mr_config_mistake(c, MR_CONFIG_SYSTEM, "name", mr_error_text());
}

/* Only now: a key that stands at its default is as good as not given. */
static void check_needs(mr_config *c, bool system_told)
{
	const mr_sched_ops *system = c->part[MR_CONFIG_SYSTEM].values ? mr_config_system(c) : NULL;
	const mr_values *train = c->part[MR_CONFIG_TRAIN].values, *sample = c->part[MR_CONFIG_SAMPLE].values;

	if (system && system->needs && !system_told &&
	    mr_values_check_needs(c->part[MR_CONFIG_SYSTEM].values, system->needs) != MR_OK)
		mr_config_mistake(c, MR_CONFIG_SYSTEM, "name", mr_error_text());
	if (mr_values_is_set(train, "min_ratio") && !strcmp(mr_values_string(train, "schedule"), "constant"))
		mr_config_mistake(c, MR_CONFIG_TRAIN, "min_ratio",
				  "has no effect with schedule = \"constant\"; it is for schedule = \"cosine\" or \"linear\"");
	if (mr_values_is_set(sample, "top_k") && mr_values_float(sample, "temperature") == 0)
		mr_config_mistake(c, MR_CONFIG_SAMPLE, "top_k", "has no effect with temperature = 0, which takes the most likely token");
}

mr_status mr_config_settle(mr_config *c)
{
	bool system = c->part[MR_CONFIG_SYSTEM].values;
	size_t before;

	check_missing(c);
	check_kernels(c);
	check_train(c);
	settle_trace(c);
	MR_TRY(settle_partition(c));
	if (system)
		MR_TRY(settle_workers(c));
	MR_TRY(settle_paths(c));
	MR_TRY(settle_dir(c));
	before = c->mistakes.n;
	check_system_needs(c);
	for (int g = 0; g < MR_N_CONFIG_GROUPS; g++)
		if (c->part[g].values)
			MR_TRY(forget_defaults(&c->part[g]));
	check_needs(c, c->mistakes.n > before);
	MR_TRY(mr_config_check_build(c));
	return system ? settle_micro(c) : MR_OK;
}
