/*
 * command.h - a command of the program as data: its name, its texts and its table of options (base/option.h).
 *
 * The command line is read by this data (cli/args.h), and this folder prints it: as the texts of --help, as completions
 * for shells and as manual pages.
 */
#ifndef MR_MANUAL_COMMAND_H
#define MR_MANUAL_COMMAND_H

#include <stdbool.h>

#include "base/option.h"

struct mr_args;

typedef struct mr_command {
	const char *name;
	const char *operands;       /* as in the usage line: "SYSTEM", "CONF"; "" for none */
	uint32_t min_operands, max_operands;
	const char *summary;        /* one line */
	const char *help;           /* further lines for --help; NULL: none */
	const mr_option *options;   /* NULL: none */
	bool sets;                  /* takes --set */
	const char *sets_help;      /* help of --set; NULL: it sets keys of the configuration */
	mr_status (*run)(struct mr_args *args);
} mr_command;

#endif
