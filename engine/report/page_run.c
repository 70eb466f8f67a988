/* page_run.c - the pictures of one run on a page: timeline, waiting, staleness, memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/chart.h"
#include "report/page_internal.h"
#include "report/schedule_picture.h"
#include "report/table.h"

#define MIB 1048576.0

static mr_status put_bars(mr_page *p, const mr_bars *b)
{
	mr_svg v;
	mr_status st;

	fputs("<figure>", p->out);
	v = mr_page_picture(p);
	st = mr_bars_put(b, &v);
	fputs("</figure>\n", p->out);
	return st;
}

/* --- timeline --- */

static uint64_t entry(const mr_json *record, size_t i)
{
	int64_t x = mr_json_int(mr_json_at(record, i));

	return x > 0 ? (uint64_t)x : 0;
}

/* [worker, op, stage, pipe, micro-batch, version, begin, end] */
static mr_trace_rec record_of(const mr_json *j)
{
	return (mr_trace_rec){
		.worker = (uint16_t)entry(j, 0),
		.op = (uint8_t)entry(j, 1),
		.stage = (uint16_t)entry(j, 2),
		.pipe = (uint8_t)entry(j, 3),
		.micro = (uint32_t)entry(j, 4),
		.version = (uint32_t)entry(j, 5),
		.begin_ns = entry(j, 6),
		.end_ns = entry(j, 7),
	};
}

static mr_status draw_timeline(mr_page *p, const mr_json *timeline)
{
	const mr_json *records = mr_json_get(timeline, "records");
	mr_schedule_picture picture = {.n_rec = mr_json_size(records), .unit = 1e6, .unit_name = "ms"};
	mr_trace_rec *rec = calloc(picture.n_rec + 1, sizeof(*rec));
	const char *what = mr_json_string(mr_json_get(timeline, "what"));
	mr_status st;
	mr_svg v;

	if (!rec)
		return mr_fail(MR_ERESOURCE, "no memory for a timeline");
	for (size_t i = 0; i < picture.n_rec; i++) {
		rec[i] = record_of(mr_json_at(records, i));
		if (rec[i].worker >= picture.n_workers)
			picture.n_workers = (uint16_t)(rec[i].worker + 1);
	}
	picture.rec = rec;
	picture.versions = mr_json_bool(mr_json_get(timeline, "versions"));
	mr_page_say(p, "%s", what ? what : "");
	fputs("<figure class=\"wide\">", p->out);
	v = mr_page_picture(p);
	st = picture.n_rec ? mr_schedule_picture_put(&picture, 1, NULL, NULL, &v) : MR_OK;
	fputs("</figure>\n", p->out);
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
	fputs("<figure>", p->out);
	v = mr_page_picture(p);
	st = mr_chart_put(&c, &v);
	fputs("</figure>\n", p->out);
	free(x);
	return st;
}

#define N_PARTS (MR_N_WAITS + 1)

/* Busy, the waits by cause, and the rest: parts of a worker's time in percent. */
static void fill_worker(const mr_json *worker, double value[N_PARTS], char text[32], char name[32])
{
	double elapsed = mr_json_double(mr_json_get(worker, "elapsed")), sum;
	const mr_json *waits = mr_json_get(worker, "waits");

	snprintf(name, 32, "w%lld", (long long)mr_json_int(mr_json_get(worker, "worker")));
	sum = value[0] = 100 * mr_json_double(mr_json_get(worker, "busy")) / elapsed;
	for (int c = MR_WAIT_NONE + 1; c < MR_N_WAITS; c++) {
		value[c] = 100 * mr_json_double(mr_json_get(waits, mr_report_wait_name((mr_wait_cause)c))) / elapsed;
		sum += value[c];
	}
	value[MR_N_WAITS] = fmax(0, 100 - sum);
	snprintf(text, 32, "busy %.1f %%", value[0]);
}

mr_status mr_page_time(mr_page *p)
{
	const mr_json *workers = mr_json_get(p->run->facts, "workers");
	size_t n = mr_json_size(workers), known = 0;
	const char *part[N_PARTS] = {"busy"};
	mr_bars_row *rows = calloc(n + 1, sizeof(*rows));
	double(*value)[N_PARTS] = calloc(n + 1, sizeof(*value));
	char(*text)[2][32] = calloc(n + 1, sizeof(*text));
	mr_bars b = {.x_name = "percent of the training time", .high = 100, .part = part, .n_parts = N_PARTS};
	mr_status st = MR_OK;

	mr_page_heading(p, 3, "Where the time went");
	for (int c = 1; c < MR_N_WAITS; c++)
		part[c] = mr_report_wait_name((mr_wait_cause)c);
	part[MR_N_WAITS] = "engine";
	for (size_t i = 0; rows && value && text && i < n; i++) {
		const mr_json *w = mr_json_at(workers, i);

		if (!(mr_json_double(mr_json_get(w, "elapsed")) > 0))
			continue;
		fill_worker(w, value[known], text[known][0], text[known][1]);
		rows[known] = (mr_bars_row){text[known][1], value[known], text[known][0]};
		known++;
	}
	b.rows = rows;
	b.n = known;
	if (!rows || !value || !text)
		st = mr_fail(MR_ERESOURCE, "no memory for %zu workers", n);
	else if (known)
		st = put_bars(p, &b);
	else
		mr_page_say(p, "The folder has no times of workers: they are written at the end of a training.");
	free(rows);
	free(value);
	free(text);
	return st == MR_OK ? draw_waits(p) : st;
}

/* --- staleness --- */

mr_status mr_page_staleness(mr_page *p)
{
	const mr_json *stages = mr_json_get(p->run->facts, "staleness");
	size_t n = mr_json_size(stages), bins = 0;
	mr_bars b = {.x_name = "percent of the gradients, by the commits that their version was behind", .high = 100};
	mr_bars_row *rows = calloc(n + 1, sizeof(*rows));
	double *value;
	char(*name)[32], (*part)[32], (*text)[48];
	const char **parts;
	mr_status st = MR_OK;

	mr_page_heading(p, 3, "Staleness");
	for (size_t s = 0; s < n; s++)
		bins = mr_json_size(mr_json_at(stages, s)) > bins ? mr_json_size(mr_json_at(stages, s)) : bins;
	value = calloc(n * bins + 1, sizeof(*value));
	name = calloc(n + 1, sizeof(*name));
	part = calloc(bins + 1, sizeof(*part));
	parts = calloc(bins + 1, sizeof(*parts));
	text = calloc(n + 1, sizeof(*text));
	if (!rows || !value || !name || !part || !parts || !text) {
		st = mr_fail(MR_ERESOURCE, "no memory for %zu stages", n);
		n = 0;
	}
	for (size_t k = 0; n && k < bins; k++) {
		snprintf(part[k], sizeof(part[k]), k ? "%zu behind" : "not stale", k);
		parts[k] = part[k];
	}
	for (size_t s = 0; s < n; s++) {
		const mr_json *counts = mr_json_at(stages, s);
		double sum = 0, ages = 0;

		for (size_t k = 0; k < bins; k++) {
			sum += mr_json_double(mr_json_at(counts, k));
			ages += (double)k * mr_json_double(mr_json_at(counts, k));
		}
		for (size_t k = 0; k < bins && sum > 0; k++)
			value[s * bins + k] = 100 * mr_json_double(mr_json_at(counts, k)) / sum;
		snprintf(name[s], sizeof(name[s]), "stage %zu", s);
		if (bins == 1)
			snprintf(text[s], sizeof(text[s]), "not stale");
		else if (sum > 0)
			snprintf(text[s], sizeof(text[s]), "%.3g behind on average", ages / sum);
		rows[s] = (mr_bars_row){name[s], value + s * bins, text[s]};
	}
	b.rows = rows;
	b.n = n;
	b.part = parts;
	b.n_parts = bins;
	if (n && bins)
		st = put_bars(p, &b);
	else if (st == MR_OK)
		mr_page_say(p, "No gradient was stale, or the folder has no counts of it.");
	free(rows);
	free(value);
	free(name);
	free(part);
	free(parts);
	free(text);
	return st;
}

/* --- memory --- */

static double mib(const mr_json *stage, const char *key, const char *which)
{
	return mr_json_double(mr_json_get(mr_json_get(stage, key), which)) / MIB;
}

mr_status mr_page_memory(mr_page *p)
{
	static const char *const part[] = {"planned", "measured"};
	const mr_json *stages = mr_json_get(p->run->memory, "stages");
	static const char *const keys[] = {"weight_bytes", "activation_bytes", "boundary_bytes"};
	size_t n = 0;
	char name[3 * 64 + 1][32];
	double value[3 * 64 + 1][2];
	mr_bars_row rows[3 * 64 + 1];
	mr_figures end;
	mr_bars b = {.x_name = "MiB in use at once", .beside = true, .part = part, .n_parts = 2, .rows = rows};

	mr_page_heading(p, 3, "Memory");
	mr_figures_get(mr_json_get(p->run->facts, "figures"), NAN, &end);
	if (!isnan(end.predicted_bytes) && !isnan(end.peak_bytes))
		mr_page_say(p, "The whole process was predicted to need %.1f MiB at its peak, and needed %.1f MiB.",
			    end.predicted_bytes / MIB, end.peak_bytes / MIB);
	for (size_t s = 0; s < mr_json_size(stages) && s < 64; s++)
		for (size_t k = 0; k < 3; k++) {
			static const char *const words[] = {"weights", "activations", "boundaries"};
			const mr_json *stage = mr_json_at(stages, s);

			snprintf(name[n], sizeof(name[n]), "stage %lld %s",
				 (long long)mr_json_int(mr_json_get(stage, "stage")), words[k]);
			value[n][0] = mib(stage, keys[k], "predicted");
			value[n][1] = mib(stage, keys[k], "measured");
			rows[n] = (mr_bars_row){name[n], value[n], NULL};
			n++;
		}
	b.n = n;
	if (n)
		return put_bars(p, &b);
	mr_page_say(p, "The folder has no memory.json, which a pipeline's training writes at its end.");
	return MR_OK;
}
