#include "report/curves.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"

#define WIDTH 960
#define HEIGHT 386
#define PANEL_WIDTH 400.0
#define PANEL_HEIGHT 270.0
#define PANEL_TOP 58.0
#define LEGEND_TOP 40.0
#define DOT 2.6         /* radius of an evaluation */
#define BINS 150        /* points of a training curve */
#define SPAN 5          /* losses that span more than this factor have a logarithmic axis */
#define NOBODY SIZE_MAX

/* A run as it is drawn: its positions on both axes, and the losses known there. */
typedef struct mr_course {
	double *x[2];     /* [n] tokens or samples; seconds; x[0] holds all four arrays */
	double *loss, *val;
	size_t n;
	bool trains_only; /* the last val is of the training samples */
	bool missing[2];  /* it has no count for this panel's horizontal axis, and is left out there */
	size_t twin;      /* the first run that it coincides with, NOBODY: none */
	uint32_t n_twins; /* runs before it that coincide with it */
	size_t dash;      /* no two runs of one colour have the same */
} mr_course;

typedef struct mr_plot {
	const mr_curve *curves;
	mr_course *run; /* [n] */
	size_t n;
	bool tokens;    /* the left panel is over tokens, else over samples */
	mr_panel panel[2];
	const mr_svg *svg;
} mr_plot;

/* Evaluations have no count of their own: they have the position of the step before them. */
static void fill_course(const mr_curve *c, bool tokens, mr_course *to)
{
	double units = 0, seconds = 0;

	for (size_t i = 0; i < c->n_rows; i++) {
		const mr_figures *r = &c->rows[i];
		double seen = tokens ? r->tokens : r->samples;

		units = isnan(seen) ? units : seen;
		seconds = isfinite(r->seconds) ? r->seconds : seconds;
		to->x[0][i] = units;
		to->x[1][i] = seconds;
		to->loss[i] = r->loss;
		to->val[i] = r->val_loss;
		to->trains_only = isfinite(r->val_loss) ? r->trains_only : to->trains_only;
	}
}

static void find_extent(mr_plot *p)
{
	mr_axis y = mr_axis_empty(NULL, false);

	for (size_t i = 0; i < p->n; i++) {
		const mr_course *r = &p->run[i];

		for (size_t k = 0; k < r->n; k++) {
			for (int a = 0; a < 2; a++)
				if (!r->missing[a])
					mr_axis_see(&p->panel[a].x, r->x[a][k]);
			mr_axis_see(&y, r->loss[k]);
			mr_axis_see(&y, r->val[k]);
		}
	}
	y.log = y.low > 0 && y.high > SPAN * y.low;
	p->panel[0].y = p->panel[1].y = y;
}

/* The radius of a run's dots, or of its rings if it lies on others. */
static double radius_of(const mr_plot *p, size_t run)
{
	return DOT + 2 * fmin(p->run[run].n_twins, MR_SVG_DASHES - 1);
}

/* A run on top of others has rings around their dots. */
static void put_dot(const mr_plot *p, size_t run, int axis, size_t k, double y, const char *paint)
{
	double r = radius_of(p, run);

	fprintf(p->svg->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" %s%s/>",
		mr_panel_x(&p->panel[axis], p->run[run].x[axis][k]), mr_panel_y(&p->panel[axis], y), r,
		r > DOT ? "fill=\"none\" stroke=\"currentColor\"" : "fill=\"currentColor\"", paint);
}

static void begin_run(const mr_plot *p, size_t run, int axis)
{
	fprintf(p->svg->out, "<g class=\"%s\"", mr_svg_hue(run));
	mr_panel_clip(&p->panel[axis], p->svg);
	fputc('>', p->svg->out);
}

/* The training loss: its first step, then averages over BINS stretches of equal numbers of steps; the last one may be
 * shorter. One step alone is a dot. */
static void put_training(const mr_plot *p, size_t run, int axis)
{
	const mr_course *r = &p->run[run];
	size_t n = 0, width, in = 0, left, last = 0;
	double x = 0, y = 0;
	char move = 'M';

	for (size_t k = 0; k < r->n; k++)
		n += isfinite(r->loss[k]);
	width = (n + BINS - 1) / BINS;
	left = n;
	begin_run(p, run, axis);
	fprintf(p->svg->out,
		"<path fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.4\" stroke-width=\"1.2\"%s d=\"",
		mr_svg_dash(r->dash));
	for (size_t k = 0; k < r->n; k++) {
		if (!isfinite(r->loss[k]))
			continue;
		if (left == n && width > 1) { /* the first step as it is */
			fprintf(p->svg->out, "M%.1f %.1f", mr_panel_x(&p->panel[axis], r->x[axis][k]),
				mr_panel_y(&p->panel[axis], r->loss[k]));
			move = 'L';
		}
		x += r->x[axis][k];
		y += r->loss[k];
		left--;
		last = k;
		if (++in < width && left)
			continue;
		fprintf(p->svg->out, "%c%.1f %.1f", move, mr_panel_x(&p->panel[axis], x / (double)in),
			mr_panel_y(&p->panel[axis], y / (double)in));
		move = 'L';
		x = y = 0;
		in = 0;
	}
	fputs("\"/>", p->svg->out);
	if (n == 1)
		put_dot(p, run, axis, last, r->loss[last], " opacity=\"0.4\"");
	fputs("</g>\n", p->svg->out);
}

static void put_validation(const mr_plot *p, size_t run, int axis)
{
	const mr_course *r = &p->run[run];
	mr_points line = {r->x[axis], r->val, r->n};

	begin_run(p, run, axis);
	fprintf(p->svg->out, "<path fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"%s d=\"",
		mr_svg_dash(r->dash));
	mr_panel_path(&p->panel[axis], &line, 0, p->svg->out);
	fputs("\"/>", p->svg->out);
	for (size_t k = 0; k < r->n; k++)
		if (isfinite(r->val[k]))
			put_dot(p, run, axis, k, r->val[k], "");
	fputs("</g>\n", p->svg->out);
}

/* "name (validation 1.499; on 1f1b)", or the known part of it. */
static void about_run(const mr_plot *p, size_t run, mr_strbuf *text)
{
	const mr_course *r = &p->run[run];
	double val = NAN;

	for (size_t k = 0; k < r->n; k++)
		val = isfinite(r->val[k]) ? r->val[k] : val;
	mr_strbuf_reset(text);
	mr_strbuf_append(text, p->curves[run].name);
	if (isfinite(val))
		mr_strbuf_printf(text, " (%s %.3f", r->trains_only ? "all training samples" : "validation", val);
	if (r->twin != NOBODY)
		mr_strbuf_printf(text, "%son %s", isfinite(val) ? "; " : " (", p->curves[r->twin].name);
	if (isfinite(val) || r->twin != NOBODY)
		mr_strbuf_append(text, ")");
}

static bool any_evaluation(const mr_plot *p, bool trains_only)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->run[i].n; k++)
			if (isfinite(p->run[i].val[k]) && p->run[i].trains_only == trains_only)
				return true;
	return false;
}

/* Explains bold and pale lines, in a line of its own. */
static void put_key(const mr_plot *p, mr_svg_legend *l)
{
	bool validates = any_evaluation(p, false), trains = any_evaluation(p, true);
	char text[96];

	l->x = l->left;
	l->y += MR_SVG_LEGEND_LINE;
	if (validates || trains) {
		snprintf(text, sizeof(text), "bold, with dots: %s",
			 !trains     ? "validation loss"
			 : validates ? "loss of validation (or all training) samples"
				     : "loss of all training samples");
		mr_svg_legend_put(l, 22,
				  "<g class=\"gray\"><path d=\"M0 6h22\" stroke=\"currentColor\" stroke-width=\"2\"/>"
				  "<circle cx=\"11\" cy=\"6\" r=\"2.6\" fill=\"currentColor\"/></g>",
				  text);
	}
	snprintf(text, sizeof(text), "pale: training loss, averaged over stretches of up to 1/%d of the run", BINS);
	mr_svg_legend_put(l, 22,
			  "<path class=\"gray\" d=\"M0 6h22\" stroke=\"currentColor\" stroke-width=\"1.2\" "
			  "opacity=\"0.4\"/>",
			  text);
}

/* A message for each run that a panel leaves out. */
static void put_notes(const mr_plot *p, mr_svg_legend *l)
{
	char text[512];

	for (size_t i = 0; i < p->n; i++)
		for (int axis = 0; axis < 2; axis++) {
			if (!p->run[i].missing[axis])
				continue;
			l->x = l->left;
			l->y += MR_SVG_LEGEND_LINE;
			snprintf(text, sizeof(text), "%s has no count of %s and is left out of the %s panel",
				 p->curves[i].name,
				 axis        ? "seconds"
				 : p->tokens ? "tokens"
					     : "samples",
				 axis ? "right" : "left");
			mr_svg_legend_put(l, 0, "", text);
		}
}

/* Everything between title and panels; returns where it ends. @svg NULL: only measure. */
static double put_legend(const mr_plot *p, const mr_svg *svg)
{
	mr_svg_legend l = mr_svg_legend_begin(svg, p->panel[0].left, WIDTH - 10, LEGEND_TOP);
	char swatch[160];
	mr_strbuf text = {0};

	for (size_t i = 0; i < p->n; i++) {
		about_run(p, i, &text);
		snprintf(swatch, sizeof(swatch),
			 "<path class=\"%s\" d=\"M0 6h22\" stroke=\"currentColor\" stroke-width=\"2.5\"%s/>",
			 mr_svg_hue(i), mr_svg_dash(p->run[i].dash));
		mr_svg_legend_put(&l, 22, swatch, mr_strbuf_text(&text));
	}
	mr_strbuf_fini(&text);
	put_key(p, &l);
	put_notes(p, &l);
	return mr_svg_legend_end(&l);
}

static mr_status put_plot(mr_plot *p, const char *title)
{
	double down = put_legend(p, NULL) - LEGEND_TOP, beyond = DOT + 1;

	mr_svg_begin(p->svg, WIDTH, HEIGHT + down, title ? title : "loss");
	mr_svg_text(p->svg, p->panel[0].left, 28, "title", title ? title : "loss");
	put_legend(p, p->svg);
	for (size_t i = 0; i < p->n; i++)
		beyond = fmax(beyond, radius_of(p, i) + 1);
	for (int axis = 0; axis < 2; axis++) {
		p->panel[axis].top += down;
		p->panel[axis].beyond = beyond;
		mr_panel_put(&p->panel[axis], p->svg);
		for (size_t i = 0; i < p->n; i++)
			if (!p->run[i].missing[axis])
				put_training(p, i, axis);
		for (size_t i = 0; i < p->n; i++)
			if (!p->run[i].missing[axis])
				put_validation(p, i, axis);
	}
	return mr_svg_end(p->svg);
}

/* --- runs that lie on others --- */

static bool has_count(const mr_curve *c, bool tokens)
{
	for (size_t k = 0; k < c->n_rows; k++)
		if (!isnan(tokens ? c->rows[k].tokens : c->rows[k].samples))
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
static void choose_unit(mr_plot *p)
{
	size_t n_tokens = 0, n_samples = 0;

	for (size_t i = 0; i < p->n; i++) {
		n_tokens += has_count(&p->curves[i], true);
		n_samples += has_count(&p->curves[i], false);
	}
	p->tokens = n_tokens && n_tokens >= n_samples;
	for (size_t i = 0; i < p->n; i++) {
		p->run[i].missing[0] = (n_tokens || n_samples) && !has_count(&p->curves[i], p->tokens);
		p->run[i].missing[1] = !has_seconds(&p->curves[i]);
	}
}

/* Does most of the line of @run lie behind that of @other in the left panel? By validation losses, if there are any. */
static bool coincide(const mr_plot *p, size_t run, size_t other)
{
	const mr_course *r = &p->run[run], *o = &p->run[other];
	bool val = false;

	if (r->missing[0] || o->missing[0])
		return false;
	for (size_t k = 0; k < r->n && !val; k++)
		val = isfinite(r->val[k]);
	return mr_panel_coincide(&p->panel[0], &(mr_points){r->x[0], val ? r->val : r->loss, r->n},
				 &(mr_points){o->x[0], val ? o->val : o->loss, o->n});
}

/* Has a run before @run the same colour and the same dashes? */
static bool looks_alike(const mr_plot *p, size_t run)
{
	for (size_t k = run % MR_SVG_HUES; k < run; k += MR_SVG_HUES)
		if (p->run[k].dash == p->run[run].dash)
			return true;
	return false;
}

static void choose_dashes(mr_plot *p)
{
	for (size_t i = 0; i < p->n; i++) {
		p->run[i].dash = (i / MR_SVG_HUES + p->run[i].n_twins) % MR_SVG_DASHES;
		for (size_t tries = 1; tries < MR_SVG_DASHES && looks_alike(p, i); tries++)
			p->run[i].dash = (p->run[i].dash + 1) % MR_SVG_DASHES;
	}
}

static void find_twins(mr_plot *p)
{
	for (size_t i = 0; i < p->n; i++) {
		p->run[i].twin = NOBODY;
		for (size_t k = i; k-- > 0;)
			if (coincide(p, i, k)) {
				p->run[i].twin = k;
				p->run[i].n_twins++;
			}
	}
}

static mr_status make_course(const mr_plot *p, size_t i)
{
	size_t n = p->curves[i].n_rows;
	mr_course *r = &p->run[i];

	r->x[0] = malloc(4 * (n + 1) * sizeof(*r->x[0]));
	if (!r->x[0])
		return mr_fail(MR_ERESOURCE, "no memory for a curve of %zu points", n);
	r->n = n;
	r->x[1] = r->x[0] + n;
	r->loss = r->x[1] + n;
	r->val = r->loss + n;
	fill_course(&p->curves[i], p->tokens, r);
	return MR_OK;
}

static mr_status lay_out(mr_plot *p)
{
	choose_unit(p);
	for (int a = 0; a < 2; a++) {
		p->panel[a] = (mr_panel){.left = a ? 530 : 62,
					 .top = PANEL_TOP,
					 .width = PANEL_WIDTH,
					 .height = PANEL_HEIGHT,
					 .x = mr_axis_empty(a           ? "seconds, with evaluations and checkpoints"
							    : p->tokens ? "tokens"
									: "samples",
							    false),
					 .id = (unsigned)a};
		mr_axis_see(&p->panel[a].x, 0);
	}
	for (size_t i = 0; i < p->n; i++)
		MR_TRY(make_course(p, i));
	find_extent(p);
	if (!isfinite(p->panel[0].y.low))
		return mr_fail(MR_EINVAL, "no run has a finite loss to draw");
	for (int a = 0; a < 2; a++) {
		p->panel[a].x.high = p->panel[a].x.high > 0 ? p->panel[a].x.high : 1;
		mr_axis_close(&p->panel[a].y);
	}
	p->panel[0].y.name = "loss";
	find_twins(p);
	choose_dashes(p);
	return MR_OK;
}

mr_status mr_curves_put(const mr_curve *curves, size_t n, const char *title, const mr_svg *svg)
{
	mr_plot p = {.curves = curves, .run = calloc(n + 1, sizeof(*p.run)), .n = n, .svg = svg};
	mr_status st = p.run ? lay_out(&p) : mr_fail(MR_ERESOURCE, "no memory for %zu curves", n);

	if (st == MR_OK)
		st = put_plot(&p, title);
	for (size_t i = 0; p.run && i < n; i++)
		free(p.run[i].x[0]);
	free(p.run);
	return st;
}

mr_status mr_curves_svg(const mr_curve *curves, size_t n, const char *title, FILE *out)
{
	mr_svg svg = mr_svg_file(out);

	return mr_curves_put(curves, n, title, &svg);
}
