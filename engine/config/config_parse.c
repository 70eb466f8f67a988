/* Lets libconfig parse the text and hands every setting to its table. The only file that includes libconfig.h. */
#include <ctype.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config_parts.h"

static mr_origin origin_of(const mr_config *c, const config_setting_t *s)
{
	return mr_config_text_origin(&c->text, config_setting_source_line(s));
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

/* One value into its table. Unknown keys and wrong types are the table's to name. */
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
			return mr_values_set_floats(values, key, NULL, 0); /* for its sentence about what is no list */
		return set_list(values, key, s);
	}
	if (!o)
		return mr_values_set_int(values, key, 0); /* for its sentence about the unknown key */
	return mr_fail(MR_ECONFIG, "expected %s, got %s", mr_option_type_text(o->type), kind_text(s));
}

/* partition = ["h.1", 7]: kept as one text with commas, since no layer's name has one. */
static mr_status set_partition(mr_values *values, const config_setting_t *s)
{
	mr_strbuf text;
	mr_status st = MR_OK;

	if (!is_list(s))
		return set_value(values, "partition", s);
	mr_strbuf_init(&text);
	for (unsigned i = 0; i < (unsigned)config_setting_length(s) && st == MR_OK; i++) {
		const config_setting_t *e = config_setting_get_elem(s, i);
		const char *name = config_setting_get_string(e);

		if (config_setting_type(e) == CONFIG_TYPE_STRING && *name && !strpbrk(name, ", []()\""))
			mr_strbuf_printf(&text, "%s%s", i ? "," : "", name);
		else if (config_setting_type(e) == CONFIG_TYPE_INT)
			mr_strbuf_printf(&text, "%s%d", i ? "," : "", config_setting_get_int(e));
		else
			st = mr_fail(MR_ECONFIG, "expected \"auto\" or a list of layer names, got %s at place %u", kind_text(e),
				     i + 1);
	}
	if (st == MR_OK && !text.len)
		st = mr_fail(MR_ECONFIG, "expected \"auto\" or a list of layer names, got an empty list");
	if (st == MR_OK)
		st = mr_values_set_string(values, "partition", mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	return st;
}

static mr_status take_setting(mr_config *c, mr_config_group group, const config_setting_t *s)
{
	mr_values *values = c->part[group].values;
	const char *key = config_setting_name(s);
	mr_origin at = origin_of(c, s);
	char text[128];
	mr_status st;

	/* what libconfig made of an integer that the scan has refused would only be reported twice */
	if (!values || mr_mistakes_has(&c->mistakes, mr_config_key_text(group, key, text)))
		return MR_OK;
	if (group == MR_CONFIG_TOP && !strcmp(key, "partition"))
		st = set_partition(values, s);
	else
		st = set_value(values, key, s);
	if (st == MR_ERESOURCE)
		return st;
	if (st != MR_OK)
		mr_mistakes_add(&c->mistakes, at, text, "%s", mr_error_text());
	else
		mr_config_part_mark(c, group, key, at);
	return MR_OK;
}

/* The last --set GROUP.name, or NULL. */
static const char *set_name(mr_config_group group, const mr_set *sets, size_t n, mr_origin *at)
{
	const char *name = NULL;

	for (size_t i = 0; i < n; i++)
		if (sets[i].key && sets[i].group == group && !strcmp(sets[i].key, "name")) {
			name = sets[i].value;
			*at = (mr_origin){MR_ORIGIN_SET, 0, (uint32_t)i};
		}
	return name;
}

/* The name that the file gives, or NULL; noting where it should be. */
static const char *file_name(mr_config *c, mr_config_group group, const config_setting_t *s, bool needed, mr_origin *at)
{
	const config_setting_t *name = s ? config_setting_get_member(s, "name") : NULL;
	const char *word = mr_config_group_of(group)->name;
	char key[128];

	if (name && config_setting_type(name) == CONFIG_TYPE_STRING) {
		*at = origin_of(c, name);
		return config_setting_get_string(name);
	}
	if (name) {
		mr_mistakes_add(&c->mistakes, origin_of(c, name), mr_config_key_text(group, "name", key),
				"expected a string, got %s", kind_text(name));
		return NULL;
	}
	if (!needed || c->text.partial)
		return NULL;
	if (s)
		mr_mistakes_add(&c->mistakes, origin_of(c, s), mr_config_key_text(group, "name", key), "is missing");
	else
		mr_mistakes_add(&c->mistakes, (mr_origin){MR_ORIGIN_FILE, 0, 1}, word,
				"the group is missing, such as %s = { name = \"...\"; };", word);
	return NULL;
}

/* Was @key of the file meant for @old, the plug-in that --set replaced by another? */
static bool went_with(mr_config_group group, const char *old, const mr_values *now, const char *key)
{
	mr_plugin p;

	return old && now && !mr_option_find(mr_values_table(now), key) &&
	       mr_plugin_get(mr_config_group_of(group)->kind, old, &p) == MR_OK && mr_option_find(p.options, key);
}

static mr_status take_group(mr_config *c, mr_config_group group, const config_setting_t *s, const mr_set *sets,
			    size_t n_sets)
{
	const mr_config_group_info *info = mr_config_group_of(group);
	mr_config_part *part = &c->part[group];
	const char *in_file = NULL, *chosen = NULL;
	mr_origin at = {0}, file_at = {0};

	if (s && !config_setting_is_group(s)) {
		mr_mistakes_add(&c->mistakes, origin_of(c, s), info->name, "expected a group { key = value; ... }, got %s",
				kind_text(s));
		return info->plugin ? MR_OK : mr_config_part_open(c, group, NULL, (mr_origin){0});
	}
	if (info->plugin) {
		chosen = set_name(group, sets, n_sets, &at);
		in_file = file_name(c, group, s, !chosen && (s || !info->usual), &file_at);
		if (!chosen) {
			chosen = in_file;
			at = file_at;
			in_file = NULL;
		}
		if (!chosen && !s)
			chosen = info->usual;
	}
	if (!info->plugin || chosen)
		MR_TRY(mr_config_part_open(c, group, chosen, at));
	if (s)
		part->group_origin = origin_of(c, s);
	for (unsigned i = 0; s && i < (unsigned)config_setting_length(s); i++) {
		const config_setting_t *e = config_setting_get_elem(s, i);
		const char *key = config_setting_name(e);

		if (info->plugin && (!strcmp(key, "name") || went_with(group, in_file, part->values, key)))
			continue;
		MR_TRY(take_setting(c, group, e));
	}
	return MR_OK;
}

static mr_status take_root(mr_config *c, const config_setting_t *root, const mr_set *sets, size_t n_sets)
{
	MR_TRY(mr_config_part_open(c, MR_CONFIG_TOP, NULL, (mr_origin){0}));
	for (unsigned i = 0; i < (unsigned)config_setting_length(root); i++) {
		const config_setting_t *s = config_setting_get_elem(root, i);
		const char *key = config_setting_name(s);

		if (mr_config_group_find(key) != MR_N_CONFIG_GROUPS)
			continue;
		if (mr_option_find(mr_config_group_of(MR_CONFIG_TOP)->options, key))
			MR_TRY(take_setting(c, MR_CONFIG_TOP, s));
		else if (mr_config_unknown_group(key, true) != MR_OK)
			mr_mistakes_add(&c->mistakes, origin_of(c, s), key, "%s", mr_error_text());
	}
	for (int g = MR_CONFIG_TOP + 1; g < MR_N_CONFIG_GROUPS; g++) {
		const char *name = mr_config_group_of((mr_config_group)g)->name;

		MR_TRY(take_group(c, (mr_config_group)g, config_setting_get_member(root, name), sets, n_sets));
	}
	return MR_OK;
}

/* --- what libconfig refuses --- */

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

/* The word without quotes that is the value of the setting on @line, "" where there is none. */
static void bare_word(const char *line, char *out, size_t size)
{
	const char *s = line + strcspn(line, "=:\"#");
	size_t n;

	*out = '\0';
	if (*s != '=' && *s != ':')
		return;
	s += 1 + strspn(s + 1, " \t");
	n = strcspn(s, " \t;,}\"");
	if (isalpha((unsigned char)*s) && n < size && !(n == 4 && !strncasecmp(s, "true", n)) &&
	    !(n == 5 && !strncasecmp(s, "false", n)))
		snprintf(out, size, "%.*s", (int)n, s);
}

/* libconfig names no key, so its sentence gets the line that it met, and what usually is the matter there. */
static void refuse(mr_config *c, uint32_t line, const char *why)
{
	mr_origin at = mr_config_text_origin(&c->text, line);
	char quoted[80], word[40];

	if (mr_mistakes_at(&c->mistakes, at)) /* newer versions refuse an integer that the scan has refused, in fewer words */
		return;
	copy_line(&c->text, line, quoted, sizeof(quoted));
	bare_word(quoted, word, sizeof(word));
	if (strstr(why, "mismatched element"))
		mr_mistakes_add(&c->mistakes, at, NULL,
				"%s: %s (write all numbers with a point, or none; or ( ) in place of [ ])", why, quoted);
	else if (strstr(why, "syntax") && *word)
		mr_mistakes_add(&c->mistakes, at, NULL, "%s: %s (text stands in quotes: \"%s\")", why, quoted, word);
	else
		mr_mistakes_add(&c->mistakes, at, NULL, "%s%s%s", why, *quoted ? ": " : "", quoted);
}

mr_status mr_config_parse(mr_config *c, const mr_set *sets, size_t n_sets)
{
	config_t parsed;
	mr_status st = MR_OK;

	config_init(&parsed);
	if (config_read_string(&parsed, mr_strbuf_text(&c->text.text)) == CONFIG_TRUE) {
		st = take_root(c, config_root_setting(&parsed), sets, n_sets);
	} else {
		int line = config_error_line(&parsed);
		const char *text = config_error_text(&parsed);

		refuse(c, line > 0 ? (uint32_t)line : 1, text ? text : "cannot be parsed");
	}
	config_destroy(&parsed);
	return st;
}
