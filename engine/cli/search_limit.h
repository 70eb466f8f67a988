/*
 * search_limit.h - systems that look for a plan as long as the user lets them (ir/sched.h, `timed`).
 *
 * What a clock decides is not to be decided twice: the number that the time came to takes its place in the
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

/** Before the run in @config's folder is resumed: with the number that the time came to then. A folder that does not
 * say it is for those to complain of who look for checkpoints in it. Errors: MR_ERESOURCE. */
mr_status mr_search_limit_take_up(mr_config *config) MR_MUST_USE;

/** For people: what the @seconds of @ops came to. */
void mr_search_limit_print(const mr_sched_ops *ops, double seconds, uint64_t n, FILE *out);

#endif
