/*
 * svg.h - the parts that all SVG pictures share: one style, texts, colours, ticks, in light and dark.
 *
 *	mr_svg v = mr_svg_file(out);
 *	mr_svg_begin(&v, 480, 200, "what the picture shows");
 *	mr_svg_text(&v, 20, 30, "title", "bytes & seconds");
 *	fprintf(v.out, "<path class=\"%s\" stroke=\"currentColor\" d=\"M20 40h100\"/>\n", mr_svg_hue(0));
 *	mr_svg_end(&v);
 *
 * A picture is a file of its own, or embedded in a page. A file carries the style and a background, and is light or
 * dark as its viewer prefers; print and viewers without such a preference show it light. In a page the style stands
 * once, and pictures have no background. There are no scripts and no fonts; all coordinates are absolute, so widths of
 * texts are estimated, generously.
 *
 * Classes of texts: title, sub (below the title), panel (title of a part), legend, row (ends at its position: name of a
 * row), tick and name (centred: numbers and names of axes), value (begins at its position), n and v (inside boxes).
 * Classes of lines and areas: grid, axis, frame, soft (area that holds others), under (below what is half transparent),
 * and of boxes one for each instruction (mr_svg_op). Series have the colours of the classes mr_svg_hue, as `color`: use
 * them by "currentColor".
 */
#ifndef MR_REPORT_SVG_H
#define MR_REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

typedef struct mr_svg {
	FILE *out;         /* borrowed */
	bool embedded;     /* in a page that has the style */
	const char *scope; /* ids begin with it: pictures of one page differ in it; borrowed */
} mr_svg;

/** A picture that is a file of its own. */
mr_svg mr_svg_file(FILE *out);
/** A picture inside a page. */
mr_svg mr_svg_inside(FILE *out, const char *scope);

/** Begin a picture; @label says to those who cannot see it what it shows. */
void mr_svg_begin(const mr_svg *v, double width, double height, const char *label);
/** End it. Errors: MR_EIO when the file refuses. */
mr_status mr_svg_end(const mr_svg *v) MR_MUST_USE;

/** The rules of the style, for the style element of a page. */
void mr_svg_style(FILE *out);

/** @s for texts and attributes: markup is escaped, control characters are left out. */
void mr_svg_escape(FILE *out, const char *s);
/** A text of class @css at @x, @y (its baseline). */
void mr_svg_text(const mr_svg *v, double x, double y, const char *css, const char *s);
/** The width that @s takes at font size @size, estimated. */
double mr_svg_text_width(const char *s, double size);

#define MR_SVG_HUES 8
/** The class of series @i, the colours of which differ for 8 series, also for the colour-blind. */
const char *mr_svg_hue(size_t i);
#define MR_SVG_DASHES 4
/** The attribute that dashes line @i, 0 to 3: "" for 0, which is solid. */
const char *mr_svg_dash(size_t i);
/** The class of boxes of the operation @op (ir/op.h), the colour of texts in them, and its name in legends. */
const char *mr_svg_op(unsigned op);
const char *mr_svg_op_text(unsigned op);
const char *mr_svg_op_name(unsigned op);
/** The colour of its boxes, "#rrggbb". */
const char *mr_svg_op_fill(unsigned op);

/** The smallest of 1, 2, 5 times a power of ten that is at least @least; 1 where there is none. */
double mr_svg_tick(double least);
/** A number at an axis: "950", "1.2k", "3M", "0.001". Returns @buf. */
char *mr_svg_number(double x, char buf[32]);

/* A legend: entries side by side, in as many lines as they need. */
typedef struct mr_svg_legend {
	const mr_svg *svg; /* NULL: only measure */
	double left, right, x, y;
} mr_svg_legend;

#define MR_SVG_LEGEND_LINE 20.0

mr_svg_legend mr_svg_legend_begin(const mr_svg *v, double left, double right, double y);
/** The next entry: @swatch is drawn 12 high and @wide wide at the origin; @name follows. */
void mr_svg_legend_put(mr_svg_legend *l, double wide, const char *swatch, const char *name);
/** Where the legend ends. */
double mr_svg_legend_end(const mr_svg_legend *l);

#endif
