/*
 * args.h - the command line: commands as a table, options as tables of base/option.h.
 *
 *	millrace COMMAND [OPERAND...] [--option VALUE] [--option=VALUE] [--flag] [--set key=value]... [--] [OPERAND...]
 *
 * An option of type MR_OPT_BOOL whose default is false is a flag; all others take a value. `-o` is short for `--output`
 * and `-h` for `--help`. A mistake is one message with the nearest name, MR_EUSAGE (exit 2).
 *
 * A command is one file cmd_<name>.c that defines `const mr_command mr_command_<name>`, and one line in commands.def.
 */
#ifndef MR_CLI_ARGS_H
#define MR_CLI_ARGS_H

#include <stdio.h>

#include "link/ranks.h"
#include "manual/command.h"

typedef struct mr_args {
	const mr_command *command;
	mr_values *values;          /* of the command's options; owned */
	const char **operand;       /* [n_operands]; owned array, borrowed texts, as is the next */
	uint32_t n_operands;
	const char **set;           /* [n_sets] texts of --set */
	uint32_t n_sets;
	char *own[8];               /* [n_own] of these texts, which mr_args_set_key made */
	uint32_t n_own;
	mr_ranks *ranks;            /* that a command has begun; ended behind its message */
	const struct mr_launcher *launcher; /* cli/program.h; NULL: the program is one process */
	char **argv;                /* the program's, for a second start */
	int code;                   /* of a program that a command has run: the exit code */
	int signal;                 /* a command that a signal ended stores it here: exit code 128 + n */
} mr_args;

/** All commands in the order of commands.def, and NULL behind the last. */
const mr_command *const *mr_commands(void);

/** The command called @name. Errors: MR_EUSAGE with a message that names the nearest. */
mr_status mr_command_get(const char *name, const mr_command **out) MR_MUST_USE;

/**
 * Parse @argv[2..] for @command. *@help: --help was given; @out then needs no fini.
 * The caller calls mr_args_fini on @out. Errors: MR_EUSAGE with a message; MR_ERESOURCE.
 */
mr_status mr_args_parse(const mr_command *command, int argc, char **argv, mr_args *out, bool *help) MR_MUST_USE;
void mr_args_fini(mr_args *args);

/**
 * Apply an option that is a shorter name for a key of the configuration: its value wins over all others of @key. Does
 * nothing if it is not set or empty. Call it once an option. Errors: MR_ERESOURCE.
 */
mr_status mr_args_set_key(mr_args *args, const char *option, const char *key) MR_MUST_USE;

/** The text behind `millrace --version`. */
void mr_version_print(FILE *out);

#endif
