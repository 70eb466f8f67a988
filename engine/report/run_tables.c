#include "report/run_tables.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"

/* The columns from "params" to "total", alike for a stage and for the line of sums. */
static void put_sizes(mr_table *t, const mr_report_stage_row *r)
{
	uint64_t total = 0;
	char text[16];

	mr_table_put(t, "%s", mr_count_text(r->of.parameters, text));
	mr_record_cells(MR_RECORD_STAGE_BYTES, &r->bytes, t);
	for (int i = 0; i < MR_MEMBERS_STAGE_BYTES; i++)
		total += r->bytes.at[i];
	mr_table_put(t, "%s", mr_bytes_text(total, text));
}

static void add_sizes(mr_report_stage_row *sum, const mr_report_stage_row *r)
{
	sum->n_layers += r->of.pipe ? 0 : r->n_layers;
	sum->of.parameters += r->of.pipe ? 0 : r->of.parameters;
	for (int i = 0; i < MR_MEMBERS_STAGE_BYTES; i++)
		sum->bytes.at[i] += r->bytes.at[i];
}

mr_status mr_report_stages(const mr_report_stage_row *rows, uint32_t n, FILE *out)
{
	mr_table_column all[4 + MR_MEMBERS_STAGE_BYTES + 5] = {{"stage", true}, {"on", false}, {"layers", false},
							       {"params", true}};
	bool kernels = n && rows[0].kernels, pages = n && rows[0].pages;
	uint32_t n_all = mr_record_columns(MR_RECORD_STAGE_BYTES, all, 4);
	mr_report_stage_row sum = {0};
	mr_table *t;

	all[n_all++] = (mr_table_column){"total", true};
	all[n_all++] = (mr_table_column){"cores", false};
	all[n_all++] = (mr_table_column){"node", true};
	if (pages)
		all[n_all++] = (mr_table_column){"pages there", true};
	if (kernels)
		all[n_all++] = (mr_table_column){"kernels", false};
	MR_TRY(mr_table_create(all, n_all, &t));
	for (uint32_t i = 0; i < n; i++) {
		const mr_report_stage_row *r = &rows[i];

		add_sizes(&sum, r);
		mr_table_put(t, r->n_pipes > 1 ? "%u p%u" : "%u", r->of.stage, r->of.pipe);
		mr_table_put(t, "w%u", r->of.worker);
		mr_table_put(t, "%u: %s", r->n_layers, r->of.layers);
		put_sizes(t, r);
		mr_table_put(t, "%s", r->cores ? r->cores : "any");
		mr_table_put(t, "%s", r->nodes ? r->nodes : "-");
		if (pages)
			mr_table_put(t, "%s", r->pages ? r->pages : "-");
		if (kernels)
			mr_table_put(t, "%s", r->kernels);
	}
	if (n > 1) {
		mr_table_put(t, "all");
		mr_table_put(t, "%s", "");
		mr_table_put(t, "%u", sum.n_layers);
		put_sizes(t, &sum);
	}
	return mr_table_finish(t, out);
}

static void put_percent(mr_table *t, double part, double whole)
{
	mr_table_put(t, "%.1f%%", whole > 0 ? 100 * part / whole : 0.0);
}

mr_status mr_report_workers(const mr_report_worker_row *rows, uint32_t n, FILE *out)
{
	mr_table_column columns[4 + MR_N_WAITS] = {{"worker", false}, {"stages", false}, {"training s", true}};
	int n_times = MR_N_WAITS;
	mr_table *t;

	for (uint32_t i = 0; i < n; i++)
		if (!rows[i].lost_known)
			n_times = MR_WAIT_DESCHEDULED;
	for (int c = 0; c < n_times; c++)
		columns[3 + c] = (mr_table_column){mr_record_members(MR_RECORD_TIMES)[1 + c].name, true};
	columns[3 + n_times] = (mr_table_column){"engine", true};
	MR_TRY(mr_table_create(columns, 4 + (uint32_t)n_times, &t));
	for (uint32_t i = 0; i < n; i++) {
		const mr_report_worker_row *r = &rows[i];
		double rest = r->times.elapsed;
		char name[24];

		mr_table_put(t, "%s", mr_report_worker_name(r->worker, r->share, name));
		mr_table_put(t, "%s", r->stages ? r->stages : "");
		mr_table_put(t, "%.2f", r->times.elapsed);
		for (int c = 0; c < n_times; c++) {
			put_percent(t, r->times.at[c], r->times.elapsed);
			rest -= r->times.at[c];
		}
		put_percent(t, rest > 0 ? rest : 0, r->times.elapsed);
	}
	return mr_table_finish(t, out);
}

static uint64_t count_at(const mr_staleness_row *r, uint32_t k)
{
	return k < r->gradients.n ? mr_counts_at(&r->gradients, k) : 0;
}

/* Did any stage see a gradient that was @k commits old? */
static bool occurred(const mr_staleness_row *rows, uint32_t n, uint32_t k)
{
	for (uint32_t i = 0; i < n; i++)
		if (count_at(&rows[i], k))
			return true;
	return false;
}

mr_status mr_report_staleness(const mr_staleness_row *rows, uint32_t n, FILE *out)
{
	uint32_t most = 0, n_columns = 1, limit = 0;
	mr_table_column *columns;
	char (*heads)[24];
	mr_table *t = NULL;
	mr_status st;

	for (uint32_t i = 0; i < n; i++)
		limit = rows[i].gradients.n > limit ? (uint32_t)rows[i].gradients.n : limit;
	for (uint32_t k = 0; k < limit; k++)
		most += occurred(rows, n, k);
	columns = calloc(most + 1u, sizeof(*columns));
	heads = calloc(most + 1u, sizeof(*heads));
	if (!columns || !heads) {
		st = mr_fail(MR_ERESOURCE, "no memory for %u columns", most);
		goto out;
	}
	columns[0] = (mr_table_column){"stage", true};
	for (uint32_t k = 0; k < limit; k++)
		if (occurred(rows, n, k)) {
			snprintf(heads[n_columns], sizeof(heads[0]), "stale %u", k);
			columns[n_columns] = (mr_table_column){heads[n_columns], true};
			n_columns++;
		}
	st = mr_table_create(columns, n_columns, &t);
	if (st != MR_OK)
		goto out;
	for (uint32_t i = 0; i < n; i++) {
		mr_table_put(t, "%u", rows[i].stage);
		for (uint32_t k = 0; k < limit; k++)
			if (occurred(rows, n, k))
				mr_table_put(t, "%llu", (unsigned long long)count_at(&rows[i], k));
	}
	st = mr_table_print(t, "", out);
out:
	mr_table_destroy(t);
	free(columns);
	free(heads);
	return st;
}

mr_status mr_report_usage(const mr_usage_row *rows, uint32_t n, FILE *out)
{
	mr_table_column columns[16] = {{"stage", true}};
	bool pipes = false;
	mr_table *t;

	for (uint32_t i = 0; i < n; i++)
		pipes = pipes || rows[i].pipe;
	MR_TRY(mr_table_create(columns, mr_record_columns(MR_RECORD_USAGE, columns, 1), &t));
	for (uint32_t i = 0; i < n; i++) {
		mr_table_put(t, pipes ? "%u p%u" : "%u", rows[i].stage, rows[i].pipe);
		mr_record_cells(MR_RECORD_USAGE, &rows[i], t);
	}
	return mr_table_finish(t, out);
}

mr_status mr_report_usage_json(uint64_t step, const mr_usage_row *rows, uint32_t n, FILE *out)
{
	mr_json_writer w = mr_json_begin(out, true);

	mr_json_field_uint(&w, "step", step);
	mr_record_put_all(MR_RECORD_USAGE, "stages", rows, n, sizeof(*rows), &w);
	return mr_json_finish(&w);
}

mr_status mr_report_memory(uint64_t predicted_bytes, uint64_t measured_bytes, FILE *out)
{
	double more = predicted_bytes ? 100 * ((double)measured_bytes / (double)predicted_bytes - 1) : NAN;
	char predicted[16], measured[16];

	fprintf(out, "peak memory  predicted %s  measured %s", mr_bytes_text(predicted_bytes, predicted),
		measured_bytes ? mr_bytes_text(measured_bytes, measured) : "unknown");
	if (measured_bytes && isfinite(more))
		fprintf(out, "  (%+.1f%%)", more);
	fputc('\n', out);
	return ferror(out) ? mr_fail(MR_EIO, "cannot write the memory line") : MR_OK;
}
