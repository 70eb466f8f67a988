/*
 * aged.h - steps that update one block each and read every block at an age of its own: what Randomized PipeDream is
 * made of.
 *
 * Step k (from 0) carries micro-batch k, which takes minibatch batch[k] of the data, forward through all S blocks, back
 * to block stage[k], and updates that one. History index k is the model after k updates (of whatever blocks). Step k
 * reads block b as it was at history index k - min(delay[k][b], k).
 *
 * A block changes only in its own updates, so such a read is a version of that block: its updates among the steps
 * before that index. mr_aged_version says which, and from there on delays do not matter: an executor obeys versions,
 * and a step may begin as soon as those exist.
 *
 * Source: "Randomized PipeDream" (arXiv 2606.03498), where delays are counted in updates of all blocks. PipeDream is
 * the case in which stages and micro-batches follow its backward passes and delays are counted on its own timeline
 * (mr_aged_of_timeline): the same weights, to the bit.
 */
#ifndef MR_TIMING_AGED_H
#define MR_TIMING_AGED_H

#include <stddef.h>

#include "base/str.h"
#include "timing/unit_time.h"

typedef struct mr_aged {
	uint16_t n_stages;
	uint32_t n_steps;
	uint16_t *stage;   /* [n_steps] */
	uint32_t *batch;   /* [n_steps] */
	uint32_t *delay;   /* [n_steps][n_stages] */
	uint32_t *first;   /* [n_stages + 1]: stage s has steps[first[s] .. first[s + 1]), rising; after mr_aged_index
	                      */
	uint32_t *steps;   /* [n_steps] */
} mr_aged;

/** Room for @n_steps steps, all zero. Errors: MR_EINVAL, MR_ERESOURCE. */
mr_status mr_aged_create(uint16_t n_stages, uint32_t n_steps, mr_aged **out) MR_MUST_USE;
void mr_aged_destroy(mr_aged *a); /* accepts NULL */

/** Index the steps by stage. Call it once all stages are filled in; the functions below need it. Errors: MR_ECONFIG for
 * a stage number out of range. */
mr_status mr_aged_index(mr_aged *a) MR_MUST_USE;

/**
 * Discard the steps that read any block @limit or more updates old, as Ringmaster ASGD does (arXiv 2501.16168): they
 * are removed, and the steps after them move up. Call mr_aged_index again afterwards, unless no step is left.
 */
void mr_aged_discard(mr_aged *a, uint32_t limit);

static inline uint32_t mr_aged_delay(const mr_aged *a, uint32_t k, uint16_t block)
{
	return a->delay[(size_t)k * a->n_stages + block];
}

/** The largest age at which step @k reads any block, when it is step @at of the run. */
uint32_t mr_aged_oldest(const mr_aged *a, uint32_t k, uint64_t at);

/** The version of @block that step @k reads. */
uint32_t mr_aged_version(const mr_aged *a, uint32_t k, uint16_t block);

/** The latest version of @block when step @k begins: its updates among steps 0 .. k-1. */
uint32_t mr_aged_latest(const mr_aged *a, uint32_t k, uint16_t block);

/** Versions of @block that must be kept at once: 1 + the largest distance from latest to a version read. */
uint32_t mr_aged_cap(const mr_aged *a, uint16_t block);

/** PipeDream's steps: stage and micro-batch (modulo @n_batches, the minibatches of the data) of its backward passes, in
 * order, and the delays of its timeline @u, which is mr_unit_greedy's. Errors: MR_ERESOURCE. */
mr_status mr_aged_of_timeline(const mr_unit_time *u, uint32_t n_batches, mr_aged **out) MR_MUST_USE;

/**
 * A recorded sequence as text: a line `stage batch delay_0 .. delay_S-1` a step; empty lines and text after `#` are
 * ignored. @name stands in messages. @n_batches: minibatches in the data, 0: unknown. A run of several epochs numbers
 * its minibatches on, up to as many as it made updates of all its stages; a number beyond both limits is a mistake.
 * Errors: MR_ECONFIG with the line, MR_ERESOURCE.
 */
mr_status mr_aged_parse(const char *name, const char *text, uint16_t n_stages, uint32_t n_batches,
			mr_aged **out) MR_MUST_USE;

/** Append the sequence in that form, a comment with the meaning of a line first; read back it is the same. @out->failed
 * without memory. */
void mr_aged_print(const mr_aged *a, mr_strbuf *out);

#endif
