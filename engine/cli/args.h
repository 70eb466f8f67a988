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

#include <stdbool.h>
#include <stdio.h>

#include "base/option.h"

struct mr_command;

typedef struct mr_args {
	const struct mr_command *command;
	mr_values *values;          /* of the command's options; owned */
	const char **operand;       /* [n_operands]; owned array, borrowed texts, as is the next */
	uint32_t n_operands;
	const char **set;           /* [n_sets] texts of --set */
	uint32_t n_sets;
	char *own[8];               /* [n_own] of these texts, which mr_args_set_key made */
	uint32_t n_own;
	char **argv;                /* the program's, for a second start */
	int signal;                 /* a command that a signal ended stores it here: exit code 128 + n */
} mr_args;

typedef struct mr_command {
	const char *name;
	const char *operands;       /* as in the usage line: "SYSTEM", "CONF"; "" for none */
	uint32_t min_operands, max_operands;
	const char *summary;        /* one line */
	const char *help;           /* further lines for --help; NULL: none */
	const mr_option *options;   /* NULL: none */
	bool sets;                  /* takes --set */
	const char *sets_help;      /* help of --set; NULL: it sets keys of the configuration */
	mr_status (*run)(mr_args *args);
} mr_command;

/** Command number @i from 0; NULL beyond the last. */
const mr_command *mr_command_at(uint32_t i);

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

/** The texts behind `millrace --help`, `millrace COMMAND --help` and `millrace --version`. */
void mr_help_print(FILE *out);
void mr_command_help_print(const mr_command *command, FILE *out);
void mr_version_print(FILE *out);

/** The values of an option: "integer, 1 to 64 bytes, required", "fifo or lifo". */
void mr_option_type_print(const mr_option *o, FILE *out);
/** One option of a table as two lines of a help text: "  PREFIXname  type, range, default" and its help. */
void mr_option_help_print(const mr_option *o, const char *prefix, FILE *out);

#endif
