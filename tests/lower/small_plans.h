/*
 * small_plans.h - small plans of all kinds, made by hand or read from the golden orders: what the tests of lowering,
 * checker and walk work on. Compute only; the caller lowers and destroys them.
 */
#ifndef MR_TESTS_LOWER_SMALL_PLANS_H
#define MR_TESTS_LOWER_SMALL_PLANS_H

#include "ir/plan.h"

/* Straight pipelines: stage s on worker s. */
mr_plan *small_gpipe(uint16_t n_workers, uint32_t n_micro, bool lifo);
mr_plan *small_1f1b(uint16_t n_workers, uint32_t n_micro);
/* GPipe with several stages a worker, dealt round robin: all micro-batches pass one before the next. */
mr_plan *small_looped(uint16_t n_workers, uint16_t chunks, uint32_t n_micro);
/* GPipe without a barrier, every micro-batch but @kept recomputed. */
mr_plan *small_recompute(uint16_t n_workers, uint32_t n_micro, uint32_t kept);
/* 1F1B with I and W apart, W lagging by the worker's number. */
mr_plan *small_split(uint16_t n_workers, uint32_t n_micro);
/* 1F1B with I for B, and a W of @span micro-batches behind every @span-th I. */
mr_plan *small_merged(uint16_t n_workers, uint32_t n_micro, uint32_t span, bool recompute);
/* Endless; with @drain the epilogue that completes what is in flight. */
mr_plan *small_pipedream(uint16_t n_workers, bool vertical_sync, bool drain);
mr_plan *small_pipedream_finite(uint16_t n_workers, uint32_t n_micro);
/* Commits every @need micro-batches without a flush, on latest weights; B reads what is latest then. */
mr_plan *small_accumulate(uint16_t n_workers, uint32_t need);
/* The same order, reading @delay commits behind the batch at the first @delayed stages, forward and backward. */
mr_plan *small_delayed(uint16_t n_workers, uint32_t need, uint32_t delay, uint16_t delayed);
/* Endless, with @n_early versions made before the body begins: stage k has @extra more forwards before its first
 * backward. */
mr_plan *small_irregular(uint16_t n_workers, uint32_t n_early, uint32_t extra);
/* F only. */
mr_plan *small_forward(uint16_t n_workers, uint32_t n_micro);
/* One of tests/golden/sync, without ".json". */
mr_plan *small_golden(const char *name);

/* All of them and variants (clip, tied, local flush, recompute), numbered; NULL behind the last. @name says which. */
mr_plan *small_plan(int number, const char **name);

#endif
