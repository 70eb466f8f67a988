/*
 * windows.h - the windows of an endless plan (ir/endless.h) while a run carries it out: made when the first one asks,
 * kept until the last one has gone on.
 *
 * Workers stand a few micro-batches apart, and the loader ahead of them, so two or three windows are in use; a few more
 * are kept. One that is asked for again after that is made again, the same. The loader comes first, as a rule, so that
 * workers find theirs.
 *
 * Any thread; a thread that asks for a window that is being made waits for it.
 */
#ifndef MR_EXEC_WINDOWS_H
#define MR_EXEC_WINDOWS_H

#include "ir/plan.h"

typedef struct mr_windows mr_windows;

/* Where a worker stands in them. */
typedef struct mr_window_place {
	const mr_plan *plan; /* the window, taken; NULL: none, before the start or after an error */
	uint64_t n_begun;    /* F that the worker has done */
} mr_window_place;

/** Borrows @plan, which is endless, lowered and checked. Errors: MR_ERESOURCE. */
mr_status mr_windows_create(const mr_plan *plan, mr_windows **out) MR_MUST_USE;
void mr_windows_destroy(mr_windows *w); /* accepts NULL */

/** Window @n, proved to follow on the one before it; it stays until given back. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_windows_take(mr_windows *w, uint64_t n, const mr_plan **out) MR_MUST_USE;
void mr_windows_give_back(mr_windows *w, const mr_plan *window); /* accepts NULL */

/** Where F of micro-batch @m at stage @s stands, which there is; the window is given back. Errors: as mr_windows_take.
 */
mr_status mr_windows_forward(mr_windows *w, uint16_t s, uint64_t m, const mr_plan **window, uint64_t *n,
			     uint32_t *at) MR_MUST_USE;

/** F that stage @s has done at pause point @step. Errors: as mr_windows_take. */
mr_status mr_windows_begun(mr_windows *w, uint16_t s, uint64_t step, uint64_t *n_f) MR_MUST_USE;

/** The window and the place in its list of @worker with which it goes on from pause point @step; the window is given
 * back. */
mr_status mr_windows_seek(mr_windows *w, uint16_t worker, uint64_t step, uint64_t *n, const mr_plan **window,
			  uint32_t *at) MR_MUST_USE;

/** Windows made since the start, and the most that lay in memory at once. */
void mr_windows_count(mr_windows *w, uint64_t *made, uint32_t *most);

#endif
