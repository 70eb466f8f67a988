#include "session/rank_memory.h"

#include <stdlib.h>

#include "link/planned_links.h"
#include "session/host_map.h"

bool mr_session_plans_ranks(const mr_session *s)
{
	return s->hosts && !s->ranks && s->plan;
}

mr_status mr_memory_plan_of_rank(const mr_session *s, uint16_t rank, mr_memory_plan *out)
{
	static const mr_transport none = {.name = "planned", .copies_most = MR_COPIES_MOST};
	const mr_hosts *h = &s->hosts->hosts;
	mr_session of = *s;
	mr_planned_links links;
	uint32_t n = (uint32_t)s->plan->n_workers * (s->n_shares ? s->n_shares : 1u);
	mr_ranks ranks = {.by = &none, .n = h->n_ranks, .self = rank, .n_workers = (uint16_t)n};
	mr_status st;

	ranks.of_worker = calloc(ranks.n_workers, sizeof(*ranks.of_worker));
	if (!ranks.of_worker)
		return mr_fail(MR_ERESOURCE, "no memory for the owners of %u workers", ranks.n_workers);
	for (uint16_t w = 0; w < ranks.n_workers; w++)
		ranks.of_worker[w] = h->rank[w];
	mr_planned_links_init(&links, h->rank, rank);
	for (int i = 0; i < 3; i++)
		ranks.kinds[i] = links.kinds[i];
	of.ranks = &ranks;
	st = mr_memory_plan_of(&of, NULL, out);
	free(ranks.of_worker);
	return st;
}

/* The memory of a host; 0: unknown. */
static uint64_t host_bytes(const mr_session *s)
{
	return s->topo.memory_bytes / (s->topo.synthetic ? s->hosts->hosts.n_hosts : 1u);
}

static mr_status host_fits(const mr_session *s, uint16_t host, uint64_t bytes)
{
	uint64_t has = host_bytes(s);
	char need[16], have[16];

	if (!has || bytes <= has)
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "the ranks of host %u need %s of memory, and a host has %s", host,
		       mr_bytes_text(bytes, need), mr_bytes_text(has, have));
}

mr_status mr_rank_memory_fits(const mr_session *s)
{
	const mr_hosts *h = &s->hosts->hosts;
	uint64_t limit = (uint64_t)s->job->machine.memory_limit;
	char need[16], have[16];

	for (uint16_t host = 0; host < h->n_hosts; host++) {
		uint64_t sum = 0;

		for (uint16_t r = 0; r < h->n_ranks; r++) {
			mr_memory_plan m;

			if (h->host[r] != host)
				continue;
			MR_TRY(mr_memory_plan_of_rank(s, r, &m));
			if (limit && m.total > limit)
				return mr_fail(MR_ERESOURCE, "rank %u needs %s of memory, and %s is the limit "
					       "(machine.memory_limit)", r, mr_bytes_text(m.total, need),
					       mr_bytes_text(limit, have));
			sum += m.total;
		}
		MR_TRY(host_fits(s, host, sum));
	}
	return MR_OK;
}
