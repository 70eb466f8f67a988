/*
 * window_store.h - the windows of an endless plan (ir/endless.h) during a run: each is made at its first request and
 * kept until the last user has given it back.
 *
 * Workers are a few micro-batches apart, and the loader is ahead of them, so two or three windows are in use; a few
 * more are kept. A window that is requested later is made again, and is the same. The loader mostly comes first, so
 * workers find theirs ready.
 *
 * Any thread; a thread that requests a window while another makes it waits for it.
 */
#ifndef MR_EXEC_FEATURES_WINDOW_STORE_H
#define MR_EXEC_FEATURES_WINDOW_STORE_H

#include "ir/plan.h"

typedef struct mr_windows mr_windows;

/* The position of a worker in them. */
typedef struct mr_window_place {
	const mr_plan *plan; /* the window, taken; NULL: none, before the start or after an error */
	uint64_t n_begun;    /* F that the worker has done */
} mr_window_place;

/** Borrows @plan, which is endless, lowered and checked. Errors: MR_ERESOURCE. */
mr_status mr_windows_create(const mr_plan *plan, mr_windows **out) MR_MUST_USE;
void mr_windows_destroy(mr_windows *w); /* accepts NULL */

/** Take window @n, proved to follow the one before it; it stays until given back. Errors: MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_windows_take(mr_windows *w, uint64_t n, const mr_plan **out) MR_MUST_USE;
void mr_windows_give_back(mr_windows *w, const mr_plan *window); /* accepts NULL */

/** Find F of micro-batch @m at stage @s, which must exist: its window, which the caller gives back, the window's number
 * @n, and its place in the list. Errors: those of mr_windows_take. */
mr_status mr_windows_forward(mr_windows *w, uint16_t s, uint64_t m, const mr_plan **window, uint64_t *n,
			     uint32_t *at) MR_MUST_USE;

/** Number of F that stage @s has done at pause point @step. Errors: those of mr_windows_take. */
mr_status mr_windows_begun(mr_windows *w, uint16_t s, uint64_t step, uint64_t *n_f) MR_MUST_USE;

/** The window and the place in its list from which @worker continues at pause point @step; the caller gives the window
 * back. */
mr_status mr_windows_seek(mr_windows *w, uint16_t worker, uint64_t step, uint64_t *n, const mr_plan **window,
			  uint32_t *at) MR_MUST_USE;

/** Windows made since the start, and the most that lay in memory at once. */
void mr_windows_count(mr_windows *w, uint64_t *made, uint32_t *most);

#endif
