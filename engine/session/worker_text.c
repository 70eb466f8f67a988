#include "session/worker_text.h"

#include <stdio.h>

static bool hosts(const mr_plan *p, uint16_t w, uint16_t stage)
{
	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		if (mr_plan_worker(p, (uint8_t)pipe, stage) == w)
			return true;
	return false;
}

void mr_worker_stages_text(const mr_plan *p, uint16_t w, char *text, size_t size)
{
	int n = 0;

	text[0] = 0;
	for (uint16_t s = 0; s < p->n_stages && n < (int)size; s++)
		if (hosts(p, w, s))
			n += snprintf(text + n, size - (size_t)n, n ? ", %u" : "%u", s);
}

void mr_stage_layers_text(const mr_graph *g, const mr_partition *p, uint16_t stage, char *text, size_t size)
{
	const mr_node *first = &g->nodes[p->first[stage]], *last = &g->nodes[p->first[stage + 1] - 1];

	snprintf(text, size, "%s%s%s", first->name, first == last ? "" : " .. ", first == last ? "" : last->name);
}

void mr_worker_cores_text(const mr_place_worker *w, char *text, size_t size)
{
	int n = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < w->n_threads && n < (int)size; i++) {
		uint32_t end = i, step = i + 1 < w->n_threads ? w->cpu[i + 1] - w->cpu[i] : 0;

		/* Ranges of neighbours, also of every second CPU, as on machines that number the threads of a core
		 * together. */
		while ((step == 1 || step == 2) && end + 1 < w->n_threads && w->cpu[end + 1] - w->cpu[end] == step)
			end++;
		n += snprintf(text + n, size - (size_t)n, end > i ? "%s%u-%u" : "%s%u", i ? "," : "", w->cpu[i],
			      w->cpu[end]);
		if (end > i && step == 2 && n < (int)size)
			n += snprintf(text + n, size - (size_t)n, ":2");
		i = end;
	}
}
