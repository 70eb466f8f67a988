#include "bound_cases.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "timing/bound.h"
#include "search_help.h"

static uint32_t draw(uint64_t n, uint32_t i, uint32_t from, uint32_t to)
{
	return from + (uint32_t)(mr_rng_uniform(n, MR_RNG_JITTER, i, 7, 0) * (to - from + 1));
}

bound_case bound_draw(uint64_t n, uint16_t workers, uint32_t micro)
{
	bound_case c = {.n_workers = (uint16_t)draw(n, 0, 2, workers), .n_micro = draw(n, 1, 2, micro)};

	for (uint16_t s = 0; s < c.n_workers; s++)
		c.stage[s] = (mr_stage_cost){.f = draw(n, 10 + s, 2, 9), .i = draw(n, 20 + s, 2, 9),
					     .w = draw(n, 30 + s, 2, 9)};
	return c;
}

bound_result bound_of(const bound_case *c, const char *sets)
{
	mr_cost costs = {c->n_workers, c->stage};
	mr_plan *plan = search_plan(c->n_workers, c->n_micro, 1, sets, &costs);
	bound_result r = {.found = search_walk(plan, &costs).makespan};

	MR_CHECK_OK(mr_plan_bound(plan, &costs, true, &r.bound));
	mr_plan_destroy(plan);
	return r;
}

/* --- every order --- */

/* Micro-batches are alike, so each kind of pass goes in ascending order. */
typedef struct state {
	uint32_t n[BOUND_MOST_WORKERS][3]; /* F, I, W done */
	double free_at[BOUND_MOST_WORKERS];
	double end[BOUND_MOST_WORKERS][2][16]; /* of F, of I */
} state;

typedef struct explorer {
	const bound_case *c;
	double best;
	uint64_t left;
	bound_begins *least; /* of all orders; NULL: only those that may be shortest are explored */
} explorer;

static double takes(const bound_case *c, uint16_t w, int op)
{
	return op == 0 ? c->stage[w].f : op == 1 ? c->stage[w].i : c->stage[w].w;
}

/* The earliest begin of worker @w's next @op; INFINITY: it has none, or waits for a pass that is not placed yet. */
static double begin_of(const bound_case *c, const state *s, uint16_t w, int op)
{
	uint32_t m = s->n[w][op];
	double ready = 0;

	if (m == c->n_micro || (op == 0 && c->cap[w] && m - s->n[w][2] >= c->cap[w]))
		return INFINITY;
	if (op == 0)
		ready = !w ? 0 : s->n[w - 1][0] > m ? s->end[w - 1][0][m] + c->stage[w - 1].c : INFINITY;
	else if (op == 1)
		ready = s->n[w][0] <= m                ? INFINITY
			: w + 1 == c->n_workers        ? s->end[w][0][m]
			: s->n[w + 1][1] > m ? fmax(s->end[w][0][m], s->end[w + 1][1][m] + c->stage[w + 1].c)
					     : INFINITY;
	else
		ready = s->n[w][1] > m ? s->end[w][1][m] : INFINITY;
	return fmax(ready, s->free_at[w]);
}

/* What is left cannot end before this. */
static double least_end(const bound_case *c, const state *s)
{
	double most = 0;

	for (uint16_t w = 0; w < c->n_workers; w++) {
		double at = s->free_at[w];

		for (int op = 0; op < 3; op++)
			at += (c->n_micro - s->n[w][op]) * takes(c, w, op);
		most = fmax(most, at);
	}
	return most;
}

/* Active orders (Giffler and Thompson): of the pass that can end first, all that its worker could begin before that
 * end. */
static void explore(explorer *x, const state *s)
{
	const bound_case *c = x->c;
	double first = INFINITY;
	uint16_t at = 0;

	if (!x->left || (!x->least && least_end(c, s) >= x->best - 1e-9))
		return;
	x->left--;
	for (uint16_t w = 0; w < c->n_workers; w++)
		for (int op = 0; op < 3; op++) {
			double end = begin_of(c, s, w, op) + takes(c, w, op);

			if (end < first) {
				first = end;
				at = w;
			}
		}
	if (first == INFINITY) { /* all is placed */
		x->best = least_end(c, s);
		return;
	}
	for (int op = 0; op < 3; op++) {
		double begin = begin_of(c, s, at, op);
		state next;

		if (!(begin < first) && !(begin == first && takes(c, at, op) == 0))
			continue;
		if (x->least)
			(*x->least)[at][op][s->n[at][op]] = fmin((*x->least)[at][op][s->n[at][op]], begin);
		next = *s;
		next.free_at[at] = begin + takes(c, at, op);
		if (op < 2)
			next.end[at][op][next.n[at][op]] = next.free_at[at];
		next.n[at][op]++;
		explore(x, &next);
	}
}

/* An active order has the earliest end of any one pass, too. */
bool bound_exhaust_begins(const bound_case *c, uint64_t nodes, bound_begins out)
{
	explorer x = {.c = c, .best = INFINITY, .left = nodes, .least = (bound_begins *)out};
	state s;

	CU_ASSERT_FATAL(c->n_micro <= 16);
	for (uint16_t w = 0; w < c->n_workers; w++)
		for (uint32_t m = 0; m < 3 * c->n_micro; m++)
			out[w][m / c->n_micro][m % c->n_micro] = INFINITY;
	memset(&s, 0, sizeof(s));
	explore(&x, &s);
	return x.left > 0;
}

double bound_exhaustive(const bound_case *c, uint64_t nodes)
{
	explorer x = {.c = c, .best = INFINITY, .left = nodes};
	state s;

	CU_ASSERT_FATAL(c->n_micro <= 16);
	memset(&s, 0, sizeof(s));
	explore(&x, &s);
	return x.left ? x.best : 0;
}
