/*
 * chart.h - charts as SVG: lines and points over two axes, and bars.
 *
 * Lines get colours, then dashes, so that no two look alike; a line that lies on an earlier one is dashed, has rings
 * for marks, and the legend names the other. The legend stands below the title.
 */
#ifndef MR_REPORT_CHART_H
#define MR_REPORT_CHART_H

#include "report/panel.h"

typedef struct mr_chart_series {
	const char *name;          /* in the legend; NULL: no entry */
	mr_points at;
	const double *low, *high;  /* [at.n] a band around the line; NULL: none */
	const char *const *label;  /* [at.n] text beside each point; NULL: none */
	bool marks;                /* a dot at each point */
	bool no_line;              /* marks alone */
	bool with_last;            /* they belong to the series before, and have its colour */
	bool dashed;               /* at least */
} mr_chart_series;

typedef struct mr_chart {
	const char *title;         /* NULL: none */
	const char *subtitle;      /* NULL: none */
	const char *x_name, *y_name; /* with units */
	bool log_x, log_y;
	bool doubles_x;            /* log_x: ticks at powers of two */
	bool from_x0, from_y0;     /* linear: the axis shows 0 */
	double y_low;              /* the axis begins there or below; 0: with the smallest value */
	double y_floor;            /* smaller values are not shown; 0: all are */
	double width, height;      /* of the panel; 0: 620, 300 */
	const mr_chart_series *series;
	size_t n;
} mr_chart;

/** Draw @c. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_chart_put(const mr_chart *c, const mr_svg *v) MR_MUST_USE;

typedef struct mr_bars_row {
	const char *name;
	const double *value;       /* [n_parts], at least 0; NAN: no such bar */
	const char *text;          /* behind the bar; NULL: none */
} mr_bars_row;

/* Horizontal bars: a row each, its parts behind each other, or below each other. */
typedef struct mr_bars {
	const char *title, *subtitle; /* NULL: none */
	const char *x_name;           /* with the unit */
	bool beside;                  /* parts are bars of their own, below each other */
	double high;                  /* the end of the axis; 0: the largest bar's */
	const char *const *part;      /* [n_parts] names in the legend */
	size_t n_parts;
	const mr_bars_row *rows;
	size_t n;
} mr_bars;

/** Draw @b. Errors: MR_EIO. */
mr_status mr_bars_put(const mr_bars *b, const mr_svg *v) MR_MUST_USE;

#endif
