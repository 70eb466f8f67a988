#include "schedules/common/rpd_draw.h"

#include "base/rng.h"

/* The use of a random number, as the generator's layer. */
enum { DRAW_STAGE, DRAW_BATCH, DRAW_DELAY };

/* Uniform in 0 .. n-1. */
static uint32_t below(const mr_rpd_params *p, uint64_t k, uint32_t what, uint64_t element, uint32_t n)
{
	return (uint32_t)(mr_rng_uniform(p->seed, MR_RNG_STEPS, k, what, element) * n);
}

/* Draw the delays of step @k; exact ones are not drawn. */
static void draw_delays(const mr_rpd_params *p, uint64_t k, uint32_t *delay)
{
	uint32_t most = p->delta < k ? p->delta : (uint32_t)k;

	for (uint16_t b = 0; b < p->n_stages; b++)
		delay[b] = p->delays == MR_RPD_DELAY_UNIFORM ? below(p, k, DRAW_DELAY, b, most + 1)
			   : p->delays == MR_RPD_DELAY_MAX   ? most
							     : 0;
}

/* Step @i of @a, which is step @k of the run. */
static void draw(const mr_rpd_params *p, uint64_t k, uint64_t n_micro, uint32_t i, mr_aged *a)
{
	uint32_t *delay = a->delay + (size_t)i * p->n_stages;
	bool exact = p->delays == MR_RPD_DELAY_EXACT;
	mr_unit_update u = {0};

	if (mr_rpd_has_timeline(p))
		u = mr_unit_update_at(p->n_stages, n_micro, k, exact ? delay : NULL);
	a->stage[i] = p->stage == MR_RPD_TIMELINE ? u.stage : (uint16_t)below(p, k, DRAW_STAGE, 0, p->n_stages);
	a->batch[i] = p->batch == MR_RPD_TIMELINE ? (uint32_t)(u.micro % p->n_batches)
		      : p->batch == MR_RPD_CYCLIC ? (uint32_t)(k % p->n_batches)
						  : below(p, k, DRAW_BATCH, 0, p->n_batches);
	if (!exact)
		draw_delays(p, k, delay);
}

mr_status mr_rpd_draw(const mr_rpd_params *p, mr_aged **out)
{
	uint64_t n_all, n_micro;

	*out = NULL;
	if (!p->n_stages || !p->n_steps || !p->n_batches)
		return mr_fail(MR_EINVAL, "steps need stages, a number and minibatches, got %u, %u and %u", p->n_stages,
			       p->n_steps, p->n_batches);
	n_all = p->n_all ? p->n_all : p->first + p->n_steps;
	n_micro = n_all / p->n_stages + (n_all % p->n_stages > 0);
	MR_TRY(mr_aged_create(p->n_stages, p->n_steps, out));
	for (uint32_t i = 0; i < p->n_steps; i++)
		draw(p, p->first + i, n_micro, i, *out);
	return mr_aged_index(*out);
}
