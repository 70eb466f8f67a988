/*
 * tied_links.h - parameters that the first stage stores and the last stage uses, between workers that share no memory,
 * or whose memory is on different NUMA nodes.
 *
 * If all share memory of one node, there are no mr_tied_links: the last stage reads the parameters in place, and AR of
 * the first stage reads the gradients of their uses in place (tied_sum.h). If all share memory, a shard of the last
 * stage, a user, reads the weights of a shard of the first stage on its node; a user without one there has a
 * copy of the tied parameters on its node, which owners write right after their steps. Otherwise each user has such a
 * copy, and for each commit
 *
 *	user j  --[gradients]--> owner q    the part of j's gradients of its uses in q's range
 *	owner q --[weights]----> user j     the tied parameters of the next version in q's range
 *
 * where an owner is a shard of the first stage. The owner adds the users in ascending order, as with shared memory,
 * so the bits are the same. An edge between two workers that share memory is read and written in place.
 *
 * Thread: an owner's and a user's functions are called by their workers. The caller waits until data have arrived
 * (`have_`), after the counters of stage_weights.h.
 */
#ifndef MR_WEIGHTS_TIED_LINKS_H
#define MR_WEIGHTS_TIED_LINKS_H

#include "host/memory.h"
#include "weights/ranges.h"

typedef struct mr_tied_links {
	uint32_t n_owners, n_users;
	mr_range *weights;                        /* [n_owners][n_users] */
	mr_range *gradients;                      /* [n_users][n_owners] */
	mr_range_span *of_weights, *of_gradients; /* [n_owners] of an owner's weights; of a user's gradients */
	uint32_t *home;     /* [n_users] the shard of the first stage that a user reads; n_owners: its copy */
	mr_node_list *nodes; /* [n_users] of the copies */
	mr_region *copy;    /* [n_users] versions of the first stage's weights, of which the tied parameters are filled
			       and the other pages are never touched */
	uint64_t *n_sums;                         /* [n_users] commits whose gradients each user has sent */
} mr_tied_links;

/**
 * Choose a kind of link for each edge between @b, the first stage's weights with shards on the workers @owner, and
 * b->tied->user, those of the last stage @last with shards on the workers @user. Makes b->tied->links unless all share
 * memory. Call it before the layout of @b. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_tied_links_choose(mr_stage_weights *b, uint16_t last, const uint16_t *owner, const uint16_t *user,
			       const mr_link_kind *const *kinds) MR_MUST_USE;

/** User @j reads the weights of shard @home of @b; n_shards: a copy on @nodes. Without a call that of its own number.
 * Where it has a copy anyway, only its place is noted. After mr_tied_links_choose. Errors: MR_ERESOURCE. */
mr_status mr_tied_links_place(mr_stage_weights *b, uint32_t j, uint32_t home, const mr_node_list *nodes) MR_MUST_USE;

/** Bytes of the copy of user @j. */
uint64_t mr_tied_links_copy_bytes(const mr_stage_weights *b, uint32_t j);

/** Make the copies and open the channels, after the layout. Does nothing without links, like all below. Errors:
 * MR_ERESOURCE, the kind's. */
mr_status mr_tied_links_open(mr_stage_weights *b) MR_MUST_USE;
void mr_tied_links_close(mr_tied_sum *t);

/** Nothing is under way, all users are at version b->latest. @owner[i], @user[j]: the workers' parkers. Workers idle.
 */
void mr_tied_links_reset(mr_stage_weights *b, mr_parker *const *owner, mr_parker *const *user);

/** Send the first stage's weights, which were made or restored, to all users. Workers idle. */
void mr_tied_links_spread(mr_stage_weights *b);

/** Send the tied parameters in range @i of version @version, which is made, to all users. */
void mr_tied_links_send_weights(mr_stage_weights *b, uint32_t i, uint64_t version);

/** Has version @version arrived at user @j? */
bool mr_tied_links_have_weights(mr_stage_weights *b, uint32_t j, uint64_t version);

/** Version @version of the first stage's weights as user @j reads its tied parameters. */
const void *mr_tied_links_weights(const mr_stage_weights *b, uint32_t j, uint64_t version);

/** Send the gradients of user @j for its next commit, which are complete. */
void mr_tied_links_send_sum(mr_stage_weights *b, uint32_t j);

/** Have the users' gradients of @commit arrived at owner @i? */
bool mr_tied_links_have_sums(mr_stage_weights *b, uint32_t i, uint64_t commit);

/** Where owner @i reads byte @at, which lies in its range, of user @j's gradients. */
uint8_t *mr_tied_links_sum_of(const mr_stage_weights *b, uint32_t j, uint32_t i, size_t at);

#endif
