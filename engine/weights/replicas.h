/*
 * replicas.h - replicas of one stage whose weights diverge, and their averages (ir/plan.h, "Replicas").
 *
 * A replica has mr_stage_weights of its own with one shard: versions, gradient sum, optimizer state. An average is cut
 * into as many ranges of cache lines as there are replicas, a pure function of the stage's size; AVG of pipe p carries
 * out range p, in all replicas, on pipe p's worker. Replicas are added in ascending order and in f64 for every
 * dtype, so no number depends on which worker does which part, or when.
 *
 * Evaluations and checkpoints use the reference (ELASTIC, and MEAN with an outer step); without one all replicas are
 * equal at every pause, and replica 0 is used. velocity is the outer step's momentum. mean (ELASTIC) is the mean of the
 * replicas after the last average: their mean movement since is the difference of two means, so the weights from which
 * they started need not be kept.
 *
 * Thread: parts run on the workers of their pipes, each after the commit of all replicas (their `published`); the last
 * part of a process publishes the version to all its replicas, as a step in parts does (stage_weights.h, W3/R3).
 */
#ifndef MR_WEIGHTS_REPLICAS_H
#define MR_WEIGHTS_REPLICAS_H

#include "ir/plan.h"
#include "weights/stage_weights.h"

#define MR_REPLICAS_MOST MR_AVERAGING_MOST /* of one stage: a pipe each */

typedef struct mr_replica_links mr_replica_links;

/* A range of an average: bytes of the weights, and the same as numbers. */
typedef struct mr_replica_part {
	size_t begin, end, first;
	int64_t n;
} mr_replica_part;

struct mr_replicas {
	mr_parts n_done;                      /* parts of the current average */
	const mr_average *average;            /* the plan's */
	const mr_optim *optim;
	mr_stage_weights *first; /* of replica 0; replica r is first[r * stride] */
	uint32_t n, stride;
	uint32_t n_here, first_here; /* replicas of this process, and the first of them: all, but of a run over ranks */
	mr_replica_links *links;   /* between workers that share no memory (replica_links.h); NULL: all do. Owned */
	uint8_t *reference;        /* like one version; NULL: there is none */
	int16_t *rest;             /* of its masters; NULL: it is its own master */
	uint8_t *velocity, *mean;  /* like one state each; NULL: there is none */
	uint32_t n_steps;          /* steps between averages */
	mr_parts *n_ready;         /* [n_steps] replicas that have made a step, by step modulo; only at the last
				      stage, else NULL */
};

static inline mr_stage_weights *mr_replicas_block(const mr_replicas *g, uint32_t r)
{
	return &g->first[(size_t)r * g->stride];
}

/**
 * Make those of all stages of @plan, whose pipes are replicas; they borrow @weights [n_pipes][n_stages]. Errors:
 * MR_ERESOURCE.
 */
mr_status mr_replicas_create(const mr_plan *plan, const mr_optim *optim, mr_stage_weights *weights,
			     mr_replicas **out) MR_MUST_USE;
void mr_replicas_destroy(mr_replicas *of, uint16_t n_stages); /* accepts NULL */

/** The range of part @p. */
mr_replica_part mr_replicas_part(const mr_replicas *g, uint32_t p);

/** No average is under way. While no worker runs. */
void mr_replicas_reset(mr_replicas *g);

/** The optimizer step that makes version @v, from 1; averages are not counted as steps. */
static inline uint64_t mr_replicas_step_of(const mr_replicas *g, uint64_t v)
{
	return v - v / (g->average->every + (uint64_t)1);
}

/**
 * Count a replica of the last stage that has made @step; true: all have, and the caller writes its record. Each counts
 * once a step, in order, so records follow each other. An entry is reused only after an average, which waits for all.
 */
bool mr_replicas_ready(mr_replicas *g, uint64_t step);

/** Take (or measure) the memory that the replicas share. */
void mr_replicas_layout(mr_replicas *g, mr_arena *a);

/** Bytes of that memory. */
uint64_t mr_replicas_bytes(const mr_replicas *g);

/** Set the shared memory to version 0. The first replica here already has the initial weights of all. */
void mr_replicas_init(mr_replicas *g);

/** Have all replicas made version @v? */
bool mr_replicas_made(mr_replicas *g, uint16_t worker, uint64_t v);

/** Part @part of the average that makes version @v of all, by the team of @kc. Allocates: no. */
mr_status mr_replicas_average(mr_replicas *g, uint32_t part, uint64_t v, mr_kctx *kc) MR_MUST_USE;

/** How often an average of @n replicas by @a, all ranges of it, loads or stores each byte of one version. Its time is
 * estimated from this. */
uint32_t mr_replicas_passes(const mr_average *a, uint32_t n, uint32_t n_states);

/** The weights to evaluate and to save, of replica @r where there is no reference, and the rest of their masters (NULL:
 * they are the masters). Over ranks, a replica of this process evaluates, and the first is saved. While paused. */
void *mr_replicas_model(const mr_replicas *g, uint32_t r);
int16_t *mr_replicas_rest(const mr_replicas *g, uint32_t r);

/** After the model was restored: copy it to all replicas that continue from it. While no worker runs. */
void mr_replicas_spread(mr_replicas *g);

#endif
