#include "schedules/common/dual.h"

#include <stdlib.h>

/* A worker's list in the making. */
typedef struct dual {
	mr_plan *plan;
	uint16_t worker;
	const mr_dual_leg *leg;
	uint32_t n_f[2], n_b[2]; /* forwards and backwards so far, by leg */
	uint32_t *due;           /* legs of the W to come, as 2 * number + leg, oldest first */
	uint32_t n_due, done;
} dual;

static mr_status put(dual *x, mr_op op, unsigned leg, uint32_t number)
{
	const mr_dual_leg *l = &x->leg[leg];

	if (number >= l->n_micro)
		return MR_OK;
	return mr_sched_emit(x->plan, x->worker, MR_BODY, op, l->first + number, l->stage, l->pipe);
}

static mr_status forward(dual *x, unsigned leg)
{
	return put(x, MR_OP_F, leg, x->n_f[leg]++);
}

static mr_status backward(dual *x, unsigned leg, bool split)
{
	if (split)
		x->due[x->n_due++] = 2 * x->n_b[leg] + leg;
	return put(x, split ? MR_OP_I : MR_OP_B, leg, x->n_b[leg]++);
}

static mr_status oldest_w(dual *x)
{
	uint32_t due = x->due[x->done++];

	return put(x, MR_OP_W, due % 2, due / 2);
}

/* Steps 1 to 3. */
static mr_status warm_up(dual *x, uint32_t w, uint32_t r)
{
	for (uint32_t k = 0; k < 2 * r; k++)
		MR_TRY(forward(x, 0));
	for (uint32_t k = 0; k <= w; k++) {
		MR_TRY(forward(x, 0));
		MR_TRY(forward(x, 1));
	}
	for (uint32_t k = 0; k < r; k++) {
		MR_TRY(backward(x, 1, true));
		MR_TRY(oldest_w(x));
		MR_TRY(forward(x, 1));
	}
	return MR_OK;
}

/* Steps 4 and 5. */
static mr_status steady(dual *x, uint32_t rounds, uint32_t r)
{
	for (uint32_t k = 0; k < rounds + r; k++) {
		if (k < rounds)
			MR_TRY(forward(x, 0));
		MR_TRY(backward(x, 1, false));
		MR_TRY(forward(x, 1));
		MR_TRY(backward(x, 0, false));
	}
	return MR_OK;
}

/* Steps 6 to 8: split backwards let the gradient run out ahead of the weight gradients, which no instruction waits for.
 * */
static mr_status cool_down(dual *x, uint32_t w, uint32_t r)
{
	for (uint32_t k = 0; k <= w; k++) {
		MR_TRY(backward(x, 1, 2 * k > w));
		MR_TRY(backward(x, 0, 2 * k >= w));
	}
	for (uint32_t k = 0; k < r; k++) {
		MR_TRY(oldest_w(x));
		MR_TRY(backward(x, 0, true));
	}
	while (x->done < x->n_due)
		MR_TRY(oldest_w(x));
	return MR_OK;
}

mr_status mr_dual_emit(mr_plan *plan, uint16_t worker, uint32_t w, uint32_t d, const mr_dual_leg leg[2])
{
	uint32_t most = leg[0].n_micro > leg[1].n_micro ? leg[0].n_micro : leg[1].n_micro;
	uint32_t t = most < 2 * d ? 2 * d : most, r = d - 1 - w;
	dual x = {.plan = plan, .worker = worker, .leg = leg, .due = malloc(2 * (size_t)t * sizeof(*x.due))};
	mr_status st = x.due ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the order of %u micro-batches", t);

	if (st == MR_OK)
		st = warm_up(&x, w, r);
	if (st == MR_OK)
		st = steady(&x, t - 2 * d + w + 1, r);
	if (st == MR_OK)
		st = cool_down(&x, w, r);
	free(x.due);
	return st;
}
