#include "observe/counted_report.h"

#include <math.h>
#include <stdlib.h>

#include "base/json.h"

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
	mr_counted_row r = {.work = {.stage = stage, .op = mr_op_name((uint8_t)op)}};
	uint64_t micro = 0;

	*threads = 1;
	for (uint16_t w = 0; w < s->place.n_workers; w++) {
		const mr_counted *counted = counted_of(s, w);
		const mr_counted_sum *sum = counted ? &counted->sum[(size_t)stage * MR_N_OPS + op] : NULL;

		if (!sum || !sum->n)
			continue;
		*threads = s->place.worker[w].n_threads;
		r.work.times += sum->n;
		r.work.seconds += (double)sum->ns * 1e-9;
		micro += sum->n_micro;
		for (int i = 0; i < MR_N_PERF_EVENTS; i++)
			r.counts.at[i] += sum->counts.at[i];
	}
	r.work.flop = (double)micro * flops_of(s, first, end, op);
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

			if (!r.work.times)
				continue;
			r.speed = mr_speed_of(r.work.flop, r.work.seconds, &r.counts, &limits);
			(*rows)[(*n)++] = r;
		}
	return MR_OK;
}

static bool any_known(const mr_counted_row *rows, uint32_t n, const mr_member *m)
{
	for (uint32_t i = 0; i < n; i++)
		if (!isnan(mr_member_number(m, &rows[i].speed)))
			return true;
	return false;
}

/* Stage, operation, times, the time of each, and what is known of the speed. */
mr_status mr_counted_print(const mr_counted_row *rows, uint32_t n, FILE *out)
{
	const mr_member *speed = mr_record_members(MR_RECORD_SPEED);
	mr_table_column columns[4 + MR_MEMBERS_SPEED];
	uint32_t n_columns = mr_record_columns(MR_RECORD_COUNTED, columns, 0);
	mr_table *t;

	columns[n_columns++] = (mr_table_column){"us each", true};
	for (int k = 0; k < MR_MEMBERS_SPEED; k++)
		if (any_known(rows, n, &speed[k]))
			columns[n_columns++] = mr_member_column(&speed[k]);
	MR_TRY(mr_table_create(columns, n_columns, &t));
	for (uint32_t i = 0; i < n; i++) {
		mr_record_cells(MR_RECORD_COUNTED, &rows[i].work, t);
		mr_table_put(t, "%.2f", rows[i].work.seconds / (double)rows[i].work.times * 1e6);
		for (int k = 0; k < MR_MEMBERS_SPEED; k++)
			if (any_known(rows, n, &speed[k]))
				mr_member_cell(&speed[k], &rows[i].speed, t);
	}
	return mr_table_finish(t, out);
}

mr_status mr_counted_json(const mr_counted_row *rows, uint32_t n, const char *missing, FILE *out)
{
	mr_json_writer w = mr_json_begin(out, true);

	mr_json_field_string(&w, "missing", missing);
	mr_json_field_array(&w, "rows");
	for (uint32_t i = 0; i < n; i++) {
		mr_json_begin_object(&w);
		mr_record_put(MR_RECORD_COUNTED, &rows[i].work, &w);
		mr_json_field_object(&w, "counts");
		for (int k = 0; k < MR_N_PERF_EVENTS; k++)
			mr_json_field_double(&w, mr_perf_event_name((mr_perf_event)k), rows[i].counts.at[k]);
		mr_json_end_object(&w);
		mr_record_put(MR_RECORD_SPEED, &rows[i].speed, &w);
		mr_json_end_object(&w);
	}
	mr_json_end_array(&w);
	return mr_json_finish(&w);
}
