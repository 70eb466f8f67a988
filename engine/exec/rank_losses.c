#include "exec/rank_losses.h"

void mr_rank_losses_reset(mr_run *run)
{
	for (uint32_t i = 0; i < run->n_losses; i++)
		run->losses[i] = mr_elsewhere();
}

double *mr_rank_losses_of(const mr_run *run, uint64_t version)
{
	return run->part_losses + version % run->rank_steps * run->c.plan->contract.need;
}

void mr_rank_losses_take(mr_run *run, uint64_t version)
{
	uint32_t need = run->c.plan->contract.need;
	double *to = mr_rank_losses_of(run, version);

	for (uint32_t i = 0; i < need; i++) {
		double *loss = &run->losses[((version - 1) * need + i) % run->n_losses];

		to[i] = *loss;
		*loss = mr_elsewhere();
	}
}

uint64_t mr_rank_losses_merge(double *to, const double *from, uint64_t n)
{
	uint64_t there = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (!mr_is_elsewhere(from[i]))
			to[i] = from[i];
		there += !mr_is_elsewhere(to[i]);
	}
	return there;
}
