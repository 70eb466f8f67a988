/* millrace manual: prints manual pages, which are made from the tables of options. */
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "manual/page.h"
#include "report/output.h"

#define CONFIG "cfg"
#define PROGRAM "millrace"

/* The page called @name, which need be no command. */
static mr_status print_page(const char *name, FILE *out)
{
	const mr_command *command;

	if (!strcmp(name, PROGRAM)) {
		mr_page_program(mr_commands(), MR_VERSION, out);
	} else if (!strcmp(name, CONFIG)) {
		mr_page_config(MR_VERSION, out);
	} else {
		MR_TRY(mr_command_get(name, &command));
		mr_page_command(command, MR_VERSION, out);
	}
	return MR_OK;
}

static mr_status write_page(const char *folder, const char *name, const char *file)
{
	char *path;
	mr_status st;
	mr_output out;

	if (asprintf(&path, "%s/" PROGRAM "%s", folder, file) < 0)
		return mr_fail(MR_ERESOURCE, "no memory for the name of a manual page");
	st = mr_output_open(path, &out);
	if (st == MR_OK)
		st = mr_output_close(&out, print_page(name, out.file));
	free(path);
	return st;
}

static mr_status write_all(const char *folder)
{
	for (const mr_command *const *c = mr_commands(); *c; c++) {
		char file[64];

		snprintf(file, sizeof(file), "-%s.1", (*c)->name);
		MR_TRY(write_page(folder, (*c)->name, file));
	}
	MR_TRY(write_page(folder, PROGRAM, ".1"));
	return write_page(folder, CONFIG, ".cfg.5");
}

static mr_status run(mr_args *args)
{
	const char *folder = mr_values_string(args->values, "folder"), *page = args->operand[0];

	if ((*folder != 0) == (args->n_operands == 1))
		return mr_fail(MR_EUSAGE, "manual takes the name of a page, or --folder for all of them");
	if (*folder)
		return write_all(folder);
	return print_page(page, stdout);
}

static const mr_option options[] = {
	{"folder", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "write all pages into this folder, as millrace.1, millrace-COMMAND.1 and millrace.cfg.5"},
	{0},
};

const mr_command mr_command_manual = {
	.name = "manual",
	.operands = "[PAGE]",
	.min_operands = 0,
	.max_operands = 1,
	.summary = "print a manual page: of the program, a command, or the configuration file",
	.help = "PAGE is " PROGRAM ", a command, or " CONFIG ": every key of a configuration. Read it with man:\n"
		"millrace manual train | man -l -\n",
	.options = options,
	.run = run,
};
