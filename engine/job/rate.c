/* rate.c - the learning rate of a job: its keys, checked and made an mr_lr. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/check.h"

_Static_assert((int)MR_JOB_COSINE == MR_LR_COSINE && (int)MR_JOB_LINEAR == MR_LR_LINEAR &&
		       (int)MR_JOB_STEP == MR_LR_STEP && (int)MR_JOB_ONE_CYCLE == MR_LR_ONE_CYCLE &&
		       (int)MR_JOB_INVERSE_SQRT == MR_LR_INVERSE_SQRT && (int)MR_JOB_WSD == MR_LR_WSD &&
		       (int)MR_JOB_COOL_COSINE == MR_LR_COOL_COSINE && (int)MR_JOB_COOL_SQRT == MR_LR_COOL_SQRT,
	       "the schedules of a job's rate are those of mr_lr");

/* Rising numbers with blanks or commas between, and nothing else. */
static bool read_milestones(const char *text, mr_lr *lr)
{
	lr->n_milestones = 0;
	for (;;) {
		uint64_t n, before = lr->n_milestones ? lr->milestone[lr->n_milestones - 1] : 0;
		char *end = NULL;

		text += strspn(text, " ,");
		if (!*text)
			return true;
		errno = 0;
		n = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
		if (n <= before || errno || n > 1000000000000000 || !strchr(" ,", *end) ||
		    lr->n_milestones == MR_LR_MILESTONES)
			return false;
		lr->milestone[lr->n_milestones++] = n;
		text = end;
	}
}

mr_lr mr_job_lr(const mr_job *j)
{
	const mr_job_lr_schedule *t = &j->lr_schedule;
	const mr_values *optimizer = j->optimizer.values;
	mr_lr lr = {
		.kind = (mr_lr_kind)t->name,
		.curve = (mr_lr_curve)t->cooldown_curve,
		.base = optimizer && mr_values_has(optimizer, "lr") ? mr_values_float(optimizer, "lr") : NAN,
		.min_ratio = t->min_ratio,
		.start_ratio = t->start_ratio,
		.gamma = t->gamma,
		.warmup = (uint64_t)t->warmup,
		.total = (uint64_t)j->train.steps,
	};

	if (lr.kind == MR_LR_STEP) {
		lr.every = (uint64_t)t->step_every;
		if (!read_milestones(t->milestones, &lr))
			lr.n_milestones = 0; /* mr_job_check has said so */
	}
	if (lr.kind == MR_LR_WSD)
		lr.cooldown = t->cooldown ? (uint64_t)t->cooldown : (lr.total + 9) / 10;
	return lr;
}

static const char *word(int64_t name, char text[32])
{
	const char *at = mr_option_find(mr_job_group_of(MR_JOB_LR_SCHEDULE)->options, "name")->words;

	for (; name > 0; name--)
		at = strchr(at, '|') + 1;
	snprintf(text, 32, "%.*s", (int)strcspn(at, "|"), at);
	return text;
}

/* Is @key of the group at its default? */
static bool is_default(const mr_job *j, const char *key)
{
	const mr_job_lr_schedule *t = &j->lr_schedule;
	const char *def = mr_option_find(mr_job_group_of(MR_JOB_LR_SCHEDULE)->options, key)->def;

	if (!strcmp(key, "milestones"))
		return !*t->milestones;
	if (!strcmp(key, "cooldown_curve"))
		return t->cooldown_curve == MR_JOB_COOL_LINEAR;
	return strtod(def, NULL) == (!strcmp(key, "min_ratio")     ? t->min_ratio
				     : !strcmp(key, "step_every")  ? (double)t->step_every
				     : !strcmp(key, "gamma")       ? t->gamma
				     : !strcmp(key, "start_ratio") ? t->start_ratio
								   : (double)t->cooldown);
}

/* Keys that have an effect with some schedules alone. */
static void check_needs(const mr_job *j, const mr_job_listener *l)
{
	static const struct {
		const char *key;
		uint32_t of;
		const char *text;
	} needs[] = {
		{"min_ratio", 1 << MR_LR_COSINE | 1 << MR_LR_LINEAR | 1 << MR_LR_ONE_CYCLE | 1 << MR_LR_WSD,
		 "\"cosine\", \"linear\", \"one_cycle\" or \"wsd\""},
		{"milestones", 1 << MR_LR_STEP, "\"step\""},
		{"step_every", 1 << MR_LR_STEP, "\"step\""},
		{"gamma", 1 << MR_LR_STEP, "\"step\""},
		{"start_ratio", 1 << MR_LR_ONE_CYCLE, "\"one_cycle\""},
		{"cooldown", 1 << MR_LR_WSD, "\"wsd\""},
		{"cooldown_curve", 1 << MR_LR_WSD, "\"wsd\""},
	};
	char text[32];

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (!(needs[i].of >> j->lr_schedule.name & 1) && !is_default(j, needs[i].key))
			mr_job_note(l, MR_JOB_LR_SCHEDULE, needs[i].key,
				    "has no effect with name = \"%s\"; it is for name = %s",
				    word(j->lr_schedule.name, text), needs[i].text);
}

static void check_step(const mr_job *j, const mr_job_listener *l)
{
	mr_lr lr;

	if (!read_milestones(j->lr_schedule.milestones, &lr)) {
		mr_job_note(l, MR_JOB_LR_SCHEDULE, "milestones",
			    "expected at most %d rising numbers of steps, such as \"30000 60000\", got \"%.60s\"",
			    MR_LR_MILESTONES, j->lr_schedule.milestones);
		return;
	}
	if (!lr.n_milestones && !j->lr_schedule.step_every)
		mr_job_note(l, MR_JOB_LR_SCHEDULE, "name", "step needs milestones or step_every");
	if (lr.n_milestones && lr.milestone[0] < (uint64_t)j->lr_schedule.warmup)
		mr_job_note(l, MR_JOB_LR_SCHEDULE, "milestones", "step %llu lies within the warm-up of %lld steps",
			    (unsigned long long)lr.milestone[0], (long long)j->lr_schedule.warmup);
}

void mr_job_check_rate(const mr_job *j, const mr_job_listener *l)
{
	const mr_job_lr_schedule *t = &j->lr_schedule;
	int64_t steps = j->train.steps;
	mr_lr lr = mr_job_lr(j);

	if (t->name < 0 || t->name > (int)MR_LR_WSD) /* a library's caller: noted as no word of the key */
		return;
	check_needs(j, l);
	if (lr.kind == MR_LR_STEP)
		check_step(j, l);
	if (steps <= 0)
		return;
	if (t->warmup > steps)
		mr_job_note(l, MR_JOB_LR_SCHEDULE, "warmup", "warm-up of %lld steps is longer than the run of %lld",
			    (long long)t->warmup, (long long)steps);
	else if (lr.kind == MR_LR_ONE_CYCLE && t->warmup == steps && steps > 1)
		mr_job_note(l, MR_JOB_LR_SCHEDULE, "warmup", "a cycle of %lld steps that rises for all of them never "
			    "falls", (long long)steps);
	else if (lr.kind == MR_LR_WSD && lr.warmup + lr.cooldown > lr.total)
		mr_job_note(l, MR_JOB_LR_SCHEDULE, "cooldown",
			    "%llu steps of warm-up and %llu of cool-down are more than the run of %llu",
			    (unsigned long long)lr.warmup, (unsigned long long)lr.cooldown,
			    (unsigned long long)lr.total);
}
