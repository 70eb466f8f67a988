#include "observe/counted_report.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/table.h"

/* FLOPs that @op takes for one micro-batch of layers @first to @end - 1. */
static double flops_of(const mr_session *s, uint32_t first, uint32_t end, mr_op op)
{
	double sum = 0;

	for (uint32_t i = first; i < end; i++) {
		const mr_node *nd = &s->graph->nodes[i];
		bool dx = mr_graph_wants_dx(s->graph, i, 0);
		mr_layer_needs z = {0};

		nd->ops->needs(&nd->cfg, nd->in_shape, s->samples, s->kernels, &z);
		if (op == MR_OP_F || op == MR_OP_R)
			sum += z.flops_f;
		if ((op == MR_OP_B || op == MR_OP_I) && dx)
			sum += z.flops_i;
		if (op == MR_OP_B || op == MR_OP_W)
			sum += z.flops_w;
	}
	return sum;
}

static const mr_counted *counted_of(const mr_session *s, uint16_t worker)
{
	return mr_executor_run_of(&s->executor)->worker[worker].counted;
}

const mr_counted *mr_counted_any(const mr_session *s)
{
	return counted_of(s, 0);
}

/* Add the counts of all workers for @stage and @op; @threads of one of them. */
static mr_counted_row row_of(const mr_session *s, uint16_t stage, mr_op op, uint32_t *threads)
{
	uint32_t first = s->partition.first[stage], end = s->partition.first[stage + 1];
	mr_counted_row r = {.stage = stage, .op = op};
	uint64_t micro = 0;

	*threads = 1;
	for (uint16_t w = 0; w < s->place.n_workers; w++) {
		const mr_counted *counted = counted_of(s, w);
		const mr_counted_sum *sum = counted ? &counted->sum[(size_t)stage * MR_N_OPS + op] : NULL;

		if (!sum || !sum->n)
			continue;
		*threads = s->place.worker[w].n_threads;
		r.n += sum->n;
		r.seconds += (double)sum->ns * 1e-9;
		micro += sum->n_micro;
		for (int i = 0; i < MR_N_PERF_EVENTS; i++)
			r.counts.at[i] += sum->counts.at[i];
	}
	r.flops = (double)micro * flops_of(s, first, end, op);
	return r;
}

mr_status mr_counted_rows(const mr_session *s, double peak, const mr_bandwidth *b, mr_counted_row **rows, uint32_t *n)
{
	const mr_counted *any = mr_counted_any(s);
	uint16_t n_stages = any ? any->n_stages : 0;

	*n = 0;
	*rows = calloc((size_t)n_stages * MR_N_OPS + 1, sizeof(**rows));
	if (!*rows)
		return mr_fail(MR_ERESOURCE, "no memory for the counts of %u stages", n_stages);
	for (uint16_t i = 0; i < n_stages; i++)
		for (int op = 0; op < MR_N_OPS; op++) {
			uint32_t threads;
			mr_counted_row r = row_of(s, i, (mr_op)op, &threads);
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

mr_status mr_counted_json(const mr_counted_row *rows, uint32_t n, const char *missing, FILE *out)
{
	mr_json_writer w;

	mr_json_init(&w, out, true);
	mr_json_begin_object(&w);
	mr_json_field_string(&w, "missing", missing);
	mr_json_field_array(&w, "rows");
	for (uint32_t i = 0; i < n; i++) {
		mr_json_begin_object(&w);
		mr_json_field_uint(&w, "stage", rows[i].stage);
		mr_json_field_string(&w, "op", mr_op_name((uint8_t)rows[i].op));
		mr_json_field_uint(&w, "times", rows[i].n);
		mr_json_field_double(&w, "seconds", rows[i].seconds);
		mr_json_field_double(&w, "flop", rows[i].flops);
		mr_json_field_object(&w, "counts");
		for (int k = 0; k < MR_N_PERF_EVENTS; k++)
			mr_json_field_double(&w, mr_perf_event_name((mr_perf_event)k), rows[i].counts.at[k]);
		mr_json_end_object(&w);
		for (int k = 0; k < N_FIGURES; k++)
			mr_json_field_double(&w, figures[k].key, figure_of(&rows[i], k) / figures[k].scale);
		mr_json_end_object(&w);
	}
	mr_json_end_array(&w);
	mr_json_end_object(&w);
	return mr_json_finish(&w);
}
