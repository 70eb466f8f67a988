#include "session/rank_place.h"

#include <stdlib.h>

#include "job/machine.h"

/* @place, of the workers that share these CPUs, those of each rank together, becomes that of all. */
static mr_status widen(const mr_ranks *r, mr_place *place)
{
	mr_place_worker *all = calloc(r->n_workers, sizeof(*all));
	uint16_t next = 0, first;

	if (!all)
		return mr_fail(MR_ERESOURCE, "no memory to place %u workers", r->n_workers);
	mr_ranks_neighbours(r, &first);
	for (uint16_t w = 0; w < r->n_workers; w++)
		all[w] = place->worker[first];
	for (uint32_t i = 0; i < r->n; i++)
		for (uint16_t w = 0; mr_ranks_share_cpus(r, i) && w < r->n_workers; w++)
			if (r->of_worker[w] == i)
				all[w] = place->worker[next++];
	free(place->worker);
	place->worker = all;
	place->n_workers = r->n_workers;
	return MR_OK;
}

mr_status mr_rank_place(mr_session *s, const char **key)
{
	uint16_t first, n;

	*key = "ranks";
	MR_TRY(mr_ranks_own(s->ranks, (uint16_t)(mr_job_workers(s->job) * s->job->machine.shares),
			    s->job->machine.ranks));
	*key = NULL;
	n = mr_ranks_neighbours(s->ranks, &first);
	MR_TRY(mr_machine_place_some(s->job, n, &s->topo, &s->place, key));
	return widen(s->ranks, &s->place);
}
