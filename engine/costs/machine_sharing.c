#include "costs/machine_sharing.h"

#include <stdlib.h>

#include "costs/cost_model.h"
#include "costs/sends.h"

static mr_status take_hosts(mr_machine_sharing *m, const mr_workload *of)
{
	m->sends = calloc(of->partition->n_stages, sizeof(*m->sends));
	if (!m->sends)
		return mr_fail(MR_ERESOURCE, "no memory for the messages of %u stages", of->partition->n_stages);
	mr_sends_of_stages(of, m->sends);
	m->hosts = *of->hosts;
	m->hosts.sends = m->sends;
	m->hosts.crowded = of->place->n_cores_idle < of->hosts->n_ranks;
	m->sharing.hosts = &m->hosts;
	return MR_OK;
}

mr_status mr_machine_sharing_init(mr_machine_sharing *m, const mr_workload *of, const mr_costs *c, double part)
{
	mr_server server = mr_model_server(of);
	uint16_t n = of->partition->n_stages;

	*m = (mr_machine_sharing){0};
	m->bytes = calloc(2 * (size_t)n, sizeof(*m->bytes));
	m->node = calloc(of->place->n_workers, sizeof(*m->node));
	if (!m->bytes || !m->node)
		return mr_fail(MR_ERESOURCE, "no memory for what %u workers share", of->place->n_workers);
	for (uint32_t w = 0; w < of->place->n_workers; w++)
		m->node[w] = (uint16_t)of->place->worker[w].node;
	mr_costs_bytes_of_stages(of, c, m->bytes, m->bytes + n);
	m->sharing = (mr_sharing){.node = m->node,
				  .n_nodes = (uint16_t)of->topo->n_nodes,
				  .memory = {n, m->bytes},
				  .link = {n, m->bytes + n},
				  .memory_rate = mr_model_memory_rate(&server) * part,
				  .link_rate = mr_model_link_rate(&server) * part};
	return of->hosts ? take_hosts(m, of) : MR_OK;
}

void mr_machine_sharing_fini(mr_machine_sharing *m)
{
	free(m->sends);
	free(m->bytes);
	free(m->node);
	*m = (mr_machine_sharing){0};
}
