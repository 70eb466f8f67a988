/* millrace init: writes a first configuration for a file or folder of data. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/result.h"
#include "base/shell_word.h"
#include "choose/first_choice.h"
#include "cli/args.h"
#include "config/config.h"
#include "starter/starter.h"

/* The configuration's name by default: "iris.csv" becomes iris.cfg, in the current folder. */
static char *name_for(const char *data)
{
	size_t n = strlen(data), begin, len;
	char *path;

	while (n > 1 && data[n - 1] == '/')
		n--;
	for (begin = n; begin && data[begin - 1] != '/';)
		begin--;
	for (len = 1; begin + len < n && data[begin + len] != '.';)
		len++;
	return asprintf(&path, "%.*s.cfg", (int)len, data + begin) < 0 ? NULL : path;
}

/* The folder in which relative paths of the data start, as seen from the configuration at @path: "" beside it. */
static mr_status folder_for(const char *path, char folder[PATH_MAX + 2])
{
	*folder = 0;
	if (!strchr(path, '/'))
		return MR_OK;
	if (!getcwd(folder, PATH_MAX))
		return mr_fail(MR_EIO, "the current folder has no name: %s", strerror(errno));
	strcat(folder, "/");
	return MR_OK;
}

/* The draft with @system as @text, and as the configuration that @path will be. */
static mr_status complete(const mr_starter_draft *draft, const mr_starter_system *system, const char *path,
			  mr_strbuf *text, mr_config **config)
{
	mr_strbuf notes = {0};
	mr_status st;

	mr_strbuf_reset(text);
	MR_TRY(mr_starter_complete(draft, system, text));
	st = mr_config_load_text(path, mr_strbuf_text(text), NULL, 0, &notes, config);
	mr_strbuf_fini(&notes);
	return st;
}

/* Complete the draft with what planning finds for it. */
static mr_status plan(const char *asked, const char *path, mr_starter_draft *draft, mr_strbuf *text)
{
	mr_starter_system system = {.name = "sequential", .workers = 1, .n_micro = 1, .why = ""};
	mr_first_choice found;
	mr_config *config;
	mr_status st;

	MR_TRY(complete(draft, &system, path, text, &config));
	st = mr_first_choice_find(mr_config_job(config), *asked ? asked : NULL, draft->workers, &found);
	mr_config_destroy(config);
	MR_TRY(st);
	system = (mr_starter_system){found.system, found.workers, found.threads, found.n_micro, found.why};
	MR_TRY(complete(draft, &system, path, text, &config)); /* it must be right as it stands */
	mr_config_destroy(config);
	if (draft->notes.len)
		fputs(mr_printable(draft->notes.data), stdout);
	printf("system   %s, %u worker%s: %s\n", found.system, found.workers, found.workers == 1 ? "" : "s", found.why);
	if (*found.busy)
		printf("costs    %s\n", found.busy);
	return MR_OK;
}

static mr_status write_file(const mr_args *args, const char *data, const char *path)
{
	char folder[PATH_MAX + 2], word[MR_SHELL_WORD_BYTES];
	mr_starter_draft draft;
	mr_topo machine;
	mr_strbuf text = {0};
	mr_status st;

	if (!access(path, F_OK))
		return mr_fail(MR_EUSAGE, "%s exists and is left as it is: name another file with -o, or remove it",
			       path);
	MR_TRY(folder_for(path, folder));
	MR_TRY(mr_topo_detect(&machine));
	st = mr_starter_write(data, folder, mr_values_string(args->values, "target"), &machine, &draft);
	if (st == MR_OK)
		st = plan(mr_values_string(args->values, "system"), path, &draft, &text);
	if (st == MR_OK)
		st = mr_result_write(path, mr_strbuf_text(&text), text.len, MR_RESULT_NAMED);
	mr_strbuf_fini(&text);
	mr_starter_fini(&draft);
	mr_topo_fini(&machine);
	MR_TRY(st);
	printf("%s is written; train it with: millrace train %s\n", path, mr_shell_word(path, word));
	return MR_OK;
}

static mr_status run(mr_args *args)
{
	const char *data = args->operand[0], *output = mr_values_string(args->values, "output");
	char *path = *output ? strdup(output) : name_for(data);
	mr_status st;

	if (!path)
		return mr_fail(MR_ERESOURCE, "no memory for a name");
	st = write_file(args, data, path);
	free(path);
	return st;
}

static const mr_option options[] = {
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "write to this file (short: -o); empty: the name of the data with .cfg, in the current folder"},
	{"target", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "column of a table that the others are to predict: its name, or its number from 1; empty: the one called "
	 "target, label, class, y, species, outcome or category, else the last one"},
	{"system", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "pipeline system, one of list systems, with the workers and micro-batches that suit it best; empty: the "
	 "fastest of those that flush, or plain training, as plan --auto predicts for these data and this machine"},
	{0},
};

const mr_command mr_command_init = {
	.name = "init",
	.operands = "DATA",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "write a first configuration for a file or folder of data",
	.help = "DATA is a text, a CSV or LIBSVM file, images of MNIST's format (IDX), or a folder with a folder of\n"
		"pictures for each class; which of them is seen from its contents. The configuration trains as it\n"
		"stands, for some minutes on this machine; its comments say what to try. Of a table it says what is\n"
		"predicted, and which columns are left out and why. The system is what plan --auto predicts to be\n"
		"fastest on this machine, plain training where no pipeline is 5 % faster, with the figures of the\n"
		"machine that are kept from a quiet moment, or measured ones; a comment says why. An existing file\n"
		"is never replaced.\n",
	.options = options,
	.run = run,
};
