#include "formats/skipped.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Of "a/b.c.WEBP": ".webp". A long ending is none that a kind of file has. */
static void ending_of(const char *path, bool folder, char out[MR_SKIPPED_ENDING])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	size_t n = 0;

	if (folder)
		out[n++] = '/';
	else if (dot && dot > name && strlen(dot) < MR_SKIPPED_ENDING)
		for (; dot[n]; n++)
			out[n] = (char)tolower((unsigned char)dot[n]);
	out[n] = '\0';
}

void mr_skipped_add(mr_skipped *s, const char *path, bool folder)
{
	char ending[MR_SKIPPED_ENDING];
	uint32_t k = 0;

	ending_of(path, folder, ending);
	s->n++;
	while (k < s->n_kinds && strcmp(s->kind[k].ending, ending) != 0)
		k++;
	if (k == MR_SKIPPED_KINDS) {
		s->n_others++;
		return;
	}
	if (k == s->n_kinds) {
		s->n_kinds++;
		memcpy(s->kind[k].ending, ending, sizeof(ending));
		s->kind[k].example = strdup(path);
	}
	s->kind[k].n++;
}

void mr_skipped_print(const mr_skipped *s, mr_strbuf *out)
{
	if (!s->n)
		return;
	mr_strbuf_printf(out, "%llu file%s skipped:", (unsigned long long)s->n, s->n == 1 ? " is" : "s are");
	for (uint32_t k = 0; k < s->n_kinds; k++) {
		const char *ending = s->kind[k].ending;

		mr_strbuf_printf(out, "%s %llu %s (%.100s)", k ? "," : "", (unsigned long long)s->kind[k].n,
				 !strcmp(ending, "/") ? "inner folders" : *ending ? ending : "without an ending",
				 s->kind[k].example ? s->kind[k].example : "?");
	}
	if (s->n_others)
		mr_strbuf_printf(out, ", and %llu of other endings", (unsigned long long)s->n_others);
}

void mr_skipped_fini(mr_skipped *s)
{
	for (uint32_t k = 0; k < s->n_kinds; k++)
		free(s->kind[k].example);
	*s = (mr_skipped){0};
}
