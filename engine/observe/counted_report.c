#include "observe/counted_report.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/table.h"
#include "stage/stage_layout.h"

/* FLOPs that @op takes for one micro-batch of stage @s. */
static double flops_of(const mr_run *run, uint16_t s, mr_op op)
{
	const mr_stage *st = run->stage[s];
	double sum = 0;

	for (uint32_t i = st->first; i < st->end; i++) {
		const mr_layer_needs *z = &st->step[i - st->first].needs;
		bool dx = mr_graph_wants_dx(run->c.graph, i, 0);

		if (op == MR_OP_F || op == MR_OP_R)
			sum += z->flops_f;
		if ((op == MR_OP_B || op == MR_OP_I) && dx)
			sum += z->flops_i;
		if (op == MR_OP_B || op == MR_OP_W)
			sum += z->flops_w;
	}
	return sum;
}

/* Add the counts of all workers for @stage and @op; @threads of one of them. */
static mr_counted_row row_of(const mr_run *run, uint16_t stage, mr_op op, uint32_t *threads)
{
	mr_counted_row r = {.stage = stage, .op = op};
	uint64_t micro = 0;

	*threads = 1;
	for (uint16_t w = 0; w < run->n_workers; w++) {
		const mr_counted_sum *sum;

		if (!run->worker[w].counted)
			continue;
		sum = &run->worker[w].counted->sum[(size_t)stage * MR_N_OPS + op];
		if (!sum->n)
			continue;
		*threads = run->c.place->worker[w].n_threads;
		r.n += sum->n;
		r.seconds += (double)sum->ns * 1e-9;
		micro += sum->n_micro;
		for (int i = 0; i < MR_N_PERF_EVENTS; i++)
			r.counts.at[i] += sum->counts.at[i];
	}
	r.flops = (double)micro * flops_of(run, stage, op);
	return r;
}

mr_status mr_counted_rows(const mr_run *run, double peak, const mr_bandwidth *b, mr_counted_row **rows, uint32_t *n)
{
	*n = 0;
	*rows = calloc((size_t)run->n_stages * MR_N_OPS, sizeof(**rows));
	if (!*rows)
		return mr_fail(MR_ERESOURCE, "no memory for the counts of %u stages", run->n_stages);
	for (uint16_t s = 0; s < run->n_stages; s++)
		for (int op = 0; op < MR_N_OPS; op++) {
			uint32_t threads;
			mr_counted_row r = row_of(run, s, (mr_op)op, &threads);
			mr_speed_limits limits = mr_speed_limits_of(threads, peak, b);

			if (!r.n)
				continue;
			r.speed = mr_speed_of(r.flops, r.seconds, &r.counts, &limits);
			(*rows)[(*n)++] = r;
		}
	return MR_OK;
}

/* A column of figures of mr_speed. */
typedef struct figure {
	const char *head, *key;
	size_t at;    /* in mr_speed */
	double scale;
	const char *format;
} figure;

#define FIGURE(head, member, scale, format) {head, #member, offsetof(mr_speed, member), scale, format}

static const figure figures[] = {
	FIGURE("cores", cores, 1, "%.2f"),        FIGURE("IPC", ipc, 1, "%.2f"),
	FIGURE("GHz", hz, 1e-9, "%.2f"),          FIGURE("stalled", stalled, 100, "%.0f%%"),
	FIGURE("GFLOP/s", flops, 1e-9, "%.1f"),   FIGURE("peak", peak, 100, "%.1f%%"),
	FIGURE("DRAM GB/s", bytes, 1e-9, "%.2f"), FIGURE("remote", remote, 100, "%.0f%%"),
	FIGURE("FLOP/byte", intensity, 1, "%.2f"), FIGURE("roof", roof, 100, "%.1f%%"),
};

enum { N_FIGURES = sizeof(figures) / sizeof(figures[0]), N_FIRST = 4 };

static double figure_of(const mr_counted_row *r, int k)
{
	return *(const double *)((const char *)&r->speed + figures[k].at) * figures[k].scale;
}

static bool any_known(const mr_counted_row *rows, uint32_t n, int k)
{
	for (uint32_t i = 0; i < n; i++)
		if (!isnan(figure_of(&rows[i], k)))
			return true;
	return false;
}

mr_status mr_counted_print(const mr_counted_row *rows, uint32_t n, FILE *out)
{
	mr_table_column columns[N_FIRST + N_FIGURES] = {
		{"stage", true}, {"op", false}, {"times", true}, {"us each", true},
	};
	uint32_t n_columns = N_FIRST;
	int shown[N_FIGURES];
	mr_table *t;
	mr_status st;

	for (int k = 0; k < N_FIGURES; k++)
		if (any_known(rows, n, k)) {
			shown[n_columns - N_FIRST] = k;
			columns[n_columns++] = (mr_table_column){figures[k].head, true};
		}
	MR_TRY(mr_table_create(columns, n_columns, &t));
	for (uint32_t i = 0; i < n; i++) {
		mr_table_put(t, "%u", rows[i].stage);
		mr_table_put(t, "%s", mr_op_name((uint8_t)rows[i].op));
		mr_table_put(t, "%llu", (unsigned long long)rows[i].n);
		mr_table_put(t, "%.2f", rows[i].seconds / (double)rows[i].n * 1e6);
		for (uint32_t c = N_FIRST; c < n_columns; c++) {
			double x = figure_of(&rows[i], shown[c - N_FIRST]);

			if (isnan(x)) {
				mr_table_put(t, "-");
			} else {
				char text[32];

				snprintf(text, sizeof(text), figures[shown[c - N_FIRST]].format, x);
				mr_table_put(t, "%s", text);
			}
		}
	}
	st = mr_table_print(t, "", out);
	mr_table_destroy(t);
	return st;
}

/* NAN is null. */
static void put_number(mr_json_writer *w, const char *key, double x)
{
	mr_json_key(w, key);
	mr_json_put_double(w, x);
}

mr_status mr_counted_json(const mr_counted_row *rows, uint32_t n, const char *missing, FILE *out)
{
	mr_json_writer w;

	mr_json_init(&w, out, true);
	mr_json_begin_object(&w);
	mr_json_key(&w, "missing");
	mr_json_put_string(&w, missing);
	mr_json_key(&w, "rows");
	mr_json_begin_array(&w);
	for (uint32_t i = 0; i < n; i++) {
		mr_json_begin_object(&w);
		mr_json_key(&w, "stage");
		mr_json_put_uint(&w, rows[i].stage);
		mr_json_key(&w, "op");
		mr_json_put_string(&w, mr_op_name((uint8_t)rows[i].op));
		mr_json_key(&w, "times");
		mr_json_put_uint(&w, rows[i].n);
		put_number(&w, "seconds", rows[i].seconds);
		put_number(&w, "flop", rows[i].flops);
		mr_json_key(&w, "counts");
		mr_json_begin_object(&w);
		for (int k = 0; k < MR_N_PERF_EVENTS; k++)
			put_number(&w, mr_perf_event_name((mr_perf_event)k), rows[i].counts.at[k]);
		mr_json_end_object(&w);
		for (int k = 0; k < N_FIGURES; k++)
			put_number(&w, figures[k].key, figure_of(&rows[i], k) / figures[k].scale);
		mr_json_end_object(&w);
	}
	mr_json_end_array(&w);
	mr_json_end_object(&w);
	return mr_json_finish(&w);
}
