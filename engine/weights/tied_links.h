/*
 * tied_links.h - parameters that the first stage stores and the last stage uses, between workers that share no memory.
 *
 * Where they share it there is nothing here: the last stage reads the parameters where they lie, and AR of the first
 * stage reads the gradients of their uses where these lie (tied_sum.h). Otherwise each shard of the last stage, a user,
 * has a copy of the first stage's weights, of which the tied parameters alone are filled, and for each commit
 *
 *	user j  --[gradients]--> owner q    j's gradients of its uses, as far as they lie in q's range
 *	owner q --[weights]----> user j     the tied parameters of the next version in q's range
 *
 * where an owner is a shard of the first stage. The owner adds the users in ascending order, as where memory is shared,
 * so the bits are the same. An edge between two workers that do share memory is read, or written, where the data lie.
 *
 * Thread: an owner's and a user's functions are their workers'. The caller waits for what must have come (`have_`),
 * behind the counters of stage_weights.h.
 */
#ifndef MR_WEIGHTS_TIED_LINKS_H
#define MR_WEIGHTS_TIED_LINKS_H

#include "weights/ranges.h"

typedef struct mr_tied_links {
	uint32_t n_owners, n_users;
	mr_range *weights;                        /* [n_owners][n_users] */
	mr_range *gradients;                      /* [n_users][n_owners] */
	mr_range_span *of_weights, *of_gradients; /* [n_owners] of an owner's weights; of a user's gradients */
	uint8_t **copy;                           /* [n_users] versions of the first stage's weights; owned */
	uint64_t *n_sums;                         /* [n_users] commits whose gradients each has sent; the user's */
} mr_tied_links;

/**
 * Before the layout of @b, the first stage's, with shards on @owner, and of the last stage @last's, b->tied->user, with
 * shards on @user: take a kind of link for each edge, and make b->tied->links unless all share memory. Errors:
 * MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_tied_links_choose(mr_stage_weights *b, uint16_t last, const uint16_t *owner, const uint16_t *user,
			       const mr_link_kind *const *kinds) MR_MUST_USE;

/** After the layout: open the channels. Nothing without links, as all below. Errors: MR_ERESOURCE, the kind's. */
mr_status mr_tied_links_open(mr_stage_weights *b) MR_MUST_USE;
void mr_tied_links_close(mr_tied_sum *t);

/** Nothing under way, all users at version b->latest. @owner[i] and @user[j]: the workers' parkers. Workers idle. */
void mr_tied_links_reset(mr_stage_weights *b, mr_parker *const *owner, mr_parker *const *user);

/** The first stage's weights were made or restored: all users get them. Workers idle. */
void mr_tied_links_spread(mr_stage_weights *b);

/** Range @i of version @version is made: all users get the tied parameters in it. */
void mr_tied_links_send_weights(mr_stage_weights *b, uint32_t i, uint64_t version);

/** Has version @version come to user @j? */
bool mr_tied_links_have_weights(mr_stage_weights *b, uint32_t j, uint64_t version);

/** Version @version of the first stage's weights as user @j reads its tied parameters. */
const void *mr_tied_links_weights(const mr_stage_weights *b, uint32_t j, uint64_t version);

/** The gradients of user @j for its next commit are complete. */
void mr_tied_links_send_sum(mr_stage_weights *b, uint32_t j);

/** Have the users' gradients of @commit come to owner @i? */
bool mr_tied_links_have_sums(mr_stage_weights *b, uint32_t i, uint64_t commit);

/** Where owner @i reads byte @at, which lies in its range, of user @j's gradients. */
uint8_t *mr_tied_links_sum_of(const mr_stage_weights *b, uint32_t j, uint32_t i, size_t at);

#endif
