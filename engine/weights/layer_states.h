/*
 * layer_states.h - the states of a stage's layers (nn/layer.h), and what its micro-batches contribute to them (`seen`).
 *
 * A stage has one copy of its states for all its versions, pipes and shards; replicas whose weights diverge
 * (replicas.h) have one each. The contribution of a micro-batch lies in its slot. When its gradient enters the sum of a
 * shard, the contribution is copied to the shard's list, and the commit folds the lists of all shards into the states,
 * in ascending order of micro-batches. So the states contain the same micro-batches as the weights, and their bits do
 * not depend on timing. Averaging replicas also replaces their states by the mean, in f64, of all replicas added in
 * ascending order.
 *
 * Shards that share no memory (weights/ranges.h) send each other their lists with their sums. Each process that has
 * shards of the stage folds all lists into states of its own, which so stay the same everywhere.
 *
 * Thread: a list belongs to its shard's worker until the gradients of the commit are complete. Then the worker that
 * reduces last (with one shard, its worker) folds, before anything of the next commit enters a list. Evaluation reads
 * the states while all training is paused.
 */
#ifndef MR_WEIGHTS_LAYER_STATES_H
#define MR_WEIGHTS_LAYER_STATES_H

#include "weights/ranges.h"

/* The contributions that entered one shard's sum since the last fold: their number, [room] their micro-batches, and
 * [room][layer_state_bytes] themselves. */
typedef struct mr_seen_list {
	uint64_t *n;   /* the beginning of all that */
	uint32_t room;
} mr_seen_list;

struct mr_layer_states {
	uint8_t *state;     /* layer_state_bytes (stage/stage.h) */
	mr_seen_list *list; /* [n_shards] */
	mr_range *lists;    /* [n_shards][n_shards] by sender, then receiver; NULL: all share memory */
};

/** Create b->layer_states; it stays NULL if no layer of the stage has states. Errors: MR_ERESOURCE. */
mr_status mr_layer_states_open(mr_stage_weights *b) MR_MUST_USE;
void mr_layer_states_close(mr_stage_weights *b);

/** Take (or measure) the memory of @shard's list; that of the first shard includes the states. */
void mr_layer_states_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard);

/** Bytes of the states, and of the list of @shard; 0 without states. */
uint64_t mr_layer_states_bytes(const mr_stage_weights *b);
uint64_t mr_layer_states_list_bytes(const mr_stage_weights *b, uint8_t shard);

/** Set the states to their initial values. This and mr_layer_states_reset do nothing without states. */
void mr_layer_states_init(mr_stage_weights *b);

/** Empty all lists, at a point at which no gradient is in a sum and no worker runs. */
void mr_layer_states_reset(mr_stage_weights *b);

/** The gradient of @micro, whose slot is @slot, enters the sum of @shard. Errors: MR_EINVAL if the list
 * is full: a commit has no more micro-batches. */
mr_status mr_layer_states_note(mr_stage_weights *b, uint8_t shard, uint64_t micro, const void *slot) MR_MUST_USE;

/** Fold all lists, as @shard's worker has them, into the states and empty them, once the gradients of a commit are
 * complete. */
void mr_layer_states_fold(mr_stage_weights *b, uint32_t shard);

/** Choose kinds of link between the shards of @b, the weights of @stage, if they share no memory; shard i is on
 * @worker[i]. The functions below do nothing without. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_layer_states_choose(mr_stage_weights *b, uint16_t stage, const uint16_t *worker,
				 const mr_link_kind *const *kinds) MR_MUST_USE;
/** Open them, after the layout. Errors: MR_ERESOURCE, the kind's. */
mr_status mr_layer_states_open_links(mr_stage_weights *b) MR_MUST_USE;
/** Nothing is under way. @parker[i] is of shard i's worker. Workers idle. */
void mr_layer_states_reset_links(mr_stage_weights *b, mr_parker *const *parker);

/** Send @shard's list of @commit, whose sum is complete. */
void mr_layer_states_send(mr_stage_weights *b, uint32_t shard, uint64_t commit);
/** Have the lists of @commit arrived at @shard? */
bool mr_layer_states_have(mr_stage_weights *b, uint32_t shard, uint64_t commit);

/** Replace the states of all replicas by their mean, as the owner of range @part has them, after their weights were
 * averaged (weights/replicas.h). */
void mr_layer_states_average(const mr_replicas *g, uint32_t part, uint64_t version);

/** Copy the states of replica 0 (restored from a checkpoint) to all replicas. While no worker runs. */
void mr_layer_states_spread(const mr_replicas *g);

#endif
