/*
 * history.h - the last versions of the weights of each stage, and the step that makes the next one: the version table
 * of executors that run on one thread without a plan.
 *
 * Version v of a stage lies in buffer v mod cap. The caller chooses how many versions are kept.
 */
#ifndef MR_THEORY_HISTORY_H
#define MR_THEORY_HISTORY_H

#include "host/memory.h"
#include "nn/optim.h"
#include "stage/stage.h"

typedef struct mr_history {
	const mr_stage *stage;
	uint32_t cap;
	uint64_t latest;               /* version number = commits so far */
	uint8_t *version;              /* [cap][weight_bytes] */
	int16_t *rest;                 /* of the latest version's masters; NULL: the weights are their masters */
	uint8_t *grads;                /* of the current commit, or the last one */
	uint8_t *state[MR_OPTIM_STATES];
	uint8_t *factors; /* weights/factors.h; NULL: none */
	void *work;
} mr_history;

typedef struct mr_histories {
	uint16_t n;
	mr_history *at;                /* [n] */
	mr_region region;
} mr_histories;

/** Histories of @n stages, @cap[s] versions each, at version 0: initial weights by @seed. Borrows the stages. Errors:
 * MR_ERESOURCE. */
mr_status mr_histories_create(mr_stage *const *stage, uint16_t n, const uint32_t *cap, const mr_kernels *k,
			      const mr_optim *o, uint64_t seed, mr_histories *out) MR_MUST_USE;
void mr_histories_destroy(mr_histories *h); /* zeroed is fine */

/** Version @v, which must be among the last cap. */
static inline void *mr_history_weights(const mr_history *h, uint64_t v)
{
	return h->version + (v % h->cap) * mr_stage_size(h->stage)->weight_bytes;
}

static inline void *mr_history_latest(const mr_history *h)
{
	return mr_history_weights(h, h->latest);
}

/** Make version latest + 1 from the latest and the gradient in grads; @t: the number of the commit, from 1, for the
 * optimizer. Errors: those of mr_optim_step, after which nothing is committed. */
mr_status mr_history_commit(mr_history *h, const mr_kernels *k, mr_kctx *kc, const mr_optim *o, double lr,
			    uint64_t t) MR_MUST_USE;

#endif
