/*
 * names.h - a hash table from names to numbers, for lists of names that the caller keeps.
 */
#ifndef MR_PLANNER_NAMES_H
#define MR_PLANNER_NAMES_H

#include <stdint.h>

#include "base/status.h"

typedef struct mr_names {
	uint32_t *slot; /* [room] number + 1, or 0; room is a power of two */
	uint32_t room, n;
} mr_names;

/* The name of number @i in @list. */
typedef const char *mr_name_of(const void *list, uint32_t i);

#define MR_NO_NAME UINT32_MAX

/** The number of @name, or MR_NO_NAME. */
uint32_t mr_names_find(const mr_names *t, const char *name, mr_name_of *of, const void *list);

/** Enter number @i, which the list now contains. Errors: MR_ERESOURCE. */
mr_status mr_names_add(mr_names *t, uint32_t i, mr_name_of *of, const void *list) MR_MUST_USE;

void mr_names_fini(mr_names *t);

#endif
