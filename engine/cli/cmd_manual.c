/* millrace manual: prints manual pages, which are made from the tables of options. */
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "manual/page.h"
#include "report/output.h"

#define CONFIG "cfg"

/* @command NULL: the page of the configuration file. */
static void print_page(const mr_command *command, FILE *out)
{
	if (command)
		mr_page_command(command, MR_VERSION, out);
	else
		mr_page_config(MR_VERSION, out);
}

static mr_status write_page(const char *folder, const mr_command *command)
{
	char *path;
	mr_status st;
	FILE *out;

	if ((command ? asprintf(&path, "%s/millrace-%s.1", folder, command->name)
		     : asprintf(&path, "%s/millrace.cfg.5", folder)) < 0)
		return mr_fail(MR_ERESOURCE, "no memory for the name of a manual page");
	st = mr_output_open(path, &out);
	if (st == MR_OK) {
		print_page(command, out);
		st = mr_output_close(path, out, MR_OK);
	}
	free(path);
	return st;
}

static mr_status write_all(const char *folder)
{
	for (const mr_command *const *c = mr_commands(); *c; c++)
		MR_TRY(write_page(folder, *c));
	return write_page(folder, NULL);
}

static mr_status run(mr_args *args)
{
	const char *folder = mr_values_string(args->values, "folder"), *page = args->operand[0];
	const mr_command *command = NULL;

	if ((*folder != 0) == (args->n_operands == 1))
		return mr_fail(MR_EUSAGE, "manual takes the name of a page, or --folder for all of them");
	if (*folder)
		return write_all(folder);
	if (strcmp(page, CONFIG) != 0)
		MR_TRY(mr_command_get(page, &command));
	print_page(command, stdout);
	return MR_OK;
}

static const mr_option options[] = {
	{"folder", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "write all pages into this folder, as millrace-COMMAND.1 and millrace.cfg.5"},
	{0},
};

const mr_command mr_command_manual = {
	.name = "manual",
	.operands = "[PAGE]",
	.min_operands = 0,
	.max_operands = 1,
	.summary = "print a manual page: of a command, or of the configuration file",
	.help = "PAGE is a command, or " CONFIG ": every key of a configuration. Read it with man:\n"
		"millrace manual train | man -l -\n",
	.options = options,
	.run = run,
};
