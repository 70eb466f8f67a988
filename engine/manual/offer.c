#include "manual/offer.h"

#include <stdio.h>
#include <string.h>

#include "job/keys.h"

static void put_choices(const char *choices, mr_strbuf *words)
{
	for (const char *c = choices; *c; c++)
		mr_strbuf_append_n(words, *c == '|' ? " " : c, 1);
	mr_strbuf_append(words, " ");
}

static void put_plugins(mr_plugin_kind kind, mr_strbuf *words)
{
	mr_plugin p;

	for (uint32_t i = 0; mr_plugin_at(kind, i, &p); i++)
		mr_strbuf_printf(words, "%s ", p.name);
}

mr_offer_kind mr_offer_operand(const mr_command *c, mr_strbuf *words)
{
	size_t n = strcspn(c->operands, " ");

	if (!*c->operands)
		return MR_OFFER_NOTHING;
	if (!strncmp(c->operands, "CONF", 4))
		return MR_OFFER_CONFIGS;
	if (!strncmp(c->operands, "RUN", 3) || !strncmp(c->operands, "CHECKPOINT", 10))
		return MR_OFFER_FOLDERS;
	if (strstr(c->operands, "SYSTEM")) {
		put_plugins(MR_PLUGIN_SYSTEM, words);
		return MR_OFFER_WORDS;
	}
	if (!memchr(c->operands, '|', n))
		return MR_OFFER_FILES;
	for (size_t i = 0; i < n; i++)
		mr_strbuf_append_n(words, c->operands[i] == '|' ? " " : &c->operands[i], 1);
	mr_strbuf_append(words, " ");
	return MR_OFFER_WORDS;
}

bool mr_offer_is_flag(const mr_option *o)
{
	return o->type == MR_OPT_BOOL && o->def && !strcmp(o->def, "false");
}

mr_offer_kind mr_offer_value(const mr_option *o, mr_strbuf *words)
{
	if (o->type == MR_OPT_ENUM) {
		put_choices(o->words, words);
		return MR_OFFER_WORDS;
	}
	if (o->type == MR_OPT_BOOL) {
		mr_strbuf_append(words, "true false ");
		return MR_OFFER_WORDS;
	}
	return o->type == MR_OPT_STRING ? MR_OFFER_FILES : MR_OFFER_NOTHING;
}

static bool offers_words(const mr_option *o)
{
	return o->type == MR_OPT_ENUM || o->type == MR_OPT_BOOL;
}

/* Is @o of @table[@i]'s plug-in of @kind the first of its name among the plug-ins up to @i? */
static bool first_of_name(mr_plugin_kind kind, uint32_t i, const char *name)
{
	mr_plugin p;

	for (uint32_t k = 0; k < i && mr_plugin_at(kind, k, &p); k++)
		if (mr_option_find(p.options, name))
			return false;
	return true;
}

typedef void key_fn(void *arg, const char *group, const mr_option *o);

/* Every key of a typed group, and of the plug-ins' groups every name that one of them takes; a name that several take
 * comes once, as the first one's. */
static void each_key(key_fn *each, void *arg)
{
	mr_plugin p;

	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_group_info *info = mr_job_group_of((mr_job_group)g);

		for (const mr_option *o = info->options; o && o->name; o++)
			each(arg, info->name, o);
		for (uint32_t i = 0; info->plugin && mr_plugin_at(info->kind, i, &p); i++)
			for (const mr_option *o = p.options; o->name; o++)
				if (first_of_name(info->kind, i, o->name))
					each(arg, info->name, o);
	}
}

static void put_key(void *arg, const char *group, const mr_option *o)
{
	mr_strbuf_printf(arg, "%s%s%s= ", group, *group ? "." : "", o->name);
}

void mr_offer_keys(mr_strbuf *words)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++)
		if (mr_job_group_of((mr_job_group)g)->plugin)
			mr_strbuf_printf(words, "%s.name= ", mr_job_group_of((mr_job_group)g)->name);
	each_key(put_key, words);
}

typedef struct choice_caller {
	mr_offer_fn *each;
	void *arg;
} choice_caller;

static void call_choice(void *arg, const char *group, const mr_option *o)
{
	choice_caller *c = arg;
	mr_strbuf words = {0};
	char key[128];

	if (!offers_words(o))
		return;
	mr_offer_value(o, &words);
	snprintf(key, sizeof(key), "%s%s%s", group, *group ? "." : "", o->name);
	c->each(c->arg, key, mr_strbuf_text(&words));
	mr_strbuf_fini(&words);
}

void mr_offer_each_choice(mr_offer_fn *each, void *arg)
{
	choice_caller c = {each, arg};
	mr_strbuf words = {0};
	char key[128];

	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_group_info *info = mr_job_group_of((mr_job_group)g);

		if (!info->plugin)
			continue;
		put_plugins(info->kind, &words);
		snprintf(key, sizeof(key), "%s.name", info->name);
		each(arg, key, mr_strbuf_text(&words));
		mr_strbuf_fini(&words);
	}
	each_key(call_choice, &c);
}
