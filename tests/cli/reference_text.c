#include "reference_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manual/help.h"

/* Values to show for keys that have no default. */
static const char *const examples[][2] = {
	{"steps", "1000"},
	{"batch", "16"},
	{"lr", "3e-4"},
	{"path", "\"input.txt\""},
	{"images", "\"train-images-idx3-ubyte.gz\""},
	{"labels", "\"train-labels-idx1-ubyte.gz\""},
	{"matrix", "\"x.npy\""},
	{"targets", "\"y.npy\""},
	{"x", "[1.0, 0.5, -0.75]"},
	{"y", "[0.5, 1.0, -0.25]"},
};

bool mr_reference_uses(const mr_plugin *plugin)
{
	static const char *const used[] = {"gpt", "text", "adamw", "none", "1f1b"};

	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
		if (!strcmp(plugin->name, used[i]))
			return true;
	return false;
}

static const char *example(const char *key)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (!strcmp(examples[i][0], key))
			return examples[i][1];
	return "?";
}

static void put_key(const mr_option *table, const mr_option *o, const char *before, mr_strbuf *out)
{
	char *type = NULL, value[256];
	size_t len;
	FILE *f = open_memstream(&type, &len);
	mr_values *defaults;

	mr_option_type_print(o, f);
	fclose(f);
	if (mr_values_create(table, &defaults) != MR_OK)
		return;
	mr_values_print(defaults, o->name, value, sizeof(value));
	if (!strcmp(o->name, "backend")) /* the one default that depends on the build */
		snprintf(value, sizeof(value), "\"auto\"");
	mr_strbuf_printf(out, "%s# %s\n%s# (%s)\n%s%s = %s;\n", before, o->help, before, type, before, o->name,
				 o->def ? value : example(o->name));
	mr_values_destroy(defaults);
	free(type);
}

void mr_reference_block(mr_job_group group, const mr_plugin *plugin, mr_strbuf *out)
{
	const mr_job_group_info *info = mr_job_group_of(group);
	const mr_option *table = info->plugin ? plugin->options : info->options;
	const char *outside = info->plugin && !mr_reference_uses(plugin) ? "#| " : "";
	char inside[16];

	snprintf(inside, sizeof(inside), "%s%s", outside, *info->name ? "\t" : "");
	if (info->plugin) {
		mr_strbuf_printf(out, "# --- %s %s: %s\n", info->name, plugin->name, plugin->summary);
		mr_strbuf_printf(out, "%s%s = {\n%sname = \"%s\";\n", outside, info->name, inside, plugin->name);
	} else if (*info->name) {
		mr_strbuf_printf(out, "# --- %s: %s\n%s = {\n", info->name, info->help, info->name);
	} else {
		mr_strbuf_printf(out, "# --- %s\n", info->help);
	}
	for (const mr_option *o = table; o->name; o++)
		put_key(table, o, inside, out);
	if (*info->name)
		mr_strbuf_printf(out, "%s};\n", outside);
}
