/*
 * virtual.h - the clock of a simulated training: the simulator is the source of a replay's order.
 *
 * The simulator gives the order in which the plan's instructions begin and their times, from the costs of the stages;
 * the replay carries them out in that order and records those times. A transfer between NUMA nodes takes --far, one
 * inside a node nothing. If the order depends on results (rollbacks, racing) the simulator gives only the duration of
 * each instruction, and the replay finds the order.
 */
#ifndef MR_SESSION_VIRTUAL_H
#define MR_SESSION_VIRTUAL_H

#include "costs/costs.h"
#include "session/session.h"
#include "timing/sim_options.h"
#include "replay/replay.h"

/* Rows for the options of a command that simulates a configuration. */
#define MR_VIRTUAL_OPTIONS \
	{"costs", MR_OPT_STRING, "", 0, 0, NULL, NULL, \
	 "times of the layers, a file of millrace profile -o; empty: those of costs in the configuration, " \
	 "or nominal"}, \
	MR_SIM_OPTIONS, \
	{"far", MR_OPT_FLOAT, "-1", -1, 1e6, NULL, "seconds", \
	 "time of a hand-over between workers of two nodes; less than 0: the same as within a node"}

typedef struct mr_virtual mr_virtual;

/** For the open session @s, which has a plan, with the @options of the command; borrows both. If any worker may take W,
 * @s gets the plan that has them where the clock puts them, for the steps of its configuration. Errors: MR_EUSAGE,
 * MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_virtual_create(mr_session *s, const mr_values *options, mr_virtual **out) MR_MUST_USE;
void mr_virtual_destroy(mr_virtual *v);

/** The clock of a plan whose order is found during the run (replay/replay.h); NULL: mr_virtual_next gives the order. */
const mr_replay_clock *mr_virtual_clock(const mr_virtual *v);

/** An mr_replay_source; @arg is the mr_virtual. */
mr_status mr_virtual_next(void *arg, uint64_t until, mr_replay_turn *out, bool *more) MR_MUST_USE;

/** The source of the costs and the changes of times, for people: one line. */
const char *mr_virtual_text(const mr_virtual *v, char *text, size_t size);

#endif
