/*
 * forecast_picture_svg.c - a forecast as SVG: the machine with the stages on its cores, the memory of the workers, the
 * schedule.
 *
 * All coordinates are computed here. The schedule is the picture of report/schedule_picture.h, nested below the others.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "outline/forecast_picture.h"
#include "outline/plan_report.h"
#include "report/svg.h"

#define MARGIN     20.0
#define WIDTH      1180.0
#define CELL       15.0 /* a core */
#define ROW_CORES  16u
#define NODE_GAP   16.0
#define LINE       17.0
#define BAR_LEFT   420.0
#define MOST_LINES 24u /* workers that are named below the machine, with bars of full height */
#define THIN       6.0 /* a bar, where there are more */

static const char *const class_fill[MR_PICTURE_CLASSES] = {"#4a86b8", "#9ecbf2", "#f2a79b",
							   "#a8dcae", "#f8c684", "#c9b3e6"};
/* Neighbours differ; numbers in the cells tell workers of one colour apart. */
static const char *const worker_fill[] = {"#9ecbf2", "#f8c684", "#a8dcae", "#f2a79b",
					  "#c9b3e6", "#e3d48f", "#9fdcd3", "#e8b0cf"};

typedef struct painter {
	const mr_forecast *f;
	const mr_picture_worker *w;
	FILE *out;
	double y;
} painter;

static void put_text(const painter *p, double x, double y, const char *css, const char *text)
{
	mr_svg v = mr_svg_file(p->out);

	mr_svg_text(&v, x, y, css, text);
}

static const char *fill_of(uint32_t worker)
{
	return worker_fill[worker % (sizeof(worker_fill) / sizeof(worker_fill[0]))];
}

/* --- the machine --- */

static uint32_t worker_of_core(const painter *p, uint32_t core)
{
	const mr_place *place = p->f->of.place;

	for (uint32_t w = 0; core < p->f->of.topo->n_usable && w < place->n_workers; w++)
		for (uint32_t i = 0; i < place->worker[w].n_threads; i++)
			if (place->worker[w].cpu[i] == p->f->of.topo->core[core].cpu)
				return w;
	return place->n_workers;
}

/* The first core of its worker carries the number. */
static void put_core(const painter *p, uint32_t core, double x, double y)
{
	uint32_t w = worker_of_core(p, core);
	const mr_place *place = p->f->of.place;

	if (w == place->n_workers) {
		fprintf(p->out,
			"<rect class=\"frame\" fill=\"none\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
			x, y, CELL - 2, CELL - 2);
		return;
	}
	fprintf(p->out,
		"<rect stroke=\"#5b6470\" stroke-width=\".6\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		"fill=\"%s\"><title>w%u, %s"
		"</title></rect>\n",
		x, y, CELL - 2, CELL - 2, fill_of(w), w, p->w[w].stages);
	if (place->worker[w].cpu[0] == p->f->of.topo->core[core].cpu)
		fprintf(p->out,
			"<text class=\"n\" style=\"font-size:8.5px\" fill=\"#10263a\" x=\"%.1f\" "
			"y=\"%.1f\">%u</text>\n",
			x + CELL / 2 - 1, y + CELL - 5, w);
}

static double node_width(const mr_topo *t)
{
	uint32_t most = 1;

	for (uint32_t n = 0; n < t->n_nodes; n++)
		most = t->node[n].n_cores > most ? t->node[n].n_cores : most;
	return fmax(190, (most < ROW_CORES ? most : ROW_CORES) * CELL + 40);
}

/* The bottom of the domains of node @n, which begin at @x, @y: domains side by side as far as there is room. */
static double put_domains(const painter *p, uint32_t n, double x, double y, double width)
{
	const mr_topo *t = p->f->of.topo;
	const mr_topo_node *node = &t->node[n];
	double left = x, height = 0;

	for (uint32_t d = node->first_l3; d < node->first_l3 + node->n_l3s; d++) {
		uint32_t cores = t->l3[d].n_cores, columns = cores < ROW_CORES ? cores : ROW_CORES;
		uint32_t rows = (cores + columns - 1) / columns;

		if (left > x && left + columns * CELL + 6 > x + width) {
			left = x;
			y += height + 4;
			height = 0;
		}
		fprintf(p->out,
			"<rect class=\"soft frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\"/>\n",
			left, y, columns * CELL + 4, rows * CELL + 4);
		for (uint32_t i = 0; i < cores; i++)
			put_core(p, t->l3[d].first_core + i, left + 3 + i % columns * CELL, y + 3 + i / columns * CELL);
		left += columns * CELL + 8;
		height = fmax(height, rows * CELL + 4);
	}
	return y + height;
}

static void put_machine(painter *p)
{
	const mr_topo *t = p->f->of.topo;
	double width = node_width(t), x = MARGIN, bottom = p->y;
	char text[160], used[16], has[16];

	for (uint32_t n = 0; n < t->n_nodes; n++) {
		const mr_topo_node *node = &t->node[n];
		double end, part = 0;

		if (x > MARGIN && x + width > WIDTH - MARGIN) {
			x = MARGIN;
			p->y = bottom + NODE_GAP;
		}
		snprintf(text, sizeof(text), "node %u: %s of %s", node->os_index,
			 mr_bytes_text(p->f->node_bytes[n], used),
			 node->memory_bytes ? mr_bytes_text(node->memory_bytes, has) : "unknown");
		put_text(p, x + 8, p->y + 16, "legend", text);
		end = put_domains(p, n, x + 10, p->y + 24, width - 20) + 6;
		if (node->memory_bytes)
			part = fmin(1, (double)p->f->node_bytes[n] / (double)node->memory_bytes);
		fprintf(p->out, "<rect class=\"soft\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"6\"/>\n", x + 10,
			end, width - 20);
		fprintf(p->out, "<rect fill=\"#7d8894\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"6\"/>\n", x + 10,
			end, part > 0 ? fmax(1, part * (width - 20)) : 0);
		fprintf(p->out,
			"<rect class=\"frame node\" fill=\"none\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"rx=\"6\"/>\n",
			x, p->y, width, end + 14 - p->y);
		bottom = fmax(bottom, end + 14);
		x += width + NODE_GAP;
	}
	p->y = bottom + 30;
}

/* --- memory --- */

static void put_legend(const painter *p)
{
	double x = BAR_LEFT;

	for (int k = 0; k < MR_PICTURE_CLASSES; k++) {
		fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, p->y - 9,
			class_fill[k]);
		put_text(p, x + 14, p->y, "legend", mr_picture_class[k]);
		x += 26 + 6.6 * (double)strlen(mr_picture_class[k]);
	}
}

static void put_memory(painter *p)
{
	uint32_t n = p->f->of.place->n_workers;
	bool named = n <= MOST_LINES;
	double line = named ? LINE : THIN + 2, room = WIDTH - MARGIN - 80 - BAR_LEFT;
	uint64_t most = 1;
	char text[180], bytes[16];

	put_text(p, MARGIN, p->y, "panel", "memory of the workers");
	put_legend(p);
	p->y += 10;
	for (uint32_t w = 0; w < n; w++)
		most = p->w[w].total > most ? p->w[w].total : most;
	for (uint32_t w = 0; w < n; w++, p->y += line) {
		double x = BAR_LEFT;

		if (named) {
			fprintf(p->out,
				"<rect stroke=\"#5b6470\" stroke-width=\".6\" x=\"%.1f\" y=\"%.1f\" width=\"11\" "
				"height=\"11\" "
				"fill=\"%s\"/>\n",
				MARGIN, p->y + 2, fill_of(w));
			snprintf(text, sizeof(text), "w%u  %.54s", w, p->w[w].stages);
			put_text(p, MARGIN + 18, p->y + 12, "legend", text);
		}
		for (int k = 0; k < MR_PICTURE_CLASSES; k++) {
			double width = (double)p->w[w].bytes[k] / (double)most * room;

			if (width >= 0.05)
				fprintf(p->out,
					"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
					"fill=\"%s\"><title>w%u %s %s</title></rect>\n",
					x, p->y + 1, width, line - 3, class_fill[k], w, mr_picture_class[k],
					mr_bytes_text(p->w[w].bytes[k], bytes));
			x += width;
		}
		if (named || !w || p->w[w].total == most)
			put_text(p, x + 6, p->y + (named ? 12 : 7), named ? "legend" : "legend",
				 mr_bytes_text(p->w[w].total, bytes));
	}
	p->y += 14;
}

/* --- the schedule --- */

/* Numbers behind width=" and height=" of the picture in @svg. */
static double size_of(const char *svg, const char *key)
{
	const char *at = strstr(svg, key);

	return at ? strtod(at + strlen(key), NULL) : 0;
}

/* The picture of the schedule, as a text. The caller frees it. */
static mr_status schedule_text(const mr_session *s, const mr_forecast *f, char **out)
{
	size_t size = 0;
	FILE *memory;
	mr_status st;

	*out = NULL;
	memory = open_memstream(out, &size);
	if (!memory)
		return mr_fail(MR_ERESOURCE, "no memory to draw a schedule");
	st = mr_forecast_draw(s, f, true, memory);
	if (fclose(memory) || st == MR_EIO)
		st = mr_fail(MR_ERESOURCE, "no memory to draw a schedule");
	if (st != MR_OK) {
		free(*out);
		*out = NULL;
	}
	return st;
}

/* Everything but the schedule, to @out. Returns its height. */
static double paint(const mr_session *s, const mr_forecast *f, const mr_picture_worker *w, FILE *out)
{
	painter p = {.f = f, .w = w, .out = out, .y = MARGIN + 14};
	char title[300], machine[512];

	snprintf(title, sizeof(title), "%.60s: %.40s, %u x %u threads, %u micro-batch%s a step, %.4g ms predicted",
		 s->job->name, s->plan->system, s->place.n_workers,
		 s->place.worker[0].n_threads, s->n_micro, s->n_micro == 1 ? "" : "es", 1e3 * f->step_s);
	put_text(&p, MARGIN, p.y, "title", title);
	p.y += 20;
	put_text(&p, MARGIN, p.y, "legend", mr_topo_print(&s->topo, machine, sizeof(machine)));
	p.y += 12;
	put_machine(&p);
	put_memory(&p);
	return p.y;
}

mr_status mr_forecast_picture_svg(const mr_session *s, const mr_forecast *f, FILE *out)
{
	mr_picture_worker *w = NULL;
	char *body = NULL, *schedule = NULL;
	size_t size = 0;
	double height = 0, width = WIDTH;
	mr_svg v = mr_svg_file(out);
	FILE *memory;
	mr_status st = mr_picture_workers(s, f, &w);

	if (st == MR_OK)
		st = schedule_text(s, f, &schedule);
	memory = st == MR_OK ? open_memstream(&body, &size) : NULL;
	if (st == MR_OK && !memory)
		st = mr_fail(MR_ERESOURCE, "no memory to draw a machine");
	if (memory) {
		height = paint(s, f, w, memory);
		if (fclose(memory))
			st = mr_fail(MR_ERESOURCE, "no memory to draw a machine");
	}
	if (st == MR_OK) {
		const char *inner = schedule ? strstr(schedule, "<svg") : NULL;

		width = inner ? fmax(width, size_of(inner, "width=\"")) : width;
		mr_svg_begin(&v, width, height + (inner ? size_of(inner, "height=\"") : 0),
			     "the machine with the stages on its cores, the memory of the workers, the schedule");
		fputs(body, out);
		if (inner)
			fprintf(out, "<svg x=\"0\" y=\"%.0f\" %s", height, inner + strlen("<svg "));
		st = mr_svg_end(&v);
	}
	free(w);
	free(body);
	free(schedule);
	return st;
}
