#include "schedules/parts/rpd_draw.h"

#include "base/rng.h"

/* What a random number decides: the generator's layer. */
enum { DRAW_STAGE, DRAW_BATCH, DRAW_DELAY };

/* Uniform in 0 .. n-1. */
static uint32_t below(const mr_rpd_params *p, uint32_t k, uint32_t what, uint64_t element, uint32_t n)
{
	return (uint32_t)(mr_rng_uniform(p->seed, MR_RNG_STEPS, k, what, element) * n);
}

static uint32_t delay_of(const mr_rpd_params *p, const mr_aged *timeline, uint32_t k, uint16_t block)
{
	uint32_t most = p->delta < k ? p->delta : k;

	switch (p->delays) {
	case MR_RPD_DELAY_UNIFORM:
		return below(p, k, DRAW_DELAY, block, most + 1);
	case MR_RPD_DELAY_MAX:
		return most;
	case MR_RPD_DELAY_EXACT:
		return mr_aged_delay(timeline, k, block);
	default:
		return 0;
	}
}

static void fill(const mr_rpd_params *p, const mr_aged *timeline, mr_aged *a)
{
	for (uint32_t k = 0; k < a->n_steps; k++) {
		a->stage[k] = p->stage == MR_RPD_TIMELINE ? timeline->stage[k]
							  : (uint16_t)below(p, k, DRAW_STAGE, 0, p->n_stages);
		a->batch[k] = p->batch == MR_RPD_TIMELINE ? timeline->batch[k]
			      : p->batch == MR_RPD_CYCLIC ? k % p->n_batches
							  : below(p, k, DRAW_BATCH, 0, p->n_batches);
		for (uint16_t b = 0; b < p->n_stages; b++)
			a->delay[(size_t)k * p->n_stages + b] = delay_of(p, timeline, k, b);
	}
}

mr_status mr_rpd_draw(const mr_rpd_params *p, mr_aged **out)
{
	bool wants = p->stage == MR_RPD_TIMELINE || p->batch == MR_RPD_TIMELINE || p->delays == MR_RPD_DELAY_EXACT;
	mr_aged *timeline = NULL;
	mr_unit_time u = {0};
	mr_status st = MR_OK;

	*out = NULL;
	if (!p->n_stages || !p->n_steps || !p->n_batches)
		return mr_fail(MR_EINVAL, "steps need stages, a number and minibatches, got %u, %u and %u", p->n_stages, p->n_steps,
			       p->n_batches);
	if (wants)
		st = mr_unit_greedy(p->n_stages, (p->n_steps + p->n_stages - 1) / p->n_stages, 0, &u);
	if (wants && st == MR_OK)
		st = mr_aged_of_timeline(&u, p->n_batches, &timeline);
	mr_unit_time_fini(&u);
	if (st == MR_OK)
		st = mr_aged_create(p->n_stages, p->n_steps, out);
	if (st == MR_OK) {
		fill(p, timeline, *out);
		st = mr_aged_index(*out);
	}
	mr_aged_destroy(timeline);
	return st;
}
