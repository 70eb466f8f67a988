/* refresh.c - the bases of an optimizer that rotates matrices are refreshed the more often the later the gradients of
 * their stage are (nn/optim/rotation.h). */
#include <stdlib.h>

#include "exec/run.h"
#include "nn/optim/rotation.h"

/* Of a refresh of all matrices of stage @s, and of all its commits in an iteration. */
static double work_of(const mr_run *run, uint16_t s)
{
	double work = 0;
	uint32_t first, end;

	mr_stage_params(run->stage[s], &first, &end);
	for (uint32_t p = first; p < end; p++) {
		mr_optim_matrix m = mr_graph_matrix(run->c.graph, p);

		if (m.rows && mr_stage_weight_at(run->stage[s], p) != SIZE_MAX)
			work += mr_rotation_work(run->c.optim, &m);
	}
	return work * mr_plan_commits(run->c.plan, s);
}

static mr_status choose(mr_run *run)
{
	const mr_plan *steady = run->c.steady ? run->c.steady : run->c.plan;
	uint32_t n = run->n_stages, *delay = calloc(n, sizeof(*delay));
	double *work = calloc(n, sizeof(*work)), *interval = calloc(n, sizeof(*interval));
	bool fits = delay && work && interval;

	for (uint16_t s = 0; fits && s < n; s++) {
		work[s] = work_of(run, s);
		delay[s] = mr_plan_staleness(steady, s);
	}
	if (fits)
		mr_rotation_share(n, work, delay, run->c.optim->interval, interval);
	for (uint32_t i = 0; fits && i < mr_run_n_weights(run); i++)
		run->weights[i].optim.interval = interval[i % n];
	free(delay);
	free(work);
	free(interval);
	return fits ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the refreshes of %u stages", n);
}

const mr_feature mr_feature_refresh = {
	.choose = choose,
};
