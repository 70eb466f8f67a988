#include "schedules/common/layout.h"

#include <math.h>

static uint32_t least_common_multiple(uint32_t a, uint32_t b)
{
	uint32_t x = a, y = b;

	while (y) {
		uint32_t rest = x % y;

		x = y;
		y = rest;
	}
	return a / x * b;
}

uint32_t mr_layout_stages(const mr_sched_args *args)
{
	size_t n;

	mr_values_floats(args->options, "replicas", &n);
	return n ? (uint32_t)n : args->n_workers;
}

mr_status mr_layout_read(const mr_sched_args *args, mr_layout *l)
{
	uint64_t workers = 0;
	size_t n;
	const double *n_of = mr_values_floats(args->options, "replicas", &n);

	*l = (mr_layout){.n_stages = mr_layout_stages(args), .n_pipes = 1, .n_of = n ? n_of : NULL};
	for (uint32_t s = 0; s < n; s++) {
		if (n_of[s] != floor(n_of[s]))
			return mr_fail(MR_ECONFIG, "replicas: stage %u cannot be on %g workers; expected whole numbers",
				       s, n_of[s]);
		workers += mr_layout_replicas(l, s);
		l->n_pipes = least_common_multiple(l->n_pipes, mr_layout_replicas(l, s));
		if (l->n_pipes > UINT8_MAX)
			return mr_fail(MR_ECONFIG,
				       "replicas: the replicas of stages 0 to %u meet only every %u micro-batches; "
				       "at most %u",
				       s, l->n_pipes, UINT8_MAX);
	}
	if (n && workers != args->n_workers)
		return mr_fail(MR_ECONFIG, "replicas: %zu stages on %llu workers in all, but there are %u workers", n,
			       (unsigned long long)workers, args->n_workers);
	return MR_OK;
}

void mr_layout_place(mr_plan *plan, const mr_layout *l)
{
	uint32_t first = 0;

	for (uint16_t s = 0; s < l->n_stages; s++) {
		for (uint32_t p = 0; p < l->n_pipes; p++)
			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] =
				(uint16_t)(first + p % mr_layout_replicas(l, s));
		first += mr_layout_replicas(l, s);
	}
}
