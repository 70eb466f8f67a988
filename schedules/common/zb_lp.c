/*
 * zb_lp.c - how good is the search of zb_auto? The same problem as a mixed integer program, for tiny cases.
 *
 * What cbc 2.10.8 proved: with stages of equal cost the search found the optimum in all of 252 cases (D = 2..4, T =
 * 2..6, six cost triples, caps of 1, 1.5, D and 2 D forwards and none). With costs drawn for each stage (whole numbers
 * from 1 to 7, hand-overs of 0 or 1, D = 2..4, T = 3..4, caps of 1, 1.5, 2, D, 2 D and none) it did in 158 of 200; R
 * was above the optimum by 1.8 % in the mean and by 27 % at most (D = 3, T = 3, cap 2). Each case took less than a few
 * seconds.
 *
 * Variables. R: the longest span of a worker, to be minimised. t_F3_w1: when F of micro-batch 3 ends on worker 1.
 * Micro-batches of one kind go in order on a worker, and F, I, W of one micro-batch follow each other; what remains
 * open on a worker is for b < a whether I b or W b comes before F a, and whether W b comes before I a: p_I0F2_w1 = 1
 * says that I 0 comes before F 2 on worker 1. For D workers and T micro-batches these are 3 D T t's, 3 D T (T - 1) / 2
 * p's and R.
 *
 * Rows, each named after its t or p:
 *	next_    3 D (T - 1)     an end is at least its cost after that of the same kind's micro-batch before
 *	own_     2 D T           so for I after F, and W after I, of one micro-batch
 *	down_    (D - 1) T       so for F after F of the worker before, with the hand-over
 *	up_      (D - 1) T       so for I after I of the worker behind
 *	first_, second_          3 D T (T - 1) / 2 each: the one end is at least its cost after the other, if p says so;
 *	                         else the row is relaxed by more than a span, so that it always holds
 *	hold_    each a + 1 > cap  at F a the worker holds the a + 1 forwards so far, less one half for each I and W
 *	         before it
 *	span_    3 D T           R is at least the time from the beginning of F 0 to any end, and all work that comes
 *	         after it
 *
 * The rows of span_ for ends before the last follow from the others where p is 0 or 1; they tighten a solver's bounds
 * before that. Source: Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, appendix on the ILP.
 */
#include "schedules/common/zb_lp.h"

#include <math.h>
#include <stdio.h>

#define MAX_PAIRS 100000.0
#define WIDTH 100 /* readers of the format have short lines */

enum kind { F, I, W, N_KINDS };

static const char letter[N_KINDS] = {'F', 'I', 'W'};

typedef struct node {
	enum kind kind;
	uint32_t micro;
} node;

typedef struct lp {
	const mr_zb_problem *p;
	mr_strbuf *out;
	size_t line; /* where the line began */
} lp;

static double cost_of(const lp *l, uint16_t w, enum kind k)
{
	const mr_stage_cost *c = &l->p->cost[w];

	return k == F ? c->f : k == I ? c->i : c->w;
}

static void term(lp *l, double factor, const char *name)
{
	char number[32];

	if (factor == 0)
		return;
	if (l->out->len - l->line > WIDTH) {
		mr_strbuf_append(l->out, "\n  ");
		l->line = l->out->len;
	}
	if (fabs(factor) == 1)
		mr_strbuf_printf(l->out, " %c %s", factor < 0 ? '-' : '+', name);
	else
		mr_strbuf_printf(l->out, " %c %s %s", factor < 0 ? '-' : '+', mr_double_text(fabs(factor), number),
				 name);
}

static void term_end(lp *l, double factor, uint16_t w, node x)
{
	char name[48];

	snprintf(name, sizeof(name), "t_%c%u_w%u", letter[x.kind], x.micro, w);
	term(l, factor, name);
}

static void term_order(lp *l, double factor, uint16_t w, node first, node second)
{
	char name[64];

	snprintf(name, sizeof(name), "p_%c%u%c%u_w%u", letter[first.kind], first.micro, letter[second.kind],
		 second.micro, w);
	term(l, factor, name);
}

static void begin_row(lp *l, const char *what, uint16_t w, node x)
{
	l->line = l->out->len;
	mr_strbuf_printf(l->out, " %s_%c%u_w%u:", what, letter[x.kind], x.micro, w);
}

static void end_row(lp *l, double least)
{
	char number[32];

	mr_strbuf_printf(l->out, " >= %s\n", mr_double_text(least, number));
}

/* @x of @w ends at least its cost after @y of @v, and @wait more. */
static void follows(lp *l, const char *what, uint16_t w, node x, uint16_t v, node y, double wait)
{
	begin_row(l, what, w, x);
	term_end(l, 1, w, x);
	term_end(l, -1, v, y);
	end_row(l, cost_of(l, w, x.kind) + wait);
}

static void put_edges(lp *l, uint16_t w, node x)
{
	uint16_t d = l->p->n_workers;

	if (x.micro)
		follows(l, "next", w, x, w, (node){x.kind, x.micro - 1}, 0);
	if (x.kind != F)
		follows(l, "own", w, x, w, (node){x.kind - 1, x.micro}, 0);
	if (x.kind == F && w > 0)
		follows(l, "down", w, x, (uint16_t)(w - 1), x, l->p->cost[w - 1].c);
	if (x.kind == I && w + 1 < d)
		follows(l, "up", w, x, (uint16_t)(w + 1), x, l->p->cost[w + 1].c);
}

/* @x, a later kind of an earlier micro-batch, and @y: one of them comes first. @lift: more than they can be apart. */
static void put_pair(lp *l, uint16_t w, node x, node y, double lift)
{
	static const char *const what[] = {"first", "second"};

	for (unsigned k = 0; k < 2; k++) {
		l->line = l->out->len;
		mr_strbuf_printf(l->out, " %s_%c%u%c%u_w%u:", what[k], letter[x.kind], x.micro, letter[y.kind], y.micro,
				 w);
		term_end(l, 1, w, k ? x : y);
		term_end(l, -1, w, k ? y : x);
		term_order(l, k ? lift : -lift, w, x, y);
		end_row(l, k ? cost_of(l, w, x.kind) : cost_of(l, w, y.kind) - lift);
	}
}

static void put_hold(lp *l, uint16_t w, uint32_t micro)
{
	node f = {F, micro};

	if (micro + 1.0 <= l->p->cap)
		return;
	begin_row(l, "hold", w, f);
	for (uint32_t b = 0; b < micro; b++) {
		term_order(l, 0.5, w, (node){I, b}, f);
		term_order(l, 0.5, w, (node){W, b}, f);
	}
	end_row(l, micro + 1.0 - l->p->cap);
}

/* R covers the end of @x and all work of @w after it: what always follows, and what p puts there. */
static void put_span(lp *l, uint16_t w, node x)
{
	double least = cost_of(l, w, F);

	begin_row(l, "span", w, x);
	term(l, 1, "R");
	if (x.kind != F || x.micro) { /* else they cancel out */
		term_end(l, -1, w, x);
		term_end(l, 1, w, (node){F, 0});
	}
	for (enum kind k = F; k < N_KINDS; k++)
		for (uint32_t m = 0; m < l->p->n_micro; m++) {
			node y = {k, m};
			double cost = cost_of(l, w, k);

			if (k < x.kind && m > x.micro) {
				term_order(l, -cost, w, x, y);
			} else if (k > x.kind && m < x.micro) {
				term_order(l, cost, w, y, x); /* behind x where p is 0: cost (1 - p) */
				least += cost;
			} else if (k > x.kind || (k == x.kind && m > x.micro)) {
				least += cost;
			}
		}
	end_row(l, least);
}

/* Call @fn for each pair of @w whose order is open. */
static void each_pair(lp *l, uint16_t w, void (*fn)(lp *l, uint16_t w, node x, node y, double lift), double lift)
{
	for (uint32_t a = 1; a < l->p->n_micro; a++)
		for (uint32_t b = 0; b < a; b++) {
			fn(l, w, (node){I, b}, (node){F, a}, lift);
			fn(l, w, (node){W, b}, (node){F, a}, lift);
			fn(l, w, (node){W, b}, (node){I, a}, lift);
		}
}

static void declare_pair(lp *l, uint16_t w, node x, node y, double lift)
{
	mr_strbuf_printf(l->out, " p_%c%u%c%u_w%u\n", letter[x.kind], x.micro, letter[y.kind], y.micro, w);
	(void)lift;
}

static void put_rows(lp *l, double span)
{
	for (uint16_t w = 0; w < l->p->n_workers; w++) {
		double lift = span + fmax(cost_of(l, w, F), fmax(cost_of(l, w, I), cost_of(l, w, W)));

		for (enum kind k = F; k < N_KINDS; k++)
			for (uint32_t m = 0; m < l->p->n_micro; m++)
				put_edges(l, w, (node){k, m});
		each_pair(l, w, put_pair, lift);
		for (uint32_t m = 0; m < l->p->n_micro; m++)
			put_hold(l, w, m);
		for (enum kind k = F; k < N_KINDS; k++)
			for (uint32_t m = 0; m < l->p->n_micro; m++)
				put_span(l, w, (node){k, m});
	}
}

mr_status mr_zb_lp(const mr_zb_problem *p, double span, mr_strbuf *out)
{
	double pairs = 1.5 * p->n_workers * p->n_micro * (p->n_micro - 1.0);
	char number[32];
	lp l = {.p = p, .out = out};

	if (pairs > MAX_PAIRS)
		return mr_fail(MR_ECONFIG,
			       "a linear program for %u workers and %u micro-batches has %.0f binary variables, more "
			       "than any solver "
			       "finishes (%.0f)",
			       p->n_workers, p->n_micro, pairs, MAX_PAIRS);
	mr_strbuf_printf(out, "\\ order of %u micro-batches on %u workers; the search reaches R = %s\n", p->n_micro,
			 p->n_workers, mr_double_text(span, number));
	mr_strbuf_append(out, "Minimize\n obj: R\nSubject To\n");
	put_rows(&l, span);
	mr_strbuf_printf(out, "Bounds\n R <= %s\n", mr_double_text(span, number));
	mr_strbuf_printf(out, " t_F0_w0 >= %s\n", mr_double_text(p->cost[0].f, number));
	if (pairs > 0)
		mr_strbuf_append(out, "Binaries\n");
	for (uint16_t w = 0; w < p->n_workers; w++)
		each_pair(&l, w, declare_pair, 0);
	mr_strbuf_append(out, "End\n");
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory for a linear program of %.0f binary variables", pairs)
			   : MR_OK;
}
