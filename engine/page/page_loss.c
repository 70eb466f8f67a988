/* page_loss.c - losses over samples in a chart that a phone shows whole: the picture of all runs is too wide for it. */
#include <math.h>
#include <stdlib.h>

#include "page/page_internal.h"
#include "report/chart.h"

#define BINS 60
#define SPAN 5 /* losses that span more than this factor have a logarithmic axis */

/* The lines of one run. */
typedef struct loss_lines {
	double *x, *y;   /* [n] of the training loss: its first step, then averages */
	double *at, *of; /* [n_valid] evaluations */
	size_t n, n_valid;
	char name[2][128];
} loss_lines;

static void take_training(const mr_run_folder *r, loss_lines *l)
{
	size_t all = 0, seen = 0, in = 0;
	double x = 0, y = 0;

	for (size_t i = 0; i < r->n_rows; i++)
		all += isfinite(r->rows[i].loss);
	for (size_t i = 0; i < r->n_rows; i++) {
		const mr_figures *row = &r->rows[i];

		if (!isfinite(row->loss))
			continue;
		x += (double)row->step;
		y += row->loss;
		in++;
		if (seen++ && seen * BINS / all == (seen - 1) * BINS / all)
			continue;
		l->x[l->n] = x / (double)in;
		l->y[l->n++] = y / (double)in;
		x = y = 0;
		in = 0;
	}
}

static mr_status take_run(const mr_run_folder *r, bool several, loss_lines *l)
{
	bool trains_only = false;

	l->x = malloc((2 * (BINS + 2) + 2 * r->n_rows) * sizeof(*l->x));
	if (!l->x)
		return mr_fail(MR_ERESOURCE, "no memory for a chart");
	l->y = l->x + BINS + 2;
	l->at = l->y + BINS + 2;
	l->of = l->at + r->n_rows;
	take_training(r, l);
	for (size_t i = 0; i < r->n_rows; i++) {
		if (!isfinite(r->rows[i].val_loss))
			continue;
		trains_only = r->rows[i].trains_only;
		l->at[l->n_valid] = (double)r->rows[i].step;
		l->of[l->n_valid++] = r->rows[i].val_loss;
	}
	snprintf(l->name[0], sizeof(l->name[0]), "%.100s%straining", several ? r->name : "", several ? ", " : "");
	snprintf(l->name[1], sizeof(l->name[1]), "%.100s%s%s", several ? r->name : "", several ? ", " : "",
		 trains_only ? "all training samples" : "validation");
	return MR_OK;
}

/* Of several runs only what compares them. */
static void put_lines(const loss_lines *l, bool several, mr_chart *c, mr_chart_series *series)
{
	if (!several || !l->n_valid)
		series[c->n++] = (mr_chart_series){.name = l->name[0], .at = {l->x, l->y, l->n}, .marks = l->n == 1};
	if (l->n_valid)
		series[c->n++] = (mr_chart_series){.name = l->name[1], .at = {l->at, l->of, l->n_valid},
						   .marks = l->n_valid <= 30};
}

/* Do the losses span so much? */
static bool spans(const mr_chart *c)
{
	mr_axis a = mr_axis_empty(NULL, false);

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->series[i].at.n; k++)
			mr_axis_see(&a, c->series[i].at.y[k]);
	return a.low > 0 && a.high > SPAN * a.low;
}

mr_status mr_page_loss(mr_page *p, const mr_run_folder *runs, size_t n)
{
	loss_lines line[MR_RUN_FOLDERS_MAX] = {{.n = 0}};
	mr_chart_series series[2 * MR_RUN_FOLDERS_MAX];
	mr_chart c = {.title = "loss", .x_name = "step", .series = series, .width = 250, .height = 190};
	mr_status st = MR_OK;

	for (size_t i = 0; st == MR_OK && i < n; i++) {
		st = take_run(&runs[i], n > 1, &line[i]);
		put_lines(&line[i], n > 1, &c, series);
	}
	c.log_y = spans(&c);
	if (st == MR_OK) {
		mr_svg v = mr_page_picture(p, false);

		st = mr_page_end_picture(p, mr_chart_put(&c, &v));
	}
	for (size_t i = 0; i < n; i++)
		free(line[i].x);
	return st;
}
