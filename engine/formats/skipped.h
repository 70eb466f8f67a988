/* skipped.h - files that a source leaves alone, counted by the ending of their names. */
#ifndef MR_FORMATS_SKIPPED_H
#define MR_FORMATS_SKIPPED_H

#include <stdint.h>

#include "base/str.h"

enum { MR_SKIPPED_KINDS = 8, MR_SKIPPED_ENDING = 12 };

typedef struct mr_skipped {
	struct {
		char ending[MR_SKIPPED_ENDING]; /* small letters, with the dot; "/" for folders, "" for no ending */
		uint64_t n;
		char *example;                  /* the first one, as it was named; owned */
	} kind[MR_SKIPPED_KINDS];
	uint32_t n_kinds;
	uint64_t n, n_others;                   /* all; of further endings */
} mr_skipped;

/** Count the file @path, or the folder if @folder. Without memory it is counted without an example. */
void mr_skipped_add(mr_skipped *s, const char *path, bool folder);

/** Append "5 files are skipped: 3 .webp (cat/a.webp), 2 .gif (dog/b.gif)", or nothing if there are none. */
void mr_skipped_print(const mr_skipped *s, mr_strbuf *out);

void mr_skipped_fini(mr_skipped *s);

#endif
