/* config_parse.c - lets libconfig parse the text and passes every setting to its table. Only it includes libconfig.h.
 */
#include <ctype.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config_internal.h"

/* One unit of the text, parsed by libconfig. Its first member is the hook of every setting in it. */
typedef struct mr_parsed {
	config_t settings;
	const mr_config_unit *unit;
} mr_parsed;

static mr_origin origin_of(const mr_config *c, const config_setting_t *s)
{
	return mr_config_unit_origin(&c->text, ((const mr_parsed *)s->config)->unit, config_setting_source_line(s));
}

static const char *kind_text(const config_setting_t *s)
{
	switch (config_setting_type(s)) {
	case CONFIG_TYPE_GROUP: return "a group";
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64: return "an integer";
	case CONFIG_TYPE_FLOAT: return "a number";
	case CONFIG_TYPE_STRING: return "a string";
	case CONFIG_TYPE_BOOL: return "true or false";
	case CONFIG_TYPE_ARRAY:
	case CONFIG_TYPE_LIST: return "a list";
	}
	return "nothing";
}

static bool is_list(const config_setting_t *s)
{
	return config_setting_is_array(s) || config_setting_is_list(s);
}

static bool number_of(const config_setting_t *s, double *out)
{
	int type = config_setting_type(s);

	if (type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64)
		*out = (double)config_setting_get_int64(s);
	else if (type == CONFIG_TYPE_FLOAT)
		*out = config_setting_get_float(s);
	else
		return false;
	return true;
}

static mr_status set_list(mr_values *values, const char *key, const config_setting_t *s)
{
	unsigned n = (unsigned)config_setting_length(s);
	double *list = malloc((n + 1u) * sizeof(*list));
	mr_status st = MR_OK;

	if (!list)
		return mr_fail(MR_ERESOURCE, "no memory for a list of %u numbers", n);
	for (unsigned i = 0; i < n && st == MR_OK; i++) {
		const config_setting_t *e = config_setting_get_elem(s, i);

		if (!number_of(e, &list[i]))
			st = mr_fail(MR_ECONFIG, "expected a list of numbers, got %s at place %u", kind_text(e), i + 1);
	}
	if (st == MR_OK)
		st = mr_values_set_floats(values, key, list, n);
	free(list);
	return st;
}

/* Put one value into its table, which reports unknown keys and wrong types. */
static mr_status set_value(mr_values *values, const char *key, const config_setting_t *s)
{
	const mr_option *o = mr_option_find(mr_values_table(values), key);

	switch (config_setting_type(s)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return mr_values_set_int(values, key, config_setting_get_int64(s));
	case CONFIG_TYPE_FLOAT:
		return mr_values_set_float(values, key, config_setting_get_float(s));
	case CONFIG_TYPE_STRING:
		return mr_values_set_string(values, key, config_setting_get_string(s));
	case CONFIG_TYPE_BOOL:
		return mr_values_set_bool(values, key, config_setting_get_bool(s));
	case CONFIG_TYPE_ARRAY:
	case CONFIG_TYPE_LIST:
		if (o && o->type != MR_OPT_FLOATS)
			return mr_values_set_floats(values, key, NULL, 0); /* for its message: not a list */
		return set_list(values, key, s);
	}
	if (!o)
		return mr_values_set_int(values, key, 0); /* for its message about the unknown key */
	return mr_fail(MR_ECONFIG, "expected %s, got %s", mr_option_type_text(o->type), kind_text(s));
}

/* class_weights = [1, 2.5]: kept as one text with commas. */
static mr_status set_weights(mr_values *values, const config_setting_t *s)
{
	mr_strbuf text = {0};
	mr_status st = MR_OK;

	for (unsigned i = 0; i < (unsigned)config_setting_length(s) && st == MR_OK; i++) {
		const config_setting_t *e = config_setting_get_elem(s, i);
		int type = config_setting_type(e);

		if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64 && type != CONFIG_TYPE_FLOAT)
			st = mr_fail(MR_ECONFIG, "expected \"balanced\" or a list of numbers, got %s at place %u",
				     kind_text(e), i + 1);
		mr_strbuf_printf(&text, "%s%.17g", i ? "," : "",
				 type == CONFIG_TYPE_FLOAT ? config_setting_get_float(e)
							   : (double)config_setting_get_int64(e));
	}
	if (st == MR_OK)
		st = text.failed ? mr_fail(MR_ERESOURCE, "no memory for a list")
				 : mr_values_set_string(values, config_setting_name(s), mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	return st;
}

/* partition = ["h.1", 7]: kept as one text with commas, since no layer's name has one. */
static mr_status set_names(mr_values *values, const config_setting_t *s)
{
	const char *key = config_setting_name(s);
	const char *wanted = strcmp(key, "partition") ? "a list of layer names" : "\"auto\" or a list of layer names";
	mr_strbuf text = {0};
	mr_status st = MR_OK;

	if (!is_list(s))
		return set_value(values, key, s);
	if (!strcmp(key, "class_weights"))
		return set_weights(values, s);
	for (unsigned i = 0; i < (unsigned)config_setting_length(s) && st == MR_OK; i++) {
		const config_setting_t *e = config_setting_get_elem(s, i);
		const char *name = config_setting_get_string(e);

		if (config_setting_type(e) == CONFIG_TYPE_STRING && *name && !strpbrk(name, ", []()\""))
			mr_strbuf_printf(&text, "%s%s", i ? "," : "", name);
		else if (config_setting_type(e) == CONFIG_TYPE_INT)
			mr_strbuf_printf(&text, "%s%d", i ? "," : "", config_setting_get_int(e));
		else
			st = mr_fail(MR_ECONFIG, "expected %s, got %s at place %u", wanted, kind_text(e), i + 1);
	}
	if (st == MR_OK && !text.len && !strcmp(key, "partition"))
		st = mr_fail(MR_ECONFIG, "expected %s, got an empty list", wanted);
	if (st == MR_OK)
		st = mr_values_set_string(values, key, mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	return st;
}

static mr_status take_setting(mr_config *c, mr_job_group group, const config_setting_t *s)
{
	mr_values *values = c->part[group].values;
	const char *key = config_setting_name(s);
	mr_origin at = origin_of(c, s);
	char text[128];
	mr_status st;

	/* an integer that the scan has refused would be reported twice */
	if (!values || mr_mistakes_has(&c->mistakes, mr_job_key_text(group, key, text)))
		return MR_OK;
	st = mr_option_find(mr_values_table(values), key) ? MR_OK : mr_job_key_elsewhere(group, key);
	if (st == MR_OK && mr_config_takes_names(group, key))
		st = set_names(values, s);
	else if (st == MR_OK)
		st = set_value(values, key, s);
	if (st == MR_ERESOURCE)
		return st;
	if (st != MR_OK)
		mr_mistakes_add(&c->mistakes, at, text, "%s", mr_error_text());
	else
		mr_config_section_mark(c, group, key, at);
	return MR_OK;
}

/* The last --set GROUP.name, or NULL. */
static const char *set_name(mr_job_group group, const mr_set *sets, size_t n, mr_origin *at)
{
	const char *name = NULL;

	for (size_t i = 0; i < n; i++)
		if (sets[i].key && sets[i].group == group && !strcmp(sets[i].key, "name")) {
			name = sets[i].value;
			*at = (mr_origin){MR_ORIGIN_SET, 0, (uint32_t)i};
		}
	return name;
}

/* The name in the group @s, or NULL. */
static const char *file_name(mr_config *c, mr_job_group group, const config_setting_t *s, mr_origin *at)
{
	const config_setting_t *name = config_setting_get_member(s, "name");
	char key[128];

	if (!name)
		return NULL;
	if (config_setting_type(name) == CONFIG_TYPE_STRING) {
		*at = origin_of(c, name);
		return config_setting_get_string(name);
	}
	mr_mistakes_add(&c->mistakes, origin_of(c, name), mr_job_key_text(group, "name", key),
			"expected a string, got %s", kind_text(name));
	return NULL;
}

/* Note that @group, which has no default, names no plug-in; or that @s, its last part in the files, gives keys without
 * one. */
static void miss_name(mr_config *c, mr_job_group group, const config_setting_t *s)
{
	const char *word = mr_job_group_of(group)->name;
	char key[128];

	mr_job_key_text(group, "name", key);
	if (c->text.partial || mr_mistakes_has(&c->mistakes, key))
		return;
	if (s)
		mr_mistakes_add(&c->mistakes, origin_of(c, s), key, "is missing");
	else
		mr_mistakes_add(&c->mistakes, (mr_origin){MR_ORIGIN_FILE, 0, 1}, word,
				"the group is missing, such as %s = { name = \"...\"; };", word);
}

/* Can a value of option @a be one of option @b? */
static bool same_kind(const mr_option *a, const mr_option *b)
{
	if (a->type == MR_OPT_INT && b->type == MR_OPT_FLOAT)
		return true;
	return a->type == b->type && (a->type != MR_OPT_ENUM || !strcmp(a->words, b->words));
}

/* Was @key of a file meant for @old, a plug-in that --set, or a file that wins, has replaced by one without this key,
 * or with one of another type? */
static bool went_with(mr_job_group group, const char *old, const mr_values *now, const char *key)
{
	const mr_option *was, *is;
	mr_plugin p;

	if (!old || !now || mr_plugin_get(mr_job_group_of(group)->kind, old, &p) != MR_OK)
		return false;
	was = mr_option_find(p.options, key);
	is = mr_option_find(mr_values_table(now), key);
	return was && (!is || !same_kind(was, is));
}

/* Tell the user that --set has left out @key of the plug-in @old. */
static void note_left_out(mr_config *c, mr_job_group group, const char *old, const char *key)
{
	const mr_config_section *part = &c->part[group];
	char name[128];

	if (part->name_origin.kind == MR_ORIGIN_SET)
		mr_strbuf_printf(&c->notes, "millrace: %s of %s is left out: it is meant for %s, and --set takes %s\n",
				 mr_job_key_text(group, key, name), c->path, old, part->plugin.name);
}

/* The group called @name in @p, NULL if there is none; an entry that is no group is noted. */
static const config_setting_t *group_in(mr_config *c, const mr_parsed *p, const char *name)
{
	const config_setting_t *s = config_setting_get_member(config_root_setting(&p->settings), name);

	if (!s || config_setting_is_group(s))
		return s;
	mr_mistakes_add(&c->mistakes, origin_of(c, s), name, "expected a group { key = value; ... }, got %s",
			kind_text(s));
	return NULL;
}

/* Take the keys of one part of a group. @own: the plug-in that the part names, NULL if it is the chosen one. */
static mr_status take_part(mr_config *c, mr_job_group group, const config_setting_t *s, const char *own)
{
	mr_config_section *part = &c->part[group];
	bool plugin = mr_job_group_of(group)->plugin;

	part->group_origin = origin_of(c, s);
	for (unsigned i = 0; i < (unsigned)config_setting_length(s); i++) {
		const config_setting_t *e = config_setting_get_elem(s, i);
		const char *key = config_setting_name(e);

		if (plugin && !strcmp(key, "name"))
			continue;
		if (plugin && went_with(group, own, part->values, key))
			note_left_out(c, group, own, key);
		else
			MR_TRY(take_setting(c, group, e));
	}
	return MR_OK;
}

/* The plug-in of @group: --set wins, then the last file that names one. NULL: there is none. */
static const char *choose(mr_config *c, mr_job_group group, const config_setting_t *const *parts, size_t n,
			  const mr_set *sets, size_t n_sets, mr_origin *at)
{
	const char *usual = mr_job_group_of(group)->usual, *name = NULL, *set = set_name(group, sets, n_sets, at);
	const config_setting_t *last = NULL;
	mr_origin found;

	for (size_t i = 0; i < n; i++) {
		const char *more = parts[i] ? file_name(c, group, parts[i], &found) : NULL;

		last = parts[i] ? parts[i] : last;
		if (more && !set)
			*at = found;
		name = more ? more : name;
	}
	if (set)
		return set;
	if (!name && (last || !usual))
		miss_name(c, group, last);
	return name || last ? name : usual;
}

/* Take all parts of a group, from the files that lose to the one that wins. @parts is room for [n]. */
static mr_status take_group(mr_config *c, mr_job_group group, const mr_parsed *parsed, const config_setting_t **parts,
			    size_t n, const mr_set *sets, size_t n_sets)
{
	const mr_job_group_info *info = mr_job_group_of(group);
	const char *chosen = NULL, *own = NULL;
	size_t before = c->mistakes.n;
	mr_origin at = {0};

	for (size_t i = 0; i < n; i++)
		parts[i] = group_in(c, &parsed[i], info->name);
	if (info->plugin && c->mistakes.n > before)
		return MR_OK;
	if (info->plugin)
		chosen = choose(c, group, parts, n, sets, n_sets, &at);
	if (!info->plugin || chosen)
		MR_TRY(mr_config_section_open(c, group, chosen, at));
	for (size_t i = 0; i < n; i++) {
		const config_setting_t *name =
			info->plugin && parts[i] ? config_setting_get_member(parts[i], "name") : NULL;

		own = name && config_setting_get_string(name) ? config_setting_get_string(name) : own;
		if (parts[i])
			MR_TRY(take_part(c, group, parts[i], own && chosen && strcmp(own, chosen) != 0 ? own : NULL));
	}
	return MR_OK;
}

static mr_status take_top(mr_config *c, const mr_parsed *p)
{
	const config_setting_t *root = config_root_setting(&p->settings);

	for (unsigned i = 0; i < (unsigned)config_setting_length(root); i++) {
		const config_setting_t *s = config_setting_get_elem(root, i);
		const char *key = config_setting_name(s);

		if (mr_config_group_find(key) != MR_N_JOB_GROUPS)
			continue;
		if (mr_option_find(mr_job_group_of(MR_JOB_TOP)->options, key))
			MR_TRY(take_setting(c, MR_JOB_TOP, s));
		else if (mr_config_unknown_group(key, true) != MR_OK)
			mr_mistakes_add(&c->mistakes, origin_of(c, s), key, "%s", mr_error_text());
	}
	return MR_OK;
}

static mr_status take_all(mr_config *c, const mr_parsed *parsed, size_t n, const mr_set *sets, size_t n_sets)
{
	const config_setting_t **parts = calloc(n, sizeof(*parts));
	mr_status st = parts ? mr_config_section_open(c, MR_JOB_TOP, NULL, (mr_origin){0})
			     : mr_fail(MR_ERESOURCE, "no memory");

	for (size_t i = 0; st == MR_OK && i < n; i++)
		st = take_top(c, &parsed[i]);
	for (int g = MR_JOB_TOP + 1; st == MR_OK && g < MR_N_JOB_GROUPS; g++)
		st = take_group(c, (mr_job_group)g, parsed, parts, n, sets, n_sets);
	free(parts);
	return st;
}

/* --- texts that libconfig refuses --- */

/* Line @line of the text without the blanks around it, at most @size - 1 bytes. */
static void copy_line(const mr_config_text *t, uint32_t line, char *out, size_t size)
{
	const char *s = mr_strbuf_text(&t->text);
	size_t n;

	while (s && --line && (s = strchr(s, '\n')))
		s++;
	s = s ? s + strspn(s, " \t") : "";
	n = strcspn(s, "\n");
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	snprintf(out, size, n < size ? "%.*s" : "%.*s ...", (int)(n < size ? n : size - 5), s);
}

/* The word without quotes that is the value of a setting on @line, the first of them; "" if there is none. */
static void bare_word(const char *line, char *out, size_t size)
{
	*out = '\0';
	for (const char *s = line + strcspn(line, "=:\"#"); *s == '=' || *s == ':'; s += strcspn(s, "=:\"#")) {
		size_t n;

		s += 1 + strspn(s + 1, " \t");
		n = strcspn(s, " \t;,}\"");
		if (!isalpha((unsigned char)*s) || n >= size || (n == 4 && !strncasecmp(s, "true", n)) ||
		    (n == 5 && !strncasecmp(s, "false", n)))
			continue;
		snprintf(out, size, "%.*s", (int)n, s);
		return;
	}
}

/* What is probably wrong with a file at whose @line the parser stopped; "" if nothing is known. */
static const char *probable_cause(uint32_t number, const char *line)
{
	if (strchr("[{<", *line) || !strncmp(line, "---", 3))
		return " (the format is libconfig's: groups such as train = { steps = 100; };)";
	if (number == 1 && *line && !strpbrk(line, "=:{}"))
		return " (this is no configuration; millrace init FILE writes one for a file of data)";
	return "";
}

/* libconfig names no key, so its message gets the line at which it stopped, and the usual cause. */
static void refuse(mr_config *c, const mr_parsed *p)
{
	int found = config_error_line(&p->settings);
	const char *text = config_error_text(&p->settings), *why = text ? text : "cannot be parsed";
	uint32_t line = found > 0 ? (uint32_t)found : 1, n = p->unit->n_lines;
	mr_origin at = mr_config_unit_origin(&c->text, p->unit, line);
	char quoted[80] = "", word[40];

	/* newer versions refuse an integer that the scan has refused, in fewer words */
	if (mr_mistakes_at(&c->mistakes, at))
		return;
	if (n)
		copy_line(&c->text, 1 + p->unit->line[line <= n ? line - 1 : n - 1], quoted, sizeof(quoted));
	bare_word(quoted, word, sizeof(word));
	if (strstr(why, "syntax") && *word)
		mr_mistakes_add(&c->mistakes, at, NULL, "%s: %s (text stands in quotes: \"%s\")", why, quoted, word);
	else
		mr_mistakes_add(&c->mistakes, at, NULL, "%s%s%s%s", why, *quoted ? ": " : "", quoted,
				*quoted ? probable_cause(line, quoted) : "");
}

mr_status mr_config_parse(mr_config *c, const mr_set *sets, size_t n_sets)
{
	uint32_t n = c->text.n_ended;
	mr_parsed *parsed = calloc(n + 1u, sizeof(*parsed));
	mr_status st = MR_OK;
	bool well = true;

	if (!parsed)
		return mr_fail(MR_ERESOURCE, "no memory for %u files", n);
	for (uint32_t i = 0; i < n; i++) {
		mr_parsed *p = &parsed[i];

		p->unit = &c->text.units[c->text.order[i]];
		config_init(&p->settings);
		if (config_read_string(&p->settings, mr_strbuf_text(&p->unit->text)) == CONFIG_TRUE)
			continue;
		refuse(c, p);
		well = false;
	}
	if (well)
		st = take_all(c, parsed, n, sets, n_sets);
	for (uint32_t i = 0; i < n; i++)
		config_destroy(&parsed[i].settings);
	free(parsed);
	return st;
}
