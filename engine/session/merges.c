#include "session/merges.h"

#include <stdlib.h>

#include "costs/costs.h"
#include "planner/merge_w.h"
#include "session/memory_plan.h"
#include "session/session_internal.h"

/* A sum of fewer gradients stays in the caches next to a core. */
#define LEAST_PARAMS (1 << 16)

/* Are most floating-point operations of W at @stage in layers that compute several micro-batches as one product, and
 * are these large enough to gain by it? */
static bool gains(const mr_session *s, uint16_t stage)
{
	const mr_graph *g = s->graph;
	double all = 0, one = 0;
	int64_t params = 0;

	for (uint32_t i = s->partition.first[stage]; i < s->partition.first[stage + 1]; i++) {
		const mr_node *node = &g->nodes[i];
		mr_layer_needs needs;
		bool together;
		double w;

		node->ops->needs(&node->cfg, node->in_shape, s->samples, s->kernels, &needs);
		w = mr_graph_trains(g, i) ? needs.flops_w : 0;
		together = node->ops->backward_weights && !needs.apart_w;

		all += w;
		one += together ? w : 0;
		params += together ? mr_costs_params(g, i) : 0;
	}
	return s->n_micro > 1 && params >= LEAST_PARAMS && 2 * one >= all;
}

mr_status mr_session_find_merges(mr_session *s)
{
	uint16_t n = s->partition.n_stages;
	bool all = s->job->train.gradients == MR_GRADIENTS_MERGED, any = false;

	if (s->plan_path || s->job->train.gradients == MR_GRADIENTS_EACH || mr_job_system(s->job)->judged ||
	    !mr_plan_may_merge(s->plan))
		return MR_OK;
	s->merges = calloc(n, sizeof(*s->merges));
	if (!s->merges)
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", n);
	for (uint16_t i = 0; i < n; i++)
		any |= s->merges[i] = all || gains(s, i);
	if (!any) {
		free(s->merges);
		s->merges = NULL;
	}
	return MR_OK;
}

/* Does the memory at hand suffice for the plan of @s? */
static bool suffices(const mr_session *s)
{
	mr_memory_plan m;

	return mr_memory_plan_of(s, NULL, &m) == MR_OK && mr_memory_plan_fits(&m, s) == MR_OK &&
	       (!s->workers_limit || m.bytes[MR_MEMORY_WORKERS] <= s->workers_limit);
}

mr_status mr_session_weigh_merges(mr_session *s)
{
	if (!s->merges || s->job->train.gradients != MR_GRADIENTS_AUTO || suffices(s))
		return MR_OK;
	free(s->merges);
	s->merges = NULL;
	return mr_session_plan_again(s);
}
