/* registry.h - the two questions to a list of plug-ins, each of which has a name. */
#ifndef MR_BASE_REGISTRY_H
#define MR_BASE_REGISTRY_H

#include <stdint.h>
#include <string.h>

/* Defines AT, which gives plug-in i of the array LIST of pointers to TYPE (NULL beyond the last), and FIND, which gives
 * the one that is called @name (NULL: none is). */
#define MR_REGISTRY(type, list, AT, FIND) \
	const type *AT(uint32_t i) \
	{ \
		return i < sizeof(list) / sizeof(list[0]) ? list[i] : NULL; \
	} \
	const type *FIND(const char *name) \
	{ \
		for (uint32_t i = 0; AT(i); i++) \
			if (!strcmp(list[i]->name, name)) \
				return list[i]; \
		return NULL; \
	}

#endif
