/*
 * tune.h - measures how long each backend takes for each kind of operation and class of shape on this machine.
 * tune_table.h makes a table of choices (nn/choices.h) of it.
 *
 * All candidates are what `auto` would run: the same context, choosing one for everything. They take turns in bursts of
 * some hundred microseconds, so all meet the same clock and the same neighbours, and around a call stand the other
 * products of a linear layer, as in a step. That matters: alone a small product by oneDNN is as fast as ours, and in a
 * step of 16 layers of 128 it cost 3 %. Calls go through the weights of many layers, which with their optimizer's state
 * are more than the last level of cache holds, so that weights come from where they come from in a step: memory; but
 * through no more than MR_TUNE_LAYERS, since a network of small layers has no more, and stays in cache. One thread is
 * measured in its CPU time, a team by the clock.
 *
 * A product of many weights is measured square, and half as wide or as deep again, and the worst counts: layers have
 * all shapes, and a library may be good at some.
 *
 * An LSTM or GRU is measured as a whole layer, forward and backward with its steps, by one thread.
 *
 * In bf16 only products have more than one candidate.
 */
#ifndef MR_PROFILE_TUNE_H
#define MR_PROFILE_TUNE_H

#include <stdio.h>

#include "nn/choices.h"

/* oneDNN executes an operation that takes it at most so much longer than `fused`. The gradient of a weight is measured
 * with the step that consumes it, which `fused` does without writing the gradient, so there the margin holds for both
 * together, with momentum and with adam. */
#define MR_TUNE_MARGIN 0.05
/* f32 inside executes a product in bf16 that takes `fused` more than so much longer. */
#define MR_TUNE_MARGIN_F32 0.03

#define MR_TUNE_LAYERS 64

/* The class of shape @row, @size of one kind. */
typedef struct mr_tune_point {
	mr_choice_kind kind;
	char isa[16];                 /* mr_kernels_isa */
	mr_dtype dtype;
	bool team;
	uint32_t row, size;           /* mr_choice_most_rows, mr_choice_most_size */
	double fused_s;               /* a call */
	double ratio[MR_N_CHOICE_BY]; /* the times of all candidates over that; 0: no candidate */
} mr_tune_point;

/* Those of one machine with one library. */
typedef struct mr_tune_points {
	char made[200];               /* which */
	mr_tune_point *point;
	size_t n;
} mr_tune_points;

typedef struct mr_tune {
	uint32_t rounds;      /* turns a point, at least 1 */
	uint32_t only;        /* kinds of operations, a bit each; 0: all */
	int64_t largest;      /* most elements of any tensor that is measured; 0: 2^24 */
	uint64_t cache_bytes; /* of the last level of cache; 0: not known */
	uint64_t l2_bytes;    /* of a core's L2, by which products are cut as in a run; 0: not known */
	void (*tell)(void *arg, const mr_tune_point *p); /* of each point; may be NULL */
	void *arg;
} mr_tune;

/** Measure @dtype, f32 or bf16, with @n_threads, and append the points to @out; points that are too large are left
 * out. Errors: MR_ECONFIG there is nothing to choose on this machine, MR_EDNN, MR_ERESOURCE. */
mr_status mr_tune_run(const mr_tune *t, mr_dtype dtype, uint32_t n_threads, mr_tune_points *out) MR_MUST_USE;

/** Errors: MR_ERESOURCE. */
mr_status mr_tune_points_add(mr_tune_points *t, const mr_tune_point *p) MR_MUST_USE;
void mr_tune_points_fini(mr_tune_points *t);

/** Print them as a file that mr_tune_points_read reads. */
void mr_tune_points_print(const mr_tune_points *t, FILE *out);
/** Read @path; the caller calls fini, also after an error. Errors: MR_ECONFIG "path:line: message", MR_ERESOURCE. */
mr_status mr_tune_points_read(mr_tune_points *t, const char *path) MR_MUST_USE;

#endif
