/*
 * progress.h - the line that shows the progress of a training.
 *
 *	step 120/1000 loss 2.3412 lr 3.00e-04 norm 0.812 tok/s 12.3k ms 166 gflop/s 45.1 peak 62% bubble 3.1% eta 1:23
 *	step 120/1000 loss 2.341 lr 3e-4 norm 0.81 tok/s 12k ms 166 bubble 3% eta 1:23
 *
 * `key value` pairs in a fixed order, so that eyes and grep find them. Unknown figures are left out:
 * there is never a placeholder for a loss. On a terminal the line redraws itself in place and ends before the last
 * column (a line that wraps could not be redrawn). What does not fit is first written with fewer digits, as in the
 * second line above, which 80 columns hold; then fields are left out, the loss and the ETA last. In a pipe or a file it
 * is a plain line now and then, whole, without escapes.
 *
 * Thread: one at a time.
 */
#ifndef MR_REPORT_PROGRESS_H
#define MR_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/figures.h"

/**
 * Write the line, without newline, to @line; @rate_name is "tok/s" or "samples/s". @color: keys are dimmed by
 * escapes, which do not count as columns. If not all fits into @columns (0: any number), the share of the peak and then
 * gflop/s are left out; then all values get fewer digits; then these are left out: the number of all steps, top5,
 * accuracy and its kind, the gradient's norm, lr, milliseconds, rate, val, bubble, step, ETA and at last the loss.
 */
void mr_progress_format(const mr_figures *s, const char *rate_name, bool color, unsigned columns,
			char line[512]);
/** The same without the step; "" without figures. */
void mr_progress_without_step(const mr_figures *s, const char *rate_name, unsigned columns, char line[512]);

typedef struct mr_progress_params {
	FILE *out;             /* borrowed */
	const char *rate_name; /* borrowed: "tok/s", "samples/s" */
	bool terminal;         /* redraw in place */
	bool color;
	double every_seconds;  /* least time between two lines (terminal: redraws) */
	uint64_t every_steps;  /* a line at every multiple of it, too (not on a terminal); 0: no such lines */
} mr_progress_params;

/** Parameters for @out, from isatty, NO_COLOR and TERM=dumb; 0.2 s between redraws, 5 s between lines. */
mr_progress_params mr_progress_defaults(FILE *out, const char *rate_name);

typedef struct mr_progress {
	mr_progress_params p;
	double last_seconds;  /* time of the last line; < 0: none yet */
	uint64_t last_step;   /* the step that it showed */
	double last_val_loss;
	_Atomic bool stands;  /* a line without a final newline is on the terminal; a watchdog that ends the
	                         run reads this, too */
} mr_progress;

void mr_progress_init(mr_progress *p, const mr_progress_params *params);

/** Is a new line due at @now_seconds, on any clock that only grows? If not, the caller need not prepare a state. And
 * draw @s if a line is due. */
bool mr_progress_due(const mr_progress *p, uint64_t step, double now_seconds);
void mr_progress_update(mr_progress *p, const mr_figures *s, double now_seconds);

/** Draw @s at any time, unless the last line (which is still there) was of this step and this validation loss. */
void mr_progress_force(mr_progress *p, const mr_figures *s, double now_seconds);

/** End: keeps the last line, on a terminal with a newline after it. */
void mr_progress_finish(mr_progress *p);

#endif
