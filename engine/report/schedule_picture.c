#include "report/schedule_picture.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ir/op.h"
#include "report/records.h"
#include "report/schedule_frame.h"
#include "report/schedule_lanes.h"
#include "report/svg.h"

#define NOBODY SIZE_MAX
#define MAX_BANDS 6 /* into which a long time is folded, to keep columns wide enough for numbers */

mr_status mr_schedule_frame_find(const mr_schedule_picture *p, mr_schedule_frame *out)
{
	*out = (mr_schedule_frame){.from = UINT64_MAX, .shortest = UINT64_MAX, .digits = 1};
	if (p->n_workers == 0 || !(p->unit > 0) || !isfinite(p->unit))
		return mr_fail(MR_EINVAL, "a picture needs at least one worker and a positive unit, got %u and %g",
			       p->n_workers, p->unit);
	for (size_t i = 0; i < p->n_rec; i++) {
		const mr_trace_rec *r = &p->rec[i];
		unsigned digits = (unsigned)snprintf(NULL, 0, "%u", r->micro);

		if (r->worker >= p->n_workers || r->end_ns < r->begin_ns || r->op >= MR_N_OPS)
			return mr_fail(MR_EINVAL, "record %zu (worker %u of %u, %llu to %llu) cannot be drawn", i,
				       r->worker, p->n_workers, (unsigned long long)r->begin_ns,
				       (unsigned long long)r->end_ns);
		out->from = r->begin_ns < out->from ? r->begin_ns : out->from;
		out->to = r->end_ns > out->to ? r->end_ns : out->to;
		if (r->end_ns > r->begin_ns && r->end_ns - r->begin_ns < out->shortest)
			out->shortest = r->end_ns - r->begin_ns;
		out->digits = digits > out->digits ? digits : out->digits;
	}
	if (p->n_rec == 0)
		out->from = 0;
	return MR_OK;
}

/* --- the text form --- */

typedef struct mr_text_grid {
	const mr_schedule_picture *p;
	mr_schedule_frame frame;
	mr_schedule_lanes lanes;
	unsigned n_cols, label; /* columns of the drawing, and of the worker's name before it */
	unsigned band;          /* columns of one line; the drawing is folded there */
	size_t *first, *of;     /* [n_workers + 1], [n_rec] the records by worker: those of w are of[first[w]] up to
	                           of[first[w + 1] - 1] */
	size_t *owner;          /* [n_cols] record with the largest part of the column, NOBODY for none; for one worker
	                           at a time */
	double *most, *busy;    /* [n_cols] part of the column of the owner, and of all records */
} mr_text_grid;

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/*
 * Chooses the number of columns, and where to fold. A whole number of columns for the greatest common divisor of all
 * times keeps equal times equally wide, and with one more column than the longest number has digits every box holds its
 * label. A line that is too short for that is folded into a few bands; if that does not suffice, boxes get narrower.
 */
static void choose_columns(mr_text_grid *g, unsigned room)
{
	unsigned wide = g->frame.digits + 1 + (mr_schedule_lanes_letter(&g->lanes, 0) != 0), fold = room - room % wide;
	uint64_t unit = g->frame.to - g->frame.from, cells;

	for (size_t i = 0; i < g->p->n_rec; i++) {
		unit = gcd(unit, g->p->rec[i].begin_ns - g->frame.from);
		unit = gcd(unit, g->p->rec[i].end_ns - g->frame.from);
	}
	cells = unit ? (g->frame.to - g->frame.from) / unit : 0;
	if (fold && cells <= (uint64_t)MAX_BANDS * (fold / wide)) {
		g->n_cols = cells ? (unsigned)cells * wide : 1;
		g->band = g->n_cols <= room ? g->n_cols : fold;
	} else {
		g->n_cols = g->band = cells > room ? room : (unsigned)(cells * (room / cells));
	}
}

/* Sorts the records that take time by worker; those of a worker keep their order. */
static mr_status sort_by_worker(mr_text_grid *g)
{
	const mr_schedule_picture *p = g->p;
	size_t *first = calloc(p->n_workers + 2u, sizeof(*first)), *of = malloc((p->n_rec + 1) * sizeof(*of));

	g->first = first;
	g->of = of;
	if (!first || !of)
		return mr_fail(MR_ERESOURCE, "no memory to draw %zu records", p->n_rec);
	for (size_t i = 0; i < p->n_rec; i++)
		first[p->rec[i].worker + 2u] += p->rec[i].end_ns > p->rec[i].begin_ns;
	for (unsigned w = 2; w < p->n_workers + 2u; w++)
		first[w] += first[w - 1]; /* first[w + 1] is the begin of worker w, and advances as it is filled */
	for (size_t i = 0; i < p->n_rec; i++)
		if (p->rec[i].end_ns > p->rec[i].begin_ns)
			of[first[p->rec[i].worker + 1u]++] = i;
	return MR_OK;
}

static double column_of(const mr_text_grid *g, uint64_t t)
{
	return (double)(t - g->frame.from) * g->n_cols / (double)(g->frame.to - g->frame.from);
}

static void take_record(mr_text_grid *g, size_t i)
{
	double a = column_of(g, g->p->rec[i].begin_ns), b = column_of(g, g->p->rec[i].end_ns);

	for (unsigned c = (unsigned)a; c < g->n_cols && c < b; c++) {
		double low = a > c ? a : c, high = b < c + 1.0 ? b : c + 1.0;

		if (high - low > g->most[c]) {
			g->most[c] = high - low;
			g->owner[c] = i;
		}
		g->busy[c] += high - low;
	}
}

/* With two lanes the second has small letters; with more each has a letter of its own behind the number. */
static void print_box(const mr_text_grid *g, const mr_trace_rec *r, unsigned width, mr_strbuf *out)
{
	bool compute = mr_op_is_compute(r->op);
	unsigned lane = compute ? mr_schedule_lanes_of(&g->lanes, r) : 0;
	char label[24], letter[2] = {mr_schedule_lanes_letter(&g->lanes, lane)};
	int n = compute ? snprintf(label, sizeof(label), "%s%u%s", mr_op_name((mr_op)r->op), r->micro, letter)
			: snprintf(label, sizeof(label), "%s", mr_op_name((mr_op)r->op));

	if (g->lanes.most == 2 && lane == 1)
		label[0] = (char)tolower((unsigned char)label[0]);
	if ((unsigned)n > width) /* the op alone is better than a cut number */
		n = 1;
	mr_strbuf_append_n(out, label, (size_t)n);
	for (unsigned c = (unsigned)n; c < width; c++)
		mr_strbuf_append(out, "-");
}

/* Columns [@from, @to) of a worker. */
static void print_row(mr_text_grid *g, uint16_t worker, unsigned from, unsigned to, mr_strbuf *out)
{
	char name[24];

	for (unsigned c = 0; c < g->n_cols; c++) {
		g->owner[c] = NOBODY;
		g->most[c] = g->busy[c] = 0;
	}
	for (size_t k = g->first[worker]; k < g->first[worker + 1u]; k++)
		take_record(g, g->of[k]);
	for (unsigned c = 0; c < g->n_cols; c++)
		if (g->busy[c] < 0.499)
			g->owner[c] = NOBODY;
	mr_strbuf_printf(out, "%-*s", (int)g->label, mr_report_row_name(worker, g->p->n_shares, name));
	for (unsigned c = from, end; c < to; c = end) {
		for (end = c + 1; end < to && g->owner[end] == g->owner[c]; end++)
			;
		if (g->owner[c] != NOBODY && (c == 0 || g->owner[c - 1] != g->owner[c]))
			print_box(g, &g->p->rec[g->owner[c]], end - c, out);
		else /* idle, or the rest of a box that the fold cuts */
			for (unsigned k = c; k < end; k++)
				mr_strbuf_append(out, g->owner[c] == NOBODY ? "." : "-");
	}
	mr_strbuf_append(out, "\n");
}

static void print_axis(const mr_text_grid *g, unsigned from, unsigned to, unsigned columns, mr_strbuf *out)
{
	double units = (double)(g->frame.to - g->frame.from) / g->p->unit, per_col = units / g->n_cols;
	double tick = mr_svg_tick(per_col * 8);
	unsigned at = 0;

	mr_strbuf_printf(out, "%*s", g->label, "");
	for (unsigned k = 0; k * tick <= units * (1 + 1e-9); k++) {
		unsigned c = (unsigned)lround(k * tick / per_col);
		char number[32];
		int n = snprintf(number, sizeof(number), "%g", k * tick);

		if (c < from || (c >= to && to < g->n_cols) || c - from < at ||
		    g->label + c - from + (unsigned)n > columns)
			continue;
		mr_strbuf_printf(out, "%*s%s", (int)(c - from - at), "", number);
		at = c - from + (unsigned)n;
	}
	if (to == g->n_cols && g->p->unit_name && *g->p->unit_name &&
	    g->label + at + 1 + strlen(g->p->unit_name) <= columns)
		mr_strbuf_printf(out, " %s", g->p->unit_name);
	mr_strbuf_append(out, "\n");
}

static void print_grid(mr_text_grid *g, unsigned columns, mr_strbuf *out)
{
	if (g->p->title)
		mr_strbuf_printf(out, "%.*s\n", (int)columns, g->p->title);
	if (g->frame.to == g->frame.from) {
		mr_strbuf_append(out, "(nothing that takes time)\n");
		return;
	}
	for (unsigned from = 0; from < g->n_cols; from += g->band) {
		unsigned to = from + g->band < g->n_cols ? from + g->band : g->n_cols;

		for (unsigned w = 0; w < g->p->n_workers; w++)
			print_row(g, (uint16_t)w, from, to, out);
		print_axis(g, from, to, columns, out);
	}
	if (g->lanes.most > 1)
		mr_strbuf_printf(out, "%.*s\n", (int)columns,
				 mr_schedule_lanes_letter(&g->lanes, 0)
					 ? "a, b, c ...: a worker's first, second, third ... pipe or stage"
				 : g->lanes.most == 2 ? "small letters: a worker's second pipe or stage"
						      : "workers have too many stages to tell them apart");
}

mr_status mr_schedule_picture_text(const mr_schedule_picture *p, unsigned columns, FILE *out)
{
	mr_text_grid g = {.p = p};
	char name[24];
	mr_strbuf text = {0};
	mr_status st = MR_OK;

	if (columns < 20)
		return mr_fail(MR_EINVAL, "a picture needs at least 20 columns, got %u", columns);
	MR_TRY(mr_schedule_frame_find(p, &g.frame));
	g.label = (unsigned)strlen(mr_report_row_name(p->n_workers - 1u, p->n_shares, name)) + 1;
	MR_TRY(mr_schedule_lanes_init(&g.lanes, p));
	choose_columns(&g, columns - g.label);
	st = sort_by_worker(&g);
	g.owner = malloc(g.n_cols * sizeof(*g.owner));
	g.most = malloc(g.n_cols * sizeof(*g.most));
	g.busy = malloc(g.n_cols * sizeof(*g.busy));
	if (st == MR_OK && g.owner && g.most && g.busy)
		print_grid(&g, columns, &text);
	if (st == MR_OK && (!g.owner || !g.most || !g.busy || text.failed))
		st = mr_fail(MR_ERESOURCE, "no memory to draw %u columns", columns);
	else if (st == MR_OK && fwrite(mr_strbuf_text(&text), 1, text.len, out) != text.len)
		st = mr_fail(MR_EIO, "the picture could not be written");
	mr_strbuf_fini(&text);
	mr_schedule_lanes_fini(&g.lanes);
	free(g.first);
	free(g.of);
	free(g.owner);
	free(g.most);
	free(g.busy);
	return st;
}
