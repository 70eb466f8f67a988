#include "planner/width_depth.h"

#include <math.h>
#include <stdlib.h>

/* Rates this close are equal: the difference is a rounding error. */
#define SAME 1e-12

static mr_width_depth row_of(const mr_width_depth_problem *p, uint32_t depth, uint32_t micro, bool recompute)
{
	uint32_t width = p->n_workers / depth;
	double q = p->n_blocks / depth, b = micro, weights = q * p->block.weights;
	double each = p->block.forward * (recompute ? 2 : 1) + p->block.backward;
	double kept = recompute ? depth * p->block.activation * b + q * p->block.saved * b
				: depth * q * p->block.saved * b;
	mr_width_depth r = {.width = width, .depth = depth, .micro = micro, .recompute = recompute};

	r.bytes = (2 + 1 + p->state) * weights + kept;
	r.time = p->batch / (width * micro) * fmax(q * each * b, 2 * p->block.activation * b / p->bandwidth) +
		 2 * (width - 1.0) / width * weights / p->bandwidth;
	r.rate = p->batch / r.time;
	r.fits = !(p->capacity > 0) || r.bytes <= p->capacity;
	return r;
}

static bool is_better(const mr_width_depth *a, const mr_width_depth *b)
{
	if (fabs(a->rate - b->rate) > SAME * b->rate)
		return a->rate > b->rate;
	if (a->recompute != b->recompute)
		return !a->recompute;
	return a->micro != b->micro ? a->micro > b->micro : a->depth < b->depth;
}

static bool is_possible(const mr_width_depth_problem *p, uint32_t depth, uint32_t micro)
{
	uint32_t width = p->n_workers / depth;

	return p->n_workers % depth == 0 && p->n_blocks % depth == 0 && p->batch % (width * micro) == 0 &&
	       p->batch / (width * micro) >= depth;
}

mr_status mr_width_depth_solve(const mr_width_depth_problem *p, mr_width_depth **rows, uint32_t *n, uint32_t *best)
{
	mr_width_depth *r = calloc(2 * (size_t)p->n_workers * p->n_micro + 1, sizeof(*r));
	uint32_t at = UINT32_MAX;

	*rows = r;
	*n = 0;
	if (!r)
		return mr_fail(MR_ERESOURCE, "no memory to share %u workers out", p->n_workers);
	for (uint32_t depth = 2; depth <= p->n_workers; depth++)
		for (uint32_t k = 0; k < 2 * p->n_micro; k++) {
			if (!is_possible(p, depth, p->micro[k / 2]))
				continue;
			r[*n] = row_of(p, depth, p->micro[k / 2], k % 2);
			if (r[*n].fits && (at == UINT32_MAX || is_better(&r[*n], &r[at])))
				at = *n;
			++*n;
		}
	*best = at == UINT32_MAX ? *n : at;
	return MR_OK;
}
