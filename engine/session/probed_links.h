/*
 * probed_links.h - measures what messages between the hosts of a launch take, over the links that a training would use.
 *
 * Two ranks a pair of hosts, the first of each, play ping-pong while all others wait; on a host with several ranks the
 * first two do. Of small messages half a round is latency and message together; many sent one after the other tell the
 * message's own part; large ones the bandwidth, one at a time and one each way at once. Each figure is a median of
 * rounds; where rounds differ much, more are played.
 *
 * Then each rank keeps to one core with the thread that moves its messages and with one that looks for notes as a
 * leader or a follower does, and both compute while none and one large message go: what computing takes longer is what
 * looking for messages, and their bytes, take of a core. What a small message each way takes, and the record of a step,
 * is measured by turns in which both compute so that nothing of the library stays in the caches, with and without it;
 * messages are got some turns later, so that nobody waits for them.
 */
#ifndef MR_SESSION_PROBED_LINKS_H
#define MR_SESSION_PROBED_LINKS_H

#include "costs/link_costs.h"
#include "link/ranks.h"

/** All ranks of @r, which has no run, call this. *@out is whole on rank 0. Errors: those of the transport and its
 * links. */
mr_status mr_links_probe(mr_ranks *r, mr_link_costs *out) MR_MUST_USE;

#endif
