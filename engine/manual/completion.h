/*
 * completion.h - completion of the command line, as a script for a shell that loads it.
 *
 * The scripts hold all words, so that a key press starts no program: commands, options, the words that an option
 * takes, the keys of a configuration behind --set, and their words.
 */
#ifndef MR_MANUAL_COMPLETION_H
#define MR_MANUAL_COMPLETION_H

#include <stdio.h>

#include "manual/command.h"

/** @commands of all three: every command, and NULL behind the last. */
void mr_completion_bash(const mr_command *const *commands, FILE *out);
void mr_completion_zsh(const mr_command *const *commands, FILE *out);
void mr_completion_fish(const mr_command *const *commands, FILE *out);

#endif
