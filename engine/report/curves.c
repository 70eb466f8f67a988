#include "report/curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 960
#define HEIGHT 400
#define PANEL_WIDTH 400.0
#define PANEL_HEIGHT 270.0
#define PANEL_TOP 72.0
#define LEGEND_LINE 18   /* height of each further line of names */
#define DOT 2.6          /* radius of an evaluation */
#define BINS 150        /* points of a training curve */
#define SKIP 0.03       /* part of a run whose first, high losses do not stretch the axis */

static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9"};

#define N_COLORS (sizeof(colors) / sizeof(colors[0]))

/* When the colours have been used up, lines are broken. */
static const char *const dashes[] = {"", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 2\"", " stroke-dasharray=\"9 2 2 2\""};

#define N_DASHES (sizeof(dashes) / sizeof(dashes[0]))

static const char *dash_of(size_t run)
{
	return dashes[run / N_COLORS % N_DASHES];
}

/* One point of a curve: position on both axes, and the losses known there. */
typedef struct mr_point {
	double x[2]; /* tokens or samples; seconds */
	double loss, val;
} mr_point;

typedef struct mr_plot {
	mr_point **points; /* [n] runs */
	const size_t *count;
	size_t n;
	bool tokens;
	double x_max[2], y_min, y_max;
} mr_plot;

/* Evaluations have no count of their own: they stand where the step before them stands. */
static void fill_points(const mr_curve *c, bool tokens, mr_point *to)
{
	double units = 0, seconds = 0;

	for (size_t i = 0; i < c->n_rows; i++) {
		const mr_metrics_row *r = &c->rows[i];

		if (tokens ? r->tokens : r->samples)
			units = (double)(tokens ? r->tokens : r->samples);
		seconds = isfinite(r->seconds) ? r->seconds : seconds;
		to[i] = (mr_point){{units, seconds}, r->loss, r->val_loss};
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
				p->x_max[a] = fmax(p->x_max[a], p->points[i][k].x[a]);
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

static void put_axes(const mr_plot *p, int axis, FILE *out)
{
	double left = panel_left(axis), bottom = PANEL_TOP + PANEL_HEIGHT;
	double dx = tick_step(p->x_max[axis] / 6), dy = tick_step((p->y_max - p->y_min) / 7);

	/* a little wider than the frame: a dot on its edge is drawn whole */
	fprintf(out, "<clipPath id=\"c%d\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/></clipPath>\n", axis,
		left - DOT - 1, PANEL_TOP - DOT - 1, PANEL_WIDTH + 2 * (DOT + 1), PANEL_HEIGHT + 2 * (DOT + 1));
	for (double y = ceil(p->y_min / dy) * dy; y <= p->y_max + dy * 1e-6; y += dy) {
		double v = map_y(p, y);

		fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e4e4e4\"/>", left, v, left + PANEL_WIDTH);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", left - 6, v + 4, round(y / dy) * dy);
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
		axis ? "seconds of training" : p->tokens ? "tokens" : "samples");
}

static void put_dot(const mr_plot *p, size_t run, int axis, double x, double y, const char *paint, FILE *out)
{
	fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" fill=\"%s\"%s/>", map_x(p, axis, x), map_y(p, y), DOT,
		colors[run % N_COLORS], paint);
}

/* The training loss, averaged over BINS stretches of equal numbers of steps, the last one maybe shorter. Of one step it is a dot. */
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
		"<path clip-path=\"url(#c%d)\" fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.4\" stroke-width=\"1.2\"%s "
		"d=\"",
		axis, colors[run % N_COLORS], dash_of(run));
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
			put_dot(p, run, axis, p->points[run][k].x[axis], p->points[run][k].loss, " fill-opacity=\"0.4\"", out);
}

static void put_validation(const mr_plot *p, size_t run, int axis, FILE *out)
{
	char move = 'M';

	fprintf(out, "<g clip-path=\"url(#c%d)\"><path fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s d=\"", axis,
		colors[run % N_COLORS], dash_of(run));
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

/* " (validation 1.499)", or "". */
static void last_validation(const mr_plot *p, size_t run, char text[64])
{
	double val = NAN;

	for (size_t k = 0; k < p->count[run]; k++)
		val = isfinite(p->points[run][k].val) ? p->points[run][k].val : val;
	*text = '\0';
	if (isfinite(val))
		snprintf(text, 64, " (validation %.3f)", val);
}

/* Name and last validation loss of each run, side by side in as many lines as that takes; returns how many. @out may be NULL:
 * only count. */
static unsigned put_legend(const mr_plot *p, const mr_curve *curves, FILE *out)
{
	double left = panel_left(0), x = left;
	unsigned line = 0;

	for (size_t i = 0; i < p->n; i++) {
		double width;
		char text[64];

		last_validation(p, i, text);
		width = 28 + 6.8 * (double)(strlen(curves[i].name) + strlen(text));
		if (x > left && x + width > WIDTH - 10) {
			x = left;
			line++;
		}
		if (out) {
			unsigned y = 52 + line * LEGEND_LINE;

			fprintf(out, "<path d=\"M%.1f %uh22\" stroke=\"%s\" stroke-width=\"2.5\"%s/><text x=\"%.1f\" y=\"%u\">", x, y,
				colors[i % N_COLORS], dash_of(i), x + 28, y + 4);
			put_escaped(curves[i].name, out);
			fprintf(out, "%s</text>\n", text);
		}
		x += width + 24;
	}
	return line + 1;
}

static void put_plot(const mr_plot *p, const mr_curve *curves, const char *title, FILE *out)
{
	unsigned down = (put_legend(p, curves, NULL) - 1) * LEGEND_LINE, height = HEIGHT + down;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" "
		"font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n",
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
			put_training(p, i, axis, out);
		for (size_t i = 0; i < p->n; i++)
			put_validation(p, i, axis, out);
	}
	fputs(down ? "</g>\n</svg>\n" : "</svg>\n", out);
}

static mr_status make_points(const mr_curve *curves, mr_plot *p, size_t *count)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < curves[i].n_rows; k++)
			p->tokens = p->tokens || curves[i].rows[k].tokens;
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
	return MR_OK;
}

mr_status mr_curves_svg(const mr_curve *curves, size_t n, const char *title, FILE *out)
{
	mr_point **points = calloc(n + 1, sizeof(*points));
	size_t *count = calloc(n + 1, sizeof(*count));
	mr_plot p = {.points = points, .count = count, .n = n};
	mr_status st;

	if (!points || !count)
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
	return st;
}
