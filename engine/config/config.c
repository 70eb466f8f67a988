#include "config/config.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "config/config_internal.h"

/* --- mistakes --- */

void mr_mistakes_add(mr_mistakes *m, mr_origin at, const char *key, const char *fmt, ...)
{
	mr_mistake x = {.at = at, .order = m->n};
	mr_mistake *more = mr_grown(m->list, m->n, sizeof(*more));
	va_list ap;

	m->failed |= !more;
	if (!more)
		return;
	m->list = more;
	va_start(ap, fmt);
	if (vasprintf(&x.message, fmt, ap) < 0)
		x.message = NULL;
	va_end(ap);
	x.key = key ? strdup(key) : NULL;
	m->failed = m->failed || !x.message || (key && !x.key);
	m->list[m->n++] = x;
}

bool mr_mistakes_has(const mr_mistakes *m, const char *key)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].key && !strcmp(m->list[i].key, key))
			return true;
	return false;
}

bool mr_mistakes_at(const mr_mistakes *m, mr_origin at)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].at.kind == at.kind && m->list[i].at.file == at.file && m->list[i].at.line == at.line)
			return true;
	return false;
}

void mr_mistakes_fini(mr_mistakes *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->list[i].key);
		free(m->list[i].message);
	}
	free(m->list);
}

/* Files in the order in which they were read, lines ascending, --set last. */
static int by_place(const void *pa, const void *pb)
{
	const mr_mistake *a = pa, *b = pb;

	if (a->at.kind != b->at.kind)
		return a->at.kind < b->at.kind ? -1 : 1;
	if (a->at.file != b->at.file)
		return a->at.file < b->at.file ? -1 : 1;
	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static void print_place(const mr_config *c, mr_origin at, mr_strbuf *out)
{
	if (at.kind == MR_ORIGIN_SET)
		mr_strbuf_append(out, "--set: ");
	else
		mr_strbuf_printf(out, "%s:%u: ", c->text.n_files ? c->text.files[at.file] : c->path, at.line);
}

static void print_mistake(const mr_config *c, const mr_mistake *x, mr_strbuf *out)
{
	print_place(c, x->at, out);
	mr_strbuf_printf(out, "%s%s%s", x->key ? x->key : "", x->key ? ": " : "", x->message);
}

/* Append all of them to @out, a line each. The message that ends the program repeats the first, since a log may keep
 * only that. */
static mr_status report(mr_config *c, mr_strbuf *out)
{
	mr_mistakes *m = &c->mistakes;
	mr_strbuf first = {0};
	mr_status st;

	if (m->failed)
		return mr_fail(MR_ERESOURCE, "%s: no memory to list its mistakes", c->path);
	if (!m->n)
		return MR_OK;
	qsort(m->list, m->n, sizeof(m->list[0]), by_place);
	for (size_t i = 0; i < m->n; i++) {
		print_mistake(c, &m->list[i], out);
		mr_strbuf_append(out, "\n");
	}
	print_mistake(c, &m->list[0], &first);
	if (m->n > 1)
		st = mr_fail(MR_ECONFIG, "%s: %zu mistakes, the first: %.*s", c->path, m->n, MR_CONFIG_MISTAKE,
			     mr_strbuf_text(&first));
	else
		st = mr_fail(MR_ECONFIG, "%s: 1 mistake: %.*s", c->path, MR_CONFIG_MISTAKE,
			     mr_strbuf_text(&first));
	mr_strbuf_fini(&first);
	return st;
}

/* --- the place of a mistake --- */

static mr_origin origin_of(const mr_config *c, mr_job_group group, const char *key)
{
	const mr_config_section *part = &c->part[group];
	const mr_option *o = part->table ? mr_option_find(part->table, key) : NULL;
	mr_origin at = o ? part->origin[o - part->table] : part->name_origin;

	if (at.kind == MR_ORIGIN_DEFAULT)
		at = part->group_origin;
	return at.kind == MR_ORIGIN_DEFAULT ? (mr_origin){MR_ORIGIN_FILE, 0, 1} : at;
}

void mr_config_mistake(mr_config *c, mr_job_group group, const char *key, const char *text)
{
	char name[128];

	key = mr_job_subject(c->part[group].table, key, &text);
	mr_mistakes_add(&c->mistakes, origin_of(c, group, key), mr_job_key_text(group, key, name), "%s", text);
}

mr_status mr_config_blame(const mr_config *c, mr_job_group group, const char *key, mr_status st)
{
	char text[1024], name[128];
	const char *rest = text;
	mr_strbuf place = {0};

	if (st != MR_ECONFIG)
		return st;
	snprintf(text, sizeof(text), "%s", mr_error_text());
	key = mr_job_subject(c->part[group].table, key, &rest);
	print_place(c, origin_of(c, group, key), &place);
	st = mr_fail(st, "%s%s: %s", mr_strbuf_text(&place), mr_job_key_text(group, key, name), rest);
	mr_strbuf_fini(&place);
	return st;
}

/* --- groups --- */

mr_job_group mr_config_group_find(const char *name)
{
	for (int g = MR_JOB_TOP + 1; g < MR_N_JOB_GROUPS; g++)
		if (!strcmp(mr_job_group_of((mr_job_group)g)->name, name))
			return (mr_job_group)g;
	return MR_N_JOB_GROUPS;
}

mr_status mr_config_unknown_group(const char *word, bool keys_too)
{
	const mr_option *top = mr_job_group_of(MR_JOB_TOP)->options;
	const char *names[MR_N_JOB_GROUPS + 16], *near;
	mr_strbuf known = {0};
	mr_status st;
	size_t n = 0;

	for (int g = MR_JOB_TOP + 1; g < MR_N_JOB_GROUPS; g++)
		names[n++] = mr_job_group_of((mr_job_group)g)->name;
	for (size_t i = 0; keys_too && top[i].name && i < 16; i++)
		names[n++] = top[i].name;
	if (keys_too)
		MR_TRY(mr_job_key_elsewhere(MR_JOB_TOP, word));
	near = mr_nearest(word, names, n);
	for (size_t i = 0; i < n; i++)
		mr_strbuf_printf(&known, "%s%s", i ? ", " : "", names[i]);
	st = mr_fail(MR_ECONFIG, "unknown %s%s%s%s (known: %s)", keys_too ? "key or group" : "group",
		     near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "", mr_strbuf_text(&known));
	mr_strbuf_fini(&known);
	return st;
}

mr_status mr_config_section_open(mr_config *c, mr_job_group group, const char *name, mr_origin at)
{
	const mr_job_group_info *info = mr_job_group_of(group);
	mr_config_section *part = &c->part[group];
	const mr_option *table = info->options;
	char key[128];
	size_t n = 0;

	if (info->plugin) {
		if (mr_plugin_get(info->kind, name, &part->plugin) != MR_OK) {
			mr_mistakes_add(&c->mistakes, at, mr_job_key_text(group, "name", key), "%s", mr_error_text());
			return MR_OK;
		}
		table = part->plugin.options;
		part->name_origin = at;
	}
	while (table[n].name)
		n++;
	MR_TRY(mr_values_create(table, &part->values));
	part->table = table;
	part->origin = calloc(n + 1, sizeof(*part->origin));
	return part->origin ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %zu keys", n);
}

void mr_config_section_mark(mr_config *c, mr_job_group group, const char *key, mr_origin at)
{
	mr_config_section *part = &c->part[group];

	part->origin[mr_option_find(part->table, key) - part->table] = at;
}

/* --- what was loaded --- */

const mr_job *mr_config_job(const mr_config *c)
{
	return &c->job;
}

const mr_values *mr_config_values(const mr_config *c, mr_job_group group)
{
	return c->part[group].values;
}

/* --- loading --- */

static mr_status name_paths(mr_config *c, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strlen(base);
	char folder[PATH_MAX], absolute[PATH_MAX];

	if (len > 4 && !strcmp(base + len - 4, ".cfg"))
		len -= 4;
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path + (slash == path)) : 1, slash ? path : ".");
	c->path = strdup(path);
	c->name = strndup(base, len);
	c->base_dir = strdup(realpath(folder, absolute) ? absolute : folder);
	return c->path && c->name && c->base_dir ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a configuration");
}

static bool complete(const mr_config *c)
{
	for (int g = 0; g < MR_N_JOB_GROUPS; g++)
		if (!c->part[g].values && !mr_job_group_of((mr_job_group)g)->plugin)
			return false;
	return true;
}

static mr_status load(mr_config *c, const char *const *sets, size_t n_sets)
{
	mr_set *apart = NULL;
	bool whole;
	mr_status st;

	MR_TRY(mr_config_text_read(c->path, c->given, &c->text, &c->mistakes));
	MR_TRY(mr_config_sets_read(c, sets, n_sets, &apart));
	st = mr_config_text_scan(&c->text, &c->mistakes, &whole);
	if (st == MR_OK && whole)
		st = mr_config_parse(c, apart, n_sets);
	if (st == MR_OK)
		st = mr_config_sets_apply(c, apart, n_sets);
	if (st == MR_OK && complete(c))
		st = mr_config_make_job(c);
	mr_config_sets_free(apart, n_sets);
	return st;
}

static mr_status load_any(const char *path, const char *given, const char *const *sets, size_t n_sets,
			  mr_config_before *before, void *arg, mr_strbuf *notes, mr_config **out)
{
	mr_config *c = calloc(1, sizeof(*c));
	mr_status st;

	if (!c)
		return mr_fail(MR_ERESOURCE, "no memory for a configuration");
	c->given = given;
	c->before = before;
	c->before_arg = arg;
	st = name_paths(c, path);
	if (st == MR_OK)
		st = load(c, sets, n_sets);
	c->given = NULL;
	if (st == MR_OK)
		st = report(c, notes);
	if (st != MR_OK) {
		mr_config_destroy(c);
		return st;
	}
	mr_strbuf_append(notes, mr_strbuf_text(&c->notes));
	*out = c;
	return MR_OK;
}

mr_status mr_config_load(const char *path, const char *const *sets, size_t n_sets, mr_strbuf *notes, mr_config **out)
{
	return mr_config_load_after(path, sets, n_sets, NULL, NULL, notes, out);
}

mr_status mr_config_load_after(const char *path, const char *const *sets, size_t n_sets, mr_config_before *before,
			       void *arg, mr_strbuf *notes, mr_config **out)
{
	return load_any(path, NULL, sets, n_sets, before, arg, notes, out);
}

mr_status mr_config_load_text(const char *path, const char *text, const char *const *sets, size_t n_sets,
			      mr_strbuf *notes, mr_config **out)
{
	return load_any(path, text, sets, n_sets, NULL, NULL, notes, out);
}

void mr_config_destroy(mr_config *c)
{
	if (!c)
		return;
	for (int g = 0; g < MR_N_JOB_GROUPS; g++) {
		const mr_job_plugin *plugin = mr_job_plugin_of(&c->job, (mr_job_group)g);

		if (!plugin || c->part[g].values != plugin->values)
			mr_values_destroy(c->part[g].values);
		free(c->part[g].origin);
	}
	mr_job_fini(&c->job);
	mr_mistakes_fini(&c->mistakes);
	mr_config_text_fini(&c->text);
	mr_strbuf_fini(&c->notes);
	free(c->path);
	free(c->name);
	free(c->base_dir);
	free(c);
}
