/* fields.c - the typed fields of a job, group by group: the member of the struct for each key of a table of options. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "job/check.h"

typedef enum field_type {
	FIELD_INT,    /* int64_t; of an enumeration, the number of its word */
	FIELD_FLOAT,  /* double */
	FIELD_STRING, /* const char *, borrowed */
	FIELD_BOOL,   /* bool */
} field_type;

typedef struct field {
	mr_job_group group;
	const char *key;
	field_type type;
	size_t offset;
} field;

#define AT(member) offsetof(mr_job, member)

static const field fields[] = {
	{MR_JOB_TOP, "backend", FIELD_STRING, AT(backend)},
	{MR_JOB_TOP, "precision", FIELD_INT, AT(precision)},
	{MR_JOB_TOP, "costs", FIELD_STRING, AT(costs)},
	{MR_JOB_TOP, "partition", FIELD_STRING, AT(partition)},
	{MR_JOB_TRAIN, "steps", FIELD_INT, AT(train.steps)},
	{MR_JOB_TRAIN, "batch", FIELD_INT, AT(train.batch)},
	{MR_JOB_TRAIN, "microbatches", FIELD_INT, AT(train.microbatches)},
	{MR_JOB_LR_SCHEDULE, "name", FIELD_INT, AT(lr_schedule.name)},
	{MR_JOB_LR_SCHEDULE, "warmup", FIELD_INT, AT(lr_schedule.warmup)},
	{MR_JOB_LR_SCHEDULE, "min_ratio", FIELD_FLOAT, AT(lr_schedule.min_ratio)},
	{MR_JOB_LR_SCHEDULE, "milestones", FIELD_STRING, AT(lr_schedule.milestones)},
	{MR_JOB_LR_SCHEDULE, "step_every", FIELD_INT, AT(lr_schedule.step_every)},
	{MR_JOB_LR_SCHEDULE, "gamma", FIELD_FLOAT, AT(lr_schedule.gamma)},
	{MR_JOB_LR_SCHEDULE, "start_ratio", FIELD_FLOAT, AT(lr_schedule.start_ratio)},
	{MR_JOB_LR_SCHEDULE, "cooldown", FIELD_INT, AT(lr_schedule.cooldown)},
	{MR_JOB_LR_SCHEDULE, "cooldown_curve", FIELD_INT, AT(lr_schedule.cooldown_curve)},
	{MR_JOB_TRAIN, "clip", FIELD_FLOAT, AT(train.clip)},
	{MR_JOB_TRAIN, "nonfinite", FIELD_INT, AT(train.nonfinite)},
	{MR_JOB_TRAIN, "norm_every", FIELD_INT, AT(train.norm_every)},
	{MR_JOB_TRAIN, "gradients", FIELD_INT, AT(train.gradients)},
	{MR_JOB_TRAIN, "frozen", FIELD_STRING, AT(train.frozen)},
	{MR_JOB_TRAIN, "class_weights", FIELD_STRING, AT(train.class_weights)},
	{MR_JOB_TRAIN, "untie", FIELD_BOOL, AT(train.untie)},
	{MR_JOB_TRAIN, "seed", FIELD_INT, AT(train.seed)},
	{MR_JOB_TRAIN, "eval_every", FIELD_INT, AT(train.eval_every)},
	{MR_JOB_TRAIN, "eval_at_end", FIELD_BOOL, AT(train.eval_at_end)},
	{MR_JOB_TRAIN, "patience", FIELD_INT, AT(train.patience)},
	{MR_JOB_RUN, "dir", FIELD_STRING, AT(run_dir)},
	{MR_JOB_RUN, "tensorboard", FIELD_BOOL, AT(tensorboard)},
	{MR_JOB_MACHINE, "workers", FIELD_INT, AT(machine.workers)},
	{MR_JOB_MACHINE, "threads", FIELD_INT, AT(machine.threads)},
	{MR_JOB_MACHINE, "shares", FIELD_INT, AT(machine.shares)},
	{MR_JOB_MACHINE, "sequence_parallel", FIELD_BOOL, AT(machine.sequence_parallel)},
	{MR_JOB_MACHINE, "teams", FIELD_INT, AT(machine.teams)},
	{MR_JOB_MACHINE, "cpus", FIELD_STRING, AT(machine.cpus)},
	{MR_JOB_MACHINE, "ranks", FIELD_STRING, AT(machine.ranks)},
	{MR_JOB_MACHINE, "hosts", FIELD_INT, AT(machine.hosts)},
	{MR_JOB_MACHINE, "links", FIELD_STRING, AT(machine.links)},
	{MR_JOB_MACHINE, "topology", FIELD_STRING, AT(machine.topology)},
	{MR_JOB_MACHINE, "loaders", FIELD_INT, AT(machine.loaders)},
	{MR_JOB_MACHINE, "spin_us", FIELD_INT, AT(machine.spin_us)},
	{MR_JOB_MACHINE, "memory_limit", FIELD_INT, AT(machine.memory_limit)},
	{MR_JOB_MACHINE, "watchdog", FIELD_FLOAT, AT(machine.watchdog)},
	{MR_JOB_MACHINE, "choices", FIELD_STRING, AT(machine.choices)},
	{MR_JOB_MACHINE, "peak_gflops", FIELD_FLOAT, AT(machine.peak_gflops)},
	{MR_JOB_CHECKPOINT, "every", FIELD_INT, AT(checkpoint.every)},
	{MR_JOB_CHECKPOINT, "keep", FIELD_INT, AT(checkpoint.keep)},
	{MR_JOB_CHECKPOINT, "keep_every", FIELD_INT, AT(checkpoint.keep_every)},
	{MR_JOB_CHECKPOINT, "at_end", FIELD_BOOL, AT(checkpoint.at_end)},
	{MR_JOB_CHECKPOINT, "hung", FIELD_INT, AT(checkpoint.hung)},
	{MR_JOB_CHECKPOINT, "parts", FIELD_INT, AT(checkpoint.parts)},
	{MR_JOB_TRACE, "steps", FIELD_STRING, AT(trace.steps)},
	{MR_JOB_SAMPLE, "tokens", FIELD_INT, AT(sample.tokens)},
	{MR_JOB_SAMPLE, "temperature", FIELD_FLOAT, AT(sample.temperature)},
	{MR_JOB_SAMPLE, "top_k", FIELD_INT, AT(sample.top_k)},
	{MR_JOB_SAMPLE, "top_p", FIELD_FLOAT, AT(sample.top_p)},
	{MR_JOB_SAMPLE, "prompt", FIELD_STRING, AT(sample.prompt)},
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* The number of the word @word in "one|two|three"; the words are those of the table, so it is one of them. */
static int64_t number_of_word(const char *words, const char *word)
{
	size_t len = strlen(word);
	int64_t n = 0;

	for (const char *at = words;; n++) {
		const char *end = strchr(at, '|');

		if (end ? (size_t)(end - at) == len && !strncmp(at, word, len) : !strcmp(at, word))
			return n;
		assert(end);
		at = end + 1;
	}
}

/* Word number @n of "one|two|three" into @buf; "" beyond the last, which no table takes. */
static const char *word_of_number(const char *words, int64_t n, char buf[64])
{
	const char *at = words;

	for (; n > 0 && at; n--) {
		at = strchr(at, '|');
		at = at ? at + 1 : NULL;
	}
	buf[0] = '\0';
	if (at && n == 0) {
		size_t len = strcspn(at, "|");

		len = len < 63 ? len : 63;
		memcpy(buf, at, len);
		buf[len] = '\0';
	}
	return buf;
}

static void take(const field *f, const mr_option *o, const mr_values *v, char *at)
{
	if (f->type == FIELD_FLOAT)
		*(double *)at = mr_values_float(v, f->key);
	else if (f->type == FIELD_BOOL)
		*(bool *)at = mr_values_bool(v, f->key);
	else if (o->type == MR_OPT_ENUM && f->type == FIELD_INT)
		*(int64_t *)at = number_of_word(o->words, mr_values_string(v, f->key));
	else if (f->type == FIELD_INT)
		*(int64_t *)at = mr_values_int(v, f->key);
	else /* a default lives as long as its table */
		*(const char **)at = mr_values_is_set(v, f->key) ? mr_values_string(v, f->key) : o->def;
}

void mr_job_take(mr_job *j, mr_job_group group, const mr_values *v)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		const field *f = &fields[i];
		const mr_option *o = f->group == group ? mr_option_find(mr_values_table(v), f->key) : NULL;

		if (o && mr_values_has(v, f->key)) /* a required one that was not given stays what it is */
			take(f, o, v, (char *)j + f->offset);
	}
}

mr_status mr_job_take_one(mr_job *j, mr_job_group group, const char *key, const mr_values *v)
{
	const mr_option *o = mr_option_find(mr_values_table(v), key);

	for (size_t i = 0; i < N_FIELDS; i++) {
		const field *f = &fields[i];
		char *at = (char *)j + f->offset;

		if (f->group != group || strcmp(f->key, key) != 0)
			continue;
		if (f->type == FIELD_STRING)
			return mr_job_own(j, strdup(mr_values_string(v, key)), (const char **)at);
		take(f, o, v, at);
	}
	return MR_OK;
}

mr_status mr_job_own_all(mr_job *j)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		const char **at = (const char **)((char *)j + fields[i].offset);

		if (fields[i].type == FIELD_STRING && *at)
			MR_TRY(mr_job_own(j, strdup(*at), at));
	}
	if (j->base_dir)
		MR_TRY(mr_job_own(j, strdup(j->base_dir), &j->base_dir));
	return j->name ? mr_job_own(j, strdup(j->name), &j->name) : MR_OK;
}

static mr_status put(const mr_job *j, const field *f, const mr_option *o, mr_values *v)
{
	const char *at = (const char *)j + f->offset;
	char word[64];

	if (f->type == FIELD_FLOAT)
		return mr_values_set_float(v, f->key, *(const double *)at);
	if (f->type == FIELD_BOOL)
		return mr_values_set_bool(v, f->key, *(const bool *)at);
	if (o->type == MR_OPT_ENUM && f->type == FIELD_INT)
		return mr_values_set_string(v, f->key, word_of_number(o->words, *(const int64_t *)at, word));
	if (f->type == FIELD_INT)
		return mr_values_set_int(v, f->key, *(const int64_t *)at);
	return mr_values_set_string(v, f->key, *(const char *const *)at ? *(const char *const *)at : "");
}

mr_status mr_job_put_one(const mr_job *j, mr_job_group group, const char *key, mr_values *v)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if (fields[i].group == group && !strcmp(fields[i].key, key))
			return put(j, &fields[i], mr_option_find(mr_values_table(v), key), v);
	return MR_OK;
}

mr_status mr_job_put(const mr_job *j, mr_job_group group, mr_values *v)
{
	for (const mr_option *o = mr_values_table(v); o->name; o++) {
		mr_status st = mr_job_put_one(j, group, o->name, v);

		if (st != MR_OK)
			return mr_fail_in(st, "%s", o->name);
	}
	return MR_OK;
}

static bool null_string(const mr_job *j, const field *f)
{
	return f->type == FIELD_STRING && !*(const char *const *)((const char *)j + f->offset);
}

mr_status mr_job_no_nulls(const mr_job *j)
{
	char name[128];

	for (size_t i = 0; i < N_FIELDS; i++)
		if (null_string(j, &fields[i]))
			return mr_fail(MR_EINVAL, "the job's text %s is NULL; the empty text is \"\"",
				       mr_job_key_text(fields[i].group, fields[i].key, name));
	return j->name ? MR_OK : mr_fail(MR_EINVAL, "the job's name is NULL");
}

static bool same(const mr_job *a, const mr_job *b, const field *f)
{
	const char *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;

	if (f->type == FIELD_FLOAT)
		return *(const double *)x == *(const double *)y;
	if (f->type == FIELD_INT)
		return *(const int64_t *)x == *(const int64_t *)y;
	if (f->type == FIELD_BOOL)
		return *(const bool *)x == *(const bool *)y;
	return !strcmp(*(const char *const *)x, *(const char *const *)y);
}

void mr_job_changed(const mr_job *j, mr_job_group group, mr_strbuf *out)
{
	char name[128];
	mr_job usual;

	if (mr_job_init(&usual) != MR_OK) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < N_FIELDS; i++)
		if (fields[i].group == group && !null_string(j, &fields[i]) && !same(j, &usual, &fields[i]))
			mr_strbuf_printf(out, "%s, ", mr_job_key_text(group, fields[i].key, name));
	mr_job_fini(&usual);
}

bool mr_job_differs(const mr_job *j, mr_job_group group)
{
	bool differs = false;
	mr_job usual;

	if (mr_job_init(&usual) != MR_OK)
		return true;
	for (size_t i = 0; i < N_FIELDS; i++)
		differs = differs || (fields[i].group == group && !same(j, &usual, &fields[i]));
	mr_job_fini(&usual);
	return differs;
}
