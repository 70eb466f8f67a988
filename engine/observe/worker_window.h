/*
 * worker_window.h - what the workers did since a moment: the part of the time in which each computed, and the parts in
 * which it waited, by cause. Shares of workers are rows of their own (mr_executor_rows).
 *
 * Single steps are too short to measure that: a window has at least a fifth of a second.
 */
#ifndef MR_OBSERVE_WORKER_WINDOW_H
#define MR_OBSERVE_WORKER_WINDOW_H

#include "report/figures.h"
#include "report/records.h"
#include "session/session.h"

/* All zero: not begun. */
typedef struct mr_worker_window {
	uint64_t begin_ns;
	uint64_t *spent;    /* [n_rows][MR_N_WAITS] then: computing in place of MR_WAIT_NONE, waiting; owned */
	mr_times *row;      /* [n_rows] parts of the last whole window; NAN before the first; owned */
	mr_message_sum between; /* of all ranks, then */
	uint32_t n_rows;    /* 0: not begun, or no memory */
} mr_worker_window;

/** Begin a window at @now_ns: before the first step, and after what it must not include. Without memory the figures
 * stay unknown. */
void mr_worker_window_begin(mr_worker_window *w, const mr_executor *x, uint64_t now_ns);

/** If the window of @x is long enough at @now_ns (@any: however short), fill in w->row and the figures of all
 * workers together in @all, and begin the next. */
void mr_worker_window_take(mr_worker_window *w, const mr_executor *x, uint64_t now_ns, bool any, mr_figures *all);

/** The same of the whole training in this session, which took @train_ns; while paused. */
void mr_worker_window_whole(mr_worker_window *w, const mr_executor *x, uint64_t train_ns, mr_figures *all);

void mr_worker_window_fini(mr_worker_window *w);

mr_times mr_times_unknown(void);

/** The seconds of row @id in the training of this session, which took @train_ns; while paused. */
mr_times mr_worker_times(const mr_executor *x, uint32_t id, uint64_t train_ns);

#endif
