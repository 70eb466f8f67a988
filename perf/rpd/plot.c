#include "perf/rpd/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WIDTH 860
#define HEIGHT 460
#define LEFT 76.0
#define TOP 48.0
#define PANEL_WIDTH 540.0
#define PANEL_HEIGHT 340.0
#define MOST_POINTS 800 /* of a line; of more points only some are drawn */

static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
				     "#8a6d00", "#56b4e9", "#5c3c92", "#404040"};

#define N_COLORS (sizeof(colors) / sizeof(colors[0]))

typedef struct axis {
	bool log;
	double low, high; /* range of the axis; log: both are powers of ten */
} axis;

static double *room(size_t n)
{
	double *p = calloc(n ? n : 1, sizeof(*p));

	if (!p) {
		fprintf(stderr, "rpd: no memory for a chart\n");
		exit(6);
	}
	return p;
}

series *plot_add(plot *p, const char *name, size_t n)
{
	series *s = &p->at[p->n++];

	if (p->n > sizeof(p->at) / sizeof(p->at[0])) {
		fprintf(stderr, "rpd: too many lines in \"%s\"\n", p->title);
		exit(1);
	}
	*s = (series){.n = n, .x = room(n), .y = room(n)};
	snprintf(s->name, sizeof(s->name), "%s", name);
	return s;
}

void plot_band(series *s)
{
	s->low = room(s->n);
	s->high = room(s->n);
}

static bool shown(const axis *a, double v)
{
	return isfinite(v) && (!a->log || v > 0);
}

static void stretch(axis *a, double v)
{
	if (!shown(a, v))
		return;
	a->low = v < a->low ? v : a->low;
	a->high = v > a->high ? v : a->high;
}

/* With @zero a linear axis includes 0; an axis with no point or one point gets a positive length. */
static void widen(axis *a, bool zero)
{
	if (!isfinite(a->low) || !isfinite(a->high))
		a->low = a->high = 1;
	if (!a->log && zero)
		a->low = fmin(a->low, 0);
	if (!(a->high > a->low))
		a->high = a->low > 0 ? 2 * a->low : a->low + 1;
}

static void extents(const plot *p, axis *x, axis *y)
{
	*x = (axis){p->log_x, INFINITY, -INFINITY};
	*y = (axis){p->log_y, INFINITY, -INFINITY};
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->at[i].n; k++) {
			stretch(x, p->at[i].x[k]);
			stretch(y, p->at[i].y[k]);
		}
	widen(x, true);
	widen(y, !p->high_only);
	if (y->log && p->y_floor > y->low && p->y_floor < y->high)
		y->low = p->y_floor;
	if (y->log) {
		y->low = pow(10, floor(log10(y->low)));
		y->high = pow(10, ceil(log10(y->high) - 1e-9));
	}
}

static double part(const axis *a, double v)
{
	if (a->log)
		return (log10(v) - log10(a->low)) / (log10(a->high) - log10(a->low));
	return (v - a->low) / (a->high - a->low);
}

static double px(const axis *a, double v)
{
	return LEFT + PANEL_WIDTH * part(a, v);
}

static double py(const axis *a, double v)
{
	double t = shown(a, v) ? part(a, v) : 0;

	t = t < -0.2 ? -0.2 : t > 1.2 ? 1.2 : t; /* the clip path cuts what lies outside */
	return TOP + PANEL_HEIGHT * (1 - t);
}

static double tick_step(double least)
{
	double power = pow(10, floor(log10(least)));

	return least <= power ? power : least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
}

static void put_text(const char *s, FILE *out)
{
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else
			fputc(*s, out);
	}
}

static void tick(const axis *a, bool is_x, double v, FILE *out)
{
	double bottom = TOP + PANEL_HEIGHT;

	if (is_x) {
		fprintf(out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#e8e8e8\"/>", px(a, v), TOP, bottom);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n", px(a, v), bottom + 18,
			v);
	} else {
		fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e8e8e8\"/>", LEFT, py(a, v), LEFT + PANEL_WIDTH);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 7, py(a, v) + 4, v);
	}
}

static void ticks(const axis *a, bool is_x, FILE *out)
{
	if (a->log && is_x) { /* doublings: stages */
		for (double v = pow(2, ceil(log2(a->low) - 1e-9)); v <= a->high * 1.0001; v *= 2)
			tick(a, is_x, v, out);
	} else if (a->log) {
		double decades = log10(a->high) - log10(a->low), step = decades > 10 ? 3 : decades > 6 ? 2 : 1;

		for (double e = round(log10(a->low)); e <= log10(a->high) + 1e-9; e += step)
			tick(a, is_x, pow(10, e), out);
	} else {
		double step = tick_step((a->high - a->low) / 7);

		for (double v = ceil(a->low / step) * step; v <= a->high + step * 1e-6; v += step)
			tick(a, is_x, round(v / step) * step, out);
	}
}

static void put_band(const series *s, const axis *x, const axis *y, const char *color, FILE *out)
{
	fprintf(out, "<path clip-path=\"url(#c)\" fill=\"%s\" fill-opacity=\"0.15\" d=\"", color);
	for (size_t k = 0; k < s->n; k++)
		fprintf(out, "%c%.1f %.1f", k ? 'L' : 'M', px(x, s->x[k]), py(y, s->high[k]));
	for (size_t k = s->n; k-- > 0;)
		fprintf(out, "L%.1f %.1f", px(x, s->x[k]), py(y, s->low[k]));
	fputs("Z\"/>\n", out);
}

static void put_path(const series *s, const axis *x, const axis *y, const char *color, FILE *out)
{
	size_t every = s->n / MOST_POINTS + 1;
	char move = 'M';

	fprintf(out, "<path clip-path=\"url(#c)\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.7\"%s d=\"", color,
		s->dashed ? " stroke-dasharray=\"6 4\"" : "");
	for (size_t k = 0; k < s->n; k++) {
		if (!shown(x, s->x[k]) || !shown(y, s->y[k]) || (k % every && k + 1 != s->n))
			continue;
		fprintf(out, "%c%.1f %.1f", move, px(x, s->x[k]), py(y, s->y[k]));
		move = 'L';
	}
	fputs("\"/>\n", out);
}

static void put_line(const series *s, const axis *x, const axis *y, const char *color, FILE *out)
{
	if (s->low)
		put_band(s, x, y, color, out);
	if (!s->dots)
		put_path(s, x, y, color, out);
	for (size_t k = 0; k < s->n && (s->marks || s->dots); k++)
		if (shown(x, s->x[k]) && shown(y, s->y[k]))
			fprintf(out, "<circle clip-path=\"url(#c)\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
				px(x, s->x[k]), py(y, s->y[k]), color);
}

/* The colour of series @i: lines have different colours until all are used. */
static const char *color_of(const plot *p, size_t i)
{
	size_t lines = 0;

	for (size_t k = 0; k <= i; k++)
		lines += !p->at[k].dots;
	return colors[(lines ? lines - 1 : 0) % N_COLORS];
}

static void put_legend(const plot *p, FILE *out)
{
	for (size_t i = 0; i < p->n; i++) {
		double left = LEFT + PANEL_WIDTH + 16, at = TOP + 12 + 20 * (double)i;

		if (p->at[i].dots)
			fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>", left + 11, at,
				color_of(p, i));
		else
			fprintf(out, "<path d=\"M%.1f %.1fh22\" stroke=\"%s\" stroke-width=\"2.2\"%s/>", left, at,
				color_of(p, i), p->at[i].dashed ? " stroke-dasharray=\"6 4\"" : "");
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", left + 28, at + 4);
		put_text(p->at[i].name, out);
		fputs("</text>\n", out);
	}
}

static void put_frame(const plot *p, const axis *x, const axis *y, FILE *out)
{
	double bottom = TOP + PANEL_HEIGHT, middle = LEFT + PANEL_WIDTH / 2;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"100%%\" height=\"100%%\" "
		"fill=\"#fff\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	fprintf(out, "<clipPath id=\"c\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/></clipPath>\n", LEFT - 4,
		TOP - 4, PANEL_WIDTH + 8, PANEL_HEIGHT + 8);
	fprintf(out, "<text x=\"%g\" y=\"26\" font-size=\"15\">", LEFT);
	put_text(p->title, out);
	fputs("</text>\n", out);
	ticks(x, true, out);
	ticks(y, false, out);
	fprintf(out, "<path d=\"M%g %gV%gH%g\" fill=\"none\" stroke=\"#888\"/>\n", LEFT, TOP, bottom,
		LEFT + PANEL_WIDTH);
	fprintf(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">", middle, bottom + 40);
	put_text(p->x_label, out);
	fprintf(out, "</text>\n<text transform=\"translate(18 %g) rotate(-90)\" text-anchor=\"middle\">",
		TOP + PANEL_HEIGHT / 2);
	put_text(p->y_label, out);
	fputs("</text>\n", out);
}

void plot_write(plot *p, const char *path)
{
	FILE *out = fopen(path, "w");
	axis x, y;

	if (!out) {
		perror(path);
		exit(1);
	}
	extents(p, &x, &y);
	put_frame(p, &x, &y, out);
	for (size_t i = 0; i < p->n; i++)
		put_line(&p->at[i], &x, &y, color_of(p, i), out);
	put_legend(p, out);
	fputs("</svg>\n", out);
	if (fclose(out)) {
		perror(path);
		exit(1);
	}
	for (size_t i = 0; i < p->n; i++) {
		free(p->at[i].x);
		free(p->at[i].y);
		free(p->at[i].low);
		free(p->at[i].high);
	}
	p->n = 0;
}
