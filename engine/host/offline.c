#include "host/offline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define LIST_BYTES ((size_t)1 << 16)

const char *mr_offline_cpus(char *text, size_t size)
{
	char *list;
	size_t n;

	text[0] = '\0';
	if (mr_file_read_regular("/sys/devices/system/cpu/offline", LIST_BYTES, &list, &n) != MR_OK)
		return text;
	snprintf(text, size, "%.*s", (int)strcspn(list, "\n"), list);
	free(list);
	return text;
}

bool mr_offline_has(const char *list, uint32_t cpu)
{
	unsigned first, last;
	int n;

	for (; sscanf(list, "%u%n", &first, &n) == 1; list += *list == ',') {
		list += n;
		last = first;
		if (*list == '-' && sscanf(list, "-%u%n", &last, &n) == 1)
			list += n;
		if (first <= cpu && cpu <= last)
			return true;
		if (*list != ',')
			return false;
	}
	return false;
}
