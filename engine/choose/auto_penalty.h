/*
 * auto_penalty.h - what staleness costs: times as many steps to a loss as a system that flushes.
 *
 * Both train from the same weights on the same data for as many steps; losses are means over the last tenth of these.
 * The loss to reach is the greater one of the two at the end, so both reach it.
 */
#ifndef MR_CHOOSE_AUTO_PENALTY_H
#define MR_CHOOSE_AUTO_PENALTY_H

#include "choose/auto_internal.h"

/** Steps of @stale over steps of @flush to the loss that both reach, of losses of @n steps; *@target: that loss. NAN:
 * a loss is none. */
double mr_auto_penalty_of(const double *stale, const double *flush, uint32_t n, double *target);

/**
 * Train stale candidates and the best that flushes (MR_AUTO_LOSS_STEPS) as long as one that is faster may be the
 * choice; set penalties, and what rows are sorted by: one that diverges is no choice, and one that was not trained so
 * counts as the worst that was. Errors: those of a training.
 */
mr_status mr_auto_measure_penalties(mr_auto_search_state *s) MR_MUST_USE;

#endif
