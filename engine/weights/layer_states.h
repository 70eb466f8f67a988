/*
 * layer_states.h - the states of a stage's layers (nn/layer.h), and what its micro-batches have seen for them.
 *
 * The stage has one copy, whatever its versions, pipes and parts are; of replicas whose weights diverge (replicas.h)
 * each has its own. What a micro-batch has seen lies in its slot. When its gradient enters the sum of a shard, it is
 * copied to the shard's list, and the commit folds those of all shards into the states, in ascending order of
 * micro-batches. So a state has taken in the micro-batches that the weights have, and its bits depend on no timing. An
 * average of replicas makes their states equal, too: the mean, in f64, replicas added in ascending order.
 *
 * Thread: a list is its shard's worker's until the gradients of the commit are complete; then, and before anything of
 * the next commit enters a list, the worker that reduces last, or of one shard its own worker, folds. Evaluation reads
 * the states while all training is paused.
 */
#ifndef MR_WEIGHTS_LAYER_STATES_H
#define MR_WEIGHTS_LAYER_STATES_H

#include "weights/stage_weights.h"

/* What one shard has seen since the last fold. */
typedef struct mr_seen_list {
	uint64_t *micro; /* [room] whose */
	uint8_t *seen;   /* [room][layer_state_bytes] */
	uint32_t n, room;
} mr_seen_list;

struct mr_layer_states {
	uint8_t *state;     /* layer_state_bytes (stage/stage.h) */
	mr_seen_list *list; /* [n_shards] */
};

/** For layers with states; without any b->layer_states stays NULL. Errors: MR_ERESOURCE. */
mr_status mr_layer_states_open(mr_stage_weights *b) MR_MUST_USE;
void mr_layer_states_close(mr_stage_weights *b);

/** Take (or measure) the memory of @shard; of the first with the states. */
void mr_layer_states_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard);

/** Bytes of the states, and of the list of @shard; 0 without states. */
uint64_t mr_layer_states_bytes(const mr_stage_weights *b);
uint64_t mr_layer_states_list_bytes(const mr_stage_weights *b, uint8_t shard);

/** The states at the start; without states nothing, as the next one. */
void mr_layer_states_init(mr_stage_weights *b);

/** No gradient is in a sum. While no worker runs. */
void mr_layer_states_reset(mr_stage_weights *b);

/** The gradient of @micro, whose slot is @slot, enters the sum of @shard. Errors: MR_EINVAL, more than a commit has. */
mr_status mr_layer_states_note(mr_stage_weights *b, uint8_t shard, uint64_t micro, const void *slot) MR_MUST_USE;

/** The gradients of a commit are complete: fold all lists, which are empty then. */
void mr_layer_states_fold(mr_stage_weights *b);

/** Behind an average of the weights of replicas (weights/replicas.h). */
void mr_layer_states_average(const mr_replicas *g);

/** The states of replica 0 were restored: all get them. While no worker runs. */
void mr_layer_states_spread(const mr_replicas *g);

#endif
