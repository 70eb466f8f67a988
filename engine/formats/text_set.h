/* text_set.h - different texts, each with its number in the order in which they came, until they are sorted. */
#ifndef MR_FORMATS_TEXT_SET_H
#define MR_FORMATS_TEXT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_text_set {
	char **text;        /* [n] owned */
	size_t n, room;     /* room: of text */
	uint32_t *slot;     /* [n_slots] 1 + number of a text; 0: free */
	size_t n_slots;
	size_t bytes;       /* of all texts */
} mr_text_set;

/** Add @text unless it is there. Errors: MR_ERESOURCE. */
mr_status mr_text_set_add(mr_text_set *s, const char *text) MR_MUST_USE;

/** The number of @text; -1: it is not there. */
int64_t mr_text_set_find(const mr_text_set *s, const char *text);

/** Sort by @compare, which gets two `char *const *`; the numbers are the new places. */
void mr_text_set_sort(mr_text_set *s, int (*compare)(const void *, const void *));

void mr_text_set_fini(mr_text_set *s);

#endif
