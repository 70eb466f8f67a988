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
 * Thread: a list belongs to its shard's worker until the gradients of the commit are complete. Then the worker that
 * reduces last (with one shard, its worker) folds, before anything of the next commit enters a list. Evaluation reads
 * the states while all training is paused.
 */
#ifndef MR_WEIGHTS_LAYER_STATES_H
#define MR_WEIGHTS_LAYER_STATES_H

#include "weights/stage_weights.h"

/* The contributions that entered one shard's sum since the last fold. */
typedef struct mr_seen_list {
	uint64_t *micro; /* [room] their micro-batches */
	uint8_t *seen;   /* [room][layer_state_bytes] */
	uint32_t n, room;
} mr_seen_list;

struct mr_layer_states {
	uint8_t *state;     /* layer_state_bytes (stage/stage.h) */
	mr_seen_list *list; /* [n_shards] */
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

/** Fold all lists into the states and empty the lists, once the gradients of a commit are complete. */
void mr_layer_states_fold(mr_stage_weights *b);

/** Replace the states of all replicas by their mean, after their weights were averaged (weights/replicas.h). */
void mr_layer_states_average(const mr_replicas *g);

/** Copy the states of replica 0 (restored from a checkpoint) to all replicas. While no worker runs. */
void mr_layer_states_spread(const mr_replicas *g);

#endif
