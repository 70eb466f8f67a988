/*
 * owned.h - what the shards of a stage have once, each its range of it: the optimizer's states and factors, the rest of
 * the masters, and the weights if they are sharded.
 *
 * Where all shards share memory it lies in that of shard 0 (mr_weights_layout), and its pages on the nodes of those who
 * step them. Where they do not (b->apart) it has a region of its own, in which each process touches the ranges of its
 * shards alone: the pointers are as if all were there, and what others own takes no memory.
 *
 * Thread: a shard's functions are called by its worker; the others while no worker runs.
 */
#ifndef MR_WEIGHTS_OWNED_H
#define MR_WEIGHTS_OWNED_H

#include "host/memory.h"
#include "weights/stage_weights.h"

struct mr_owned {
	mr_region region;
};

/** Take (or measure) all of it, and let @b point to it. */
void mr_owned_layout(mr_stage_weights *b, mr_arena *a);

/** From now on it has a region of its own, which mr_owned_map maps. Before the layout. Errors: MR_ERESOURCE. */
mr_status mr_owned_create(mr_stage_weights *b) MR_MUST_USE;

/** Map that region, as zeros, and let @b point into it. Errors: those of mapping. */
mr_status mr_owned_map(mr_stage_weights *b) MR_MUST_USE;

void mr_owned_close(mr_stage_weights *b);

/** Bytes in the memory of @shard's worker: all for shard 0; with a region the pages of it that the shard touches. */
uint64_t mr_owned_bytes(const mr_stage_weights *b, uint32_t shard);

/** The same of sharded weights, with those that it keeps for its group; 0: they are not sharded. */
uint64_t mr_owned_weight_bytes(const mr_stage_weights *b, uint32_t shard);

/** Set the states and factors to zeros: all by the first shard of a process; with a region each its range. */
void mr_owned_clear(mr_stage_weights *b, uint32_t shard);

/** With a region: does a shard of this process own any of elements [@first, @end) of parameter @p? @kept: or keep it,
 * of sharded weights in groups. */
bool mr_owned_here(const mr_stage_weights *b, uint32_t p, int64_t first, int64_t end, bool kept);

#endif
