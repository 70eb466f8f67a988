#include "ir/hosted.h"

#include <stdlib.h>
#include <string.h>

/* Counts each worker's stages into @next, or fills @stage from there on. @seen [D]: the last stage given to a worker,
 * plus 1. */
static void visit(const mr_plan *plan, uint8_t n_pipes, uint32_t *seen, uint32_t *next, uint16_t *stage)
{
	memset(seen, 0, plan->n_workers * sizeof(*seen));
	for (uint32_t s = 0; s < plan->n_stages; s++)
		for (unsigned p = 0; p < n_pipes; p++) {
			uint16_t w = mr_plan_worker(plan, (uint8_t)p, (uint16_t)s);

			if (w >= plan->n_workers || seen[w] == s + 1)
				continue;
			seen[w] = s + 1;
			if (stage)
				stage[next[w]] = (uint16_t)s;
			next[w]++;
		}
}

mr_status mr_hosted_init(mr_hosted *h, const mr_plan *plan, uint8_t n_pipes)
{
	uint32_t d = plan->n_workers, *seen = malloc(d * sizeof(*seen));

	h->first = calloc(d + 2u, sizeof(*h->first));
	h->stage = malloc((size_t)n_pipes * plan->n_stages * sizeof(*h->stage));
	if (!seen || !h->first || !h->stage) {
		free(seen);
		mr_hosted_fini(h);
		return mr_fail(MR_ERESOURCE, "no memory for the stages of %u workers", d);
	}
	visit(plan, n_pipes, seen, h->first + 2, NULL);
	for (uint32_t w = 2; w <= d + 1; w++)
		h->first[w] += h->first[w - 1];
	visit(plan, n_pipes, seen, h->first + 1, h->stage); /* moves each begin to its end: the begin of the next */
	free(seen);
	return MR_OK;
}

void mr_hosted_fini(mr_hosted *h)
{
	free(h->first);
	free(h->stage);
	*h = (mr_hosted){0};
}
