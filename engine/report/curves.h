/*
 * curves.h - loss curves of one or several runs as an SVG: over tokens or samples, and over time.
 *
 * Two panels share their vertical axis. Left: loss over tokens (or samples, if no run counts tokens), which compares
 * how well systems learn. Right: loss over seconds, which compares how fast. A run is one colour: a pale line for the
 * training loss, averaged over stretches of the run, and a bold one with dots for the validation loss; the legend
 * explains this. A run whose line lies on an earlier one is dashed and has rings around the other's dots, and the
 * legend names the other. A run without the count of a panel's horizontal axis is left out there, with a message.
 *
 * A picture as in svg.h, 960 pixels wide and 426 high or a little more.
 */
#ifndef MR_REPORT_CURVES_H
#define MR_REPORT_CURVES_H

#include <stdio.h>

#include "report/metrics_log.h"
#include "report/panel.h"

typedef struct mr_curve {
	const char *name;           /* in the legend */
	const mr_figures *rows; /* [n_rows], as mr_metrics_read gives them */
	size_t n_rows;
} mr_curve;

/** Draw the @n runs of @curves. @title may be NULL. Errors: MR_EINVAL no finite loss to draw; MR_EIO; MR_ERESOURCE. */
mr_status mr_curves_svg(const mr_curve *curves, size_t n, const char *title, FILE *out) MR_MUST_USE;
/** The same into @svg, which may be inside a page. */
mr_status mr_curves_put(const mr_curve *curves, size_t n, const char *title, const mr_svg *svg) MR_MUST_USE;

/** All figures of the rows as comma-separated values: columns run, step and the keys of metrics.jsonl, an empty cell
 * where a row has no such figure. Errors: MR_EIO. */
mr_status mr_curves_csv(const mr_curve *curves, size_t n, FILE *out) MR_MUST_USE;

#endif
