/*
 * step_window.h - what the workers did over the last steps: the idle part of their time, and why they waited.
 *
 * Single steps are too short to measure that: the figures are those of a window of at least a fifth of a second, and
 * stand in the row of the step that ends it. In virtual time, where a step's record comes when some workers are already
 * beyond it, there are none.
 */
#ifndef MR_LOGBOOK_STEP_WINDOW_H
#define MR_LOGBOOK_STEP_WINDOW_H

#include "report/metrics_log.h"
#include "session/session.h"

typedef struct mr_step_window {
	uint64_t begin_ns, busy_ns, waited_ns[MR_N_WAITS];
} mr_step_window;

/** Begin a window at @now_ns: before the first step, and after evaluations and saves, which it must not include. */
void mr_step_window_begin(mr_step_window *w, const mr_executor *x, uint64_t now_ns);

/** If the window of @s's executor is long enough at @now_ns, fill in bubble and waits of @row, and begin the next. */
void mr_step_window_take(mr_step_window *w, const mr_session *s, uint64_t now_ns, mr_metrics_row *row);

#endif
