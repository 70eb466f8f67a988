#include "session/machine_levels.h"

#include <stdlib.h>

#include "base/str.h"
#include "costs/interval_costs.h"

#define NO_LIMIT 1e18 /* bytes a second where nothing is sent */

typedef struct rates {
	const mr_hosts *hosts;
	const uint32_t *node;
	double near_s, far_s;
} rates;

static double byte_s(const void *arg, uint32_t from, uint32_t to)
{
	const rates *r = arg;
	const mr_hosts *h = r->hosts;

	if (h && h->rank[from] != h->rank[to])
		return h->link[h->host[h->rank[from]] * h->n_hosts + h->host[h->rank[to]]].byte_s;
	return r->node[from] != r->node[to] ? r->far_s : r->near_s;
}

/* The L3 domain of @cpu. */
static uint32_t l3_of(const mr_topo *t, uint32_t cpu)
{
	for (uint32_t i = 0; i < t->n_cores; i++)
		if (t->core[i].cpu == cpu)
			return t->core[i].l3;
	return 0;
}

mr_status mr_machine_levels(const mr_topo *topo, const mr_place *place, const mr_hosts *hosts, double near_s,
			    double far_s, mr_level_problem *out)
{
	uint32_t n = place->n_workers, *domain = calloc((size_t)MR_WORKER_KINDS * n, sizeof(*domain));
	rates r = {.hosts = hosts, .near_s = near_s, .far_s = far_s};
	mr_worker_places p = {.n_workers = n, .byte_s = byte_s, .arg = &r};

	if (!domain)
		return mr_fail(MR_ERESOURCE, "no memory for the places of %u workers", n);
	for (uint32_t k = 0; k < MR_WORKER_KINDS; k++)
		p.domain[k] = domain + (size_t)k * n;
	for (uint32_t w = 0; w < n; w++) {
		domain[w] = l3_of(topo, place->worker[w].cpu[0]);
		domain[n + w] = place->worker[w].node;
		domain[2 * n + w] = hosts ? hosts->host[hosts->rank[w]] : 0;
	}
	r.node = domain + n;
	mr_worker_levels(&p, out);
	free(domain);
	return MR_OK;
}

mr_status mr_session_levels_text(const mr_session *s, mr_strbuf *out)
{
	mr_workload of = mr_session_workload(s);
	mr_level_problem p = {0};
	double near_s, far_s;

	mr_transfer_costs(&of, s->place.worker[0].n_threads, &near_s, &far_s);
	MR_TRY(mr_machine_levels(&s->topo, &s->place, of.hosts, near_s, far_s, &p));
	for (uint32_t k = 0; k < p.n_levels; k++)
		mr_strbuf_printf(out, "%s%u@%.6g", k ? "," : "", p.level[k].parts,
				 p.level[k].bandwidth > 0 ? p.level[k].bandwidth : NO_LIMIT);
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory for levels") : MR_OK;
}
