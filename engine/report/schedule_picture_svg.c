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
#include "report/schedule_frame.h"
#include "report/schedule_lanes.h"
#include "report/schedule_picture.h"

#define MARGIN 20.0
#define MAX_DRAWING 2300.0 /* pixels for the whole time */
#define MIN_DRAWING 520.0
#define LEGEND_LINE 20.0
#define ROW_GAP 10.0
#define STACKED_GAP 4.0 /* between the rows of one of several pictures */
#define PANEL_TITLE 22.0

/* How an op looks. Light fills with dark text; the four colours stay apart for the colour-blind. */
static const struct {
	const char *name, *fill, *edge, *text;
} looks[MR_N_OPS] = {
	[MR_OP_F] = {"forward", "#9ecbf2", "#4a86b8", "#10263a"},
	[MR_OP_R] = {"recompute", "#dfe3e8", "#8b95a1", "#20262d"},
	[MR_OP_B] = {"backward", "#f8c684", "#c2832b", "#3b2505"},
	[MR_OP_I] = {"input gradient", "#f2a79b", "#b85a4a", "#3d110a"},
	[MR_OP_W] = {"weight gradient", "#a8dcae", "#4c9457", "#0d2f13"},
	[MR_OP_N] = {"gradient norm", "#8b95a1", "#5b6470", "#ffffff"},
	[MR_OP_AR] = {"gradient reduction", "#c9b3e6", "#7d5fa8", "#25133d"},
	[MR_OP_U] = {"optimizer step", "#3f4a56", "#20262d", "#ffffff"},
	[MR_OP_V] = {"validation", "#8b95a1", "#5b6470", "#ffffff"},
	[MR_OP_AVG] = {"averaging", "#8b95a1", "#5b6470", "#ffffff"},
};

/* One of the pictures. */
typedef struct mr_panel {
	const mr_schedule_picture *p;
	mr_schedule_frame frame;
	mr_schedule_lanes lanes;
	double top; /* of its rows */
} mr_panel;

typedef struct mr_svg {
	mr_panel *panel; /* [n] */
	size_t n;
	mr_schedule_frame frame;    /* of all */
	unsigned lanes;             /* most lanes of any worker */
	bool versions;              /* of any picture */
	FILE *out;
	double scale;               /* pixels a trace time unit */
	double left, row, gap;      /* where the rows begin, height of one, distance of two */
	double top, bottom;         /* of all rows */
	double width, drawing;      /* of the file, and of its rows */
	bool boxes[MR_N_OPS], tick;
} mr_svg;

static double text_width(const char *s, double size)
{
	return (double)strlen(s) * size * 0.6;
}

static void put_escaped(FILE *out, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default:
			if ((unsigned char)*s >= 0x20)
				fputc(*s, out);
		}
}

static void put_text(FILE *out, double x, double y, const char *css, const char *s)
{
	fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", css, x, y);
	put_escaped(out, s);
	fputs("</text>\n", out);
}

/* Later stages or directions of a worker are paler. */
static double opacity(const mr_panel *a, const mr_trace_rec *r)
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

static void see_ops(mr_svg *v, const mr_schedule_picture *p)
{
	for (size_t i = 0; i < p->n_rec; i++) {
		const mr_trace_rec *r = &p->rec[i];

		if (r->end_ns > r->begin_ns)
			v->boxes[r->op] = true;
		v->tick |= is_tick(r);
	}
}

/* Wide enough that the shortest box holds its number, within the limits of a page. */
static void choose_scale(mr_svg *v)
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

static double x_of(const mr_svg *v, uint64_t t)
{
	return v->left + (double)(t - v->frame.from) * v->scale;
}

static double y_of(const mr_svg *v, const mr_panel *a, uint16_t worker)
{
	return a->top + worker * (v->row + v->gap);
}

/* One entry of the legend: advances *@x, and to a new line of the legend when it does not fit. Draws only when @draw.
 */
static void legend_entry(mr_svg *v, bool draw, double *x, double *y, const char *name, const char *swatch)
{
	double width = 18 + text_width(name, 11) + 18;

	if (*x > v->left && *x + width > v->width - MARGIN) {
		*x = v->left;
		*y += LEGEND_LINE;
	}
	if (draw) {
		fprintf(v->out, "<g transform=\"translate(%.1f %.1f)\">%s</g>\n", *x, *y, swatch);
		put_text(v->out, *x + 18, *y + 10, "legend", name);
	}
	*x += width;
}

/* Lay out the legend from @y on; returns where it ends. */
static double legend(mr_svg *v, bool draw, double y)
{
	static const uint8_t order[] = {MR_OP_F, MR_OP_R,  MR_OP_B, MR_OP_I, MR_OP_W,
					MR_OP_N, MR_OP_AR, MR_OP_U, MR_OP_V, MR_OP_AVG};
	double x = v->left;
	char swatch[160];

	for (unsigned i = 0; i < sizeof(order); i++) {
		uint8_t op = order[i];

		if (!v->boxes[op] && !(op == MR_OP_U && v->tick))
			continue;
		if (v->boxes[op])
			snprintf(swatch, sizeof(swatch),
				 "<rect width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\" stroke=\"%s\"/>",
				 looks[op].fill, looks[op].edge);
		else
			snprintf(swatch, sizeof(swatch), "<path d=\"M2 3h8l-4 7z\" fill=\"%s\"/>", looks[op].fill);
		legend_entry(v, draw, &x, &y, looks[op].name, swatch);
	}
	legend_entry(v, draw, &x, &y, "idle",
		     "<rect width=\"12\" height=\"12\" rx=\"2\" fill=\"url(#idle)\" stroke=\"#d5d9de\"/>");
	if (v->lanes > 1)
		legend_entry(
			v, draw, &x, &y,
			v->lanes == 2
				? "paler: second pipe or stage of a worker"
				: "a, b, c ..., paler and paler: a worker's first, second, third ... pipe or stage",
			"<rect width=\"12\" height=\"12\" rx=\"2\" fill=\"#9ecbf2\" fill-opacity=\"0.45\" "
			"stroke=\"#4a86b8\"/>");
	if (v->versions)
		legend_entry(v, draw, &x, &y, "micro-batch 7 on version 4 of the weights",
			     "<text class=\"n\" x=\"6\" y=\"5\">7</text><text class=\"v\" x=\"6\" y=\"14\">v4</text>");
	return y + LEGEND_LINE;
}

static void put_axis(const mr_svg *v)
{
	const mr_schedule_picture *p = v->panel[0].p;
	double units = (double)(v->frame.to - v->frame.from) / p->unit;
	double px = p->unit * v->scale, tick = mr_schedule_frame_tick(56 / px);

	for (unsigned k = 0; v->frame.to > v->frame.from && k * tick <= units * (1 + 1e-9); k++) {
		double x = v->left + k * tick * px;

		fprintf(v->out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, v->top - 4, v->bottom);
		fprintf(v->out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\">%g</text>\n", x, v->bottom + 15, k * tick);
	}
	fprintf(v->out, "<path class=\"axis\" d=\"M%.1f %.1fh%.1f\"/>\n", v->left, v->bottom, v->drawing);
	fprintf(v->out, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\">time%s", v->left + v->drawing / 2, v->bottom + 34,
		p->unit_name && *p->unit_name ? " in " : "");
	put_escaped(v->out, p->unit_name ? p->unit_name : "");
	fputs("</text>\n", v->out);
}

static void put_label(const mr_svg *v, const mr_panel *a, const mr_trace_rec *r, double x, double w, double y)
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
	if (text_width(label, 12) + 2 > w)
		size = 9;
	if (text_width(label, size + 1) + 2 > w)
		return;
	snprintf(below, sizeof(below), "v%u", r->version);
	version = version && text_width(below, 9) + 2 <= w;
	fprintf(v->out, "<text class=\"n\"%s fill=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		size < 11 ? " style=\"font-size:9px\"" : "", looks[r->op].text, x + w / 2,
		y + v->row / 2 + (version ? 0 : 4), label);
	if (version)
		fprintf(v->out, "<text class=\"v\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", looks[r->op].text,
			x + w / 2, y + v->row / 2 + 11, below);
}

static void put_record(const mr_svg *v, const mr_panel *a, const mr_trace_rec *r)
{
	double x = x_of(v, r->begin_ns), w = x_of(v, r->end_ns) - x, y = y_of(v, a, r->worker), unit = a->p->unit;
	char pale[32] = "";

	if (is_tick(r))
		fprintf(v->out, "<path d=\"M%.1f %.1fh7l-3.5 6z\" fill=\"%s\"><title>%s s%u v%u at %g</title></path>\n",
			x - 3.5, y - 7, looks[r->op].fill, mr_op_name((mr_op)r->op), r->stage, r->version,
			(double)(r->begin_ns - v->frame.from) / unit);
	if (r->end_ns == r->begin_ns)
		return;
	if (opacity(a, r) < 1) { /* over white, so that the hatching does not shine through */
		snprintf(pale, sizeof(pale), " fill-opacity=\"%.2f\"", opacity(a, r));
		fprintf(v->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"#ffffff\"/>\n", x, y,
			w, v->row);
	}
	fprintf(v->out,
		"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"%d\" fill=\"%s\"%s stroke=\"%s\"%s>",
		x + 0.5, y, w > 1.5 ? w - 1 : 0.5, v->row, w > 6 ? 2 : 0, looks[r->op].fill, pale, looks[r->op].edge,
		w > 4 ? "" : " stroke-width=\"0\"");
	fprintf(v->out, "<title>%s m%u s%u p%u v%u: %g to %g</title></rect>\n", mr_op_name((mr_op)r->op), r->micro,
		r->stage, r->pipe, r->version, (double)(r->begin_ns - v->frame.from) / unit,
		(double)(r->end_ns - v->frame.from) / unit);
	put_label(v, a, r, x, w, y);
}

static void put_rows(const mr_svg *v, const mr_panel *a)
{
	char name[16];

	for (unsigned w = 0; w < a->p->n_workers; w++) {
		double y = y_of(v, a, (uint16_t)w);

		snprintf(name, sizeof(name), "w%u", w);
		put_text(v->out, v->left - 8, y + v->row / 2 + 4, "worker", name);
		fprintf(v->out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" fill=\"url(#idle)\"/>\n",
			v->left, y, v->drawing, v->row);
	}
}

static void put_panel(const mr_svg *v, const mr_panel *a)
{
	if (v->n > 1 && a->p->title)
		put_text(v->out, v->left, a->top - 7, "panel", a->p->title);
	for (size_t i = 0; i < a->p->n_rec; i++)
		put_record(v, a, &a->p->rec[i]);
}

static void put_head(const mr_svg *v, double height)
{
	fprintf(v->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
		"<style>text{font-family:'DejaVu "
		"Sans',Verdana,Helvetica,Arial,sans-serif}.title{font-size:17px;font-weight:bold;"
		"fill:#1b222a}.sub{font-size:12px;fill:#4d5864}.legend{font-size:11px;fill:#2b333c}.worker{font-size:"
		"12px;"
		"text-anchor:end;fill:#2b333c}.tick{font-size:10px;text-anchor:middle;fill:#4d5864}.name{font-size:"
		"11px;"
		"text-anchor:middle;fill:#4d5864}.n{font-size:11px;text-anchor:middle}.v{font-size:8px;text-anchor:"
		"middle;"
		"opacity:.75}.panel{font-size:12px;font-weight:bold;fill:#2b333c}.grid{stroke:#dfe3e8;fill:none}.axis{"
		"stroke:#8b95a1;fill:none}</style>\n"
		"<defs><pattern id=\"idle\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
		"patternTransform=\"rotate(45)\">"
		"<rect width=\"5\" height=\"5\" fill=\"#f5f6f8\"/><rect width=\"1.5\" height=\"5\" "
		"fill=\"#dde1e6\"/></pattern></defs>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		v->width, height, v->width, height);
}

/* Collect the needs of all pictures together: frame, lanes, ops. */
static mr_status measure(mr_svg *v, const mr_schedule_picture *p)
{
	v->frame = (mr_schedule_frame){.from = UINT64_MAX, .shortest = UINT64_MAX, .digits = 1};
	for (size_t i = 0; i < v->n; i++) {
		mr_panel *a = &v->panel[i];

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
static void lay_out(mr_svg *v, const char *title, const char *sub, double y)
{
	uint16_t most = 1;

	for (size_t i = 0; i < v->n; i++)
		most = v->panel[i].p->n_workers > most ? v->panel[i].p->n_workers : most;
	v->row = v->versions ? 36 : v->n > 1 ? 20 : 28;
	v->gap = v->n > 1 ? STACKED_GAP : ROW_GAP;
	choose_scale(v);
	v->left = MARGIN + 10 + 8.0 * snprintf(NULL, 0, "w%u", most - 1u);
	v->width = v->left + v->drawing + MARGIN + 8;
	v->width = fmax(v->width, v->left + fmax(text_width(title, 19), text_width(sub, 12.5)) + MARGIN);
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

static void draw(mr_svg *v, const char *title, const char *sub)
{
	double y = MARGIN - 4, legend_at;

	y += *title ? 26 : 0;
	y += *sub ? 20 : 0;
	legend_at = y + 14;
	lay_out(v, title, sub, legend_at);
	put_head(v, v->bottom + 48);
	if (*title)
		put_text(v->out, v->left, MARGIN + 14, "title", title);
	if (*sub)
		put_text(v->out, v->left, y, "sub", sub);
	legend(v, true, legend_at);
	for (size_t i = 0; i < v->n; i++)
		put_rows(v, &v->panel[i]);
	put_axis(v);
	for (size_t i = 0; i < v->n; i++)
		put_panel(v, &v->panel[i]);
	fputs("</svg>\n", v->out);
}

mr_status mr_schedule_picture_stack(const mr_schedule_picture *p, size_t n, const char *title, const char *subtitle,
				    FILE *out)
{
	mr_svg v = {.panel = calloc(n, sizeof(*v.panel)), .n = n, .out = out};
	mr_status st;

	if (!v.panel)
		return mr_fail(MR_ERESOURCE, "no memory to draw %zu pictures", n);
	st = measure(&v, p);
	if (st == MR_OK)
		draw(&v, title ? title : "", subtitle ? subtitle : "");
	for (size_t i = 0; i < n; i++)
		mr_schedule_lanes_fini(&v.panel[i].lanes);
	free(v.panel);
	if (st != MR_OK)
		return st;
	return ferror(out) ? mr_fail(MR_EIO, "the picture could not be written") : MR_OK;
}

mr_status mr_schedule_picture_svg(const mr_schedule_picture *p, FILE *out)
{
	return mr_schedule_picture_stack(p, 1, p->title, p->subtitle, out);
}
