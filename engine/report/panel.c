#include "report/panel.h"

#include <math.h>

mr_axis mr_axis_empty(const char *name, bool log)
{
	return (mr_axis){.name = name, .log = log, .low = INFINITY, .high = -INFINITY};
}

bool mr_axis_shows(const mr_axis *a, double v)
{
	return isfinite(v) && (!a->log || v > 0);
}

void mr_axis_see(mr_axis *a, double v)
{
	if (!mr_axis_shows(a, v))
		return;
	a->low = v < a->low ? v : a->low;
	a->high = v > a->high ? v : a->high;
}

void mr_axis_close(mr_axis *a)
{
	if (!isfinite(a->low) || !isfinite(a->high)) {
		a->low = a->log ? 1 : 0;
		a->high = a->log ? 10 : 1;
	} else if (a->log && !(a->high > a->low * (1 + 1e-6))) {
		a->low /= 2;
		a->high *= 2;
	} else if (!a->log && !(a->high - a->low > 1e-6 * fabs(a->high) + 1e-12)) {
		a->low -= 0.5;
		a->high += 0.5;
	}
}

static double part(const mr_axis *a, double v)
{
	if (a->log)
		return log(v / a->low) / log(a->high / a->low);
	return (v - a->low) / (a->high - a->low);
}

double mr_panel_x(const mr_panel *p, double v)
{
	return p->left + p->width * part(&p->x, v);
}

double mr_panel_y(const mr_panel *p, double v)
{
	double t = mr_axis_shows(&p->y, v) ? part(&p->y, v) : -0.5;

	t = t < -0.5 ? -0.5 : t > 1.5 ? 1.5 : t; /* the clip path cuts it */
	return p->top + p->height * (1 - t);
}

static void put_tick(const mr_panel *p, const mr_svg *v, bool is_x, double at)
{
	double bottom = p->top + p->height, where = is_x ? mr_panel_x(p, at) : mr_panel_y(p, at);
	char text[32];

	mr_svg_number(at, text);
	if (is_x) {
		fprintf(v->out, "<path class=\"%s\" d=\"M%.1f %.1fv%g\"/>", p->y.plain ? "grid" : "axis", where,
			p->y.plain ? p->top : bottom, p->y.plain ? p->height + 4 : 4);
		mr_svg_text(v, where, bottom + 17, "tick", text);
	} else {
		fprintf(v->out, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>", p->left, where, p->width);
		mr_svg_text(v, p->left - 6, where + 4, "tick right", text);
	}
}

/* Of powers of ten within a few decades, also twice and five times each. */
static void put_log_ticks(const mr_panel *p, const mr_svg *v, bool is_x)
{
	const mr_axis *a = is_x ? &p->x : &p->y;
	double base = a->doubles ? 2 : 10, powers = log(a->high / a->low) / log(base);
	double step = powers > 12 ? 3 : powers > 7 ? 2 : 1;
	double between[] = {1, 2, 5};

	for (double e = floor(log(a->low) / log(base)); pow(base, e) <= a->high * 1.0001; e += step)
		for (int i = 0; i < (base == 10 && powers < 3 ? 3 : 1); i++) {
			double at = pow(base, e) * between[i];

			if (at >= a->low * 0.9999 && at <= a->high * 1.0001)
				put_tick(p, v, is_x, at);
		}
}

/* A logarithmic axis of less than this factor has ticks at equal distances: 1, 2 and 5 might be one tick or none. */
#define FEW_TICKS 5

static void put_ticks(const mr_panel *p, const mr_svg *v, bool is_x)
{
	const mr_axis *a = is_x ? &p->x : &p->y;
	double step = mr_svg_tick((a->high - a->low) / (is_x ? fmax(2, p->width / 66) : fmax(2, p->height / 38)));

	if (a->log && (a->doubles || a->high > FEW_TICKS * a->low)) {
		put_log_ticks(p, v, is_x);
		return;
	}
	for (double k = ceil(a->low / step - 1e-9); k * step <= a->high + step * 1e-6; k++)
		put_tick(p, v, is_x, k * step + 0.0); /* not -0 */
}

void mr_panel_put(const mr_panel *p, const mr_svg *v)
{
	double bottom = p->top + p->height;

	fprintf(v->out,
		"<clipPath id=\"%sc%u\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/></clipPath>\n", v->scope,
		p->id, p->left - p->beyond, p->top - p->beyond, p->width + 2 * p->beyond, p->height + 2 * p->beyond);
	if (!p->y.plain)
		put_ticks(p, v, false);
	put_ticks(p, v, true);
	fprintf(v->out, "<path class=\"axis\" d=\"M%g %gV%gH%g\"/>\n", p->left, p->top, bottom, p->left + p->width);
	if (p->x.name)
		mr_svg_text(v, p->left + p->width / 2, bottom + 36, "name", p->x.name);
	if (p->y.name) {
		fprintf(v->out, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", p->left - 46,
			p->top + p->height / 2);
		mr_svg_text(v, 0, 0, "name", p->y.name);
		fputs("</g>\n", v->out);
	}
}

void mr_panel_clip(const mr_panel *p, const mr_svg *v)
{
	fprintf(v->out, " clip-path=\"url(#%sc%u)\"", v->scope, p->id);
}

static bool shows(const mr_panel *p, const mr_points *l, size_t i)
{
	return mr_axis_shows(&p->x, l->x[i]) && mr_axis_shows(&p->y, l->y[i]);
}

void mr_panel_path(const mr_panel *p, const mr_points *l, size_t most, FILE *out)
{
	size_t every = most ? l->n / most + 1 : 1;
	char move = 'M';

	for (size_t i = 0; i < l->n; i++) {
		if (!shows(p, l, i) || (i % every && i + 1 != l->n))
			continue;
		fprintf(out, "%c%.1f %.1f", move, mr_panel_x(p, l->x[i]), mr_panel_y(p, l->y[i]));
		move = 'L';
	}
}

/* x ascends in both, so one pass over each suffices. */
bool mr_panel_coincide(const mr_panel *p, const mr_points *a, const mr_points *b)
{
	size_t n = 0, on = 0, next = 0, left = SIZE_MAX, right = SIZE_MAX;

	for (size_t i = 0; i < a->n; i++) {
		double y, t;

		if (!shows(p, a, i))
			continue;
		n++;
		while (next < b->n && (right == SIZE_MAX || b->x[right] < a->x[i])) {
			if (shows(p, b, next)) {
				left = right;
				right = next;
			}
			next++;
		}
		if (right == SIZE_MAX || b->x[right] < a->x[i] || (left == SIZE_MAX && b->x[right] > a->x[i]))
			continue;
		t = left != SIZE_MAX && b->x[right] > b->x[left]
			    ? (a->x[i] - b->x[left]) / (b->x[right] - b->x[left])
			    : 1;
		y = t < 1 ? (1 - t) * b->y[left] + t * b->y[right] : b->y[right];
		on += fabs(mr_panel_y(p, y) - mr_panel_y(p, a->y[i])) < 1;
	}
	return n && 10 * on >= 9 * n;
}
