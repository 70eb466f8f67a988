#include "host/processor.h"

#include <stdio.h>
#include <string.h>

void mr_processor_name(char *text, size_t size)
{
	char line[256];
	FILE *in = fopen("/proc/cpuinfo", "re");

	text[0] = '\0';
	while (in && !*text && fgets(line, sizeof(line), in)) {
		const char *colon = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');

		if (colon)
			snprintf(text, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
	}
	if (in)
		fclose(in);
}
