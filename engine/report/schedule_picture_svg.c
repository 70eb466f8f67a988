/*
 * schedule_picture_svg.c - schedule pictures as SVG, one or several on one axis.
 *
 * Layout, top to bottom: title, subtitle, legend (as many lines as it needs), for each picture its title (where there
 * are several) and its rows, axis. All coordinates are absolute and computed here, so that nothing depends on how a
 * viewer measures text; widths of text are estimated generously.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "report/records.h"
#include "report/schedule_frame.h"
#include "report/schedule_lanes.h"
#include "report/schedule_picture.h"
#include "report/svg.h"

#define MARGIN 20.0
#define MAX_DRAWING 2300.0 /* pixels for the whole time */
#define MIN_DRAWING 520.0
#define ROW_GAP 10.0
#define STACKED_GAP 4.0 /* between the rows of one of several pictures */
#define PANEL_TITLE 22.0

/* One of the pictures. */
typedef struct mr_strip {
	const mr_schedule_picture *p;
	mr_schedule_frame frame;
	mr_schedule_lanes lanes;
	double top; /* of its rows */
} mr_strip;

typedef struct mr_drawing {
	mr_strip *panel; /* [n] */
	size_t n;
	mr_schedule_frame frame;    /* of all */
	unsigned lanes;             /* most lanes of any worker */
	bool versions;              /* of any picture */
	mr_svg svg;
	double scale;               /* pixels a trace time unit */
	double left, row, gap;      /* where the rows begin, height of one, distance of two */
	double top, bottom;         /* of all rows */
	double width, drawing;      /* of the file, and of its rows */
	bool boxes[MR_N_OPS], tick;
} mr_drawing;

/* Later stages or directions of a worker are paler. */
static double opacity(const mr_strip *a, const mr_trace_rec *r)
{
	if (a->lanes.most < 2 || !mr_op_is_compute(r->op))
		return 1;
	return 1 - 0.55 * mr_schedule_lanes_of(&a->lanes, r) / (a->lanes.most - 1);
}

/* An optimizer step without duration shows when a version appears; such reductions and norms would only hide it. */
static bool is_tick(const mr_trace_rec *r)
{
	return r->op == MR_OP_U && r->end_ns == r->begin_ns;
}

static void see_ops(mr_drawing *v, const mr_schedule_picture *p)
{
	for (size_t i = 0; i < p->n_rec; i++) {
		const mr_trace_rec *r = &p->rec[i];

		if (r->end_ns > r->begin_ns)
			v->boxes[r->op] = true;
		v->tick |= is_tick(r);
	}
}

/* Wide enough that the shortest box holds its number, within the limits of a page. */
static void choose_scale(mr_drawing *v)
{
	double span = (double)(v->frame.to - v->frame.from), px = v->versions ? 26 : 22;

	if (span == 0) {
		v->drawing = MIN_DRAWING;
		v->scale = 1;
		return;
	}
	px = fmax(px, 7.5 * (v->frame.digits + (v->lanes > 2)) + 6);
	v->drawing = px / (double)v->frame.shortest * span;
	v->drawing = v->drawing > MAX_DRAWING ? MAX_DRAWING : v->drawing < MIN_DRAWING ? MIN_DRAWING : v->drawing;
	v->scale = v->drawing / span;
}

static double x_of(const mr_drawing *v, uint64_t t)
{
	return v->left + (double)(t - v->frame.from) * v->scale;
}

static double y_of(const mr_drawing *v, const mr_strip *a, uint16_t worker)
{
	return a->top + worker * (v->row + v->gap);
}

/* Lay out the legend from @y on; returns where it ends. */
static double legend(const mr_drawing *v, bool draw, double y)
{
	static const uint8_t order[] = {MR_OP_F, MR_OP_R,  MR_OP_B, MR_OP_I, MR_OP_W,
					MR_OP_N, MR_OP_AR, MR_OP_U, MR_OP_V, MR_OP_AVG};
	mr_svg_legend l = mr_svg_legend_begin(draw ? &v->svg : NULL, v->left, v->width - MARGIN, y);
	char swatch[160];

	for (unsigned i = 0; i < sizeof(order); i++) {
		uint8_t op = order[i];

		if (!v->boxes[op] && !(op == MR_OP_U && v->tick))
			continue;
		snprintf(swatch, sizeof(swatch),
			 v->boxes[op] ? "<rect class=\"%s\" width=\"12\" height=\"12\" rx=\"2\"/>"
				      : "<path class=\"%s\" d=\"M2 3h8l-4 7z\"/>",
			 mr_svg_op(op));
		mr_svg_legend_put(&l, 12, swatch, mr_svg_op_name(op));
	}
	snprintf(swatch, sizeof(swatch),
		 "<rect class=\"frame\" width=\"12\" height=\"12\" rx=\"2\" fill=\"url(#%sidle)\"/>",
		 v->svg.scope);
	mr_svg_legend_put(&l, 12, swatch, "idle");
	if (v->lanes > 1)
		mr_svg_legend_put(&l, 12,
				  "<rect class=\"under\" width=\"12\" height=\"12\"/>"
				  "<rect class=\"oF\" width=\"12\" height=\"12\" rx=\"2\" fill-opacity=\"0.45\"/>",
				  v->lanes == 2 ? "paler: second pipe or stage of a worker"
						: "a, b, c ..., paler and paler: a worker's first, second, third ... "
						  "pipe or stage");
	if (v->versions)
		mr_svg_legend_put(&l, 14,
				  "<text class=\"n gray\" fill=\"currentColor\" x=\"6\" y=\"5\">7</text>"
				  "<text class=\"v gray\" fill=\"currentColor\" x=\"6\" y=\"14\">v4</text>",
				  "micro-batch 7 on version 4 of the weights");
	return mr_svg_legend_end(&l);
}

static void put_axis(const mr_drawing *v)
{
	const mr_schedule_picture *p = v->panel[0].p;
	double units = (double)(v->frame.to - v->frame.from) / p->unit;
	double px = p->unit * v->scale, tick = mr_svg_tick(56 / px);
	char name[64];

	for (unsigned k = 0; v->frame.to > v->frame.from && k * tick <= units * (1 + 1e-9); k++) {
		double x = v->left + k * tick * px;

		fprintf(v->svg.out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, v->top - 4, v->bottom);
		snprintf(name, sizeof(name), "%g", k * tick);
		mr_svg_text(&v->svg, x, v->bottom + 15, "tick", name);
	}
	fprintf(v->svg.out, "<path class=\"axis\" d=\"M%.1f %.1fh%.1f\"/>\n", v->left, v->bottom, v->drawing);
	snprintf(name, sizeof(name), "time%s%s", p->unit_name && *p->unit_name ? " in " : "",
		 p->unit_name ? p->unit_name : "");
	mr_svg_text(&v->svg, v->left + v->drawing / 2, v->bottom + 34, "name", name);
}

static void put_label(const mr_drawing *v, const mr_strip *a, const mr_trace_rec *r, double x, double w, double y)
{
	bool compute = mr_op_is_compute(r->op), version = a->p->versions && compute;
	char label[16], below[24], letter[2] = {0};
	double size = 11;

	if (compute && a->lanes.most > 1)
		letter[0] = mr_schedule_lanes_letter(&a->lanes, mr_schedule_lanes_of(&a->lanes, r));
	if (compute)
		snprintf(label, sizeof(label), "%u%s", r->micro, letter);
	else
		snprintf(label, sizeof(label), "%s", mr_op_name((mr_op)r->op));
	if (mr_svg_text_width(label, 12) + 2 > w)
		size = 9;
	if (mr_svg_text_width(label, size + 1) + 2 > w)
		return;
	snprintf(below, sizeof(below), "v%u", r->version);
	version = version && mr_svg_text_width(below, 9) + 2 <= w;
	fprintf(v->svg.out, "<text class=\"n\"%s fill=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		size < 11 ? " style=\"font-size:9px\"" : "", mr_svg_op_text(r->op), x + w / 2,
		y + v->row / 2 + (version ? 0 : 4), label);
	if (version)
		fprintf(v->svg.out, "<text class=\"v\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
			mr_svg_op_text(r->op), x + w / 2, y + v->row / 2 + 11, below);
}

static void put_record(const mr_drawing *v, const mr_strip *a, const mr_trace_rec *r)
{
	double x = x_of(v, r->begin_ns), w = x_of(v, r->end_ns) - x, y = y_of(v, a, r->worker), unit = a->p->unit;
	char pale[32] = "";

	if (is_tick(r))
		fprintf(v->svg.out,
			"<path class=\"%s\" d=\"M%.1f %.1fh7l-3.5 6z\"><title>%s s%u v%u at %g</title></path>\n",
			mr_svg_op(r->op), x - 3.5, y - 7, mr_op_name((mr_op)r->op), r->stage, r->version,
			(double)(r->begin_ns - v->frame.from) / unit);
	if (r->end_ns == r->begin_ns)
		return;
	if (opacity(a, r) < 1) { /* so that the hatching does not shine through */
		snprintf(pale, sizeof(pale), " fill-opacity=\"%.2f\"", opacity(a, r));
		fprintf(v->svg.out,
			"<rect class=\"under\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>\n", x, y,
			w, v->row);
	}
	fprintf(v->svg.out,
		"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"%d\" class=\"%s\"%s%s>",
		x + 0.5, y, w > 1.5 ? w - 1 : 0.5, v->row, w > 6 ? 2 : 0, mr_svg_op(r->op), pale,
		w > 4 ? "" : " stroke-width=\"0\"");
	fprintf(v->svg.out, "<title>%s m%u s%u p%u v%u: %g to %g</title></rect>\n", mr_op_name((mr_op)r->op), r->micro,
		r->stage, r->pipe, r->version, (double)(r->begin_ns - v->frame.from) / unit,
		(double)(r->end_ns - v->frame.from) / unit);
	put_label(v, a, r, x, w, y);
}

static void put_rows(const mr_drawing *v, const mr_strip *a)
{
	char name[24];

	for (unsigned w = 0; w < a->p->n_workers; w++) {
		double y = y_of(v, a, (uint16_t)w);

		mr_svg_text(&v->svg, v->left - 8, y + v->row / 2 + 4, "row",
			    mr_report_row_name(w, a->p->n_shares, name));
		fprintf(v->svg.out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" fill=\"url(#%sidle)\"/>\n",
			v->left, y, v->drawing, v->row, v->svg.scope);
	}
}

static void put_panel(const mr_drawing *v, const mr_strip *a)
{
	if (v->n > 1 && a->p->title)
		mr_svg_text(&v->svg, v->left, a->top - 7, "panel", a->p->title);
	for (size_t i = 0; i < a->p->n_rec; i++)
		put_record(v, a, &a->p->rec[i]);
}

static void put_head(const mr_drawing *v, double height, const char *title)
{
	mr_svg_begin(&v->svg, v->width, height, *title ? title : "schedule");
	fprintf(v->svg.out,
		"<defs><pattern id=\"%sidle\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
		"patternTransform=\"rotate(45)\"><rect class=\"soft\" width=\"5\" height=\"5\"/>"
		"<rect class=\"hatch\" width=\"1.5\" height=\"5\"/></pattern></defs>\n",
		v->svg.scope);
}

/* Collect the needs of all pictures together: frame, lanes, ops. */
static mr_status measure(mr_drawing *v, const mr_schedule_picture *p)
{
	v->frame = (mr_schedule_frame){.from = UINT64_MAX, .shortest = UINT64_MAX, .digits = 1};
	for (size_t i = 0; i < v->n; i++) {
		mr_strip *a = &v->panel[i];

		a->p = &p[i];
		MR_TRY(mr_schedule_frame_find(&p[i], &a->frame));
		MR_TRY(mr_schedule_lanes_init(&a->lanes, &p[i]));
		v->frame.from = a->frame.from < v->frame.from ? a->frame.from : v->frame.from;
		v->frame.to = a->frame.to > v->frame.to ? a->frame.to : v->frame.to;
		v->frame.shortest = a->frame.shortest < v->frame.shortest ? a->frame.shortest : v->frame.shortest;
		v->frame.digits = a->frame.digits > v->frame.digits ? a->frame.digits : v->frame.digits;
		v->lanes = a->lanes.most > v->lanes ? a->lanes.most : v->lanes;
		v->versions |= p[i].versions;
		see_ops(v, &p[i]);
	}
	return MR_OK;
}

/* Place everything, from the legend at @y down. */
static void lay_out(mr_drawing *v, const char *title, const char *sub, double y)
{
	size_t longest = 2;

	for (size_t i = 0; i < v->n; i++) {
		const mr_schedule_picture *p = v->panel[i].p;
		char name[24];
		size_t n = strlen(mr_report_row_name(p->n_workers - 1u, p->n_shares, name));

		longest = n > longest ? n : longest;
	}
	v->row = v->versions ? 36 : v->n > 1 ? 20 : 28;
	v->gap = v->n > 1 ? STACKED_GAP : ROW_GAP;
	choose_scale(v);
	v->left = MARGIN + 10 + 8.0 * (double)longest;
	v->width = v->left + v->drawing + MARGIN + 8;
	v->width = fmax(v->width, v->left + fmax(mr_svg_text_width(title, 19), mr_svg_text_width(sub, 12.5)) + MARGIN);
	v->top = legend(v, false, y) + 16;
	y = v->top;
	for (size_t i = 0; i < v->n; i++) {
		y += v->n > 1 ? PANEL_TITLE : 0;
		v->panel[i].top = y;
		y += v->panel[i].p->n_workers * (v->row + v->gap) - v->gap;
		v->bottom = y + 8;
		y += ROW_GAP;
	}
}

static void draw(mr_drawing *v, const char *title, const char *sub)
{
	double y = MARGIN - 4, legend_at;

	y += *title ? 26 : 0;
	y += *sub ? 20 : 0;
	legend_at = y + 14;
	lay_out(v, title, sub, legend_at);
	put_head(v, v->bottom + 48, title);
	if (*title)
		mr_svg_text(&v->svg, v->left, MARGIN + 14, "title", title);
	if (*sub)
		mr_svg_text(&v->svg, v->left, y, "sub", sub);
	legend(v, true, legend_at);
	for (size_t i = 0; i < v->n; i++)
		put_rows(v, &v->panel[i]);
	put_axis(v);
	for (size_t i = 0; i < v->n; i++)
		put_panel(v, &v->panel[i]);
}

mr_status mr_schedule_picture_put(const mr_schedule_picture *p, size_t n, const char *title, const char *subtitle,
				  const mr_svg *svg)
{
	mr_drawing v = {.panel = calloc(n, sizeof(*v.panel)), .n = n, .svg = *svg};
	mr_status st;

	if (!v.panel)
		return mr_fail(MR_ERESOURCE, "no memory to draw %zu pictures", n);
	st = measure(&v, p);
	if (st == MR_OK)
		draw(&v, title ? title : "", subtitle ? subtitle : "");
	for (size_t i = 0; i < n; i++)
		mr_schedule_lanes_fini(&v.panel[i].lanes);
	free(v.panel);
	return st == MR_OK ? mr_svg_end(svg) : st;
}

mr_status mr_schedule_picture_stack(const mr_schedule_picture *p, size_t n, const char *title, const char *subtitle,
				    FILE *out)
{
	mr_svg svg = mr_svg_file(out);

	return mr_schedule_picture_put(p, n, title, subtitle, &svg);
}

mr_status mr_schedule_picture_svg(const mr_schedule_picture *p, FILE *out)
{
	return mr_schedule_picture_stack(p, 1, p->title, p->subtitle, out);
}
