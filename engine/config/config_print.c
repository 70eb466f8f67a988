/* config_print.c - the resolved configuration: every key, its value, and where asked its origin. */
#include <stdlib.h>
#include <string.h>

#include "config/config_internal.h"

static void put_origin(const mr_config *c, mr_origin at, mr_strbuf *out)
{
	if (at.kind == MR_ORIGIN_FILE)
		mr_strbuf_printf(out, "\t# %s:%u\n", at.file < c->text.n_files ? c->text.files[at.file] : c->path,
				 at.line);
	else
		mr_strbuf_append(out, at.kind == MR_ORIGIN_SET	     ? "\t# --set\n"
				      : at.kind == MR_ORIGIN_RESUMED ? "\t# the resumed run\n"
				      : at.kind == MR_ORIGIN_JOB     ? "\t# the job\n"
								     : "\t# default\n");
}

static void put_partition(const mr_config *c, mr_strbuf *out)
{
	mr_strbuf_append(out, "[");
	for (uint32_t i = 0; i < c->job.n_cut; i++)
		mr_strbuf_printf(out, "%s\"%s\"", i ? ", " : "", c->job.cut[i]);
	mr_strbuf_append(out, "]");
}

static mr_status put_value(const mr_config *c, mr_job_group group, const char *key, mr_strbuf *out)
{
	const mr_values *values = c->part[group].values;
	int len = mr_values_print(values, key, NULL, 0);
	char *text;

	if (group == MR_JOB_TOP && c->job.n_cut && !strcmp(key, "partition")) {
		put_partition(c, out);
		return MR_OK;
	}
	text = malloc((size_t)len + 1);
	if (!text)
		return mr_fail(MR_ERESOURCE, "no memory for the value of %s", key);
	mr_values_print(values, key, text, (size_t)len + 1);
	mr_strbuf_append(out, text);
	free(text);
	return MR_OK;
}

static void end_key(const mr_config *c, mr_origin at, bool origins, mr_strbuf *out)
{
	mr_strbuf_append(out, ";");
	if (origins)
		put_origin(c, at, out);
	else
		mr_strbuf_append(out, "\n");
}

/* @files: names of the data's files, too. */
static mr_status put_keys(const mr_config *c, mr_job_group group, bool origins, bool files, mr_strbuf *out)
{
	const char *indent = group == MR_JOB_TOP ? "" : "\t";
	const mr_config_section *part = &c->part[group];
	const mr_option *table = mr_values_table(part->values);

	for (size_t i = 0; table[i].name; i++) {
		if (!files && group == MR_JOB_DATA && mr_job_is_file(&table[i]))
			continue;
		mr_strbuf_printf(out, "%s%s = ", indent, table[i].name);
		MR_TRY(put_value(c, group, table[i].name, out));
		end_key(c, part->origin[i], origins, out);
	}
	return MR_OK;
}

static mr_status put_all(const mr_config *c, bool origins, mr_job_group without, bool files, mr_strbuf *out)
{
	MR_TRY(put_keys(c, MR_JOB_TOP, origins, files, out));
	for (int g = MR_JOB_TOP + 1; g < MR_N_JOB_GROUPS; g++) {
		const mr_config_section *part = &c->part[g];

		if (g == (int)without)
			continue;
		mr_strbuf_printf(out, "\n%s = {\n", mr_job_group_of((mr_job_group)g)->name);
		if (part->plugin.name) {
			mr_strbuf_printf(out, "\tname = \"%s\"", part->plugin.name);
			end_key(c, part->name_origin, origins, out);
		}
		MR_TRY(put_keys(c, (mr_job_group)g, origins, files, out));
		mr_strbuf_append(out, "};\n");
	}
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory for the resolved configuration") : MR_OK;
}

mr_status mr_config_print(const mr_config *c, mr_strbuf *out)
{
	mr_strbuf_printf(out, "# %s with every default filled in, by millrace " MR_VERSION ".\n\n", c->path);
	return put_all(c, true, MR_N_JOB_GROUPS, true, out);
}

mr_status mr_config_print_values(const mr_config *c, mr_strbuf *out)
{
	return put_all(c, false, MR_JOB_RUN, true, out);
}

mr_status mr_config_print_shared(const mr_config *c, mr_strbuf *out)
{
	return put_all(c, false, MR_JOB_RUN, false, out);
}
