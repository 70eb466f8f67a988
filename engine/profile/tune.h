/*
 * tune.h - measures which backend executes each kind of operation faster on this machine, and makes a table of choices
 * (nn/choices.h) of it.
 *
 * Both candidates run as `auto` would run them: the same context, choosing all or nothing. They alternate in bursts of
 * some hundred microseconds, so both meet the same clock and the same neighbours, and between two calls the other
 * products of a linear layer run, as in a step. That matters: alone a small product by oneDNN is as fast as ours, and
 * in a step of 16 layers of 128 it cost 3 %. One thread is measured in its CPU time, a team by the clock.
 */
#ifndef MR_PROFILE_TUNE_H
#define MR_PROFILE_TUNE_H

#include "nn/choices.h"

/* `fused` is chosen if it is faster by more than this, else oneDNN. */
#define MR_TUNE_MARGIN 0.03
/* The gradient of a weight, which `fused` passes to the step without writing it, stays with `fused` unless oneDNN is
 * faster by this much, with momentum and with adam: in this measurement a call has caches and bandwidth that a step's
 * other layers take. (At 16 rows and 2^20 weights 39 % here made whole steps of 6 layers 8 % longer.) */
#define MR_TUNE_MARGIN_STEP 0.5

typedef struct mr_tune_point {
	mr_choice_kind kind;
	uint32_t n_threads;
	int64_t rows, size;   /* the class that was measured, by its bounds; 0: more than any */
	double fused_s;       /* a call; 0: too large to be measured, the class below decides */
	double ratio;         /* oneDNN's time over fused_s */
	bool onednn;          /* oneDNN is chosen */
} mr_tune_point;

typedef struct mr_tune {
	uint32_t rounds;      /* turns a point, at least 1 */
	int64_t largest;      /* most elements of any tensor that is measured; 0: 2^24 */
	void (*tell)(void *arg, const mr_tune_point *p); /* called with each point; may be NULL */
	void *arg;
} mr_tune;

/** Measure f32 with @n_threads, and replace that part of @base. The caller destroys *@out. Errors: MR_ECONFIG there is
 * nothing to choose on this machine, MR_EDNN, MR_ERESOURCE. */
mr_status mr_tune_run(const mr_tune *t, const mr_choices *base, uint32_t n_threads, mr_choices **out) MR_MUST_USE;

#endif
