/*
 * tied_sum.h - the gradient sum of a stage that stores parameters which are used more than once (tied weights).
 *
 * Every use has a gradient of its own. Those of further uses are added to that of the stored parameter in model order:
 * first the uses in the same stage, then those in another stage, whose pipes are added up before. If the plan has an
 * AR, it does so range by range; else the first reader of the gradient sum does it once a commit. Where steps go inside
 * a backward pass, the worker does it behind the pass, and steps these parameters.
 *
 * Thread: `summed` belongs to the owner of the stage; ranges belong to their workers.
 */
#ifndef MR_WEIGHTS_TIED_SUM_H
#define MR_WEIGHTS_TIED_SUM_H

#include "weights/stage_weights.h"

typedef struct mr_tied_links mr_tied_links;
typedef struct mr_range_span mr_range_span;

struct mr_tied_sum {
	mr_stage_weights *user; /* of another stage that uses a parameter of this one; NULL: there is none */
	bool summed;            /* the uses of the current commit have been added */
	mr_tied_links *links;   /* to the workers of `user` (tied_links.h); NULL: all workers share memory */
};

/**
 * Give @b its tied sum, if any parameter that it stores is used again in its stage, or by @user's (NULL: by no other).
 * Errors: MR_ERESOURCE.
 */
mr_status mr_tied_sum_open(mr_stage_weights *b, mr_stage_weights *user) MR_MUST_USE;
void mr_tied_sum_close(mr_stage_weights *b);

/** Without AR: add the uses within the stage to its sum, unless this commit's have been added. */
mr_status mr_tied_sum_within(mr_stage_weights *b, mr_kctx *kc) MR_MUST_USE;

/** Behind a backward pass with steps inside: add the uses within the stage, and step their parameters as
 * mr_weights_step. @sumsq: [parameters of the stage] the sums of squares of these gradients; NULL: not requested.
 * Errors: as mr_weights_step. */
mr_status mr_tied_sum_step(mr_stage_weights *b, mr_kctx *kc, double lr, double gscale, double *sumsq) MR_MUST_USE;

/** Widen @s, of gradients in range @shard, by those of the further uses within the stage of the parameters in it. */
void mr_tied_sum_widen(const mr_stage_weights *b, uint8_t shard, mr_range_span *s);

/** AR of @shard: add the further uses of parameter @p to its elements [@first, @first + @n), in which its own pipes are
 * already added up. */
mr_status mr_tied_sum_range(mr_stage_weights *b, uint8_t shard, mr_kctx *kc, uint32_t p, int64_t first,
			    int64_t n) MR_MUST_USE;

#endif
