/*
 * stored_states.h - where the optimizer's states of a stage lie: like one version each in the precision's own type, or
 * in the form that optimizer.state names (nn/state_form.h), with the scales of a state's blocks behind its numbers.
 *
 * Thread: the worker of a shard reads and writes the states of the shard's range, which begins with a block in each
 * parameter.
 */
#ifndef MR_WEIGHTS_STORED_STATES_H
#define MR_WEIGHTS_STORED_STATES_H

#include "weights/stage_weights.h"

/** Bytes of one state. */
size_t mr_states_bytes(const mr_stage_weights *b);

/** Bytes of a number in it. */
size_t mr_states_each(const mr_stage_weights *b);

/** Bytes of shard @shard's work memory for steps of stored states. */
size_t mr_states_room(const mr_stage_weights *b, uint8_t shard);

/** Number @first of parameter @p in state @i; *@first must begin a block where the states are stored in a form. */
void *mr_states_at(const mr_stage_weights *b, uint32_t i, uint32_t p, int64_t first);

/** The scales of state @i of parameter @p, and how many they are; NULL: its form has none. */
float *mr_states_scale(const mr_stage_weights *b, uint32_t i, uint32_t p, int64_t *n);

/** Scales of the first @n numbers of parameter @p. */
int64_t mr_states_blocks(const mr_stage_weights *b, uint32_t p, int64_t n);

/** How the states of parameter @p are stored from number @first on, with the work memory of @shard. */
mr_stored mr_states_stored(const mr_stage_weights *b, uint8_t shard, uint32_t p, int64_t first);

/** @n numbers of parameter @p, and those that the last block lacks. */
int64_t mr_states_whole_blocks(const mr_stage_weights *b, uint32_t p, int64_t n);

#endif
