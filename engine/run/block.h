/*
 * block.h - the weights of one stage: versions, gradients, optimizer state. A row of the weight-version table.
 *
 * Version v (the weights after v commits) lies in buffer v mod cap. The plan proves that no version is overwritten while a
 * later instruction of the owner still reads it, so the owner needs no reference counts and an optimizer step simply writes
 * version latest + 1 from version latest, out of place when cap > 1: stashing a version copies nothing. Optimizer state
 * belongs to latest alone.
 *
 * Thread: everything here is the owner's, except the three events, which others wait for:
 *	published   version number: the weights of that version may be read (tied use, barrier)
 *	normed      commit number: sumsq holds the squared norms of that commit's gradient
 *	finished    commit number: the gradient sum is complete (a tied use in this stage may be added by the block's owner)
 */
#ifndef MR_RUN_BLOCK_H
#define MR_RUN_BLOCK_H

#include "base/arena.h"
#include "host/event.h"
#include "nn/optim.h"
#include "run/stage.h"

#define MR_STALENESS_BINS 64 /* the last bin holds everything from there on */

typedef struct mr_block {
	mr_event published, normed, finished;
	mr_stage *stage;             /* owned */
	const mr_kernels *k;
	uint32_t cap;
	uint8_t *version;            /* [cap][weight_bytes] */
	uint8_t *grads;
	uint8_t *state[MR_OPTIM_STATES]; /* like one version each */
	void *work;                  /* of an optimizer that steps whole matrices */
	double *sumsq;               /* [parameters of the stage] */
	mr_step *step;               /* [parameters of the stage] of the commit in hand */
	uint64_t latest;             /* version number = commits so far */
	uint32_t n_summed;           /* micro-batches in the gradient sum */
	bool tied_summed;            /* this commit's tied uses have been added */
	uint64_t staleness[MR_STALENESS_BINS]; /* commits whose gradient was so many versions old */
} mr_block;

/** Take the block's memory (or measure it, see base/arena.h). */
void mr_block_layout(mr_block *b, mr_arena *a, const mr_optim *o);

/** Bytes that @o works in while it steps the largest matrix of @s. */
size_t mr_block_work_bytes(const mr_stage *s, const mr_optim *o, mr_dtype t);

/** The weights of version @v, which must be live: latest - cap < v <= latest, or v == latest + 1 while committing. */
static inline void *mr_block_weights(const mr_block *b, uint64_t v)
{
	return b->version + (v % b->cap) * mr_stage_size(b->stage)->weight_bytes;
}

/** Squared norms of the gradient sum, one f64 a parameter tensor (owner's storage only), into sumsq. */
void mr_block_norms(mr_block *b, mr_kctx *kc);

/**
 * The steps that make version latest + 1, one a parameter of the stage (zeros where it is stored elsewhere), gradients times
 * @gscale, by an optimizer that goes element by element. They stay until the next call. Whoever has carried them out calls mr_block_committed.
 */
const mr_step *mr_block_steps(mr_block *b, const mr_optim *o, double lr, double gscale);

static inline void mr_block_committed(mr_block *b)
{
	b->latest++;
	b->tied_summed = false;
}

/**
 * Commit version latest + 1: one optimizer step on every parameter stored here, gradients times @gscale.
 * Publishes nothing (the caller does, after its bookkeeping). Errors: MR_EDNN, MR_ERESOURCE, and then nothing is committed.
 */
mr_status mr_block_commit(mr_block *b, mr_kctx *kc, const mr_optim *o, double lr, double gscale) MR_MUST_USE;

/** sqrt of the sum of squared norms of @n blocks, tensors added in model order, as every executor does it. */
double mr_blocks_norm(const mr_block *b, uint32_t n);

/** Factor on the gradient for clipping to @max_norm (<= 0: none): min(1, max / (norm + 1e-6)), as PyTorch. */
double mr_clip_factor(double norm, double max_norm);

#endif
