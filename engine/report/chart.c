#include "report/chart.h"

#include <math.h>
#include <stdlib.h>

#define LEFT 76.0
#define RIGHT 24.0
#define BELOW 50.0
#define DOT 3.0
#define MOST_POINTS 800 /* of a line */
#define NOBODY SIZE_MAX

/* How a series is drawn. */
typedef struct mr_look {
	size_t hue, dash;
	size_t twin;   /* the first series that it lies on; NOBODY: none */
	double radius; /* of its marks, or rings */
} mr_look;

typedef struct mr_chart_plot {
	const mr_chart *c;
	mr_panel panel;
	mr_look *look; /* [c->n] */
} mr_chart_plot;

static void find_extent(const mr_chart *c, mr_panel *p)
{
	p->x = mr_axis_empty(c->x_name, c->log_x);
	p->y = mr_axis_empty(c->y_name, c->log_y);
	p->x.doubles = c->doubles_x;
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->series[i].at.n; k++) {
			mr_axis_see(&p->x, c->series[i].at.x[k]);
			mr_axis_see(&p->y, c->series[i].at.y[k]);
		}
	if (!c->log_x && c->from_x0)
		mr_axis_see(&p->x, 0);
	if (!c->log_y && c->from_y0)
		mr_axis_see(&p->y, 0);
	mr_axis_see(&p->y, c->y_low > 0 ? c->y_low : (double)NAN);
	if (c->y_floor > p->y.low && c->y_floor < p->y.high)
		p->y.low = c->y_floor;
	mr_axis_close(&p->x);
	mr_axis_close(&p->y);
	if (p->y.log) { /* whole powers, if they do not leave most of the panel empty */
		double low = pow(10, floor(log10(p->y.low) + 1e-9)), high = pow(10, ceil(log10(p->y.high) - 1e-9));

		if (log(high / low) < 2.5 * log(p->y.high / p->y.low)) {
			p->y.low = low;
			p->y.high = high;
		}
	}
}

static bool looks_alike(const mr_look *look, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (look[k].hue == look[i].hue && look[k].dash == look[i].dash)
			return true;
	return false;
}

static void choose_looks(mr_chart_plot *p)
{
	const mr_chart *c = p->c;
	size_t hue = 0;

	for (size_t i = 0; i < c->n; i++) {
		mr_look *l = &p->look[i];
		size_t twins = 0;

		*l = (mr_look){.twin = NOBODY, .radius = DOT};
		if (c->series[i].with_last && i) {
			l->hue = p->look[i - 1].hue;
			continue;
		}
		for (size_t k = i; k-- > 0;)
			if (!c->series[k].with_last && c->series[k].no_line == c->series[i].no_line &&
			    mr_panel_coincide(&p->panel, &c->series[i].at, &c->series[k].at)) {
				l->twin = k;
				twins++;
			}
		l->hue = hue++ % MR_SVG_HUES;
		l->dash = (c->series[i].dashed + twins) % MR_SVG_DASHES;
		for (size_t tries = 1; tries < MR_SVG_DASHES && looks_alike(p->look, i); tries++)
			l->dash = (l->dash + 1) % MR_SVG_DASHES;
		l->radius += 2 * fmin((double)twins, 3);
	}
}

static void put_mark(const mr_look *l, double x, double y, FILE *out)
{
	fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" ", mr_svg_hue(l->hue), x, y, l->radius);
	fputs(l->radius > DOT ? "fill=\"none\" stroke=\"currentColor\"/>" : "fill=\"currentColor\"/>", out);
}

/* Texts end at the edge of the panel. */
static void put_labels(const mr_chart_plot *p, const mr_chart_series *s, const mr_svg *v)
{
	for (size_t k = 0; k < s->at.n; k++) {
		double x = mr_panel_x(&p->panel, s->at.x[k]), y = mr_panel_y(&p->panel, s->at.y[k]);
		bool over = s->label[k] && x + 8 + mr_svg_text_width(s->label[k], 10) > p->panel.left + p->panel.width;

		if (s->label[k] && mr_axis_shows(&p->panel.x, s->at.x[k]) && mr_axis_shows(&p->panel.y, s->at.y[k]))
			mr_svg_text(v, over ? x - 7 : x + 7, y - 5, over ? "value right" : "value", s->label[k]);
	}
}

static void put_band(const mr_chart_plot *p, const mr_chart_series *s, const char *css, const mr_svg *v)
{
	fprintf(v->out, "<path class=\"%s\" fill=\"currentColor\" fill-opacity=\"0.15\"", css);
	mr_panel_clip(&p->panel, v);
	fputs(" d=\"", v->out);
	for (size_t k = 0; k < s->at.n; k++)
		fprintf(v->out, "%c%.1f %.1f", k ? 'L' : 'M', mr_panel_x(&p->panel, s->at.x[k]),
			mr_panel_y(&p->panel, s->high[k]));
	for (size_t k = s->at.n; k-- > 0;)
		fprintf(v->out, "L%.1f %.1f", mr_panel_x(&p->panel, s->at.x[k]), mr_panel_y(&p->panel, s->low[k]));
	fputs("Z\"/>\n", v->out);
}

static void put_series(const mr_chart_plot *p, size_t i, const mr_svg *v)
{
	const mr_chart_series *s = &p->c->series[i];
	const mr_look *l = &p->look[i];
	const char *css = mr_svg_hue(l->hue);

	if (s->low && s->high && s->at.n)
		put_band(p, s, css, v);
	if (!s->no_line) {
		fprintf(v->out, "<path class=\"%s\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\"%s", css,
			mr_svg_dash(l->dash));
		mr_panel_clip(&p->panel, v);
		fputs(" d=\"", v->out);
		mr_panel_path(&p->panel, &s->at, MOST_POINTS, v->out);
		fputs("\"/>\n", v->out);
	}
	if (s->marks || s->no_line) {
		fputs("<g", v->out);
		mr_panel_clip(&p->panel, v);
		fputc('>', v->out);
		for (size_t k = 0; k < s->at.n; k++)
			if (mr_axis_shows(&p->panel.x, s->at.x[k]) && mr_axis_shows(&p->panel.y, s->at.y[k]))
				put_mark(l, mr_panel_x(&p->panel, s->at.x[k]), mr_panel_y(&p->panel, s->at.y[k]),
					 v->out);
		fputs("</g>\n", v->out);
	}
	if (s->label)
		put_labels(p, s, v);
}

/* Returns where it ends. @v NULL: only measure. */
static double put_legend(const mr_chart_plot *p, double width, double y, const mr_svg *v)
{
	mr_svg_legend l = mr_svg_legend_begin(v, LEFT, width - RIGHT, y);
	char swatch[256], name[256];
	size_t n = 0;

	for (size_t i = 0; i < p->c->n; i++) {
		const mr_chart_series *s = &p->c->series[i];
		const char *css = mr_svg_hue(p->look[i].hue);

		if (!s->name)
			continue;
		n++;
		if (s->no_line)
			snprintf(swatch, sizeof(swatch),
				 "<circle class=\"%s\" cx=\"11\" cy=\"6\" r=\"%g\" fill=\"currentColor\"/>", css, DOT);
		else
			snprintf(swatch, sizeof(swatch),
				 "<path class=\"%s\" d=\"M0 6h22\" stroke=\"currentColor\" stroke-width=\"2.2\"%s/>",
				 css, mr_svg_dash(p->look[i].dash));
		if (p->look[i].twin == NOBODY || !p->c->series[p->look[i].twin].name)
			snprintf(name, sizeof(name), "%s", s->name);
		else
			snprintf(name, sizeof(name), "%s (on %s)", s->name, p->c->series[p->look[i].twin].name);
		mr_svg_legend_put(&l, 22, swatch, name);
	}
	return n ? mr_svg_legend_end(&l) + 6 : y;
}

/* Draws titles from the top; returns where they end. */
static double put_titles(const char *title, const char *subtitle, double left, const mr_svg *v)
{
	double y = 10;

	if (title) {
		y += 20;
		if (v)
			mr_svg_text(v, left, y, "title", title);
	}
	if (subtitle) {
		y += 20;
		if (v)
			mr_svg_text(v, left, y, "sub", subtitle);
	}
	return title || subtitle ? y + 14 : y;
}

mr_status mr_chart_put(const mr_chart *c, const mr_svg *v)
{
	mr_chart_plot p = {.c = c, .look = calloc(c->n + 1, sizeof(*p.look))};
	double width, legend;

	if (!p.look)
		return mr_fail(MR_ERESOURCE, "no memory for a chart of %zu lines", c->n);
	p.panel = (mr_panel){.left = LEFT,
			     .width = c->width > 0 ? c->width : 620,
			     .height = c->height > 0 ? c->height : 300,
			     .beyond = DOT + 8};
	find_extent(c, &p.panel);
	choose_looks(&p);
	width = LEFT + p.panel.width + RIGHT;
	if (c->title)
		width = fmax(width, LEFT + mr_svg_text_width(c->title, 19));
	if (c->subtitle)
		width = fmax(width, LEFT + mr_svg_text_width(c->subtitle, 12));
	legend = put_titles(c->title, c->subtitle, LEFT, NULL);
	p.panel.top = put_legend(&p, width, legend, NULL) + 8;
	mr_svg_begin(v, width, p.panel.top + p.panel.height + BELOW, c->title ? c->title : "chart");
	put_titles(c->title, c->subtitle, LEFT, v);
	put_legend(&p, width, legend, v);
	mr_panel_put(&p.panel, v);
	for (size_t i = 0; i < c->n; i++)
		put_series(&p, i, v);
	free(p.look);
	return mr_svg_end(v);
}

/* --- bars --- */

#define BAR 18.0
#define BAR_WIDTH 480.0

static double row_height(const mr_bars *b)
{
	return b->beside ? (double)b->n_parts * (BAR - 4) + 8 : BAR + 8;
}

static double extent(const mr_bars *b)
{
	double most = b->high;

	for (size_t i = 0; i < b->n && !(b->high > 0); i++) {
		double sum = 0;

		for (size_t k = 0; k < b->n_parts; k++) {
			double v = b->rows[i].value[k];

			if (!(v > 0))
				continue;
			sum = b->beside ? fmax(sum, v) : sum + v;
		}
		most = fmax(most, sum);
	}
	return most > 0 ? most : 1;
}

static void put_bars_row(const mr_bars *b, const mr_panel *p, size_t i, double y, const mr_svg *v)
{
	const mr_bars_row *r = &b->rows[i];
	double sum = 0, most = 0;

	mr_svg_text(v, p->left - 8, y + row_height(b) / 2 + 4, "row", r->name);
	for (size_t k = 0; k < b->n_parts; k++) {
		double x = mr_panel_x(p, b->beside ? 0 : sum), value = r->value[k];

		if (!(value > 0))
			continue;
		sum += value;
		most = fmax(most, value);
		fprintf(v->out,
			"<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%g\" fill=\"currentColor\" "
			"fill-opacity=\"0.85\"><title>",
			mr_svg_hue(k), x, y + (b->beside ? (double)k * (BAR - 4) : 0) + 4,
			fmax(mr_panel_x(p, b->beside ? value : sum) - x, 0.5), b->beside ? BAR - 6 : BAR);
		mr_svg_escape(v->out, b->part[k]);
		fprintf(v->out, ": %.4g</title></rect>\n", value);
	}
	if (r->text && *r->text)
		mr_svg_text(v, mr_panel_x(p, b->beside ? most : sum) + 6, y + row_height(b) / 2 + 4, "value", r->text);
}

static double put_bars_legend(const mr_bars *b, double left, double right, double y, const mr_svg *v)
{
	mr_svg_legend l = mr_svg_legend_begin(v, left, right, y);
	char swatch[160];

	if (b->n_parts < 2)
		return y;
	for (size_t k = 0; k < b->n_parts; k++) {
		snprintf(swatch, sizeof(swatch),
			 "<rect class=\"%s\" width=\"12\" height=\"12\" fill=\"currentColor\" "
			 "fill-opacity=\"0.85\"/>",
			 mr_svg_hue(k));
		mr_svg_legend_put(&l, 12, swatch, b->part[k]);
	}
	return mr_svg_legend_end(&l) + 4;
}

mr_status mr_bars_put(const mr_bars *b, const mr_svg *v)
{
	mr_panel p = {.width = BAR_WIDTH, .y = {.plain = true, .high = 1}, .x = {.name = b->x_name}};
	double left = 60, behind = 20, legend, width;

	for (size_t i = 0; i < b->n; i++) {
		left = fmax(left, 20 + mr_svg_text_width(b->rows[i].name, 12));
		if (b->rows[i].text)
			behind = fmax(behind, 16 + mr_svg_text_width(b->rows[i].text, 11));
	}
	p.left = left;
	p.x.high = extent(b);
	p.height = (double)b->n * row_height(b) + 6;
	width = left + BAR_WIDTH + behind;
	if (b->title)
		width = fmax(width, left + mr_svg_text_width(b->title, 19));
	if (b->subtitle)
		width = fmax(width, left + mr_svg_text_width(b->subtitle, 12));
	legend = put_titles(b->title, b->subtitle, left, NULL);
	p.top = put_bars_legend(b, left, width, legend, NULL);
	mr_svg_begin(v, width, p.top + p.height + BELOW, b->title ? b->title : "bars");
	put_titles(b->title, b->subtitle, left, v);
	put_bars_legend(b, left, width, legend, v);
	mr_panel_put(&p, v);
	for (size_t i = 0; i < b->n; i++)
		put_bars_row(b, &p, i, p.top + (double)i * row_height(b), v);
	return mr_svg_end(v);
}
