/*
 * mitigated.h - corrections of a stage's stale gradients and weights (mitigate/mitigate.h): it notes the versions
 * read, and computes the rate and the corrected range.
 *
 * Only plans that never flush have stale gradients. If the mitigation uses the weights that F read, the plan keeps that
 * version until the commit (plan.h, keep_read). Of several micro-batches in a count the oldest version
 * counts.
 *
 * Thread: the owner and its team. With stage replicas (ir/plan.h) each part corrects the range that it has reduced,
 * before the norm of the sum is known, and follows the range that it steps: the changes are elementwise, and each part
 * changes its own range. A part reads the notes of the other parts after `finished`, and they write new notes only
 * after `published`.
 *
 * A stage's coefficients follow from its steady age. If the order of the plan depends on time, or records an order that
 * did, that is the age in the order that the system gives stages of equal costs (mr_run_config.steady): it
 * must not depend on the outcome of a race, or the record of the race would not be the same run.
 */
#ifndef MR_WEIGHTS_MITIGATED_H
#define MR_WEIGHTS_MITIGATED_H

#include "base/size.h"
#include "ir/plan.h"
#include "mitigate/mitigate.h"
#include "weights/stage_weights.h"

/* The oldest version that F read for the micro-batches in the sum of a shard; the shard's worker writes it. */
typedef struct mr_oldest_read {
	_Alignas(MR_CACHE_LINE) uint64_t version;
} mr_oldest_read;

struct mr_mitigation {
	const mr_mitigate *mitigate;
	uint32_t age;            /* the stage's steady age */
	uint8_t *state;          /* of the mitigation, like one state of the optimizer; NULL: it keeps none */
	uint8_t *kept;           /* weights before a step that overwrites them, to amend it; NULL: none does */
	int16_t *kept_rest;      /* the same of the rest of their masters */
	/* Where some shards are another process's: the age of the oldest version read for each commit, as the plan has
	 * it; behind the last of n_ages the last `period` come again. Owned; NULL: as noted in `oldest`. */
	uint64_t *ages;
	uint64_t n_ages, period;
	mr_oldest_read oldest[]; /* [n_shards of the stage] */
};

/**
 * Give @b the mitigation @m (NULL: none), if @plan never flushes; @age: the stage's. b->n_shards and b->optim are set;
 * m may change b->optim. Before mr_weights_layout. Errors: MR_ERESOURCE.
 */
mr_status mr_mitigated_open(mr_stage_weights *b, const mr_mitigate *m, uint32_t age, const mr_plan *plan) MR_MUST_USE;

/** Take the ages of commits from @ages, which is owned from now on, and not from what is noted. */
void mr_mitigated_plan_ages(mr_stage_weights *b, uint64_t *ages, uint64_t n, uint64_t period);

/** Free those. */
void mr_mitigated_close(mr_stage_weights *b);

/** Take the memory of the mitigation's state (or measure it). */
void mr_mitigated_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard);

/** Version 0: the state is 0. */
void mr_mitigated_init(mr_stage_weights *b);

/** A gradient enters the sum of @shard; its F has read @version. @first: it begins the sum. */
void mr_mitigated_note(mr_stage_weights *b, uint8_t shard, uint64_t version, bool first);

/** What the learning rate of commit @version (from 1), whose gradients have been noted, is multiplied by. */
double mr_mitigated_rate(const mr_stage_weights *b, uint64_t version);

/** The rate of commits to come, by their steady age: for predictions. */
double mr_mitigated_lr_ahead(const mr_stage_weights *b, const mr_lr *lr, uint64_t version);

/**
 * Before and after the step that makes version latest + 1, in the range of @shard. Both return at once if the stage has
 * no mitigation that needs them.
 */
mr_status mr_mitigated_correct(mr_stage_weights *b, uint8_t shard, mr_kctx *kc) MR_MUST_USE;
mr_status mr_mitigated_follow(mr_stage_weights *b, uint8_t shard, mr_kctx *kc) MR_MUST_USE;

/** Is a step of @b changed once it is made? */
bool mr_mitigated_amends(const mr_stage_weights *b);

/** Of such a stage, before and after the step that makes version latest + 1, in the range of @shard. */
void mr_mitigated_keep(mr_stage_weights *b, uint8_t shard);
mr_status mr_mitigated_amend(mr_stage_weights *b, uint8_t shard, mr_kctx *kc) MR_MUST_USE;

/** Bytes that are kept from before a step. */
size_t mr_mitigated_kept_bytes(const mr_stage_weights *b);

/**
 * Correction, step and following at once over pieces that stay in the caches, with the bits of one after the other: for
 * callers that do not need the whole corrected gradient, for example for its norm. mr_mitigated_steps: may it be used?
 * @n_threads: of @kc's team.
 */
bool mr_mitigated_steps(const mr_stage_weights *b);
mr_status mr_mitigated_step(mr_stage_weights *b, mr_kctx *kc, uint32_t n_threads, double lr, double gscale) MR_MUST_USE;

#endif
