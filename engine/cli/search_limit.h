/*
 * search_limit.h - systems whose search for a plan has a limit of time (ir/sched.h, `time_budget_option`).
 *
 * What a clock decides is not decided twice: the number of tries that the time allowed takes the limit's place in the
 * configuration of the run, so that the resolved configuration and the checkpoints say how to get the same plan, and a
 * run is resumed with it.
 */
#ifndef MR_CLI_SEARCH_LIMIT_H
#define MR_CLI_SEARCH_LIMIT_H

#include <stdio.h>

#include "config/config.h"

/** Put @n in the place of the seconds of @config's system, and say so on standard output. 0: none were spent, and
 * nothing changes. Errors: MR_ERESOURCE. */
mr_status mr_search_limit_settle(mr_config *config, uint64_t n) MR_MUST_USE;

/** Before the run in @config's folder is resumed: take the number of tries that the run was made with. A folder without
 * one is refused later, where its checkpoints are read. Errors: MR_ERESOURCE. */
mr_status mr_search_limit_take_up(mr_config *config) MR_MUST_USE;

/** For people: the number @n of tries that the limit in @values of @ops allowed. */
void mr_search_limit_print(const mr_sched_ops *ops, const mr_values *values, uint64_t n, FILE *out);

#endif
