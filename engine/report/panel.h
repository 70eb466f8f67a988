/*
 * panel.h - a rectangle with two axes inside an SVG picture: ticks, grid, names, a clip path, and lines in it.
 */
#ifndef MR_REPORT_PANEL_H
#define MR_REPORT_PANEL_H

#include <stdint.h>

#include "report/svg.h"

typedef struct mr_axis {
	const char *name;   /* with the unit; NULL: none; borrowed */
	bool log;           /* low is then above 0 */
	bool doubles;       /* log: ticks at powers of two, else of ten */
	bool plain;         /* of y: neither ticks nor numbers; x then has the grid */
	double low, high;   /* low < high */
} mr_axis;

typedef struct mr_panel {
	double left, top, width, height;
	mr_axis x, y;
	double beyond; /* marks on the edge are drawn whole: the clip path is larger than the frame by this */
	unsigned id;   /* of the clip path, among the panels of the picture */
} mr_panel;

/** An empty range, for mr_axis_see. */
mr_axis mr_axis_empty(const char *name, bool log);
/** Extend the range to @v, if @v can be shown. */
void mr_axis_see(mr_axis *a, double v);
/** After all: a range with at least one value gets a length above 0; without one it is 0 to 1 (log: 1 to 10). */
void mr_axis_close(mr_axis *a);
/** Is @v finite and, on a logarithmic axis, above 0? */
bool mr_axis_shows(const mr_axis *a, double v);

/** Where values are drawn; y of values far outside is cut to half a height outside. */
double mr_panel_x(const mr_panel *p, double v);
double mr_panel_y(const mr_panel *p, double v);

/** Draw grid, ticks, frame and names, and define the clip path. */
void mr_panel_put(const mr_panel *p, const mr_svg *v);
/** The attribute that clips to the panel: " clip-path=...". */
void mr_panel_clip(const mr_panel *p, const mr_svg *v);

/* A line of @n points, the x of which ascend; a NAN as y is no point. Borrowed. */
typedef struct mr_points {
	const double *x, *y;
	size_t n;
} mr_points;

/** The path of @l: "M1.0 2.0L3.0 4.0"; of more than @most points only each k-th and the last is drawn (0: all). */
void mr_panel_path(const mr_panel *p, const mr_points *l, size_t most, FILE *out);

/** Do nine tenths of the points of @a lie on the line of @b, within a pixel? Without points: false. */
bool mr_panel_coincide(const mr_panel *p, const mr_points *a, const mr_points *b);

#endif
