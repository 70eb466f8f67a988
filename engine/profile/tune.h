/*
 * tune.h - measures which backend executes each kind of operation faster on this machine, and makes a table of choices
 * (nn/choices.h) of it.
 *
 * All candidates are what `auto` would run: the same context, choosing one for everything. They take turns in bursts of
 * some hundred microseconds, so all meet the same clock and the same neighbours, and around a call stand the other
 * products of a linear layer, as in a step. That matters: alone a small product by oneDNN is as fast as ours, and in a
 * step of 16 layers of 128 it cost 3 %. Calls go through the weights of many layers, which with their optimizer's state
 * are more than the last level of cache holds, so that weights come from where they come from in a step: memory; but
 * through no more than MR_TUNE_LAYERS, since a network of small layers has no more, and stays in cache. One thread is
 * measured in its CPU time, a team by the clock.
 *
 * In bf16 only products have more than one candidate.
 */
#ifndef MR_PROFILE_TUNE_H
#define MR_PROFILE_TUNE_H

#include "nn/choices.h"

/* `fused` executes what it does by more than so much faster, else oneDNN; in bf16 f32 inside what that does by more
 * than so much faster than `fused`. */
#define MR_TUNE_MARGIN 0.03
/* The gradient of a weight, which `fused` hands to the step without writing it, stays there unless another is faster by
 * so much, with momentum and with adam: what is written takes bandwidth from a pipeline's other workers, too. */
#define MR_TUNE_MARGIN_STEP 0.1

#define MR_TUNE_LAYERS 64

typedef struct mr_tune_point {
	mr_choice_kind kind;
	mr_dtype dtype;
	uint32_t n_threads;
	int64_t rows, size;           /* the class that was measured, by its bounds; 0: more than any */
	double fused_s;               /* a call; 0: too large to be measured, decided like the class below */
	double ratio[MR_N_CHOICE_BY]; /* the times of all candidates over that; 0: no candidate */
	mr_choice_by by;              /* is chosen */
} mr_tune_point;

typedef struct mr_tune {
	uint32_t rounds;      /* turns a point, at least 1 */
	int64_t largest;      /* most elements of any tensor that is measured; 0: 2^24 */
	uint64_t cache_bytes; /* of the last level of cache; 0: not known */
	uint64_t l2_bytes;    /* of a core's L2, by which products are cut as in a run; 0: not known */
	void (*tell)(void *arg, const mr_tune_point *p); /* of each point; may be NULL */
	void *arg;
} mr_tune;

/** Measure @dtype, f32 or bf16, with @n_threads: @base with that part replaced. The caller destroys *@out. Errors:
 * MR_ECONFIG there is nothing to choose on this machine, MR_EDNN, MR_ERESOURCE. */
mr_status mr_tune_run(const mr_tune *t, const mr_choices *base, mr_dtype dtype, uint32_t n_threads,
		      mr_choices **out) MR_MUST_USE;

#endif
