#include "choose/auto_penalty.h"

#include <math.h>
#include <stdlib.h>

#include "choose/auto_runner.h"

#define LOSS_S 20.0 /* most seconds of a run for its loss */
#define WINDOW 0.1  /* part of its steps over which a loss is averaged */
#define MOST   3u   /* stale candidates that are trained for it */

/* The mean of losses up to @end, over @window. */
static double smooth(const double *loss, uint32_t end, uint32_t window)
{
	double sum = 0;

	for (uint32_t i = end - window; i < end; i++)
		sum += loss[i];
	return sum / window;
}

/* Steps until the smoothed loss is at most @target; @n + 1: it never is. */
static uint32_t steps_to(const double *loss, uint32_t n, uint32_t window, double target)
{
	uint32_t end = window;

	while (end <= n && !(smooth(loss, end, window) <= target))
		end++;
	return end;
}

double mr_auto_penalty_of(const double *stale, const double *flush, uint32_t n, double *target)
{
	uint32_t window = (uint32_t)fmax(1, n * WINDOW);

	*target = fmax(smooth(stale, n, window), smooth(flush, n, window));
	if (!isfinite(*target) || !isfinite(smooth(stale, n, n)) || !isfinite(smooth(flush, n, n)))
		return NAN;
	return (double)steps_to(stale, n, window, *target) / steps_to(flush, n, window, *target);
}

/* The losses of @n steps of row @row; one that diverges has no more. */
static mr_status losses(mr_auto_search_state *s, uint32_t row, uint32_t n, double *loss)
{
	mr_auto_runner x;
	double ignored;
	mr_status st = mr_auto_runner_open(s, row, NULL, &x);

	for (uint32_t i = 0; i < n; i++)
		loss[i] = NAN;
	if (st == MR_OK)
		st = mr_auto_runner_burst(&x, n, loss, &ignored);
	mr_auto_runner_close(&x);
	return st == MR_EDIVERGED ? MR_OK : st;
}

/* The best measured row, of those that flush or (@stale) of all, by time to a loss, which unknown penalties do not
 * lengthen; n: none. */
static uint32_t best_of(const mr_auto *a, bool stale)
{
	uint32_t best = a->n;
	double least = INFINITY;

	for (uint32_t i = 0; i < a->n; i++) {
		const mr_auto_row *r = &a->row[i];
		double to_loss = r->measured_s * (r->penalty > 0 ? r->penalty : 1);

		if (!(r->measured_s > 0) || (!stale && r->staleness) || !mr_auto_is_done(r))
			continue;
		if (to_loss < least) {
			least = to_loss;
			best = i;
		}
	}
	return best;
}

/* All that were measured and have no penalty count as @worst. */
static void rank_unknown(mr_auto *a, double worst)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->row[i].staleness && a->row[i].measured_s > 0 && !(a->row[i].penalty > 0))
			a->row[i].rank = worst;
}

mr_status mr_auto_measure_penalties(mr_auto_search_state *s)
{
	mr_auto *a = s->a;
	uint32_t flush = best_of(a, false), stale = best_of(a, true), n;
	double worst = 1, *loss;
	mr_status st;

	if (stale == a->n || flush == a->n || !a->row[stale].staleness)
		return MR_OK;
	n = (uint32_t)fmin(MR_AUTO_LOSS_STEPS, fmax(MR_AUTO_STEPS, LOSS_S / a->row[flush].measured_s));
	loss = malloc(2 * (size_t)n * sizeof(*loss));
	st = loss ? losses(s, flush, n, loss) : mr_fail(MR_ERESOURCE, "no memory for %u losses", 2 * n);
	for (uint32_t k = 0; st == MR_OK && k < MOST && a->row[stale].staleness && !(a->row[stale].penalty > 0); k++) {
		double penalty, target;

		st = losses(s, stale, n, loss + n);
		if (st != MR_OK)
			break;
		penalty = mr_auto_penalty_of(loss + n, loss, n, &target);
		a->row[stale].penalty = isnan(penalty) ? INFINITY : penalty;
		a->row[stale].rank = a->row[stale].penalty;
		a->penalty_loss = isnan(penalty) ? a->penalty_loss : target;
		a->penalty_steps = n;
		worst = fmax(worst, a->row[stale].penalty);
		stale = best_of(a, true);
	}
	rank_unknown(a, worst);
	free(loss);
	return st;
}
