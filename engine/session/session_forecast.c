#include "session/session_forecast.h"

#include "base/str.h"
#include "costs/cost_model.h"
#include "session/host_map.h"
#include "session/rank_memory.h"

mr_status mr_session_forecast_memory(const mr_session *s, mr_forecast *f)
{
	mr_run_config c = mr_session_run_config(s, NULL);

	if (mr_session_plans_ranks(s)) { /* which share no memory */
		c.links = s->hosts->links.kinds;
		c.only_layout = true;
	}
	return mr_job_blame(s->job, MR_JOB_SYSTEM, "name", mr_forecast_memory(f, &c));
}

mr_status mr_session_forecast(const mr_session *s, mr_forecast *f)
{
	*f = (mr_forecast){.of = mr_session_workload(s)};
	MR_TRY(mr_costs_forecast(&f->of, 0, &f->costs));
	MR_TRY(mr_session_forecast_memory(s, f));
	return mr_forecast_time(f);
}

static mr_status check_nodes(const mr_forecast *f)
{
	const mr_topo *t = f->of.topo;
	char need[16], have[16];

	for (uint32_t i = 0; i < t->n_memories; i++)
		if (t->memory[i].spare && f->memory_bytes[i] > t->memory[i].bytes)
			return mr_fail(MR_ERESOURCE,
				       "the workers need %s of the memory of node %u, and the node has %s",
				       mr_bytes_text(f->memory_bytes[i], need), t->memory[i].os_index,
				       mr_bytes_text(t->memory[i].bytes, have));

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const mr_topo_node *n = &t->node[i];

		if (n->memory_bytes && f->node_bytes[i] > n->memory_bytes)
			return mr_fail(MR_ERESOURCE, "the workers on node %u need %s of memory, and the node has %s",
				       n->os_index, mr_bytes_text(f->node_bytes[i], need),
				       mr_bytes_text(n->memory_bytes, have));
	}
	return MR_OK;
}

/* The limit of the workers alone, which is less than that of the whole process. */
static mr_status check_workers(const mr_session *s, const mr_forecast *f)
{
	char need[16], have[16];

	if (!s->workers_limit || f->bytes <= s->workers_limit)
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "the workers need %s of memory, and %s is the limit",
		       mr_bytes_text(f->bytes, need), mr_bytes_text(s->workers_limit, have));
}

mr_status mr_session_forecast_fits(const mr_session *s, const mr_forecast *f)
{
	mr_memory_plan m;

	MR_TRY(check_nodes(f));
	MR_TRY(check_workers(s, f));
	if (mr_session_plans_ranks(s))
		return mr_rank_memory_fits(s);
	MR_TRY(mr_memory_plan_of(s, f->run, &m));
	return mr_memory_plan_fits(&m, s);
}
