/*
 * page.h - manual pages made from tables of options, as input of man(1): millrace(1), millrace-COMMAND(1), and
 * millrace.cfg(5). What no table has is in pages.roff, which CMake makes a text of the program.
 */
#ifndef MR_MANUAL_PAGE_H
#define MR_MANUAL_PAGE_H

#include <stdio.h>

#include "manual/command.h"

/** The page of the program: @commands, NULL behind the last. */
void mr_page_program(const mr_command *const *commands, const char *version, FILE *out);

/** The page of @c for the program's @version. */
void mr_page_command(const mr_command *c, const char *version, FILE *out);

/** The page of the configuration file: every group, every plug-in and every key. */
void mr_page_config(const char *version, FILE *out);

#endif
