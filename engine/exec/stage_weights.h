/*
 * stage_weights.h - the weights of one stage: versions, gradients, optimizer state. A row of the weight-version table.
 *
 * Version v (the weights after v commits) lies in buffer v mod cap. The plan proves that no version is overwritten
 * while a later instruction still reads it, so nobody needs reference counts and an optimizer step simply writes
 * version latest + 1 from version latest, out of place when cap > 1: stashing a version copies nothing. Optimizer state
 * belongs to latest alone.
 *
 * Several pipes. All read one copy of the weights, in the memory of pipe 0's worker (private: each has a copy of its
 * own). Each sums into a gradient buffer of its own. AR adds these in the order of the pipes into the first one that
 * has any micro-batches, U steps; both are cut into ranges of cache lines, a pure function of the block's size, and
 * pipe p's worker handles range p of both. So the reduction, the step and the optimizer state are spread over the
 * workers (the pages of a range over their nodes: mr_run_spread_states), and what one has written all read: nothing is
 * sent round. Elementwise work gives the same bits however it is cut; for an optimizer that takes whole matrices a
 * tensor goes to the range in which it begins.
 *
 * Turns (ir/plan.h): a shard is a part of the stage, and what is said of pipes holds for parts. Their optimizer step
 * may be clipped by the stage's norm, which whoever reduces the last range works out before it publishes `reduced`.
 *
 * Thread: a shard is its pipe's worker's. Events and counters are anybody's who has part in the block:
 *	published   version number: the weights of that version may be read (other pipes, a tied use, a barrier)
 *	normed      commit number: sumsq holds the squared norms of that commit's gradient
 *	finished    commit number: the gradient sums of all pipes are complete
 *	reduced     commit number: all ranges of their sum are
 * Plans whose W any worker may take (plan.h, "Stealing") have two kinds more, and a sum is finished when its last W is:
 *	opened      commit number: all I of the count are done, so its W may be taken and no slot of it is wanted again
 *	turn[i]     the W of the i-th micro-batch of a count has added so many layers: turns * version + layers
 *	            (exec_steal.c)
 * A W adds to a layer behind the W before it (R2 of its turn), so the sum itself has one writer at a time.
 * Each is published by whoever does the last part, which it knows from a counter that all count up
 * (mr_weights_last_of):
 *	edge   writer                             reader                            what becomes visible
 *	W3/R3  a part is done: release in the     the last part: acquire in its     all that the other parts wrote
 *	       read-modify-write of the counter   own read-modify-write
 * latest and tied_summed are written by the last U alone; every other use of them comes behind a wait for `published`.
 */
#ifndef MR_EXEC_STAGE_WEIGHTS_H
#define MR_EXEC_STAGE_WEIGHTS_H

#include <stdatomic.h>

#include "base/arena.h"
#include "host/event.h"
#include "nn/mitigate.h"
#include "stage/stage.h"
#include "exec/version_count.h"

#define MR_STALENESS_BINS 64 /* the last bin holds everything from there on */

/* What one pipe holds of a block: the weights that it reads, its gradient sum, and the range that it reduces and steps.
 */
typedef struct mr_shard {
	_Alignas(64) uint8_t *version; /* [cap][weight_bytes] that this pipe reads */
	uint8_t *grads;              /* its gradient sum */
	mr_step *step;               /* [parameters of the stage] of the commit in hand */
	void *work;                  /* of an optimizer that steps whole matrices */
	size_t begin, end;           /* bytes of the weights whose AR and U are its worker's */
	uint32_t need;               /* micro-batches of a commit that go through this pipe */
	uint32_t n_summed;           /* micro-batches in its sum */
	uint64_t oldest; /* version that F has read, the oldest of the micro-batches in its sum (exec/mitigated.h) */
	uint64_t staleness[MR_STALENESS_BINS]; /* gradients that were so many versions old */
} mr_shard;

typedef struct mr_stage_weights {
	mr_event published, normed, finished, reduced;
	mr_event opened, *turn;      /* contract.steal: see above; [need] owned by the run, else NULL */
	uint32_t n_turns;            /* layers with parameters, at least 1 */
	uint32_t n_grads;            /* I done of the count in hand; its owner's */
	mr_event arrived, redone;    /* validated plans only: see exec_validate.c */
	_Atomic uint32_t n_finished, n_reduced, n_stepped; /* parts done so far; 0 again after the last */
	mr_stage *stage;             /* owned by the run */
	const mr_kernels *k;
	uint32_t cap;
	mr_shard *shard;             /* [n_shards]: a pipe each */
	uint32_t n_shards;
	uint32_t n_parts;            /* shards with micro-batches */
	bool takes_back;             /* set before its layout: steps may be taken back */
	bool private_weights;        /* each shard has its own copy */
	bool whole;                  /* the optimizer takes whole tensors: each is of the range in which it begins */
	uint8_t *state[MR_OPTIM_STATES]; /* like one version each */
	int16_t *rest; /* of the latest version's masters, like one version; NULL: the weights are their masters
			*/
	int16_t *backup_rest;        /* of @rest, as @backup is of @state */
	uint8_t *backup[MR_OPTIM_STATES]; /* validated plans: the state before a step that may be taken back; else NULL
	                                     */
	uint64_t validated, settled; /* the same: version whose step is certain; the one at the last pause, before which
	                                nothing was taken on trust */
	uint64_t n_taken_back;       /* steps so far that were wrong */
	double *sumsq;               /* [2][parameters of the stage], by version */
	double largest;              /* see mr_weights_measure; its first shard's worker's */
	uint64_t latest;             /* version number = commits so far */
	mr_version_count version_count;              /* versions live and buffers in use */
	uint32_t sum;                /* micro-batches in a sum of gradients */
	uint32_t in_step;            /* commits a step of the run; 1, but with turns */
	double rate;                 /* times the run's learning rate; 1, but with turns */
	uint32_t every;              /* replicas: every (every + 1)-th version is an average; 0: none is */
	bool tied_summed;            /* this commit's tied uses have been added */
	bool unchanged;              /* this commit leaves the weights as they are (MR_INSTR_KEEP, MR_INSTR_PASS) */
	/* See exec/predict.h. */
	bool aims, holds;            /* F or B works on other weights than it reads; F on some that are held */
	uint32_t n_aimed;            /* buffers of those: of each pipe one a slot where B takes what F had, else one */
	uint32_t n_aimed_each;       /* of a pipe */
	uint8_t *aimed;              /* [n_aimed] like one version; NULL where nothing aims */
	uint8_t *held;               /* those of F for all micro-batches of a commit; NULL: made anew for each */
	uint64_t held_version;       /* what they are made from; MR_PREDICT_HOLDS_NONE: nothing yet */
	uint8_t *delta;              /* running mean of the steps, like one version; NULL: none */
	double delta_keep;           /* what it keeps of itself a commit; 0: none */
	double back;                 /* commits that R and B move back (tau); 0: none */
	uint64_t moved_back;         /* version of which `aimed` holds what is moved back; MR_PREDICT_HOLDS_NONE: it
	                                does not */
	uint32_t slow_start, sync_steps, age; /* commits of a slow start, and of a synchronous one before it;
	                                         mr_plan_staleness */
	double delay;                /* mr_plan_delay */
	/* See exec/mitigated.h. */
	mr_optim optim;              /* the run's, with what the mitigation makes of it at this stage */
	const mr_mitigate *mitigate; /* NULL: none, or nothing is ever stale */
	uint8_t *softened;           /* its state, like one version; NULL: none */
} mr_stage_weights;

/** Bytes that @o works in while it steps the largest matrix of @s. */
size_t mr_weights_work_bytes(const mr_stage *s, const mr_optim *o, mr_dtype t);

/** Cut the block of a stage into the ranges of its shards, whose need is known. */
void mr_weights_cut(mr_stage_weights *b, const mr_optim *o);

/** Take shard @pipe's memory (or measure it, see base/arena.h), with what all share at pipe 0. */
void mr_weights_layout(mr_stage_weights *b, mr_arena *a, uint8_t pipe, const mr_optim *o);

/** When all shards have their memory: let them read what they share. */
void mr_weights_join(mr_stage_weights *b);

/** The weights of version @v for @pipe, which must be live: latest - cap < v <= latest, or v == latest + 1 while
 * committing. */
static inline void *mr_weights_at(const mr_stage_weights *b, uint8_t pipe, uint64_t v)
{
	return b->shard[pipe].version + (v % b->cap) * mr_stage_size(b->stage)->weight_bytes;
}

/** The rest of the masters from byte @at of the latest weights on; NULL: these are their masters. */
static inline int16_t *mr_weights_rest(const mr_stage_weights *b, size_t at)
{
	return b->rest ? b->rest + at / sizeof(*b->rest) : NULL;
}

/** takes_back: what a step that may be taken back changes in place is put aside, or (@restore) comes back. */
void mr_weights_back_up(mr_stage_weights *b, const mr_optim *o, bool restore);

/** The buffer that holds the sum over all pipes after AR; with one pipe its only one. */
void *mr_weights_total(const mr_stage_weights *b);

/** Count one of @n parts; true for the last one. */
static inline bool mr_weights_last_of(_Atomic uint32_t *done, uint32_t n)
{
	if (n == 1)
		return true;
	/* W3 for those that come later, R3 of all that came before. */
	if (atomic_fetch_add_explicit(done, 1, memory_order_acq_rel) + 1 < n)
		return false;
	/* The next round's parts come behind the event that the caller publishes now. */
	atomic_store_explicit(done, 0, memory_order_relaxed);
	return true;
}

/**
 * Add the pipes' gradients in @pipe's range into mr_weights_total, pipe by pipe, then those of further uses of its
 * parameters in model order: in this stage, and in @user's (NULL: none), whose own pipes are added up first.
 */
void mr_weights_reduce(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, mr_stage_weights *user);

/** The elements of parameter @p that lie in @pipe's range; false: none, or the parameter is stored elsewhere. */
bool mr_weights_part(const mr_stage_weights *b, uint8_t pipe, uint32_t p, int64_t *first, int64_t *n);

/** Squared norms of the gradient sum, one f64 a parameter tensor (owner's storage only), into sumsq. */
void mr_weights_norms(mr_stage_weights *b, mr_kctx *kc, uint64_t version);

/** Where the squared norms of the gradient that makes @version lie: [parameters of the stage]. */
double *mr_weights_sumsq(const mr_stage_weights *b, uint64_t version);

/** They are all 0: the commit has no gradient. */
void mr_weights_no_norms(mr_stage_weights *b, uint64_t version);

/** Note the norm of each parameter's gradient sum over @count where it is larger than any before since the run was
 * reset. */
void mr_weights_measure(mr_stage_weights *b, mr_kctx *kc, double count);

/**
 * The steps that make version latest + 1, one a parameter of the stage (zeros where it is stored elsewhere), gradients
 * times @gscale, in @pipe's copy, by an optimizer that goes element by element. They stay until the pipe's next call.
 * Whoever has carried them out calls mr_weights_committed.
 */
const mr_step *mr_weights_steps(mr_stage_weights *b, uint8_t pipe, const mr_optim *o, double lr, double gscale);

/** In place of a step: version latest + 1 becomes what the latest is, in @pipe's range, or in all of its private copy.
 */
void mr_weights_skip(mr_stage_weights *b, uint8_t pipe);

/* The optimizer step that makes version @v, from 1: averages are none. */
static inline uint64_t mr_weights_step_of(const mr_stage_weights *b, uint64_t v)
{
	return v - (b->every ? v / (b->every + (uint64_t)1) : 0);
}

static inline void mr_weights_committed(mr_stage_weights *b)
{
	b->latest++;
	mr_version_count_made(&b->version_count, b->latest);
	b->tied_summed = b->unchanged = false;
}

/**
 * One optimizer step on all of @pipe's range, gradients times @gscale, into version latest + 1 (private: of every
 * copy). Who does the last range calls mr_weights_committed; nothing is published. Errors: MR_EDNN, MR_ERESOURCE; then
 * nothing of a tensor that failed was stepped.
 */
mr_status mr_weights_step(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, const mr_optim *o, double lr,
			  double gscale) MR_MUST_USE;

/** Private copies: write pipe 0's latest version to all others. After weights were restored, while nobody runs. */
void mr_weights_spread(mr_stage_weights *b);

/** Sum of the shards' bins into @out [MR_STALENESS_BINS]. */
void mr_weights_staleness(const mr_stage_weights *b, uint64_t *out);

/** sqrt of the sum of squared norms of @n blocks, tensors added in model order, as every executor does it. */
double mr_weights_norm_all(const mr_stage_weights *b, uint32_t n, uint64_t version);

/** Factor on the gradient for clipping to @max_norm (<= 0: none): min(1, max / (norm + 1e-6)), as PyTorch. */
double mr_clip_factor(double norm, double max_norm);

#endif
