#include "report/placement.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

#define MARGIN 20.0
#define CORE 34.0
#define ROW 8        /* cores beside each other in a cache */
#define PAD 10.0
#define HEAD 18.0
#define WIDEST 900.0 /* nodes go on in the next row */

/* Where things stand; with @v NULL nothing is drawn. */
typedef struct mr_place_at {
	double x, y, width, height;
} mr_place_at;

static uint32_t columns_of(const mr_placement_cache *c)
{
	return c->n_cores < ROW ? c->n_cores : ROW;
}

static double cache_width(const mr_placement_cache *c)
{
	return fmax(columns_of(c) * CORE, 110) + 2 * PAD;
}

static double cache_height(const mr_placement_cache *c)
{
	return (double)((c->n_cores + ROW - 1) / ROW) * CORE + HEAD + 2 * PAD;
}

static void put_box(const mr_svg *v, const mr_place_at *at, const char *css, const char *text)
{
	fprintf(v->out, "<rect class=\"%s frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\"/>\n",
		css, at->x, at->y, at->width, at->height);
	mr_svg_text(v, at->x + PAD, at->y + HEAD - 3, "value", text);
}

/* A worker's text begins with its name. */
static void put_core(const mr_svg *v, const mr_placement *p, const mr_placement_core *c, double x, double y)
{
	bool idle = c->worker == MR_PLACEMENT_IDLE;
	char text[32];

	fprintf(v->out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" rx=\"3\" fill=\"currentColor\" "
		"fill-opacity=\"%s\" stroke=\"currentColor\"/>\n",
		idle ? "gray" : mr_svg_hue(c->worker), x, y, CORE - 5, CORE - 5, idle ? "0.06" : "0.3");
	if (!idle) {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(p->worker[c->worker], ":"), p->worker[c->worker]);
		mr_svg_text(v, x + (CORE - 5) / 2, y + 13, "name", text);
	}
	snprintf(text, sizeof(text), "%u", c->cpu);
	mr_svg_text(v, x + (CORE - 5) / 2, y + CORE - 10, "tick", text);
}

static void put_cache(const mr_svg *v, const mr_placement *p, const mr_placement_cache *c, const mr_place_at *at)
{
	char text[64] = "shared cache", bytes[16];

	if (c->bytes)
		snprintf(text, sizeof(text), "L3, %s", mr_bytes_text(c->bytes, bytes));
	put_box(v, at, "bg", text);
	for (uint32_t i = 0; i < c->n_cores; i++)
		put_core(v, p, &c->core[i], at->x + PAD + i % ROW * CORE,
			 at->y + PAD + HEAD + (double)(i / ROW) * CORE);
}

/* A node with its caches from @at on, which gets its size. */
static void put_node(const mr_svg *v, const mr_placement *p, uint32_t n, mr_place_at *at)
{
	double x = at->x + PAD, y = at->y + HEAD + PAD, high = 0, right = at->x + 160;
	char text[64], bytes[16];

	if (v) { /* below its caches; the size is known by now */
		snprintf(text, sizeof(text), "NUMA node %u, %s", p->node[n].number,
			 mr_bytes_text(p->node[n].bytes, bytes));
		put_box(v, at, "soft", text);
	}
	for (uint32_t i = 0; i < p->n_caches; i++) {
		const mr_placement_cache *c = &p->cache[i];
		mr_place_at here;

		if (c->node != n)
			continue;
		if (x > at->x + PAD && x + cache_width(c) > MARGIN + WIDEST) {
			x = at->x + PAD;
			y += high + PAD;
			high = 0;
		}
		here = (mr_place_at){x, y, cache_width(c), cache_height(c)};
		if (v)
			put_cache(v, p, c, &here);
		high = fmax(high, here.height);
		x += here.width + PAD;
		right = fmax(right, x);
	}
	at->width = right - at->x;
	at->height = y + high + PAD - at->y;
}

/* All nodes, side by side where they fit; returns the extent. */
static mr_place_at put_nodes(const mr_svg *v, const mr_placement *p, double top)
{
	mr_place_at all = {0, 0, 0, top}, at = {.x = MARGIN, .y = top};
	double high = 0;

	for (uint32_t n = 0; n < p->n_nodes; n++) {
		put_node(NULL, p, n, &at);
		if (at.x > MARGIN && at.x + at.width > MARGIN + WIDEST) {
			at.x = MARGIN;
			at.y += high + PAD;
			high = 0;
			put_node(NULL, p, n, &at);
		}
		if (v)
			put_node(v, p, n, &at);
		high = fmax(high, at.height);
		all.width = fmax(all.width, at.x + at.width);
		all.height = fmax(all.height, at.y + high);
		at.x += at.width + PAD;
	}
	return all;
}

mr_status mr_placement_put(const mr_placement *p, const mr_svg *v)
{
	double top = p->title ? 46 : MARGIN, width, y;
	mr_place_at all = put_nodes(NULL, p, top);

	width = all.width + MARGIN;
	for (uint32_t w = 0; w < p->n_workers; w++)
		width = fmax(width, MARGIN + 20 + mr_svg_text_width(p->worker[w], 11) + MARGIN);
	if (p->title)
		width = fmax(width, 2 * MARGIN + mr_svg_text_width(p->title, 19));
	mr_svg_begin(v, width, all.height + 14 + p->n_workers * MR_SVG_LEGEND_LINE + 12,
		     p->title ? p->title : "machine and workers");
	if (p->title)
		mr_svg_text(v, MARGIN, 30, "title", p->title);
	put_nodes(v, p, top);
	y = all.height + 14;
	for (uint32_t w = 0; w < p->n_workers; w++, y += MR_SVG_LEGEND_LINE) {
		fprintf(v->out,
			"<rect class=\"%s\" x=\"%g\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\" "
			"fill=\"currentColor\" fill-opacity=\"0.3\" stroke=\"currentColor\"/>\n",
			mr_svg_hue(w), MARGIN, y);
		mr_svg_text(v, MARGIN + 20, y + 10, "legend", p->worker[w]);
	}
	return mr_svg_end(v);
}
