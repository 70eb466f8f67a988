/*
 * stage_weights.h - the weights of one stage: versions, gradients, optimizer state. A row of the weight-version table.
 *
 * Version v (the weights after v commits) lies in buffer v mod cap. The plan proves that no version is overwritten
 * while a later instruction still reads it, so no reference counts are needed and an optimizer step simply writes
 * version latest + 1 from version latest, out of place when cap > 1: stashing a version copies nothing. Optimizer
 * state belongs to latest alone.
 *
 * Several pipes. All read one copy of the weights, in the memory of pipe 0's worker (private: each has a copy of its
 * own; workers on several NUMA nodes: each node has one, in the memory of its first shard, if mr_weights_may_copy). The
 * owner of a range writes what it has stepped into all copies while it has it in cache.
 * Each sums into a gradient buffer of its own; AR adds these up, U steps, or U does both in one pass (reduction.h).
 * Both are cut into ranges of cache lines, a pure function of the weights' size, and pipe p's worker
 * handles one of both (those of a node's workers follow each other). So the workers share the reduction, the step and
 * the optimizer state (the pages of a range
 * lie on their nodes: mr_run_spread_states), and every worker reads in place what one has written. Elementwise work
 * gives the same bits however it is cut; for an optimizer that takes whole matrices a tensor belongs to the range in
 * which it begins. Where W are joint (ir/plan.h) a layer does, and AR computes its gradients and steps.
 *
 * Stage replicas (ir/plan.h): a shard is a part of the stage, and parts take the place of pipes.
 *
 * What only some runs need lies in structs of its own, which are NULL where the run does not have it: those of
 * features.def, and
 *	owned       what shards that share no memory have once          weights/owned.h
 *	reduction   a gradient sum that several workers make            weights/reduction.h
 *	norms       gradient norms                                      weights/norms.h
 *	replicas    weights that diverge and are averaged               weights/replicas.h
 *
 * Thread: a shard belongs to its pipe's worker; `published` and n_stepped belong to all workers with a part in the
 * stage. The worker that does the last part of a commit publishes it, by a counter that all parts raise
 * (mr_weights_last_of):
 *	edge   writer                             reader                            what becomes visible
 *	W3/R3  a part is done: release in the     the last part: acquire in its     all that the other parts wrote
 *	       read-modify-write of the counter   own read-modify-write
 * Only the last U writes `latest`; all other code reads it after a wait for `published`.
 */
#ifndef MR_WEIGHTS_STAGE_WEIGHTS_H
#define MR_WEIGHTS_STAGE_WEIGHTS_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/size.h"
#include "host/event.h"
#include "nn/optim.h"
#include "stage/stage.h"
#include "link/counter.h"
#include "weights/version_count.h"

/* Elements a thread of gradients that are added up, or of stored states that are stepped, at a time: they stay in the
 * nearest caches. */
#define MR_WEIGHTS_PIECE 8192

#define MR_STALENESS_BINS 64 /* the last bin also holds all larger ages */

typedef struct mr_owned mr_owned;
typedef struct mr_reduction mr_reduction;
typedef struct mr_stage_norms mr_stage_norms;
typedef struct mr_replicas mr_replicas;
#define MR_OF_STAGE(type, name, layout, close) typedef struct type type;
#include "weights/features.def"

/* A counter of parts that are done, which several workers raise: on a cache line of its own, since what lies beside it
 * would move with it from core to core. */
typedef struct mr_parts {
	_Alignas(MR_CACHE_LINE) _Atomic uint32_t done; /* 0 again after the last */
} mr_parts;
_Static_assert(sizeof(mr_parts) == MR_CACHE_LINE, "two counters on one line");

/* One pipe's share of a stage: the weights that it reads, its gradient sum, the range that it reduces and steps. */
typedef struct mr_shard {
	_Alignas(64) uint8_t *version; /* [cap][mr_weights_stride] that this pipe reads */
	uint8_t *grads;                /* its gradient sum */
	uint8_t *room;                 /* sharded: the copy of the weights that its passes read */
	mr_step *step;                 /* [parameters of the stage] of the current commit */
	void *state_room;              /* of steps of states that are stored in a form (weights/stored_states.h) */
	void *work;                    /* of an optimizer that steps whole matrices; else of mr_reduction_step */
	mr_stage_io *io;               /* joint: [sum] the W of all shards, as this one's worker carries them out */
	mr_layer_call *call;           /* joint: [sum] work memory of these */
	int64_t block;                 /* elements that AR adds up, or a step of stored states takes, at a time */
	int64_t piece;                 /* elements that mr_reduction_step adds up at a time; 0: AR writes all sums */
	size_t begin, end;             /* bytes of the weights whose AR and U are its worker's */
	uint32_t home;                 /* the shard in whose memory `version` is, where weights are not private */
	uint32_t place;                /* of that range among all shards' */
	uint32_t need;                 /* micro-batches of a commit that go through this pipe */
	bool here;                     /* its worker is of this process */
	_Alignas(MR_CACHE_LINE) uint32_t n_summed; /* micro-batches in its sum, where there is a reduction; this and
	                                              what follows its worker alone writes, at each of them */
	uint64_t staleness[MR_STALENESS_BINS]; /* gradients by their age in versions */
} mr_shard;

typedef struct mr_stage_weights {
	mr_counter published; /* version number: other pipes, a tied use or a barrier may read the weights of it */
	mr_stage *stage;     /* owned by the run */
	const mr_kernels *k;
	uint64_t seed;       /* of the run, for stochastic rounding */
	mr_optim optim;      /* the run's, with the changes of the mitigation at this stage */
	uint8_t *state[MR_OPTIM_STATES]; /* weights/stored_states.h; these and the next two: owned.h */
	uint8_t *factors;    /* weights/factors.h; NULL: the optimizer keeps none */
	int16_t *rest; /* the bits by which the latest version's masters exceed it, like one version; NULL: the weights
	                  are their own masters */
	struct mr_stage_weights *lender; /* released sums: the stage whose buffers hold those of this one, too; NULL:
	                                    its own do */
	size_t grad_room;    /* bytes of a buffer for the sums of all stages that use it; 0: for its own */
	uint32_t cap;        /* buffers of versions */
	uint32_t n_shards;
	mr_shard *shard;     /* [n_shards], one a pipe */
	uint32_t n_parts;    /* shards with micro-batches */
	uint32_t n_here, parts_here; /* of n_shards and n_parts those of this process: all, but of a run over ranks */
	uint32_t first_here; /* the first of them, which begins what all shards of a process have once */
	uint32_t sum;        /* micro-batches in a sum of gradients */
	uint32_t in_step;    /* commits a step of the run; above 1 only with stage replicas */
	double rate;         /* times the run's learning rate; not 1 only with stage replicas */
	const double *rates; /* [n_rates] and times this, by the number of the step; NULL: all are alike. Borrowed */
	uint32_t n_rates;
	bool private_weights; /* each shard has its own copy */
	bool sharded;        /* passes read copies in rooms, and the weights themselves are owned in ranges (owned.h):
	                        ir/plan.h, "Sharded weights" */
	uint32_t n_groups;   /* of sharded weights: groups of shards that have all of them each; at least 1 */
	struct mr_stage_weights *room_of; /* sharded: the stage whose room is that of this one, too; NULL: its own */
	size_t room_bytes;   /* for all stages that use it */
	bool apart;          /* some shards share no memory, so the whole sum and all ranges of a step are in one place
	                        only where messages bring them (weights/ranges.h) */
	bool joint;          /* AR computes the gradients of its range, whole layers, and steps: ir/plan.h, "Joint W" */
	bool whole_sums;     /* a feature reads the summed gradients as a whole, before the step or in its place */
	bool one_copy;       /* a feature needs that all shards read one copy */
	bool whole;          /* the optimizer takes whole tensors: each belongs to the range in which it begins */
	mr_owned *owned;
	mr_reduction *reduction;
	mr_stage_norms *norms;
	const mr_replicas *replicas; /* those of the stage, of which this is one; owned by the run */
#define MR_OF_STAGE(type, name, layout, close) type *name;
#include "weights/features.def"
	/* What each commit changes, apart from what is only read. */
	mr_parts n_stepped;  /* parts of the current commit */
	_Alignas(MR_CACHE_LINE) uint64_t latest; /* version number = commits so far */
	uint8_t *summed;     /* whole steps: the sum of the pipe that steps now; NULL: those of the shards */
	bool unchanged;      /* this commit leaves the weights as they are (MR_INSTR_KEEP, MR_INSTR_PASS) */
	_Alignas(MR_CACHE_LINE) mr_version_count version_count; /* versions live and buffers in use */
} mr_stage_weights;

/** Bytes of work memory that @o needs to step the largest matrix of @s. */
size_t mr_weights_work_bytes(const mr_stage *s, const mr_optim *o, mr_dtype t);

/** Bytes of shard @pipe's `work`. */
size_t mr_weights_shard_work_bytes(const mr_stage_weights *b, uint8_t pipe);

/** Bytes of its factors. */
size_t mr_weights_factor_bytes(const mr_stage_weights *b);

/** @n elements of parameter @p, and those that the last row of a lazy one (nn/lazy_rows.h), or the last block of stored
 * states lacks. */
int64_t mr_weights_whole_rows(const mr_stage_weights *b, uint32_t p, int64_t n);

/* Of sharded weights in groups: are shards @i and @j in one; do they keep the same ranges, each in its group? */
static inline bool mr_weights_group(const mr_stage_weights *b, uint32_t i, uint32_t j)
{
	return i / (b->n_shards / b->n_groups) == j / (b->n_shards / b->n_groups);
}

static inline bool mr_weights_peers(const mr_stage_weights *b, uint32_t i, uint32_t j)
{
	return i % (b->n_shards / b->n_groups) == j % (b->n_shards / b->n_groups);
}

/** Cut the weights of a stage into the ranges of its shards, whose need and place are known. */
void mr_weights_cut(mr_stage_weights *b);

/**
 * May each node have a copy? Of tables (lazy parameters), of which a step changes and a pass reads few rows, there is
 * none: all read those of shard 0. No copies where steps may be rolled back, nor where weights are predicted:
 * predictions ahead and back are for one pipe, and those by steps write anew what a part reads.
 */
bool mr_weights_may_copy(const mr_stage_weights *b);

/* The shard in whose memory the weights are that shard @i reads. */
static inline uint32_t mr_weights_home(const mr_stage_weights *b, uint32_t i)
{
	return b->private_weights ? i : b->shard[i].home;
}

/** Bytes of a gradient sum that each shard of the stage has; 0: those of another stage have room for it. */
size_t mr_weights_sum_bytes(const mr_stage_weights *b);

/** Let the gradients of @b be summed where those of @lender are, behind them or before. Before the layout of both. */
void mr_weights_lend(mr_stage_weights *lender, mr_stage_weights *b);

/** Let passes read @b where they read @lender: not before they are done with that. Before the layout of both. */
void mr_weights_lend_room(mr_stage_weights *lender, mr_stage_weights *b);

/** Does @shard write the initial weights that it reads, or that its process owns? */
bool mr_weights_begins(const mr_stage_weights *b, uint32_t shard);

/** Take shard @pipe's memory (or measure it, see base/arena.h); pipe 0's includes the memory that all share. */
void mr_weights_layout(mr_stage_weights *b, mr_arena *a, uint8_t pipe);

/** On a leader: write the initial weights as version 0 for @pipe, by its team. */
void mr_weights_init(mr_stage_weights *b, uint8_t pipe, uint64_t seed);

/** Connect the shards to the memory that they share, when all have theirs. */
void mr_weights_join(mr_stage_weights *b);

/** Free the structs of all features. */
void mr_weights_fini(mr_stage_weights *b);

/* Bytes of a version buffer: all weights, or with row versions those that are no tables. */
static inline size_t mr_weights_stride(const mr_stage_weights *b)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);

	return z->weight_bytes - (b->row_versions ? z->table_bytes : 0);
}

/* The same of the copy that @shard reads: copies of nodes have no tables. */
static inline size_t mr_weights_stride_of(const mr_stage_weights *b, uint32_t shard)
{
	return b->shard[shard].home && !b->row_versions ? mr_weights_stride(b) - mr_stage_size(b->stage)->table_bytes
							: mr_weights_stride(b);
}

/** Bytes of @n buffers of versions of @b, and with row versions of what stands for the tables'. */
uint64_t mr_weights_version_bytes(const mr_stage_weights *b, uint64_t n);

/** The weights of version @v for @pipe, which must be live: latest - cap < v <= latest, or v == latest + 1 while
 * committing. With row versions, or in a copy of a node, not the tables'. */
static inline void *mr_weights_at(const mr_stage_weights *b, uint8_t pipe, uint64_t v)
{
	return b->shard[pipe].version + (v % b->cap) * mr_weights_stride_of(b, pipe);
}

/** Parameter @p, which is stored in the stage, in the weights of version @v for @pipe; with row versions of a table the
 * latest. */
void *mr_weights_param_at(const mr_stage_weights *b, uint8_t pipe, uint64_t v, uint32_t p);

/** Are older versions of parameter @p whole? Not those of tables with row versions. */
bool mr_weights_keeps_whole(const mr_stage_weights *b, uint32_t p);

/** The rest of the masters from byte @at of the latest weights on; NULL: the weights are the masters. */
static inline int16_t *mr_weights_rest(const mr_stage_weights *b, size_t at)
{
	return b->rest ? b->rest + at / sizeof(*b->rest) : NULL;
}

/** Let a pass of @shard in @io read version @v, and add to its sum. */
void mr_weights_show(const mr_stage_weights *b, uint8_t shard, uint64_t v, mr_stage_io *io);

/** The buffer that holds the sum over all pipes after AR; with one pipe its only one. */
void *mr_weights_total(const mr_stage_weights *b);

/**
 * The same for @shard, which owns a range of it. If shards share no memory (b->ranges), this is a buffer of its own
 * that holds only the range, and mr_weights_total is shard 0's buffer, which holds the whole sum before N.
 */
void *mr_weights_total_of(const mr_stage_weights *b, uint32_t shard);

/** Count one of @n parts; true for the last one. */
static inline bool mr_weights_last_of(mr_parts *parts, uint32_t n)
{
	if (n == 1)
		return true;
	/* W3 for those that come later, R3 of all that came before. */
	if (atomic_fetch_add_explicit(&parts->done, 1, memory_order_acq_rel) + 1 < n)
		return false;
	/* The parts of the next round wait for the event that the caller publishes now. */
	atomic_store_explicit(&parts->done, 0, memory_order_relaxed);
	return true;
}

/** No part is done. While no worker runs. */
static inline void mr_weights_no_parts(mr_parts *parts)
{
	atomic_store_explicit(&parts->done, 0, memory_order_relaxed);
}

/** The elements of parameter @p that lie in @pipe's range; false: none, or the parameter is stored elsewhere. A row of
 * a lazy parameter belongs to the range in which it begins. */
bool mr_weights_part(const mr_stage_weights *b, uint8_t pipe, uint32_t p, int64_t *first, int64_t *n);

/** The same of any parameter that is stored in the stage, whether or not it is stepped. */
bool mr_weights_range(const mr_stage_weights *b, uint8_t pipe, uint32_t p, int64_t *first, int64_t *n);

/**
 * The steps that make version latest + 1, one a parameter of the stage (zeros where it is stored elsewhere), gradients
 * times @gscale, in @pipe's copy, by an optimizer that goes element by element. They stay until the pipe's next call.
 * The caller carries them out and then calls mr_weights_committed.
 */
const mr_step *mr_weights_steps(mr_stage_weights *b, uint8_t pipe, double lr, double gscale);

/** The same for steps inside a backward pass (stage/stage.h): zeros also for parameters that are tied within the stage,
 * which mr_tied_sum_step steps behind it. */
const mr_step *mr_weights_steps_inside(mr_stage_weights *b, double lr, double gscale);

/** Instead of a step: copy the latest version to version latest + 1, in @pipe's range or all of its private copy. */
void mr_weights_skip(mr_stage_weights *b, uint8_t pipe);

/** The optimizer step that makes version @v, from 1; averages are not counted as steps. */
uint64_t mr_weights_step_of(const mr_stage_weights *b, uint64_t v);

/** The learning rate of the commit that makes version @v, without a mitigation's. */
double mr_weights_lr(const mr_stage_weights *b, const mr_lr *lr, uint64_t v);

/** Version latest + 1 is made: make it the latest. Publishes nothing. */
void mr_weights_committed(mr_stage_weights *b);

/**
 * One optimizer step on all of @pipe's range, gradients times @gscale, into version latest + 1 (private: of every
 * copy). The worker of the last range calls mr_weights_committed. Errors: MR_EDNN, MR_ERESOURCE; a tensor that failed
 * is then unchanged.
 */
mr_status mr_weights_step(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, double lr, double gscale) MR_MUST_USE;

/** The same for elements [@first, @first + @n) of parameter @p, which lie in @pipe's range, with the gradient @g. */
mr_status mr_weights_step_part(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, double lr,
			       double gscale, uint32_t p, int64_t first, int64_t n, const void *g) MR_MUST_USE;

/** Copy bytes [@from, @to) of version latest + 1 from the copy that @pipe reads to all others; not between shards that
 * share no memory. */
void mr_weights_copy(mr_stage_weights *b, uint8_t pipe, size_t from, size_t to);

/** Copy all versions of @from, and what its steps go on from, to @to: weights of the same stage with one shard each, at
 * the same version. While no worker runs. */
void mr_weights_take_over(mr_stage_weights *to, const mr_stage_weights *from);

/** Copy all versions of shard 0's copy to all others, after weights were restored. While no worker runs. */
void mr_weights_spread(mr_stage_weights *b);

/** Sum of the shards' bins into @out [MR_STALENESS_BINS]. */
void mr_weights_staleness(const mr_stage_weights *b, uint64_t *out);

#endif
