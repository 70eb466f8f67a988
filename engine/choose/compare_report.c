#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "choose/compare.h"
#include "report/schedule_picture.h"
#include "report/table.h"

/* The unit for steps: it suits the longest. */
static const char *unit_of(const mr_compare *c, double *seconds)
{
	double most = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (!isnan(c->row[i].step_s))
			most = fmax(most, c->row[i].step_s);
	*seconds = most < 1e-3 ? 1e-6 : most < 10 ? 1e-3 : 1;
	return most < 1e-3 ? "us" : most < 10 ? "ms" : "s";
}

static void put_bytes(mr_table *t, uint64_t bytes)
{
	char text[16];

	mr_table_put(t, "%s", bytes ? mr_bytes_text(bytes, text) : "-");
}

/* @alike: with the rows that may be as fast. */
static void put_row(mr_table *t, const mr_compare_row *r, double unit, bool alike)
{
	mr_table_cells(t, "%s\t%u", r->label, r->n_micro);
	if (isnan(r->step_s))
		mr_table_cells(t, "-\t-");
	else
		mr_table_cells(t, "%.4g\t%.1f%%", r->step_s / unit, 100 * r->bubble);
	put_bytes(t, r->worker_bytes);
	put_bytes(t, r->bytes);
	if (isnan(r->step_s))
		mr_table_cells(t, "-\t-");
	else
		mr_table_cells(t, "%.3g\t%u", r->weight_copies, r->staleness);
	if (alike)
		mr_table_put(t, r->above + r->below ? "-%u+%u" : "-", r->above, r->below);
	mr_table_put(t, "%s", *r->why ? r->why : r->auto_cut ? "yes (automatic cut)" : "yes");
}

static void put_margin(const mr_compare *c, FILE *out)
{
	if (isnan(c->error))
		fputs("margin   not known: no run was measured with these costs; profile -o FILE measures one, then "
		      "--costs FILE\n\n",
		      out);
	else
		fprintf(out,
			"margin   a step may take %.0f %% less to %.0f %% more than predicted: the measured run was "
			"off by %+.1f %%, and its times spread by %.1f %%\n"
			"alike    rows above (-) and below (+) that this margin does not keep apart: they may be in "
			"either order\n\n",
			100 * c->less, 100 * c->more, 100 * c->error, 100 * c->spread);
}

mr_status mr_compare_print(const mr_compare *c, FILE *out)
{
	double unit;
	const char *name = unit_of(c, &unit);
	char step[16], limit[16];
	mr_table_column columns[] = {
		{"system", false}, {"micro-batches", true}, {step, true},  {"bubble", true}, {"worker's memory", true},
		{"in all", true},  {"weights", true},       {"stale", true}, {"alike", true},  {"runs", false},
	};
	uint32_t n_columns = sizeof(columns) / sizeof(columns[0]);
	bool alike = !isnan(c->error);
	mr_table *t;

	snprintf(step, sizeof(step), "step %s", name);
	fprintf(out, "%s\n", c->what);
	if (c->cap || c->limit)
		fprintf(out, "memory   at most %s for %s\n", mr_bytes_text(c->cap ? c->cap : c->limit, limit),
			c->cap ? "the workers" : "the process");
	fprintf(out, "costs    %s\n", c->source);
	if (c->scaled)
		fputs("         measured for micro-batches of another size than some of these have, and scaled to "
		      "theirs\n",
		      out);
	if (c->rescaled)
		fputs("         measured with another number of threads than some of these have, and changed as the "
		      "model of nominal costs changes\n",
		      out);
	if (c->n_shared)
		fprintf(out, "cores    workers share %u core%s: no step is shorter than what they compute on one core; "
			     "it may take longer\n", c->n_shared, c->n_shared == 1 ? "" : "s");
	put_margin(c, out);
	if (!alike) /* that column is left out */
		columns[n_columns - 2] = columns[n_columns - 1];
	MR_TRY(mr_table_create(columns, n_columns - !alike, &t));
	for (uint32_t i = 0; i < c->n; i++)
		put_row(t, &c->row[i], unit, alike);
	return mr_table_finish(t, out);
}

/* "1f1b, 8 micro-batches: step 12.3 ms, bubble 20.1%, 14 MiB a worker, weights 1 x" */
static void title_of(const mr_compare_row *r, double unit, const char *name, char *text, size_t size)
{
	char bytes[16];
	int n = snprintf(text, size, "%s, %u micro-batch%s: step %.4g %s, bubble %.1f%%, %s a worker, %.3g x weights",
			 r->label, r->n_micro, r->n_micro == 1 ? "" : "es", r->step_s / unit, name, 100 * r->bubble,
			 mr_bytes_text(r->worker_bytes, bytes), r->weight_copies);

	if (r->staleness && n > 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, ", stale by %u", r->staleness);
}

mr_status mr_compare_draw(const mr_compare *c, FILE *out)
{
	mr_schedule_picture *p = calloc(c->n ? c->n : 1, sizeof(*p));
	char(*title)[200] = calloc(c->n ? c->n : 1, sizeof(*title)), subtitle[700];
	double unit;
	const char *name = unit_of(c, &unit);
	size_t n = 0;
	mr_status st = MR_OK;

	for (; p && title && n < c->n && !*c->row[n].why; n++) {
		const mr_compare_row *r = &c->row[n];

		title_of(r, unit, name, title[n], sizeof(title[n]));
		p[n] = (mr_schedule_picture){.rec = r->rec,
					     .n_rec = r->n_rec,
					     .n_workers = r->n_workers,
					     .unit = unit * 1e9,
					     .unit_name = name,
					     .title = title[n]};
	}
	if (!p || !title)
		st = mr_fail(MR_ERESOURCE, "no memory to draw %u systems", c->n);
	else if (!n)
		st = mr_fail(MR_ECONFIG, "none of the systems can run; %s: %s", c->row[0].label, c->row[0].why);
	snprintf(subtitle, sizeof(subtitle), "the same stretch of time for each; costs %s", c->source);
	if (st == MR_OK)
		st = mr_schedule_picture_stack(p, n, c->what, subtitle, out);
	free(p);
	free(title);
	return st;
}
