/* shell_word.h - a file's name as a word of a command that a message shows. */
#ifndef MR_BASE_SHELL_WORD_H
#define MR_BASE_SHELL_WORD_H

#include <limits.h>

#define MR_SHELL_WORD_BYTES (4 * PATH_MAX + 8)

/** @name as a shell takes it for one operand: in single quotes where it has other characters than letters, digits and
 * . _ / + , : @ % -, and with ./ before a leading dash. Returns @out. */
const char *mr_shell_word(const char *name, char out[MR_SHELL_WORD_BYTES]);

#endif
