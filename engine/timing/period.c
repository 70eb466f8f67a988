#include "timing/period.h"

#include <math.h>

/* Two times are the same when they differ by less than this part of the larger: sums of doubles in another order. */
#define SAME 1e-9
/* Periods that repeat only every 2, 3, ... iterations are recognised up to this. */
#define MAX_CYCLE 8u
/* With sharing: iterations over whose end the mean is taken; 1, 2 and 4 divide it. */
#define ADVANCE 8u
/* Iterations that are walked at first, and at most that many instructions. */
#define REGULAR_BODIES 12u
#define IRREGULAR_BODIES 64u
#define MOST_BODIES 256u
#define MOST_NODES (1u << 21)

/* --- formulas: the period that times show --- */

/* End of worker @w's part of iteration @n. */
static double end_of(const mr_timed *t, uint16_t w, uint32_t n)
{
	return t->end[mr_unroll_body_end(t->g, w, n)];
}

/* Whether over the last three times @cycle iterations every worker advanced alike; then by how much an iteration. */
static bool is_steady(const mr_timed *t, uint32_t cycle, double *period)
{
	const mr_plan *p = t->g->plan;
	uint32_t last = t->g->n_bodies - 1;

	*period = 0;
	if (t->g->n_bodies < 3 * cycle + 1)
		return false;
	for (uint16_t w = 0; w < p->n_workers; w++) {
		double step;

		if (!mr_plan_list(p, w, MR_BODY)->n)
			continue;
		step = end_of(t, w, last) - end_of(t, w, last - cycle);
		for (uint32_t n = last - 1; n + 2 * cycle >= last && n >= cycle; n--)
			if (fabs(end_of(t, w, n) - end_of(t, w, n - cycle) - step) > SAME * end_of(t, w, last))
				return false;
		*period = fmax(*period, step / cycle);
	}
	return true;
}

/* The mean advance of the slowest worker from iteration @from to the last one. */
static double mean_advance(const mr_timed *t, uint32_t from)
{
	uint32_t last = t->g->n_bodies - 1;
	double period = 0;

	for (uint16_t w = 0; last > from && w < t->g->plan->n_workers; w++)
		if (mr_plan_list(t->g->plan, w, MR_BODY)->n)
			period = fmax(period, (end_of(t, w, last) - end_of(t, w, from)) / (last - from));
	return period;
}

/* Iterations after which times may repeat: over hosts those in flight come in bursts. */
static uint32_t longest_cycle(const mr_walked *of)
{
	const mr_plan *p = of->plan;
	uint32_t most = MAX_CYCLE;

	for (uint16_t s = 0; of->sharing && of->sharing->hosts && p->lowered && s < p->n_stages; s++)
		most = p->n_slots[s] >= most * p->n_micro ? p->n_slots[s] / p->n_micro + 1 : most;
	return most;
}

/* The iteration from which a mean is taken. */
static uint32_t mean_from(const mr_timed *t, bool shared)
{
	uint32_t n = t->g->n_bodies, advance = ADVANCE;

	while (2 * advance > n)
		advance /= 2;
	return shared ? n - 1 - advance : (n - 1) / 2;
}

/* --- the loop: walks of so many iterations --- */

mr_status mr_period_find(const mr_walked *of, double *period)
{
	const mr_plan *plan = of->plan;
	uint64_t length = mr_plan_length(plan, MR_BODY);
	bool irregular = !of->sharing && of->hooks && of->hooks->irregular, once = irregular || of->sharing;
	bool mean = irregular || (of->sharing && !of->sharing->hosts); /* times never repeat */
	uint32_t n = (irregular ? IRREGULAR_BODIES : REGULAR_BODIES) + mr_plan_steady(plan);
	uint32_t longest = longest_cycle(of);

	*period = 0;
	if (!length || (of->sharing && plan->contract.flush == MR_FLUSH_BARRIER))
		return MR_OK;
	n += of->sharing && of->sharing->hosts ? 3 * longest : 0;
	while (n > 4 && n * length > MOST_NODES)
		n--;
	for (;; n *= 2) {
		bool found = false;
		mr_timed t;
		mr_status st = mr_timed_init(&t, of, n, !of->sharing && !plan->contract.steal, false);

		/* Within a burst shorter cycles seem to repeat. */
		for (uint32_t i = 1; st == MR_OK && i <= longest && !found && !mean; i++)
			found = is_steady(&t, of->sharing ? longest + 1 - i : i, period);
		if (st == MR_OK && !found)
			*period = mean_advance(&t, mean_from(&t, of->sharing));
		mr_timed_fini(&t);
		if (st != MR_OK || found || once || 2 * n * length > MOST_NODES || n > MOST_BODIES)
			return st;
	}
}
