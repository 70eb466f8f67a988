/* help.h - the texts behind `millrace --help` and `millrace COMMAND --help`. */
#ifndef MR_MANUAL_HELP_H
#define MR_MANUAL_HELP_H

#include <stdio.h>

#include "manual/command.h"

/** The program's own help. @commands: all of them, and NULL behind the last. */
void mr_help_print(const mr_command *const *commands, FILE *out);
void mr_command_help_print(const mr_command *command, FILE *out);

/** The values of an option: "integer, 1 to 64 bytes, required", "fifo or lifo". */
void mr_option_type_print(const mr_option *o, FILE *out);
/** One option of a table as two lines of a help text: "  PREFIXname  type, range, default" and its help. */
void mr_option_help_print(const mr_option *o, const char *prefix, FILE *out);

#endif
