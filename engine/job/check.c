/* check.c - checks across tables: fields that must fit each other, and fields that follow from others. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/check.h"

void mr_job_note(const mr_job_listener *l, mr_job_group group, const char *key, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	l->note(l->arg, group, key, text);
}

bool mr_job_doubtful(const mr_job_listener *l, mr_job_group group, const char *key)
{
	return l->known && l->known(l->arg, group, key);
}

/* --- required fields --- */

static void note_missing(const mr_job_listener *l, mr_job_group group, const mr_option *o)
{
	if (!l->incomplete && !mr_job_doubtful(l, group, o->name))
		mr_job_note(l, group, o->name, "is missing (%s: %s)", mr_option_type_text(o->type), o->help);
}

/* The values that fields without a default have in a job before it is filled. */
static bool is_missing(const mr_job *j, mr_job_group group, const char *key)
{
	if (group != MR_JOB_TRAIN)
		return false;
	return (!strcmp(key, "steps") && !j->train.steps) || (!strcmp(key, "batch") && !j->train.batch);
}

static mr_status check_field(const mr_job *j, mr_values *scratch, mr_job_group group, const mr_option *o,
			     const mr_job_listener *l)
{
	mr_status st;

	if (!o->def && is_missing(j, group, o->name)) {
		note_missing(l, group, o);
		return MR_OK;
	}
	st = mr_job_put_one(j, group, o->name, scratch);
	if (st != MR_ECONFIG)
		return st;
	if (!mr_job_doubtful(l, group, o->name))
		mr_job_note(l, group, o->name, "%s", mr_error_text());
	return MR_OK;
}

static mr_status check_typed(const mr_job *j, mr_job_group group, const mr_job_listener *l)
{
	const mr_option *table = mr_job_group_of(group)->options;
	mr_values *scratch;
	mr_status st;

	MR_TRY(mr_values_create(table, &scratch));
	st = MR_OK;
	for (const mr_option *o = table; o->name && st == MR_OK; o++)
		st = check_field(j, scratch, group, o, l);
	mr_values_destroy(scratch);
	return st;
}

static void check_plugin(const mr_job *j, mr_job_group group, const mr_job_listener *l)
{
	const mr_job_plugin *c = mr_job_plugin_of(j, group);

	if (!c->values) {
		if (!l->incomplete && !mr_job_doubtful(l, group, NULL))
			mr_job_note(l, group, "name", "is missing");
		return;
	}
	for (const mr_option *o = mr_values_table(c->values); o->name; o++)
		if (!mr_values_has(c->values, o->name))
			note_missing(l, group, o);
}

static mr_status check_there(const mr_job *j, const mr_job_listener *l)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		if (mr_job_group_of((mr_job_group)g)->plugin)
			check_plugin(j, (mr_job_group)g, l);
		else
			MR_TRY(check_typed(j, (mr_job_group)g, l));
	}
	return MR_OK;
}

static void check_kernels(const mr_job *j, const mr_job_listener *l)
{
	if (!mr_job_kernels(j))
		mr_job_note(l, MR_JOB_TOP, j->precision == MR_PRECISION_F32 ? "backend" : "precision", "%s",
			    mr_error_text());
}

/* --- strings of the job itself --- */

mr_status mr_job_own(mr_job *j, char *text, const char **out)
{
	char **more = text ? realloc(j->own, (j->n_own + 1) * sizeof(*more)) : NULL;

	if (!more) {
		free(text);
		return mr_fail(MR_ERESOURCE, "no memory for a string of a job");
	}
	j->own = more;
	j->own[j->n_own++] = text;
	*out = text;
	return MR_OK;
}

/* @path, made absolute from the job's folder; NULL: no memory. */
static char *absolute(const mr_job *j, const char *path)
{
	char *joined, resolved[PATH_MAX];

	if (!*path || *path == '/' || !j->base_dir)
		return strdup(path);
	if (asprintf(&joined, "%s/%s", j->base_dir, path) < 0)
		return NULL;
	if (realpath(joined, resolved)) {
		free(joined);
		return strdup(resolved);
	}
	return joined;
}

/* --- fields that follow from others --- */

static mr_status settle_cut(mr_job *j, const mr_job_listener *l)
{
	const char *text = j->partition;
	uint32_t n = 1;

	if (!strcmp(text, "auto"))
		return MR_OK;
	for (const char *s = text; *s; s++)
		n += *s == ',';
	j->cut = calloc(n, sizeof(*j->cut));
	if (!j->cut)
		return mr_fail(MR_ERESOURCE, "no memory for a partition of %u names", n);
	for (; j->n_cut < n; j->n_cut++) {
		size_t len = strcspn(text, ",");

		if (!len) {
			mr_job_note(l, MR_JOB_TOP, "partition",
				    "expected \"auto\" or names of layers, got an empty name");
			return MR_OK;
		}
		j->cut[j->n_cut] = strndup(text, len);
		if (!j->cut[j->n_cut])
			return mr_fail(MR_ERESOURCE, "no memory for a partition of %u names", n);
		text += len + (text[len] == ',');
	}
	return MR_OK;
}

/* Partition names and workers must make the same number of stages; a system whose number is known only after emit() is
 * checked later. */
static void check_stages(const mr_job *j, const mr_job_listener *l)
{
	uint32_t stages = mr_job_stages(j, (uint16_t)j->machine.workers);
	char make[40] = "";

	if (j->order.workers && stages != j->n_cut + 1)
		mr_job_note(l, MR_JOB_TOP, "partition",
			    "the plan has %u stages, but the begin of %u further ones is named, which makes %u", stages,
			    j->n_cut, j->n_cut + 1);
	if (j->order.workers || !stages || stages == j->n_cut + 1)
		return;
	if (stages != j->machine.workers)
		snprintf(make, sizeof(make), " make %u stages", stages);
	mr_job_note(l, MR_JOB_MACHINE, "workers",
		    "%lld workers%s, but partition names the begin of %u further stages, which makes %u",
		    (long long)j->machine.workers, make, j->n_cut, j->n_cut + 1);
}

/* The number of workers that makes the stages named in partition. */
static int64_t workers_for(const mr_job *j)
{
	uint32_t stages = j->n_cut + 1, each = mr_job_stages(j, 1);

	return each && stages % each == 0 ? stages / each : stages;
}

/* Replace workers = 0 by the number for which it stands. */
static void settle_workers(mr_job *j, const mr_job_listener *l)
{
	const mr_sched_ops *system = mr_job_system(j); /* NULL: unknown, and noted */
	int64_t only = system ? system->workers : 1;

	if (j->order.workers && !only)
		j->machine.workers = j->order.workers;
	j->chose_workers = !j->machine.workers;
	if (j->chose_workers)
		j->machine.workers = only ? only : j->n_cut ? workers_for(j) : 2;
	if (!j->n_cut || !system)
		return;
	if (only && j->n_cut + 1 != mr_job_stages(j, system->workers))
		mr_job_note(l, MR_JOB_TOP, "partition", "%s is one stage and takes no names of others", system->name);
	else
		check_stages(j, l);
}

static int64_t default_micro(const mr_job *j, const mr_sched_ops *system, int64_t fixed)
{
	if (j->order.workers)
		return j->order.n_micro;
	return fixed > 1 ? fixed : system ? system->default_micro(mr_job_workers(j)) : 1;
}

/* Replace microbatches = 0 by the system's default; the number must divide the batch. */
static void settle_micro(mr_job *j, const mr_job_listener *l)
{
	const mr_sched_ops *system = mr_job_system(j);
	const char *name = j->system.name;
	int64_t fixed = system ? mr_schedule_step_micro(system, j->system.values) : 1;
	int64_t given = j->train.microbatches, micro = given ? given : default_micro(j, system, fixed);
	long long batch = (long long)j->train.batch;

	if (!j->order.workers && system && system->asynchronous && !system->accumulates && given && given != fixed) {
		mr_job_note(l, MR_JOB_TRAIN, "microbatches",
			    fixed == 1 ? "%s commits after every micro-batch, so it takes %lld a commit, got %lld"
				       : "with its replicas %s takes %lld a step, got %lld",
			    name, (long long)fixed, (long long)given);
		return;
	}
	if (batch < 1)
		return; /* missing, and noted */
	if (!given && mr_job_doubtful(l, MR_JOB_MACHINE, "workers"))
		return; /* it would be the default for an impossible number of workers */
	if (batch % micro == 0) {
		j->chose_microbatches = !given;
		j->train.microbatches = micro;
	} else if (given) {
		mr_job_note(l, MR_JOB_TRAIN, "batch", "%lld samples cannot be cut into %lld equal micro-batches", batch,
			    (long long)micro);
	} else {
		mr_job_note(
			l, MR_JOB_TRAIN, "batch",
			"%lld samples cannot be cut into %lld equal micro-batches, the default of %s for %u workers; "
			"set train.microbatches or another batch",
			batch, (long long)micro, name, mr_job_workers(j));
	}
}

static void check_train(const mr_job *j, const mr_job_listener *l)
{
	const mr_job_train *t = &j->train;

	if (t->nonfinite == MR_NONFINITE_SKIP && t->clip <= 0)
		mr_job_note(l, MR_JOB_TRAIN, "nonfinite",
			    "only a run that clips computes its gradient norm: set clip too");
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

static void settle_trace(mr_job *j, const mr_job_listener *l)
{
	mr_job_trace *t = &j->trace;

	t->first = t->last = 0;
	if (!*t->steps || read_range(t->steps, &t->first, &t->last))
		return;
	t->first = t->last = 0;
	mr_job_note(l, MR_JOB_TRACE, "steps", "expected a range of steps from 1 on, such as \"100-120\", got \"%.60s\"",
		    t->steps);
}

/* Paths of the data, and of files of costs and choices, are relative to the job's folder. */
static mr_status settle_paths(mr_job *j, const mr_job_listener *l)
{
	mr_values *v = j->data.values;

	for (const mr_option *o = v ? mr_values_table(v) : NULL; o && o->name; o++) {
		char *path;
		mr_status st;

		if (!mr_job_is_file(o) || !mr_values_has(v, o->name))
			continue;
		if (!*mr_values_string(v, o->name)) {
			if (!o->def)
				mr_job_note(l, MR_JOB_DATA, o->name, "empty; expected the name of a file");
			continue;
		}
		path = absolute(j, mr_values_string(v, o->name));
		st = path ? mr_values_set_string(v, o->name, path) : mr_fail(MR_ERESOURCE, "no memory for a path");
		free(path);
		MR_TRY(st);
	}
	if (*j->machine.choices)
		MR_TRY(mr_job_own(j, absolute(j, j->machine.choices), &j->machine.choices));
	return *j->costs ? mr_job_own(j, absolute(j, j->costs), &j->costs) : MR_OK;
}

/* An empty run_dir becomes runs/NAME, so that a copy of the resolved configuration names the same folder. */
static mr_status settle_dir(mr_job *j)
{
	char *dir;

	if (*j->run_dir)
		return MR_OK;
	if (asprintf(&dir, "runs/%s", j->name) < 0)
		dir = NULL;
	return mr_job_own(j, dir, &j->run_dir);
}

/* --- keys that have an effect only beside others --- */

static mr_status set_anew(void *fresh, const mr_option *o, const char *text)
{
	return mr_values_set_text(fresh, o->name, text);
}

/*
 * Treats a key that is given its default value as not given: some plug-ins take "either this key or those two", and a
 * resolved configuration, which gives all of them, must mean the same as the configuration from which it was made.
 */
static mr_status forget_defaults(mr_job_plugin *plugin)
{
	mr_values *fresh;
	mr_status st;

	MR_TRY(mr_values_create(mr_values_table(plugin->values), &fresh));
	st = mr_values_each_changed(plugin->values, set_anew, fresh);
	if (st != MR_OK) {
		mr_values_destroy(fresh);
		return st;
	}
	mr_values_destroy(plugin->values);
	plugin->values = fresh;
	return MR_OK;
}

static mr_status forget_all_defaults(mr_job *j)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		mr_job_plugin *c = mr_job_plugin_in(j, (mr_job_group)g);

		if (c && c->values)
			MR_TRY(forget_defaults(c));
	}
	return MR_OK;
}

/* After forget_defaults, so that a key with its default value counts as not given. */
static void check_needs(const mr_job *j, const mr_job_listener *l)
{
	const mr_sched_ops *system = j->system.values ? mr_job_system(j) : NULL;

	if (system && system->needs && !mr_job_doubtful(l, MR_JOB_SYSTEM, NULL) &&
	    mr_values_check_needs(j->system.values, system->needs) != MR_OK)
		mr_job_note(l, MR_JOB_SYSTEM, "name", "%s", mr_error_text());
	mr_job_check_rate(j, l);
	if (j->sample.top_p < 1 && j->sample.temperature == 0)
		mr_job_note(l, MR_JOB_SAMPLE, "top_p", "has no effect with temperature = 0");
	if (j->sample.top_k && j->sample.temperature == 0)
		mr_job_note(l, MR_JOB_SAMPLE, "top_k",
			    "has no effect with temperature = 0, which takes the most likely token");
	if (j->train.patience && !j->train.eval_every)
		mr_job_note(l, MR_JOB_TRAIN, "patience", "counts evaluations, so it needs train.eval_every");
	if (j->checkpoint.keep_every && (!j->checkpoint.every || j->checkpoint.keep_every % j->checkpoint.every))
		mr_job_note(l, MR_JOB_CHECKPOINT, "keep_every",
			    "expected a multiple of checkpoint.every (%lld), got %lld", (long long)j->checkpoint.every,
			    (long long)j->checkpoint.keep_every);
}

static mr_status settle(mr_job *j, const mr_job_listener *l)
{
	bool system = j->system.values;

	MR_TRY(mr_job_no_nulls(j));
	MR_TRY(check_there(j, l));
	check_kernels(j, l);
	check_train(j, l);
	settle_trace(j, l);
	MR_TRY(settle_cut(j, l));
	if (system)
		settle_workers(j, l);
	MR_TRY(settle_paths(j, l));
	MR_TRY(settle_dir(j));
	MR_TRY(forget_all_defaults(j));
	check_needs(j, l);
	MR_TRY(mr_job_check_build(j, l));
	if (system)
		settle_micro(j, l);
	return MR_OK;
}

/* --- a listener that collects lines of text --- */

typedef struct lines {
	const mr_job *job;
	mr_strbuf text; /* each line begins with a line break */
	size_t n;
} lines;

static void note_line(void *arg, mr_job_group group, const char *key, const char *text)
{
	lines *m = arg;
	char name[128];

	key = mr_job_subject(mr_job_table(m->job, group), key, &text);
	mr_strbuf_printf(&m->text, "\n%s: %s", mr_job_key_text(group, key, name), text);
	m->n++;
}

static bool line_known(void *arg, mr_job_group group, const char *key)
{
	lines *m = arg;
	char name[128], begin[144];

	if (key)
		snprintf(begin, sizeof(begin), "\n%s: ", mr_job_key_text(group, key, name));
	else
		snprintf(begin, sizeof(begin), "\n%s.", mr_job_group_of(group)->name);
	return strstr(mr_strbuf_text(&m->text), begin);
}

mr_status mr_job_check_for(mr_job *j, const mr_job_listener *listener)
{
	return settle(j, listener);
}

mr_status mr_job_check(mr_job *j)
{
	lines m = {.job = j};
	mr_job_listener listener = {.note = note_line, .known = line_known, .arg = &m};
	mr_status st;

	if (!j)
		return mr_fail(MR_EINVAL, "mr_job_check: the job is NULL");
	st = settle(j, &listener);
	if (st == MR_OK && m.text.failed)
		st = mr_fail(MR_ERESOURCE, "no memory to list the mistakes of a job");
	else if (st == MR_OK && m.n)
		st = mr_fail(MR_ECONFIG, "%s", mr_strbuf_text(&m.text) + 1);
	mr_strbuf_fini(&m.text);
	return st;
}
