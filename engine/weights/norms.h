/*
 * norms.h - norms of gradients: for clipping, for the record of the run, and the largest one of each parameter.
 *
 * Each parameter tensor gives one sum of squares in f64, whose order is fixed (nn/squares.h); a norm adds tensors in
 * model order over all stages that it covers. So it has the same bits wherever the model is cut, and by however many
 * threads and shards it is computed: where several shards reduce a gradient, each adds up the blocks in its range.
 *
 * A run has them if it clips, if its plan has N, and if norms are requested (mr_run_config.norm_every,
 * measures); else both structs are NULL.
 *
 * Thread: the worker that adds up a stage's gradient writes its sums of squares; all workers read them after `known`.
 *	edge   writer                                  reader                          what becomes visible
 *	W4/R4  the last of all stages stores `last`    mr_run_next_step (acquire)      the norm of that step
 *	       (release), behind the counter of stages
 */
#ifndef MR_WEIGHTS_NORMS_H
#define MR_WEIGHTS_NORMS_H

#include "weights/stage_weights.h"

/* The norms of one stage. */
struct mr_stage_norms {
	mr_counter known; /* commit number: sumsq holds the squared norms of that commit's gradient */
	double *sumsq;  /* [2][parameters of the stage], by version modulo 2 */
	double *block;  /* [blocks of all parameters] of the current commit, where shards add up their ranges each
	                   (mr_norms_note); NULL: one worker adds up all */
	uint16_t by;    /* the worker that raises `known` */
	uint8_t **heard; /* [n_workers] where a worker that shares no memory with that one finds what `known` brings:
	                    like sumsq; NULL: all share. Owned */
	struct mr_norm_parts *parts; /* of a run over ranks that does not clip: norm_parts.h. Owned; else NULL */
	double largest; /* see mr_norms_measure; the first shard's worker writes it */
};

/* The norms of a run. */
typedef struct mr_run_norms {
	uint64_t every; /* steps between those whose norm is on the record; 0 where the run clips and has each norm */
	bool global;    /* with `every`: a norm covers all stages, and the last stage to finish its part computes it */
	uint32_t n;     /* entries of @at, by step modulo */
	double *at;     /* [n] global norms; of replicas, those of the last stage of the first one */
	/* Over ranks, where a norm is of several: the workers here leave their parts (norm_parts.h), and rank 0 adds up
	 * all. The caller's thread has what is not in `last` and n_stages. */
	uint32_t n_here;  /* stages of which a part is here; 0: none, or it is one process */
	uint64_t told;    /* last step whose parts rank 0 has got from here, or before which the run began */
	uint64_t *come;   /* rank 0: [ranks] likewise, from each. Owned */
	uint8_t *room;    /* rank 0: for a block that several have. Owned */
	double *squares;  /* rank 0: of each parameter. Owned */
	mr_parts n_stages;                     /* stages that have finished their part of the current norm */
	_Alignas(64) _Atomic uint64_t last;    /* last step whose global norm is known; over ranks: the parts here */
} mr_run_norms;

/** Of a run with @every as described and room for @n steps. Errors: MR_ERESOURCE. */
mr_status mr_run_norms_create(uint64_t every, bool global, uint32_t n, mr_run_norms **out) MR_MUST_USE;
void mr_run_norms_destroy(mr_run_norms *x);
/** Forget all norms. While no worker runs. */
void mr_run_norms_reset(mr_run_norms *x);

/** Give @b its norms. Errors: MR_ERESOURCE. */
mr_status mr_norms_open(mr_stage_weights *b) MR_MUST_USE;
void mr_norms_close(mr_stage_weights *b);
/** Take (or measure) their memory. */
void mr_norms_layout(mr_stage_weights *b, mr_arena *a);
/** Choose the links of `known`, which worker @by raises, among @n_workers workers (mr_counter_choose). */
mr_status mr_norms_choose(mr_stage_weights *b, uint16_t stage, uint16_t by, uint16_t n_workers,
			  const mr_link_kind *const *kinds) MR_MUST_USE;
/** Open them, after the layout. Errors: MR_ERESOURCE, the kind's. */
mr_status mr_norms_open_links(mr_stage_weights *b) MR_MUST_USE;
/** Mark the norms up to version latest as known; their event wakes @n_workers @parkers. While no worker runs. */
void mr_norms_reset(mr_stage_weights *b, mr_parker *const *parkers, uint32_t n_workers);

/** Add up the blocks in the range of @shard, whose sum is complete. Does nothing where one worker adds up all. */
mr_status mr_norms_note(mr_stage_weights *b, uint32_t shard, mr_kctx *kc) MR_MUST_USE;

/** Squared norms of the gradient sum, one f64 a parameter tensor (owner's storage only), into sumsq. */
mr_status mr_norms_compute(mr_stage_weights *b, mr_kctx *kc, uint64_t version) MR_MUST_USE;

/** The norm of the gradient sum in @shard's own buffer, which holds the whole sum. */
mr_status mr_norms_of_shard(const mr_stage_weights *b, uint32_t shard, mr_kctx *kc, double *norm) MR_MUST_USE;

/** The squared norms of the gradient that makes @version: [parameters of the stage]. */
double *mr_norms_sumsq(const mr_stage_weights *b, uint64_t version);

/** Set them all to 0: the commit has no gradient. */
void mr_norms_clear(mr_stage_weights *b, uint64_t version);

/** Note the norm of each parameter's gradient sum over @count where it is larger than any before since the reset. */
mr_status mr_norms_measure(mr_stage_weights *b, mr_kctx *kc, double count) MR_MUST_USE;

/** sqrt of the sum of squared norms of @n stages, tensors added in model order, as every executor does it; as worker
 * @worker knows them (MR_NORMS_OWN: one that has computed all). */
#define MR_NORMS_OWN UINT16_MAX
double mr_norms_all(const mr_stage_weights *b, uint32_t n, uint64_t version, uint16_t worker);

/** Factor on the gradient for clipping to @max_norm (<= 0: none): min(1, max / (norm + 1e-6)), as PyTorch. */
double mr_clip_factor(double norm, double max_norm);

#endif
