/*
 * replica_links.h - averages of replicas (replicas.h) whose workers share no memory.
 *
 * If all share memory there are no mr_replica_links: AVG of range p reads and writes all replicas in place. Otherwise,
 * for each average,
 *
 *	replica r --[up]----> owner p      range p of what r has stepped: weights, the rest of masters, states that are
 *	                                   averaged too; and all of its layers' states
 *	owner p   --[down]--> replica r    range p of the average
 *
 * where the owner of range p is replica p's worker. It adds the replicas in ascending order, as with shared memory, so
 * the bits are the same. An edge between two workers that share memory is read and written in place.
 *
 * Thread: a replica's and an owner's functions are called by that replica's worker. The caller waits until data have
 * arrived (`have_`), after the counters of stage_weights.h.
 */
#ifndef MR_WEIGHTS_REPLICA_LINKS_H
#define MR_WEIGHTS_REPLICA_LINKS_H

#include "weights/ranges.h"
#include "weights/replicas.h"

/* What a replica sends, in this order; behind these each state of the optimizer. */
enum { MR_REPLICA_WEIGHTS, MR_REPLICA_REST, MR_REPLICA_LAYERS, MR_REPLICA_STATES };
#define MR_REPLICA_ARRAYS (MR_REPLICA_STATES + MR_OPTIM_STATES)

struct mr_replica_links {
	uint32_t n;                          /* replicas */
	mr_range *up[MR_REPLICA_ARRAYS];     /* [n][n] by replica, then owner; its copy is where the owner averages */
	mr_range *down[MR_REPLICA_ARRAYS];   /* [n][n] by owner, then replica */
};

/**
 * Choose a kind of link for each pair of replicas of @g, of @stage; replica r is on @worker[r]. Makes g->links if some
 * pair shares no memory. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_replica_links_choose(mr_replicas *g, uint16_t stage, const uint16_t *worker,
				  const mr_link_kind *const *kinds) MR_MUST_USE;

/** Open the channels, after the layout. Does nothing without g->links, like all functions below. Errors: MR_ERESOURCE,
 * the kind's. */
mr_status mr_replica_links_open(mr_replicas *g) MR_MUST_USE;
void mr_replica_links_close(mr_replicas *g);

/** Nothing is under way, and all replicas are at @version. @parker[r] is of replica r's worker. Workers idle. */
void mr_replica_links_reset(mr_replicas *g, uint64_t version, mr_parker *const *parker);

/** Replica @r has made @version: send it to the owners if the next version is an average. */
void mr_replica_links_send_up(mr_replicas *g, uint32_t r, uint64_t version);

/** Has @version of all replicas, the one before an average, arrived at owner @p? */
bool mr_replica_links_have_up(mr_replicas *g, uint32_t p, uint64_t version);

/** Range @p of the average @version is made: send it to the replicas. */
void mr_replica_links_send_down(mr_replicas *g, uint32_t p, uint64_t version);

/** Has the whole of the last average up to @version arrived at replica @r? */
bool mr_replica_links_have_down(mr_replicas *g, uint32_t r, uint64_t version);

/** Where owner @p averages @array of replica @r in @version: the copy of its range; NULL: in place. */
void *mr_replica_links_at(const mr_replicas *g, uint32_t array, uint32_t p, uint32_t r, uint64_t version);

#endif
