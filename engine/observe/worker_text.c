#include "observe/worker_text.h"

#include <stdio.h>

/* In any pipe. */
static bool hosts(const mr_run *run, uint16_t w, uint16_t s)
{
	for (unsigned p = 0; p < run->n_pipes; p++)
		if (mr_plan_worker(run->c.plan, (uint8_t)p, s) == w)
			return true;
	return false;
}

void mr_worker_stages_text(const mr_run *run, uint16_t w, char *text, size_t size)
{
	int n = 0;

	text[0] = 0;
	for (uint16_t s = 0; s < run->n_stages && n < (int)size; s++)
		if (hosts(run, w, s))
			n += snprintf(text + n, size - (size_t)n, n ? ", %u" : "%u", s);
}

void mr_worker_cores_text(const mr_place_worker *w, char *text, size_t size)
{
	int n = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < w->n_threads && n < (int)size; i++) {
		uint32_t end = i;

		while (end + 1 < w->n_threads && w->cpu[end + 1] == w->cpu[end] + 1)
			end++;
		n += snprintf(text + n, size - (size_t)n, end > i ? "%s%u-%u" : "%s%u", i ? "," : "", w->cpu[i],
			      w->cpu[end]);
		i = end;
	}
}
