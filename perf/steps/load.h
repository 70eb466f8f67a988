/*
 * load.h - how much CPU others use while a burst is timed, on all CPUs of the machine.
 *
 * Others' is what the kernel counts as busy or stolen, of all CPUs (/proc/stat), without what this process and the
 * peers used by their own clocks. Anything else that runs slows a burst down, also on other CPUs: it takes bandwidth,
 * cache and clock frequency. Time that the host of a virtual machine gives to another one is "steal" there.
 *
 * /proc/stat counts in hundredths of a second and on most kernels by sampling, so a burst is called disturbed when
 * others used more than MR_LOAD_SLACK_S and MR_LOAD_SHARE of one CPU's time together.
 */
#ifndef PERF_STEPS_LOAD_H
#define PERF_STEPS_LOAD_H

#include "perf/steps/peer.h"

#define MR_LOAD_SLACK_S 0.03
#define MR_LOAD_SHARE 0.05

/* CPU seconds so far. */
typedef struct mr_load {
	bool known;    /* there is a /proc/stat */
	double wall_s;
	double busy_s; /* of all CPUs, stolen time included */
	double own_s;  /* of this process and the peers */
} mr_load;

/* What passed between two readings. */
typedef struct mr_use {
	double wall_s, own_s, others_s;
} mr_use;

void mr_load_read(const mr_peer peers[MR_N_PEERS], mr_load *now);

/** From @then to now. Others' are 0 where /proc/stat cannot be read. */
mr_use mr_load_since(const mr_peer peers[MR_N_PEERS], const mr_load *then);

bool mr_use_disturbed(const mr_use *u);

#endif
