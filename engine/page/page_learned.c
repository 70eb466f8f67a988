/* page_learned.c - what a run has learned, for the owner of its data: the best evaluation, its figures over the steps,
 * learning rate and gradients, and what could be tried next. */
#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "page/advice.h"
#include "report/chart.h"
#include "page/page_internal.h"

static double value_of(const mr_figures *r, mr_figure f)
{
	double x = r->at[f];

	return mr_figure_table[f].form == MR_FORM_PERCENT ? 100 * x : x;
}

/* The values of figure @f over the steps, the one of @best (NULL: none) marked. Fewer than two are no curve. */
static mr_status put_chart(mr_page *p, mr_figure f, const char *name, const mr_figures *best, bool log_y)
{
	const mr_run_folder *run = p->run;
	mr_chart_series series[2] = {{.name = NULL}, {.marks = true, .no_line = true, .with_last = true}};
	mr_chart c = {.title = name, .x_name = "step", .series = series, .n = 1, .width = 330, .height = 150,
		      .log_y = log_y, .y_name = mr_figure_table[f].form == MR_FORM_PERCENT ? "%" : NULL};
	double *x = malloc((2 * run->n_rows + 1) * sizeof(*x)), *y = x + run->n_rows, at, mark;
	const char *label = "best";
	mr_status st = MR_OK;
	size_t n = 0;

	if (!x)
		return mr_fail(MR_ERESOURCE, "no memory for a curve");
	for (size_t i = 0; i < run->n_rows; i++) {
		double v = value_of(&run->rows[i], f);

		if (!isfinite(v) || (log_y && !(v > 0)))
			continue;
		x[n] = (double)run->rows[i].step;
		y[n++] = v;
	}
	series[0].at = (mr_points){x, y, n};
	series[0].marks = n <= 60 && mr_figure_table[f].kind == MR_FIGURE_EVALUATION;
	if (best && isfinite(value_of(best, f))) {
		at = (double)best->step;
		mark = value_of(best, f);
		series[1].at = (mr_points){&at, &mark, 1};
		series[1].label = &label;
		c.n = 2;
	}
	if (n >= 2) {
		mr_svg v = mr_page_picture(p, false);

		st = mr_page_end_picture(p, mr_chart_put(&c, &v));
	}
	free(x);
	return st;
}

/* "validation loss 0.31, accuracy 93.1%" */
static void say_evaluation(const mr_figures *r, mr_strbuf *out)
{
	char text[32];

	for (int f = 0; f < MR_N_FIGURES; f++)
		if (mr_figure_table[f].kind == MR_FIGURE_EVALUATION && isfinite(r->at[f]) && mr_figure_table[f].title)
			mr_strbuf_printf(out, "%s%s %s", out->len ? ", " : "",
					 f == MR_FIGURE_val_loss && r->trains_only ? "loss on all training samples"
										   : mr_figure_table[f].title,
					 mr_figure_text((mr_figure)f, r->at[f], MR_DIGITS_RESULT, text));
}

static void say_best(mr_page *p, const mr_figures *best)
{
	const mr_figures *last = best;
	mr_strbuf a = {0}, b = {0};

	for (size_t i = 0; i < p->run->n_rows; i++)
		last = isfinite(p->run->rows[i].val_loss) ? &p->run->rows[i] : last;
	say_evaluation(best, &a);
	say_evaluation(last, &b);
	mr_page_say(p, "%s evaluation, that of step %llu: %s.", best == last ? "The best and last" : "The best",
		    (unsigned long long)best->step, mr_strbuf_text(&a));
	if (best != last)
		mr_page_say(p, "The last one, of step %llu: %s.", (unsigned long long)last->step, mr_strbuf_text(&b));
	mr_strbuf_fini(&a);
	mr_strbuf_fini(&b);
}

static void put_item(void *arg, const char *text)
{
	mr_page *p = arg;

	fputs("<li>", p->out);
	mr_svg_escape(p->out, text);
	fputs("</li>\n", p->out);
}

static void put_nothing(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static bool knows(const mr_run_folder *r, mr_figure f)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (isfinite(r->rows[i].at[f]))
			return true;
	return false;
}

/* The learning rate of all steps, if they have the same; else NAN. */
static double constant_rate(const mr_run_folder *r)
{
	double rate = NAN;

	for (size_t i = 0; i < r->n_rows; i++) {
		double lr = r->rows[i].lr;

		if (!isnan(lr) && !isnan(rate) && lr != rate)
			return NAN;
		rate = isnan(lr) ? rate : lr;
	}
	return rate;
}

/* Its loss is in the picture of all runs. */
static mr_status put_curves(mr_page *p, const mr_figures *best)
{
	for (int f = 0; f < MR_N_FIGURES; f++) {
		const mr_figure_info *info = &mr_figure_table[f];

		if (info->kind == MR_FIGURE_EVALUATION && info->title && f != MR_FIGURE_val_loss)
			MR_TRY(put_chart(p, (mr_figure)f, info->title, best, false));
	}
	if (isnan(constant_rate(p->run)))
		MR_TRY(put_chart(p, MR_FIGURE_lr, "learning rate", NULL, false));
	return put_chart(p, knows(p->run, MR_FIGURE_grad_norm) ? MR_FIGURE_grad_norm : MR_FIGURE_stage_grad_norm,
			 "gradient norm", NULL, true);
}

mr_status mr_page_learned(mr_page *p)
{
	const mr_figures *best = mr_advice_best(p->run->rows, p->run->n_rows);

	mr_page_heading(p, 3, "What was learned");
	if (best)
		say_best(p, best);
	else
		mr_page_say(p, "The run has no evaluation yet.");
	if (!isnan(constant_rate(p->run)))
		mr_page_say(p, "The learning rate was %g all the time.", constant_rate(p->run));
	fputs("<div class=\"charts\">\n", p->out);
	MR_TRY(put_curves(p, best));
	fputs("</div>\n", p->out);
	return MR_OK;
}

void mr_page_advice(mr_page *p)
{
	const mr_run_folder *r = p->run;
	unsigned n = mr_advice(r->rows, r->n_rows, put_nothing, NULL) +
		     mr_advice_on_classes(r->errors, put_nothing, NULL);

	mr_page_heading(p, 3, "What to try next");
	mr_page_say(p, "As far as is known%s", n ? ":" : ", nothing.");
	fputs(n ? "<ul>\n" : "", p->out);
	mr_advice(r->rows, r->n_rows, put_item, p);
	mr_advice_on_classes(r->errors, put_item, p);
	fputs(n ? "</ul>\n" : "", p->out);
}
