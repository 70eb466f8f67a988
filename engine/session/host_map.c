#include "session/host_map.h"

#include <stdlib.h>
#include <string.h>

#include "session/shares.h"

void mr_host_map_destroy(mr_host_map *m)
{
	if (!m)
		return;
	mr_link_costs_fini(&m->costs);
	free(m->rank);
	free(m->host);
	free(m);
}

/* The ranks that machine.ranks names, into m->rank; 0 of them where it is empty. */
static mr_status read_ranks(const char *text, uint32_t n_workers, mr_host_map *m, uint16_t *n_ranks)
{
	const char *at = text;
	char *end;

	*n_ranks = 0;
	for (uint32_t w = 0; *text && w < n_workers; w++, at = end) {
		unsigned long rank = strtoul(at, &end, 10);

		if (end == at)
			return mr_fail(MR_ECONFIG, "it names the ranks of %u workers, and there are %u", w, n_workers);
		if (rank >= MR_LINKS_MOST)
			return mr_fail(MR_ECONFIG, "there is no rank %lu: at most %d are planned", rank, MR_LINKS_MOST);
		m->rank[w] = (uint16_t)rank;
		*n_ranks = rank >= *n_ranks ? (uint16_t)(rank + 1) : *n_ranks;
	}
	if (at[strspn(at, " ")])
		return mr_fail(MR_ECONFIG, "it goes on behind the last of %u workers: \"%.20s\"", n_workers, at);
	return MR_OK;
}

/* Links given by hand. */
static mr_status take_given(const mr_session *s, mr_host_map *m, uint16_t n_ranks)
{
	const mr_job_machine *machine = &s->job->machine;
	uint16_t hosts = (uint16_t)machine->hosts;

	if (!hosts && !n_ranks)
		return mr_job_blame(s->job, MR_JOB_MACHINE, "links",
				    mr_fail(MR_ECONFIG, "links between which hosts? machine.hosts says how many there "
							"are, or machine.ranks which workers are together"));
	n_ranks = n_ranks ? n_ranks : hosts;
	MR_TRY(mr_link_costs_alloc(hosts && hosts < n_ranks ? hosts : n_ranks, n_ranks, &m->costs));
	return mr_job_blame(s->job, MR_JOB_MACHINE, "links", mr_link_costs_given(machine->links, &m->costs));
}

/* Those of the costs' file. */
static mr_status take_read(const mr_session *s, mr_host_map *m, uint16_t n_ranks, bool *found)
{
	const mr_job_machine *machine = &s->job->machine;

	MR_TRY(mr_job_blame(s->job, MR_JOB_TOP, "costs", mr_link_costs_read(s->job->costs, &m->costs, found)));
	if (*found && n_ranks && n_ranks != m->costs.n_ranks)
		return mr_job_blame(s->job, MR_JOB_MACHINE, "ranks",
				    mr_fail(MR_ECONFIG,
					    "it names %u ranks, and the links of %s were measured between %u", n_ranks,
					    s->job->costs, m->costs.n_ranks));
	if (*found && machine->hosts && machine->hosts != m->costs.n_hosts)
		return mr_job_blame(s->job, MR_JOB_MACHINE, "hosts",
				    mr_fail(MR_ECONFIG, "%lld hosts, and the links of %s were measured between %u",
					    (long long)machine->hosts, s->job->costs, m->costs.n_hosts));
	return MR_OK;
}

static mr_status fill(const mr_session *s, uint32_t n, const char *ranks, mr_host_map *m, bool *found)
{
	const mr_job_machine *machine = &s->job->machine;
	uint16_t n_ranks;

	*found = *machine->links;
	MR_TRY(mr_job_blame(s->job, MR_JOB_MACHINE, "ranks", read_ranks(ranks, n, m, &n_ranks)));
	if (*found)
		MR_TRY(take_given(s, m, n_ranks));
	else if (*s->job->costs)
		MR_TRY(take_read(s, m, n_ranks, found));
	if (!*found && machine->hosts > 1)
		return mr_job_blame(s->job, MR_JOB_MACHINE, "hosts",
				    mr_fail(MR_ECONFIG, "what takes a message between them? machine.links says it, or "
							"a file of costs of millrace-mpi probe-links"));
	if (!*found)
		return MR_OK;
	for (uint32_t w = 0; !n_ranks && w < n; w++)
		m->rank[w] = (uint16_t)(w * m->costs.n_ranks / n);
	m->hosts = (mr_hosts){.n_ranks = m->costs.n_ranks, .n_hosts = m->costs.n_hosts, .rank = m->rank,
			      .host = m->costs.host, .link = m->costs.link};
	mr_planned_links_init(&m->links, m->rank, MR_PLANNED_ALL);
	*found = m->costs.n_ranks > 1;
	return MR_OK;
}

bool mr_session_is_spread(const mr_session *s)
{
	mr_link_costs links;
	bool found = false;

	if (s->ranks || *s->job->machine.links)
		return true;
	if (*s->job->costs && mr_link_costs_read(s->job->costs, &links, &found) == MR_OK) /* else: see take_read */
		mr_link_costs_fini(&links);
	return found;
}

static mr_status find(const mr_session *s, uint32_t n_workers, const char *ranks, mr_host_map **out)
{
	const mr_job_machine *machine = &s->job->machine;
	uint32_t shares = s->n_shares ? s->n_shares : 1, n = n_workers * shares;
	bool found = false;
	mr_host_map *m;
	mr_status st;

	*out = NULL;
	if (n < 2 || (!*machine->links && !*s->job->costs && machine->hosts < 2))
		return MR_OK;
	m = calloc(1, sizeof(*m));
	if (m) {
		m->rank = calloc(n, sizeof(*m->rank));
		m->host = calloc(n, sizeof(*m->host));
	}
	st = m && m->rank && m->host ? fill(s, n, ranks, m, &found)
			  : mr_fail(MR_ERESOURCE, "no memory for the hosts of a plan");
	if (st == MR_OK && found && !mr_session_by_share(m->rank, sizeof(*m->rank), n_workers, shares))
		st = mr_fail(MR_ERESOURCE, "no memory for the hosts of a plan");
	if (st != MR_OK || !found) {
		mr_host_map_destroy(m);
		return st;
	}
	for (uint32_t w = 0; w < n; w++)
		m->host[w] = m->costs.host[m->rank[w]];
	*out = m;
	return MR_OK;
}

mr_status mr_session_find_hosts(mr_session *s)
{
	return find(s, mr_job_workers(s->job), s->job->machine.ranks, &s->hosts);
}

mr_status mr_session_spread(const mr_session *s, uint32_t n_workers, mr_host_map **out)
{
	return find(s, n_workers, "", out);
}
