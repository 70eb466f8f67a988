/*
 * plot.h - line charts as SVG files (report/chart.h), for the tables of the theory. A series may carry a band (mean and
 * spread) and marks.
 */
#ifndef MR_PERF_RPD_PLOT_H
#define MR_PERF_RPD_PLOT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct series {
	char name[64];
	size_t n;
	double *x, *y;        /* owned once added */
	double *low, *high;   /* NULL: no band */
	bool marks, dashed;
	bool dots;            /* marks alone, without a line, in the colour of the series before */
} series;

typedef struct plot {
	const char *title, *x_label, *y_label;
	bool log_x, log_y;
	bool high_only;       /* a linear vertical axis need not show 0 */
	double y_floor;       /* log_y: smaller values are not shown; 0: all are shown */
	series at[24];
	size_t n;
} plot;

/** A new series of @n points with room for them; the caller fills x and y. */
series *plot_add(plot *p, const char *name, size_t n);
/** Allocate the band of a series; the caller fills low and high. */
void plot_band(series *s);
/** Write the chart to @path and free its series. Ends the program when it cannot. */
void plot_write(plot *p, const char *path);

#endif
