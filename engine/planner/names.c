#include "planner/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

/* The slot of @name, or the free slot where it belongs. Less than half of the slots are taken. */
static uint32_t place(const mr_names *t, const char *name, mr_name_of *of, const void *list)
{
	uint32_t k = (uint32_t)mr_hash64(0, name, strlen(name)) & (t->room - 1);

	while (t->slot[k] && strcmp(of(list, t->slot[k] - 1), name) != 0)
		k = (k + 1) & (t->room - 1);
	return k;
}

uint32_t mr_names_find(const mr_names *t, const char *name, mr_name_of *of, const void *list)
{
	return t->room ? t->slot[place(t, name, of, list)] - 1 : MR_NO_NAME; /* an empty slot's 0 gives MR_NO_NAME */
}

mr_status mr_names_add(mr_names *t, uint32_t i, mr_name_of *of, const void *list)
{
	if (2 * (t->n + 1) > t->room) {
		mr_names bigger = {.room = t->room ? 2 * t->room : 64, .n = t->n};

		bigger.slot = calloc(bigger.room, sizeof(*bigger.slot));
		if (!bigger.slot)
			return mr_fail(MR_ERESOURCE, "no memory for %u names", t->n + 1);
		for (uint32_t k = 0; k < t->room; k++)
			if (t->slot[k])
				bigger.slot[place(&bigger, of(list, t->slot[k] - 1), of, list)] = t->slot[k];
		free(t->slot);
		*t = bigger;
	}
	t->slot[place(t, of(list, i), of, list)] = i + 1;
	t->n++;
	return MR_OK;
}

void mr_names_fini(mr_names *t)
{
	free(t->slot);
	*t = (mr_names){0};
}
