/*
 * window.c - where S^2 - S/2 comes from: a picture of 1F1B in unit time, from stage 0's read to the update it serves.
 *
 * Micro-batch S of S = 4 stages, in the steady state. Updates are numbered in the order of time and, within a step, of
 * stages, which is how delays are counted; the picture is made from the timeline itself (timing/unit_time.h), and the
 * count is compared with the closed form.
 */
#include <stdlib.h>

#include "ir/op.h"
#include "perf/rpd/experiments.h"
#include "perf/rpd/problem.h"
#include "report/svg.h"

#define STAGES 4
#define LEFT 74.0
#define TOP 62.0
#define CELL 42.0
#define MARGIN 2u /* steps before and after */

typedef struct window {
	uint32_t read, update; /* steps of time */
	size_t first, end;     /* of the operations between the two */
} window;

static window find(const mr_unit_time *u, uint32_t micro)
{
	window w = {0};

	for (size_t i = 0; i < u->n; i++)
		if (u->at[i].micro == micro && u->at[i].stage == 0) {
			*(u->at[i].backward ? &w.update : &w.read) = u->at[i].time;
			*(u->at[i].backward ? &w.end : &w.first) = i;
		}
	return w;
}

static void cell(const mr_svg *v, const mr_unit_op *o, const window *w, bool ends, int number)
{
	unsigned op = o->backward ? MR_OP_B : MR_OP_F;
	double x = LEFT + CELL * (o->time + MARGIN - w->read), y = TOP + CELL * o->stage;
	char text[32];

	fprintf(v->out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" rx=\"3\" fill-opacity=\"%s\"/>\n",
		mr_svg_op(op), x + 2, y + 2, CELL - 4, CELL - 4, number || ends ? "1" : "0.25");
	if (ends)
		fprintf(v->out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" rx=\"4\" fill=\"none\" "
			"stroke=\"#d03020\" stroke-width=\"3\"/>\n",
			x + 1, y + 1, CELL - 2, CELL - 2);
	snprintf(text, sizeof(text), "%c%u", o->backward ? 'B' : 'F', o->micro);
	if (number || ends)
		fprintf(v->out, "<text class=\"n\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", mr_svg_op_text(op),
			x + CELL / 2, y + (number ? 15 : 24), text);
	else
		mr_svg_text(v, x + CELL / 2, y + 24, "tick", text);
	if (number)
		fprintf(v->out, "<text class=\"n\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">%d</text>\n",
			mr_svg_op_text(op), x + CELL / 2, y + 32, number);
}

/* The updates of each step between read and update, below its column. */
static void counts(const mr_svg *v, const mr_unit_time *u, const window *w)
{
	double y = TOP + CELL * STAGES + 20;
	char text[16];

	mr_svg_text(v, LEFT - 8, y, "row", "updates");
	for (uint32_t t = w->read; t <= w->update; t++) {
		unsigned n = 0;

		for (size_t i = w->first; i < w->end; i++)
			n += u->at[i].time == t && u->at[i].backward;
		snprintf(text, sizeof(text), "%u", n);
		mr_svg_text(v, LEFT + CELL * (t + MARGIN - w->read + 0.5), y, "tick", text);
	}
}

static void picture(const settings *s, const mr_unit_time *u, const window *w)
{
	uint32_t steps = w->update - w->read;
	double width = LEFT + CELL * (steps + 1 + 2 * MARGIN) + 16;
	FILE *out = table_open(s, "window.svg");
	mr_svg v = mr_svg_file(out);
	char text[96];
	int n = 0;

	mr_svg_begin(&v, width, TOP + CELL * STAGES + 34, "the updates between a read and the update that it serves");
	mr_svg_text(&v, 16, 24, "title", "Where S^2 - S/2 comes from, S = 4");
	snprintf(text, sizeof(text), "%u steps from read to update (framed), S/2 updates in each: %u x %u = %u", steps,
		 steps, STAGES / 2, steps * STAGES / 2);
	mr_svg_text(&v, 16, 44, "sub", text);
	for (uint16_t i = 0; i < STAGES; i++) {
		snprintf(text, sizeof(text), "stage %u", i);
		mr_svg_text(&v, LEFT - 8, TOP + CELL * i + 25, "row", text);
	}
	for (size_t i = 0; i < u->n; i++) {
		const mr_unit_op *o = &u->at[i];
		bool ends = i == w->first || i == w->end;

		if (o->time + MARGIN >= w->read && o->time <= w->update + MARGIN)
			cell(&v, o, w, ends, i > w->first && i < w->end && o->backward ? ++n : 0);
	}
	counts(&v, u, w);
	die_unless(mr_svg_end(&v), "window.svg");
	table_close(out);
	printf("between stage 0's read for micro-batch %u and its update: %d updates of %d stages; in closed form %u\n",
	       u->at[w->first].micro, n, STAGES, mr_unit_delay_max(STAGES));
}

void experiment_window(const settings *s)
{
	mr_unit_time u;
	window w;

	die_unless(mr_unit_greedy(STAGES, 4 * STAGES, 0, &u), "a timeline");
	w = find(&u, STAGES);
	picture(s, &u, &w);
	mr_unit_time_fini(&u);
}
