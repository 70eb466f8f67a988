/* The tables of a run: stages at its start; workers, staleness and memory at its end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "report/figures.h"
#include "report/table.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void put_bytes(mr_table *t, uint64_t bytes)
{
	char text[16];

	mr_table_put(t, "%s", mr_bytes_text(bytes, text));
}

/* The columns from "parameters" to "total", alike for a stage and for the line of sums. */
static void put_sizes(mr_table *t, const mr_report_stage_row *r)
{
	char count[16];

	mr_table_put(t, "%s", mr_count_text(r->n_params, count));
	put_bytes(t, r->weight_bytes);
	put_bytes(t, r->stash_bytes);
	put_bytes(t, r->gradient_bytes);
	put_bytes(t, r->optimizer_bytes);
	put_bytes(t, r->activation_bytes);
	put_bytes(t, r->boundary_bytes);
	put_bytes(t, r->scratch_bytes);
	put_bytes(t, r->weight_bytes + r->stash_bytes + r->gradient_bytes + r->optimizer_bytes + r->activation_bytes +
			     r->boundary_bytes + r->scratch_bytes);
}

static void add_sizes(mr_report_stage_row *sum, const mr_report_stage_row *r)
{
	sum->n_layers += r->pipe ? 0 : r->n_layers;
	sum->n_params += r->pipe ? 0 : r->n_params;
	sum->weight_bytes += r->weight_bytes;
	sum->stash_bytes += r->stash_bytes;
	sum->gradient_bytes += r->gradient_bytes;
	sum->optimizer_bytes += r->optimizer_bytes;
	sum->activation_bytes += r->activation_bytes;
	sum->boundary_bytes += r->boundary_bytes;
	sum->scratch_bytes += r->scratch_bytes;
}

mr_status mr_report_stages(const mr_report_stage_row *rows, uint32_t n, FILE *out)
{
	static const mr_table_column columns[] = {
		{"stage", true},   {"on", false},   {"layers", false},   {"params", true}, {"weights", true},
		{"stashes", true}, {"grads", true}, {"optimizer", true}, {"activ.", true}, {"boundary", true},
		{"scratch", true}, {"total", true}, {"cores", false},    {"node", true},
	};
	bool kernels = n && rows[0].kernels, pages = n && rows[0].pages;
	mr_table_column all[N(columns) + 2];
	uint32_t n_all = N(columns);
	mr_report_stage_row sum = {0};
	mr_table *t;
	mr_status st;

	memcpy(all, columns, sizeof(columns));
	if (pages)
		all[n_all++] = (mr_table_column){"pages there", true};
	if (kernels)
		all[n_all++] = (mr_table_column){"kernels", false};
	MR_TRY(mr_table_create(all, n_all, &t));
	for (uint32_t i = 0; i < n; i++) {
		const mr_report_stage_row *r = &rows[i];

		add_sizes(&sum, r);
		mr_table_put(t, r->n_pipes > 1 ? "%u p%u" : "%u", r->stage, r->pipe);
		mr_table_put(t, "w%u", r->worker);
		mr_table_put(t, "%u: %s", r->n_layers, r->layers ? r->layers : "");
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
	st = mr_table_print(t, "", out);
	mr_table_destroy(t);
	return st;
}

static void put_percent(mr_table *t, double part, double whole)
{
	mr_table_put(t, "%.1f%%", whole > 0 ? 100 * part / whole : 0.0);
}

mr_status mr_report_workers(const mr_report_worker_row *rows, uint32_t n, FILE *out)
{
	mr_table_column columns[5 + MR_N_WAITS] = {
		{"worker", false}, {"stages", false}, {"training s", true}, {"busy", true},
	};
	uint32_t n_columns = 4;
	int n_waits = MR_N_WAITS;
	mr_table *t;
	mr_status st;

	for (uint32_t i = 0; i < n; i++)
		if (!rows[i].lost_known)
			n_waits = MR_WAIT_DESCHEDULED;
	for (int c = MR_WAIT_UPSTREAM; c < n_waits; c++)
		columns[n_columns++] = (mr_table_column){mr_report_wait_name((mr_wait_cause)c), true};
	columns[n_columns++] = (mr_table_column){"engine", true};
	MR_TRY(mr_table_create(columns, n_columns, &t));
	for (uint32_t i = 0; i < n; i++) {
		const mr_report_worker_row *r = &rows[i];
		double whole = (double)r->elapsed_ns, rest = whole - (double)r->busy_ns;

		mr_table_put(t, "w%u", r->worker);
		mr_table_put(t, "%s", r->stages ? r->stages : "");
		mr_table_put(t, "%.2f", whole * 1e-9);
		put_percent(t, (double)r->busy_ns, whole);
		for (int c = MR_WAIT_UPSTREAM; c < n_waits; c++) {
			put_percent(t, (double)r->wait_ns[c], whole);
			rest -= (double)r->wait_ns[c];
		}
		put_percent(t, rest > 0 ? rest : 0, whole);
	}
	st = mr_table_print(t, "", out);
	mr_table_destroy(t);
	return st;
}

/* Did any stage see a gradient that was @k commits old? */
static bool occurred(const mr_report_staleness_row *rows, uint32_t n, uint32_t k)
{
	for (uint32_t i = 0; i < n; i++)
		if (k < rows[i].n && rows[i].count[k])
			return true;
	return false;
}

mr_status mr_report_staleness(const mr_report_staleness_row *rows, uint32_t n, FILE *out)
{
	uint32_t most = 0, n_columns = 1, limit = 0;
	mr_table_column *columns;
	char (*heads)[24];
	mr_table *t = NULL;
	mr_status st;

	for (uint32_t i = 0; i < n; i++)
		limit = rows[i].n > limit ? rows[i].n : limit;
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
				mr_table_put(t, "%llu", k < rows[i].n ? (unsigned long long)rows[i].count[k] : 0ull);
	}
	st = mr_table_print(t, "", out);
out:
	mr_table_destroy(t);
	free(columns);
	free(heads);
	return st;
}

mr_status mr_report_usage(const mr_report_usage_row *rows, uint32_t n, FILE *out)
{
	static const mr_table_column columns[] = {
		{"stage", true},
		{"versions", true},
		{"predicted", MR_TABLE_RIGHT_BESIDE},
		{"weights", true},
		{"predicted", MR_TABLE_RIGHT_BESIDE},
		{"activ.", true},
		{"predicted", MR_TABLE_RIGHT_BESIDE},
		{"boundary", true},
		{"predicted", MR_TABLE_RIGHT_BESIDE},
	};
	mr_table *t;
	mr_status st;

	MR_TRY(mr_table_create(columns, N(columns), &t));
	for (uint32_t i = 0; i < n; i++) {
		const mr_report_usage_row *r = &rows[i];

		mr_table_put(t, r->n_pipes > 1 ? "%u p%u" : "%u", r->stage, r->pipe);
		for (int k = 0; k < 2; k++)
			mr_table_put(t, "%u", r->versions[k]);
		for (int k = 0; k < 2; k++)
			put_bytes(t, r->weight_bytes[k]);
		for (int k = 0; k < 2; k++)
			put_bytes(t, r->activation_bytes[k]);
		for (int k = 0; k < 2; k++)
			put_bytes(t, r->boundary_bytes[k]);
	}
	st = mr_table_print(t, "", out);
	mr_table_destroy(t);
	return st;
}

static void put_pair(mr_json_writer *w, const char *key, uint64_t measured, uint64_t predicted)
{
	mr_json_field_object(w, key);
	mr_json_field_uint(w, "measured", measured);
	mr_json_field_uint(w, "predicted", predicted);
	mr_json_end_object(w);
}

mr_status mr_report_usage_json(uint64_t step, const mr_report_usage_row *rows, uint32_t n, FILE *out)
{
	mr_json_writer w;

	mr_json_init(&w, out, true);
	mr_json_begin_object(&w);
	mr_json_field_uint(&w, "step", step);
	mr_json_field_array(&w, "stages");
	for (uint32_t i = 0; i < n; i++) {
		mr_json_begin_object(&w);
		mr_json_field_uint(&w, "stage", rows[i].stage);
		mr_json_field_uint(&w, "pipe", rows[i].pipe);
		put_pair(&w, "versions", rows[i].versions[0], rows[i].versions[1]);
		put_pair(&w, "weight_bytes", rows[i].weight_bytes[0], rows[i].weight_bytes[1]);
		put_pair(&w, "activation_bytes", rows[i].activation_bytes[0], rows[i].activation_bytes[1]);
		put_pair(&w, "boundary_bytes", rows[i].boundary_bytes[0], rows[i].boundary_bytes[1]);
		mr_json_end_object(&w);
	}
	mr_json_end_array(&w);
	mr_json_end_object(&w);
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
