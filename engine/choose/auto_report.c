#include <math.h>

#include "base/str.h"
#include "choose/auto_internal.h"
#include "report/table.h"

static void put_ms(mr_table *t, double seconds)
{
	if (seconds > 0)
		mr_table_put(t, "%.4g", 1e3 * seconds);
	else
		mr_table_put(t, "-");
}

static void put_row(mr_table *t, const mr_auto_row *r, bool first)
{
	char bytes[16];

	mr_table_cells(t, "%s\t%s\t%u\t%u\t%u", first ? "best" : "", r->label, r->workers, r->threads, r->n_micro);
	put_ms(t, r->first_s > 0 ? r->first_s : r->step_s);
	mr_table_put(t, "%.1f%%", 100 * fmax(0, r->step_s / r->bound_s - 1));
	put_ms(t, r->first_s > 0 ? r->step_s : 0);
	if (r->diverged)
		mr_table_put(t, "diverged");
	else
		put_ms(t, r->measured_s);
	if (isinf(r->penalty))
		mr_table_put(t, "diverged");
	else if (r->penalty > 0)
		mr_table_put(t, "%.3g", r->penalty);
	else
		mr_table_put(t, "unknown");
	mr_table_cells(t, "%s\t%u", mr_bytes_text(r->bytes, bytes), r->staleness);
}

static mr_status print_rows(const mr_auto *a, FILE *out)
{
	static const mr_table_column columns[] = {
		{"", false},       {"system", false}, {"workers", true},   {"threads", true},
		{"micro-batches", true}, {"step ms", true}, {"gap", true}, {"corrected", true},
		{"measured", true}, {"penalty", true}, {"memory", true}, {"stale", true},
	};
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; i < a->n; i++)
		if (!i || a->row[i].best_of || a->row[i].measured_s > 0 || a->row[i].diverged)
			put_row(t, &a->row[i], !i);
	return mr_table_finish(t, out);
}

/* Staleness: what it costs in steps, if that is known. */
static void print_penalty(const mr_auto *a, FILE *out)
{
	bool stale = false, shown = false;

	for (uint32_t i = 0; i < a->n; i++) {
		stale |= a->row[i].tried && a->row[i].staleness > 0;
		shown |= (!i || a->row[i].best_of || a->row[i].measured_s > 0) && a->row[i].staleness > 0;
	}
	if (a->penalty_steps) {
		fprintf(out, "penalty: times as many steps as the best that flushes until both have a loss, ");
		if (!isnan(a->penalty_loss))
			fprintf(out, "at last %.4g, ", a->penalty_loss);
		fprintf(out, "in runs of %u steps from the same weights; choices are sorted by the time to it, one of "
			     "unknown penalty as if by the largest\n",
			a->penalty_steps);
	}
	else if (stale && a->row[0].measured_s > 0)
		fputs("penalty: no stale choice was faster, so steps to a loss were not counted\n", out);
	else if (shown)
		fputs("penalty: how many more steps to a loss staleness takes is unknown; --verify measures it\n", out);
}

/* Those that could not be trained. */
static void print_dropped(const mr_auto *a, FILE *out)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const mr_auto_row *r = &a->row[i];

		if (r->dropped)
			fprintf(out, "dropped: %s, %u x %u threads, %u micro-batch%s%s: %s\n", r->label, r->workers,
				r->threads, r->n_micro, r->n_micro == 1 ? "" : "es", r->diverged ? ", diverged" : "",
				r->why);
	}
}

static void print_half(const mr_auto *a, FILE *out)
{
	const mr_auto_row *best = &a->row[0], *h = &a->row[a->half];
	double step = best->measured_s > 0 ? best->measured_s : best->step_s;
	double half = a->half_measured_s > 0 ? a->half_measured_s : a->half_s;

	if (a->half == a->n || !(half > 0) || half >= 2 * step || (best->measured_s > 0 && !(a->half_measured_s > 0)))
		return;
	fprintf(out,
		"two runs at once, each on half of the cores with %s, %u x %u threads, %u micro-batch%s: %.4g ms a "
		"step %s, %.1f %% more samples a second together\n",
		h->label, h->workers, h->threads, h->n_micro, h->n_micro == 1 ? "" : "es", 1e3 * half,
		a->half_measured_s > 0 ? "measured side by side" : "with half of memory and links",
		100 * (2 * step / half - 1));
}

/* Sequential training, where it is not the best. */
static void print_sequential(const mr_auto *a, FILE *out)
{
	const mr_auto_row *best = &a->row[0];

	for (uint32_t i = 1; best->workers > 1 && i < a->n; i++) {
		const mr_auto_row *r = &a->row[i];
		bool measured = r->measured_s > 0 && best->measured_s > 0;
		double step = measured ? r->measured_s : r->step_s;

		if (!r->fits || r->workers != 1)
			continue;
		fprintf(out, "without a pipeline  %u thread%s, step %.4g ms%s: %.2f times as long\n", r->threads,
			r->threads == 1 ? "" : "s", 1e3 * step, measured ? ", measured" : "",
			step / (measured ? best->measured_s : best->step_s));
		return;
	}
}

/* What other programs did to the measured times. */
static void print_disturbed(const mr_auto *a, FILE *out)
{
	if (a->n_disturbed)
		fprintf(out, "other programs took part of the processors in %u of %u bursts of steps, however often "
			"they were made: measured times may be too long; run it once more when they are done\n",
			a->n_disturbed, a->n_bursts);
}

mr_status mr_auto_print(const mr_auto *a, FILE *out)
{
	double gap = a->best_s / a->bound_s - 1;

	fprintf(out, "machine  %s\ncosts    %s\n\n", a->machine, a->source);
	MR_TRY(print_rows(a, out));
	fprintf(out, "\n%u of %u candidates tried; ", a->n_tried, a->n);
	fprintf(out, "bound %.4g ms: %s%.1f %%%s\n", 1e3 * a->bound_s, "no choice is faster by more than ",
		100 * (1 - 1 / (1 + fmax(0, gap))), a->complete ? ", and no other candidate is faster" : "");
	print_dropped(a, out);
	print_disturbed(a, out);
	print_sequential(a, out);
	print_penalty(a, out);
	print_half(a, out);
	return ferror(out) ? mr_fail(MR_EIO, "cannot write the choice") : MR_OK;
}

mr_status mr_auto_look(const mr_auto *a, mr_auto_show *show, void *arg)
{
	mr_session at;
	mr_forecast f;
	mr_job job;
	mr_status st = mr_auto_job(&a->state->q, &a->row[0], &job);

	if (st == MR_OK)
		st = mr_session_open_beside(&job, &a->state->base, &at);
	if (st == MR_OK) {
		f = (mr_forecast){.of = mr_session_workload(&at)};
		st = mr_auto_forecast(a->state, &f);
		if (st == MR_OK)
			st = mr_session_forecast_memory(&at, &f);
		if (st == MR_OK)
			st = show(arg, &at, &f);
		mr_forecast_fini(&f);
		mr_session_close(&at);
	}
	mr_job_fini(&job);
	return st;
}
