#include "report/curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define WIDTH 960
#define HEIGHT 400
#define PANEL_WIDTH 400.0
#define PANEL_HEIGHT 270.0
#define PANEL_TOP 72.0
#define LEGEND_TOP 52
#define LEGEND_LINE 18   /* height of each further line of the legend */
#define DOT 2.6          /* radius of an evaluation */
#define BINS 150        /* points of a training curve */
#define SKIP 0.03       /* part of a run whose first, high losses do not stretch the axis */

static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9"};

#define N_COLORS (sizeof(colors) / sizeof(colors[0]))

/* Lines are dashed when the colours have been used up, and if they lie on another line, which shows in the gaps. */
static const char *const dashes[] = {
	"", " stroke-dasharray=\"7 7\"", " stroke-dasharray=\"2 5\"", " stroke-dasharray=\"9 3 2 3\"",
};

#define N_DASHES (sizeof(dashes) / sizeof(dashes[0]))
#define NOBODY SIZE_MAX

/* One point of a curve: its position on both axes, and the losses known there. */
typedef struct mr_point {
	double x[2]; /* tokens or samples; seconds */
	double loss, val;
	bool trains_only; /* val is of the training samples */
} mr_point;

/* How a run is drawn. */
typedef struct mr_style {
	bool missing[2];  /* it has no count for this panel's horizontal axis, and is left out there */
	size_t twin;      /* the first run that it coincides with, NOBODY: none */
	uint32_t n_twins; /* runs before it that coincide with it */
	size_t dash;      /* in dashes: no two runs of one colour have the same */
} mr_style;

typedef struct mr_plot {
	mr_point **points; /* [n] runs */
	const size_t *count;
	mr_style *style;   /* [n] */
	size_t n;
	bool tokens;       /* the left panel is over tokens, else over samples */
	double x_max[2], y_min, y_max;
} mr_plot;

static const char *dash_of(const mr_plot *p, size_t run)
{
	return dashes[p->style[run].dash];
}

/* Evaluations have no count of their own: they have the position of the step before them. */
static void fill_points(const mr_curve *c, bool tokens, mr_point *to)
{
	double units = 0, seconds = 0;

	for (size_t i = 0; i < c->n_rows; i++) {
		const mr_metrics_row *r = &c->rows[i];

		if (tokens ? r->tokens : r->samples)
			units = (double)(tokens ? r->tokens : r->samples);
		seconds = isfinite(r->seconds) ? r->seconds : seconds;
		to[i] = (mr_point){{units, seconds}, r->loss, r->val_loss, r->trains_only};
	}
}

static void stretch(mr_plot *p, double y)
{
	if (!isfinite(y))
		return;
	p->y_min = y < p->y_min ? y : p->y_min;
	p->y_max = y > p->y_max ? y : p->y_max;
}

static void find_extent(mr_plot *p)
{
	p->y_min = INFINITY;
	p->y_max = -INFINITY;
	for (size_t i = 0; i < p->n; i++) {
		size_t n = p->count[i];

		for (size_t k = 0; k < n; k++) {
			for (int a = 0; a < 2; a++)
				p->x_max[a] =
					p->style[i].missing[a] ? p->x_max[a] : fmax(p->x_max[a], p->points[i][k].x[a]);
			if (k >= (size_t)(SKIP * (double)n)) {
				stretch(p, p->points[i][k].loss);
				stretch(p, p->points[i][k].val);
			}
		}
	}
}

/* The smallest of 1, 2, 5 times a power of ten that is at least @least (> 0). */
static double tick_step(double least)
{
	double power = pow(10, floor(log10(least)));

	return least <= power ? power : least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
}

static void put_escaped(const char *s, FILE *out)
{
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else if ((unsigned char)*s >= 0x20)
			fputc(*s, out);
	}
}

static void put_count(double x, FILE *out)
{
	if (x >= 1e9)
		fprintf(out, "%gG", x / 1e9);
	else if (x >= 1e6)
		fprintf(out, "%gM", x / 1e6);
	else if (x >= 1e3)
		fprintf(out, "%gk", x / 1e3);
	else
		fprintf(out, "%g", x);
}

static double panel_left(int axis)
{
	return axis ? 530 : 62;
}

static double map_x(const mr_plot *p, int axis, double x)
{
	return panel_left(axis) + PANEL_WIDTH * x / p->x_max[axis];
}

static double map_y(const mr_plot *p, double y)
{
	double part = (p->y_max - y) / (p->y_max - p->y_min);

	part = part < -0.5 ? -0.5 : part; /* far above the frame: the clip path cuts it there */
	return PANEL_TOP + PANEL_HEIGHT * part;
}

/* The radius of a run's dots, or of its rings if it lies on others. */
static double radius_of(const mr_plot *p, size_t run)
{
	return DOT + 2 * fmin(p->style[run].n_twins, N_DASHES - 1);
}

static double largest_radius(const mr_plot *p)
{
	double r = DOT;

	for (size_t i = 0; i < p->n; i++)
		r = fmax(r, radius_of(p, i));
	return r;
}

static void put_axes(const mr_plot *p, int axis, FILE *out)
{
	double beyond = largest_radius(p) + 1;
	double left = panel_left(axis), bottom = PANEL_TOP + PANEL_HEIGHT;
	double dx = tick_step(p->x_max[axis] / 6), dy = tick_step((p->y_max - p->y_min) / 7);

	/* a little wider than the frame: a dot on its edge is drawn whole */
	fprintf(out, "<clipPath id=\"c%d\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/></clipPath>\n", axis,
		left - beyond, PANEL_TOP - beyond, PANEL_WIDTH + 2 * beyond, PANEL_HEIGHT + 2 * beyond);
	for (double y = ceil(p->y_min / dy) * dy; y <= p->y_max + dy * 1e-6; y += dy) {
		double v = map_y(p, y);

		fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e4e4e4\"/>", left, v, left + PANEL_WIDTH);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", left - 6, v + 4,
			round(y / dy) * dy);
	}
	for (double x = 0; x <= p->x_max[axis] * (1 + 1e-9); x += dx) {
		double h = map_x(p, axis, x);

		fprintf(out, "<path d=\"M%.1f %.1fv4\" stroke=\"#888\"/>", h, bottom);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", h, bottom + 18);
		put_count(x, out);
		fputs("</text>\n", out);
	}
	fprintf(out, "<path d=\"M%g %gV%gH%g\" fill=\"none\" stroke=\"#888\"/>\n", left, PANEL_TOP, bottom,
		left + PANEL_WIDTH);
	fprintf(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", left + PANEL_WIDTH / 2, bottom + 38,
		axis ? "seconds, with evaluations and checkpoints" : p->tokens ? "tokens" : "samples");
}

/* A run on top of others has rings around their dots. */
static void put_dot(const mr_plot *p, size_t run, int axis, double x, double y, const char *paint, FILE *out)
{
	const char *color = colors[run % N_COLORS];
	double r = radius_of(p, run);

	fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" ", map_x(p, axis, x), map_y(p, y), r);
	if (r > DOT)
		fprintf(out, "fill=\"none\" stroke=\"%s\"%s/>", color, paint);
	else
		fprintf(out, "fill=\"%s\"%s/>", color, paint);
}

/* The training loss, averaged over BINS stretches of equal numbers of steps; the last one may be shorter. One step
 * alone is a dot. */
static void put_training(const mr_plot *p, size_t run, int axis, FILE *out)
{
	size_t n = 0, width, in = 0, left;
	double x = 0, y = 0;
	char move = 'M';

	for (size_t k = 0; k < p->count[run]; k++)
		n += isfinite(p->points[run][k].loss);
	width = (n + BINS - 1) / BINS;
	left = n;
	fprintf(out,
		"<path clip-path=\"url(#c%d)\" fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.4\" "
		"stroke-width=\"1.2\"%s "
		"d=\"",
		axis, colors[run % N_COLORS], dash_of(p, run));
	for (size_t k = 0; k < p->count[run]; k++) {
		const mr_point *q = &p->points[run][k];

		if (!isfinite(q->loss))
			continue;
		x += q->x[axis];
		y += q->loss;
		left--;
		if (++in < width && left)
			continue;
		fprintf(out, "%c%.1f %.1f", move, map_x(p, axis, x / (double)in), map_y(p, y / (double)in));
		move = 'L';
		x = y = 0;
		in = 0;
	}
	fputs("\"/>\n", out);
	for (size_t k = 0; n == 1 && k < p->count[run]; k++)
		if (isfinite(p->points[run][k].loss))
			put_dot(p, run, axis, p->points[run][k].x[axis], p->points[run][k].loss, " opacity=\"0.4\"",
				out);
}

static void put_validation(const mr_plot *p, size_t run, int axis, FILE *out)
{
	char move = 'M';

	fprintf(out, "<g clip-path=\"url(#c%d)\"><path fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s d=\"", axis,
		colors[run % N_COLORS], dash_of(p, run));
	for (size_t k = 0; k < p->count[run]; k++) {
		const mr_point *q = &p->points[run][k];

		if (!isfinite(q->val))
			continue;
		fprintf(out, "%c%.1f %.1f", move, map_x(p, axis, q->x[axis]), map_y(p, q->val));
		move = 'L';
	}
	fputs("\"/>", out);
	for (size_t k = 0; k < p->count[run]; k++) {
		const mr_point *q = &p->points[run][k];

		if (isfinite(q->val))
			put_dot(p, run, axis, q->x[axis], q->val, "", out);
	}
	fputs("</g>\n", out);
}

/* " (validation 1.499; on 1f1b)", or the known part of it. */
static void about_run(const mr_plot *p, const mr_curve *curves, size_t run, mr_strbuf *text)
{
	size_t twin = p->style[run].twin;
	const char *what = "";
	double val = NAN;

	for (size_t k = 0; k < p->count[run]; k++) {
		const mr_point *q = &p->points[run][k];

		val = isfinite(q->val) ? q->val : val;
		what = !isfinite(q->val) ? what : q->trains_only ? "all training samples" : "validation";
	}
	mr_strbuf_reset(text);
	if (isfinite(val))
		mr_strbuf_printf(text, " (%s %.3f", what, val);
	if (twin != NOBODY)
		mr_strbuf_printf(text, "%son %s", isfinite(val) ? "; " : " (", curves[twin].name);
	if (text->len)
		mr_strbuf_append(text, ")");
}

/* Name and last validation loss of each run, side by side in as many lines as needed; returns their number. @out may be
 * NULL: only count. */
static unsigned put_names(const mr_plot *p, const mr_curve *curves, FILE *out)
{
	double left = panel_left(0), x = left;
	unsigned line = 0;
	mr_strbuf text;

	mr_strbuf_init(&text);
	for (size_t i = 0; i < p->n; i++) {
		double width;

		about_run(p, curves, i, &text);
		width = 28 + 6.8 * (double)(strlen(curves[i].name) + text.len);
		if (x > left && x + width > WIDTH - 10) {
			x = left;
			line++;
		}
		if (out) {
			unsigned y = LEGEND_TOP + line * LEGEND_LINE;

			fprintf(out, "<path d=\"M%.1f %uh22\" stroke=\"%s\" stroke-width=\"2.5\"%s/>", x, y,
				colors[i % N_COLORS], dash_of(p, i));
			fprintf(out, "<text x=\"%.1f\" y=\"%u\">", x + 28, y + 4);
			put_escaped(curves[i].name, out);
			put_escaped(mr_strbuf_text(&text), out);
			fputs("</text>\n", out);
		}
		x += width + 24;
	}
	mr_strbuf_fini(&text);
	return line + 1;
}

static bool any_evaluation(const mr_plot *p, bool trains_only)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->count[i]; k++)
			if (isfinite(p->points[i][k].val) && p->points[i][k].trains_only == trains_only)
				return true;
	return false;
}

/* Explains bold and pale lines. */
static void put_key(const mr_plot *p, unsigned y, FILE *out)
{
	double x = panel_left(0);
	bool validates = any_evaluation(p, false), trains = any_evaluation(p, true);

	if (validates || trains) {
		fprintf(out, "<path d=\"M%g %uh22\" stroke=\"#555\" stroke-width=\"2\"/>", x, y);
		fprintf(out, "<circle cx=\"%g\" cy=\"%u\" r=\"%g\" fill=\"#555\"/>", x + 11, y, DOT);
		fprintf(out, "<text x=\"%g\" y=\"%u\">bold, with dots: %s</text>\n", x + 28, y + 4,
			!trains     ? "validation loss"
			: validates ? "validation (or all training) samples"
				    : "all training samples");
		x += 250;
	}
	fprintf(out, "<path d=\"M%g %uh22\" stroke=\"#555\" stroke-width=\"1.2\" opacity=\"0.4\"/>", x, y);
	fprintf(out,
		"<text x=\"%g\" y=\"%u\">pale: training loss, averaged over stretches of up to 1/%d of the "
		"run</text>\n",
		x + 28, y + 4, BINS);
}

/* A message for each run that a panel leaves out; returns their number. @out may be NULL: only count. */
static unsigned put_notes(const mr_plot *p, const mr_curve *curves, unsigned y, FILE *out)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->n; i++)
		for (int axis = 0; axis < 2; axis++) {
			if (!p->style[i].missing[axis])
				continue;
			if (out) {
				fprintf(out, "<text x=\"%g\" y=\"%u\">", panel_left(0), y + n * LEGEND_LINE + 4);
				put_escaped(curves[i].name, out);
				fprintf(out, " has no count of %s and is left out of the %s panel</text>\n",
					axis ? "seconds" : p->tokens ? "tokens" : "samples", axis ? "right" : "left");
			}
			n++;
		}
	return n;
}

/* Everything above the panels; returns its lines. @out may be NULL: only count. */
static unsigned put_legend(const mr_plot *p, const mr_curve *curves, FILE *out)
{
	unsigned lines = put_names(p, curves, out);

	if (out)
		put_key(p, LEGEND_TOP + lines * LEGEND_LINE, out);
	lines++;
	return lines + put_notes(p, curves, LEGEND_TOP + lines * LEGEND_LINE, out);
}

static void put_plot(const mr_plot *p, const mr_curve *curves, const char *title, FILE *out)
{
	unsigned down = (put_legend(p, curves, NULL) - 1) * LEGEND_LINE, height = HEIGHT + down;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" "
		"font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"%d\" height=\"%u\" "
		"fill=\"#fff\"/>\n",
		WIDTH, height, WIDTH, height, WIDTH, height);
	fprintf(out, "<text x=\"%g\" y=\"28\" font-size=\"16\">", panel_left(0));
	put_escaped(title ? title : "loss", out);
	fputs("</text>\n", out);
	put_legend(p, curves, out);
	if (down)
		fprintf(out, "<g transform=\"translate(0 %u)\">\n", down);
	for (int axis = 0; axis < 2; axis++) {
		put_axes(p, axis, out);
		for (size_t i = 0; i < p->n; i++)
			if (!p->style[i].missing[axis])
				put_training(p, i, axis, out);
		for (size_t i = 0; i < p->n; i++)
			if (!p->style[i].missing[axis])
				put_validation(p, i, axis, out);
	}
	fputs(down ? "</g>\n</svg>\n" : "</svg>\n", out);
}

/* --- runs that lie on others --- */

static bool has_count(const mr_curve *c, bool tokens)
{
	for (size_t k = 0; k < c->n_rows; k++)
		if (tokens ? c->rows[k].tokens : c->rows[k].samples)
			return true;
	return false;
}

static bool has_seconds(const mr_curve *c)
{
	for (size_t k = 0; k < c->n_rows; k++)
		if (isfinite(c->rows[k].seconds))
			return true;
	return false;
}

/* Choose tokens if at least as many runs count them as samples: the runs of one panel share a unit. */
static void choose_unit(mr_plot *p, const mr_curve *curves)
{
	size_t n_tokens = 0, n_samples = 0;

	for (size_t i = 0; i < p->n; i++) {
		n_tokens += has_count(&curves[i], true);
		n_samples += has_count(&curves[i], false);
	}
	p->tokens = n_tokens && n_tokens >= n_samples;
	for (size_t i = 0; i < p->n; i++) {
		p->style[i].missing[0] = (n_tokens || n_samples) && !has_count(&curves[i], p->tokens);
		p->style[i].missing[1] = !has_seconds(&curves[i]);
	}
}

/* The validation or training loss of @q, NAN if there is none. */
static double loss_of(const mr_point *q, bool validation)
{
	return validation ? q->val : q->loss;
}

/*
 * The number of points of @run that lie on the line of @other in the left panel, within a line's width. Steps ascend in
 * both, so one pass over each suffices. *@n_points is the number of points of @run.
 */
static size_t count_on(const mr_plot *p, size_t run, size_t other, bool validation, size_t *n_points)
{
	const mr_point *left = NULL, *right = NULL, *end = p->points[other] + p->count[other], *next = p->points[other];
	size_t on = 0;

	*n_points = 0;
	for (size_t k = 0; k < p->count[run]; k++) {
		const mr_point *q = &p->points[run][k];
		double y, part;

		if (!isfinite(loss_of(q, validation)))
			continue;
		++*n_points;
		while (next < end && (!right || right->x[0] < q->x[0])) {
			if (isfinite(loss_of(next, validation))) {
				left = right;
				right = next;
			}
			next++;
		}
		if (!right || right->x[0] < q->x[0] || (!left && right->x[0] > q->x[0]))
			continue;
		part = left && right->x[0] > left->x[0] ? (q->x[0] - left->x[0]) / (right->x[0] - left->x[0]) : 1;
		y = loss_of(right, validation);
		if (part < 1)
			y = (1 - part) * loss_of(left, validation) + part * y;
		on += fabs(map_y(p, y) - map_y(p, loss_of(q, validation))) < 1;
	}
	return on;
}

/* Does most of the line of @run lie behind that of @other, or the reverse? */
static bool coincide(const mr_plot *p, size_t run, size_t other)
{
	size_t n, on;

	if (p->style[run].missing[0] || p->style[other].missing[0])
		return false;
	on = count_on(p, run, other, true, &n);
	if (!n)
		on = count_on(p, run, other, false, &n);
	return n && 10 * on >= 9 * n;
}

/* Has a run before @run the same colour and the same dashes? */
static bool looks_alike(const mr_plot *p, size_t run)
{
	for (size_t k = run % N_COLORS; k < run; k += N_COLORS)
		if (p->style[k].dash == p->style[run].dash)
			return true;
	return false;
}

static void choose_dashes(mr_plot *p)
{
	for (size_t i = 0; i < p->n; i++) {
		p->style[i].dash = (i / N_COLORS + p->style[i].n_twins) % N_DASHES;
		for (size_t tries = 1; tries < N_DASHES && looks_alike(p, i); tries++)
			p->style[i].dash = (p->style[i].dash + 1) % N_DASHES;
	}
}

static void find_twins(mr_plot *p)
{
	for (size_t i = 0; i < p->n; i++) {
		p->style[i].twin = NOBODY;
		for (size_t k = i; k-- > 0;)
			if (coincide(p, i, k)) {
				p->style[i].twin = k;
				p->style[i].n_twins++;
			}
	}
}

static mr_status make_points(const mr_curve *curves, mr_plot *p, size_t *count)
{
	choose_unit(p, curves);
	for (size_t i = 0; i < p->n; i++) {
		count[i] = curves[i].n_rows;
		p->points[i] = malloc((count[i] + 1) * sizeof(**p->points));
		if (!p->points[i])
			return mr_fail(MR_ERESOURCE, "no memory for a curve of %zu points", count[i]);
		fill_points(&curves[i], p->tokens, p->points[i]);
	}
	find_extent(p);
	if (!isfinite(p->y_min))
		return mr_fail(MR_EINVAL, "no run has a finite loss to draw");
	for (int a = 0; a < 2; a++)
		p->x_max[a] = p->x_max[a] > 0 ? p->x_max[a] : 1;
	if (p->y_max - p->y_min < 1e-6 * fabs(p->y_max) + 1e-12) {
		p->y_min -= 0.5;
		p->y_max += 0.5;
	}
	find_twins(p);
	choose_dashes(p);
	return MR_OK;
}

mr_status mr_curves_svg(const mr_curve *curves, size_t n, const char *title, FILE *out)
{
	mr_point **points = calloc(n + 1, sizeof(*points));
	size_t *count = calloc(n + 1, sizeof(*count));
	mr_style *style = calloc(n + 1, sizeof(*style));
	mr_plot p = {.points = points, .count = count, .style = style, .n = n};
	mr_status st;

	if (!points || !count || !style)
		st = mr_fail(MR_ERESOURCE, "no memory for %zu curves", n);
	else
		st = make_points(curves, &p, count);
	if (st == MR_OK) {
		put_plot(&p, curves, title, out);
		st = ferror(out) ? mr_fail(MR_EIO, "cannot write the curves") : MR_OK;
	}
	for (size_t i = 0; points && i < n; i++)
		free(points[i]);
	free(points);
	free(count);
	free(style);
	return st;
}
