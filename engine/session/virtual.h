/*
 * virtual.h - the clock of a simulated training: a stream of the simulator as the source of a replay's order.
 *
 * The simulator says in which order the plan's instructions begin and when, from the costs of the stages; the replay
 * carries them out in that order and stamps those times. A hand-over between NUMA nodes takes --far, one inside a node
 * nothing. Where the order depends on what is computed (steps that are taken back, racing) the simulator says how long
 * each instruction takes, and the replay finds the order out.
 */
#ifndef MR_SESSION_VIRTUAL_H
#define MR_SESSION_VIRTUAL_H

#include "session/costs.h"
#include "sim/sim_options.h"
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

/** For the open session @s, which has a plan, with the @options of the command; borrows both. Where W are placed on any
 * worker @s gets the plan that has them where the clock says, for the steps of its configuration. Errors: MR_EUSAGE,
 * MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_virtual_create(mr_session *s, const mr_values *options, mr_virtual **out) MR_MUST_USE;
void mr_virtual_destroy(mr_virtual *v);

/** The clock of a plan whose order shows only in the run (replay/replay.h); NULL: mr_virtual_next gives the order. */
const mr_replay_clock *mr_virtual_clock(const mr_virtual *v);

/** An mr_replay_source; @arg is the mr_virtual. */
mr_status mr_virtual_next(void *arg, uint64_t until, mr_replay_turn *out, bool *more) MR_MUST_USE;

/** Where the costs come from and what bends the times, for people: one line. */
const char *mr_virtual_text(const mr_virtual *v, char *text, size_t size);

#endif
