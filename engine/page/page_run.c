/* page_run.c - the pictures of one run on a page: timeline, waiting, staleness, memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart.h"
#include "page/page_internal.h"
#include "report/schedule_picture.h"

#define MIB 1048576.0
#define MOST_STAGES 64 /* whose memory is shown */

/* Bars with the storage of their rows. */
typedef struct bar_rows {
	mr_bars b;
	mr_bars_row *row;
	double *value;
	char (*name)[64], (*text)[48];
} bar_rows;

/* Room for @most rows of x->b.n_parts values, all 0. */
static mr_status make_rows(bar_rows *x, size_t most)
{
	x->row = calloc(most + 1, sizeof(*x->row));
	x->value = calloc(most * x->b.n_parts + 1, sizeof(*x->value));
	x->name = calloc(most + 1, sizeof(*x->name));
	x->text = calloc(most + 1, sizeof(*x->text));
	x->b.rows = x->row;
	if (!x->row || !x->value || !x->name || !x->text)
		return mr_fail(MR_ERESOURCE, "no memory for %zu bars", most);
	return MR_OK;
}

/* The values of one more row, called @name with its @number, if it is not NULL, and @rest. */
static double *add_row(bar_rows *x, const char *name, size_t number, const char *rest)
{
	size_t i = x->b.n++;

	if (name)
		snprintf(x->name[i], sizeof(x->name[i]), "%s%zu%s", name, number, *rest ? " " : "");
	strcat(x->name[i], rest);
	x->row[i] = (mr_bars_row){x->name[i], x->value + i * x->b.n_parts, x->text[i]};
	return x->value + i * x->b.n_parts;
}

/* Draw and free @x; without rows say @nothing. */
static mr_status put_rows(mr_page *p, bar_rows *x, mr_status st, const char *nothing)
{
	if (st == MR_OK && x->b.n && x->b.n_parts) {
		mr_svg v = mr_page_picture(p, false);

		st = mr_page_end_picture(p, mr_bars_put(&x->b, &v));
	} else if (st == MR_OK) {
		mr_page_say(p, "%s", nothing);
	}
	free(x->row);
	free(x->value);
	free(x->name);
	free(x->text);
	return st;
}

/* --- timeline --- */

/* The records of @timeline, of as many shares as @p says, in its rows. */
static void read_records(const mr_json *records, mr_schedule_picture *p, mr_trace_rec *to)
{
	mr_instruction_row r;

	for (size_t i = 0; i < p->n_rec; i++) {
		mr_record_get(MR_RECORD_INSTRUCTION, mr_json_at(records, i), &r);
		to[i] = (mr_trace_rec){
			.worker = (uint16_t)(r.worker * p->n_shares + r.share),
			.op = (uint8_t)r.op,
			.stage = (uint16_t)r.stage,
			.pipe = (uint8_t)r.pipe,
			.micro = (uint32_t)r.micro,
			.version = (uint32_t)r.version,
			.begin_ns = r.begin,
			.end_ns = r.end,
		};
		if (to[i].worker >= p->n_workers)
			p->n_workers = (uint16_t)(to[i].worker + 1);
	}
}

/* Shares of a worker in @records; 1: it is whole. */
static uint32_t shares_in(const mr_json *records)
{
	mr_instruction_row r;
	uint64_t most = 0;

	for (size_t i = 0; i < mr_json_size(records); i++) {
		mr_record_get(MR_RECORD_INSTRUCTION, mr_json_at(records, i), &r);
		most = r.share > most ? r.share : most;
	}
	return (uint32_t)(most + 1);
}

static mr_status draw_timeline(mr_page *p, const mr_json *timeline)
{
	const mr_json *records = mr_json_get(timeline, "records");
	mr_schedule_picture picture = {.n_rec = mr_json_size(records), .n_shares = shares_in(records), .unit = 1e6,
				       .unit_name = "ms"};
	mr_trace_rec *rec = calloc(picture.n_rec + 1, sizeof(*rec));
	mr_timeline_row row;
	mr_status st;
	mr_svg v;

	if (!rec)
		return mr_fail(MR_ERESOURCE, "no memory for a timeline");
	read_records(records, &picture, rec);
	picture.rec = rec;
	mr_record_get(MR_RECORD_TIMELINE, timeline, &row);
	picture.versions = row.versions;
	mr_page_say(p, "%s", row.what);
	v = mr_page_picture(p, true);
	st = mr_page_end_picture(p, picture.n_rec ? mr_schedule_picture_put(&picture, 1, NULL, NULL, &v) : MR_OK);
	free(rec);
	return st == MR_EINVAL ? mr_fail(MR_EDATA, "%s: run.json: %s", p->run->name, mr_error_text()) : st;
}

mr_status mr_page_timeline(mr_page *p)
{
	const mr_json *timeline = mr_json_get(p->run->facts, "timeline");

	mr_page_heading(p, 3, "Timeline");
	if (mr_json_size(mr_json_get(timeline, "records")))
		return draw_timeline(p, timeline);
	mr_page_say(p, "There is no timeline: folders of older programs have no run.json.");
	return MR_OK;
}

/* --- where the time went --- */

/* Bubble and waits follow each other in the table. */
#define N_LINES (1 + MR_FIGURE_wait_descheduled - MR_FIGURE_bubble)

/* Bubble and waits of the run's rows. */
static mr_status draw_waits(mr_page *p)
{
	mr_chart_series series[N_LINES];
	size_t n = 0, k = 0;
	mr_chart c = {.x_name = "step", .y_name = "percent of time", .series = series, .from_y0 = true};
	double *x;
	mr_status st;
	mr_svg v;

	for (size_t i = 0; i < p->run->n_rows; i++)
		n += !isnan(p->run->rows[i].bubble);
	if (n < 2)
		return MR_OK;
	x = malloc(n * (N_LINES + 1) * sizeof(*x));
	if (!x)
		return mr_fail(MR_ERESOURCE, "no memory for a chart");
	for (size_t i = 0; i < p->run->n_rows; i++) {
		const mr_figures *row = &p->run->rows[i];

		if (isnan(row->bubble))
			continue;
		x[k] = (double)row->step;
		for (size_t q = 0; q < N_LINES; q++)
			x[(q + 1) * n + k] = 100 * row->at[MR_FIGURE_bubble + q];
		k++;
	}
	for (size_t q = 0; q < N_LINES; q++) {
		double *y = x + (q + 1) * n, most = 0;

		for (k = 0; k < n; k++)
			most = fmax(most, y[k]);
		if (!q || most > 0.5) /* a cause that never matters only fills the legend */
			series[c.n++] = (mr_chart_series){.name = q ? mr_report_wait_name((mr_wait_cause)q)
								    : "bubble: all idle time",
							  .at = {x, y, n}};
	}
	v = mr_page_picture(p, false);
	st = mr_page_end_picture(p, mr_chart_put(&c, &v));
	free(x);
	return st;
}

#define N_PARTS (MR_N_WAITS + 1)

/* Busy, the waits by cause, and the rest: parts of a worker's time in percent. */
static void fill_worker(const mr_times *t, double value[N_PARTS])
{
	double sum = 0;

	for (int c = 0; c < MR_N_WAITS; c++) {
		value[c] = 100 * fmax(0, t->at[c]) / t->elapsed;
		sum += value[c];
	}
	value[MR_N_WAITS] = fmax(0, 100 - sum);
}

/* What was between ranks, if there were several. */
static mr_status put_between(mr_page *p)
{
	const mr_json *rows = mr_json_get(p->run->facts, "between");
	mr_table_column columns[MR_MEMBERS_BETWEEN];
	uint32_t n = mr_record_columns(MR_RECORD_BETWEEN, columns, 0);
	mr_table *t;

	if (!mr_json_size(rows))
		return MR_OK;
	MR_TRY(mr_table_create(columns, n, &t));
	for (size_t i = 0; i < mr_json_size(rows); i++) {
		mr_between_row row;

		mr_record_get(MR_RECORD_BETWEEN, mr_json_at(rows, i), &row);
		mr_record_cells(MR_RECORD_BETWEEN, &row, t);
	}
	mr_page_heading(p, 3, "Between ranks");
	mr_page_say(p, "Times are those of all messages of a step together. How long they are on the way needs clocks "
		       "that agree: those of the hosts are compared whenever the training goes on, within some tens "
		       "of microseconds.");
	return mr_table_finish_html(t, p->out);
}

mr_status mr_page_time(mr_page *p)
{
	const mr_json *workers = mr_json_get(p->run->facts, "workers");
	const char *part[N_PARTS];
	bar_rows x = {.b = {.x_name = "percent of the training time", .high = 100, .part = part, .n_parts = N_PARTS}};
	mr_status st = make_rows(&x, mr_json_size(workers));

	mr_page_heading(p, 3, "Where the time went");
	for (int c = 0; c < MR_N_WAITS; c++)
		part[c] = mr_record_members(MR_RECORD_TIMES)[1 + c].name;
	part[MR_N_WAITS] = "engine";
	for (size_t i = 0; st == MR_OK && i < mr_json_size(workers); i++) {
		mr_times times;
		mr_place_row at;
		double *value;
		char name[24];

		mr_record_get(MR_RECORD_TIMES, mr_json_at(workers, i), &times);
		mr_record_get(MR_RECORD_PLACE, mr_json_at(workers, i), &at);
		if (!(times.elapsed > 0))
			continue;
		value = add_row(&x, NULL, 0, mr_report_worker_name(at.worker, at.share, name));
		fill_worker(&times, value);
		snprintf(x.text[x.b.n - 1], sizeof(x.text[0]), "busy %.1f %%", value[0]);
	}
	MR_TRY(put_rows(p, &x, st, "The folder has no times of workers: they are written at the end of a training."));
	MR_TRY(draw_waits(p));
	return put_between(p);
}

/* --- staleness --- */

/* Of the gradients @counts, [k] of which were k commits behind. */
static void add_stage(bar_rows *x, size_t stage, const mr_counts *counts)
{
	double *value = add_row(x, "stage ", stage, ""), sum = 0, ages = 0;
	char *text = x->text[x->b.n - 1];

	for (size_t k = 0; k < x->b.n_parts && k < counts->n; k++) {
		value[k] = (double)mr_counts_at(counts, k);
		sum += value[k];
		ages += (double)k * value[k];
	}
	for (size_t k = 0; k < x->b.n_parts && sum > 0; k++)
		value[k] = 100 * value[k] / sum;
	if (x->b.n_parts == 1)
		snprintf(text, sizeof(x->text[0]), "not stale");
	else if (sum > 0)
		snprintf(text, sizeof(x->text[0]), "%.3g behind on average", ages / sum);
}

mr_status mr_page_staleness(mr_page *p)
{
	const mr_json *stages = mr_json_get(p->run->facts, "staleness");
	size_t n = mr_json_size(stages), bins = 0;
	bar_rows x = {.b = {.x_name = "percent of the gradients, by the commits that their version was behind",
			    .high = 100}};
	mr_staleness_row row;
	char(*part)[32];
	const char **parts;
	mr_status st;

	mr_page_heading(p, 3, "Staleness");
	for (size_t s = 0; s < n; s++) {
		mr_record_get(MR_RECORD_STALENESS, mr_json_at(stages, s), &row);
		bins = row.gradients.n > bins ? row.gradients.n : bins;
	}
	part = calloc(bins + 1, sizeof(*part));
	parts = calloc(bins + 1, sizeof(*parts));
	x.b.part = parts;
	x.b.n_parts = bins;
	st = part && parts ? make_rows(&x, n) : mr_fail(MR_ERESOURCE, "no memory for %zu stages", n);
	for (size_t k = 0; st == MR_OK && k < bins; k++) {
		snprintf(part[k], sizeof(part[k]), k ? "%zu behind" : "not stale", k);
		parts[k] = part[k];
	}
	for (size_t s = 0; st == MR_OK && s < n; s++) {
		mr_record_get(MR_RECORD_STALENESS, mr_json_at(stages, s), &row);
		add_stage(&x, s, &row.gradients);
	}
	st = put_rows(p, &x, st, "No gradient was stale, or the folder has no counts of it.");
	free(part);
	free(parts);
	return st;
}

/* --- memory --- */

/* A bar for each stage and size, measured below what was planned. */
mr_status mr_page_memory(mr_page *p)
{
	static const char *const part[] = {"planned", "measured"};
	const mr_json *stages = mr_json_get(p->run->memory, "stages");
	size_t n = mr_json_size(stages) < MOST_STAGES ? mr_json_size(stages) : MOST_STAGES;
	bar_rows x = {.b = {.x_name = "MiB in use at once", .beside = true, .part = part, .n_parts = 2}};
	mr_status st = make_rows(&x, n * MR_MEMBERS_USAGE);
	mr_figures end;

	mr_page_heading(p, 3, "Memory");
	mr_figures_get(mr_json_get(p->run->facts, "figures"), NAN, &end);
	if (!isnan(end.predicted_bytes) && !isnan(end.peak_bytes))
		mr_page_say(p, "The whole process was predicted to need %.1f MiB at its peak, and needed %.1f MiB.",
			    end.predicted_bytes / MIB, end.peak_bytes / MIB);
	for (size_t s = 0; st == MR_OK && s < n; s++) {
		mr_usage_row u;

		mr_record_get(MR_RECORD_USAGE, mr_json_at(stages, s), &u);
		for (const mr_member *m = mr_record_members(MR_RECORD_USAGE); m->of == MR_RECORD_USAGE; m++)
			if (m->unit && !m->beside) {
				double *value;

				if (!(mr_member_number(m + 1, &u) > 0) && !(mr_member_number(m, &u) > 0))
					continue; /* one worker has no boundaries */
				value = add_row(&x, mr_page_is_alone(p->run) ? NULL : "stage ", u.stage, m->name);
				value[0] = mr_member_number(m + 1, &u) / MIB;
				value[1] = mr_member_number(m, &u) / MIB;
			}
	}
	return put_rows(p, &x, st, "The folder has no memory.json, which a training writes at its end.");
}
