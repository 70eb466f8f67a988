/*
 * search_limit.h - systems whose search for a plan has a limit of time (ir/sched.h, `time_budget_option`).
 *
 * The result of a timed search must be reproducible: in the configuration of the run the number of tries replaces the
 * time limit, so that the resolved configuration and the checkpoints reproduce the plan, and a
 * run is resumed with it.
 */
#ifndef MR_TRAINING_SEARCH_LIMIT_H
#define MR_TRAINING_SEARCH_LIMIT_H

#include <stdio.h>

#include "config/config.h"

/** The limit in seconds of the search of @config's system; 0: there is no limit. */
double mr_search_limit_of(const mr_config *config);

/** Replace the seconds in @config's system by @n tries. Does nothing if @n is 0: the search had no time limit.
 * Errors: MR_ERESOURCE. */
mr_status mr_search_limit_settle(mr_config *config, uint64_t n) MR_MUST_USE;

/** Before the run in @config's folder is resumed: set the number of tries with which the run was made. A folder without
 * one is refused later, when its checkpoints are read. Errors: MR_ERESOURCE. */
mr_status mr_search_limit_take_up(mr_config *config) MR_MUST_USE;

/** For people: the number @n of tries that the limit of @seconds of @ops allowed. */
void mr_search_limit_print(const mr_sched_ops *ops, double seconds, uint64_t n, FILE *out);

#endif
