#include "base/shell_word.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Bytes beyond ASCII mean nothing to a shell. */
static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (!((unsigned char)*name >= 0x80 || isalnum((unsigned char)*name) || strchr("._/+,:@%-", *name)))
			return false;
	return true;
}

const char *mr_shell_word(const char *name, char out[MR_SHELL_WORD_BYTES])
{
	bool plain = is_plain(name);
	char *to = out;

	if (*name == '-')
		to = stpcpy(to, "./");
	if (!plain)
		*to++ = '\'';
	for (int i = 0; i < PATH_MAX && name[i]; i++) {
		if (name[i] == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = name[i];
	}
	if (!plain)
		*to++ = '\'';
	*to = '\0';
	return out;
}
