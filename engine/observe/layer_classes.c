#include "observe/layer_classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/table.h"
#include "costs/cost_model.h"

#define LEAST_S 0.5e-6 /* less is the clock's own: the layer before does the work */

enum { N_PASSES = 3 };

static const char *const passes[N_PASSES] = {"F", "I", "W"};
static const char *const products[N_PASSES] = {"x W", "dz W^T", "dW"};

/* One pass over one layer. */
typedef struct piece {
	double seconds, flops, bytes;
} piece;

static piece piece_of(const mr_session *s, const mr_profile *p, uint32_t node, int pass)
{
	const mr_layer_profile *l = &p->layer[node];
	const double seconds[] = {l->f, l->i, l->w}, flops[] = {l->flops_f, l->flops_i, l->flops_w};
	mr_workload of = mr_session_workload(s);
	double bytes[N_PASSES];

	mr_model_bytes(&of, node, bytes);
	return (piece){seconds[pass], flops[pass], bytes[pass]};
}

static uint32_t threads_of(const mr_session *s, uint16_t stage)
{
	return s->place.worker[mr_plan_worker(s->plan, 0, stage)].n_threads;
}

/* The class of @kind in @pass, which is made if there is none. */
static mr_layer_class *class_of(mr_layer_classes *c, const char *kind, int pass)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!strcmp(c->at[i].kind, kind) && c->at[i].pass == passes[pass])
			return &c->at[i];
	c->at[c->n] = (mr_layer_class){.kind = kind, .pass = passes[pass], .product = ""};
	return &c->at[c->n++];
}

/* Sums of what was counted; not part of the result. */
typedef struct sums {
	mr_perf_counts counts;
	double seconds, flops;
} sums;

static void add(const mr_session *s, const mr_profile *p, uint32_t node, int pass, double peak, const mr_bandwidth *b,
		mr_layer_classes *c, sums *sum)
{
	uint16_t stage = mr_partition_stage(&s->partition, node);
	mr_speed_limits limits = mr_speed_limits_of(threads_of(s, stage), peak, b);
	piece x = piece_of(s, p, node, pass);
	mr_bandwidth_level level = mr_speed_level(x.bytes, &limits);
	const mr_layer_counted *counted = &p->counted[node];
	mr_layer_class *k;
	double move;

	if (!(x.seconds > (x.flops > 0 ? 0 : LEAST_S)))
		return;
	k = class_of(c, s->graph->nodes[node].ops->name, pass);
	move = limits.bandwidth[level] > 0 ? x.bytes / limits.bandwidth[level] : 0;
	if (!k->n || x.bytes * k->n > k->bytes)
		k->level = level;
	k->product = x.flops > 0 ? products[pass] : k->product;
	k->n++;
	k->seconds += x.seconds;
	k->flops += x.flops;
	k->bytes += x.bytes;
	k->least_s += fmax(x.flops / limits.peak, move);
	sum += k - c->at;
	for (int i = 0; i < MR_N_PERF_EVENTS; i++)
		sum->counts.at[i] += counted->counts[pass].at[i];
	sum->seconds += counted->seconds[pass];
	sum->flops += x.flops * counted->n[pass];
}

static int by_time(const void *a, const void *b)
{
	const mr_layer_class *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

mr_status mr_layer_classes_of(const mr_session *s, const mr_profile *p, double peak, const mr_bandwidth *b,
			      mr_layer_classes *out)
{
	uint32_t most = s->graph->n_nodes * N_PASSES;
	sums *sum = calloc(most, sizeof(*sum));

	*out = (mr_layer_classes){.at = calloc(most, sizeof(*out->at)), .missing = p->missing,
		.threads = threads_of(s, 0)};
	out->limits = mr_speed_limits_of(out->threads, peak, b);
	if (!sum || !out->at) {
		free(sum);
		mr_layer_classes_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory for the classes of %u layers", s->graph->n_nodes);
	}
	for (uint32_t i = 0; i < s->graph->n_nodes; i++)
		for (int pass = 0; pass < N_PASSES; pass++)
			add(s, p, i, pass, peak, b, out, sum);
	for (uint32_t i = 0; i < out->n; i++)
		out->at[i].counted = mr_speed_of(sum[i].flops, sum[i].seconds, &sum[i].counts, &out->limits);
	free(sum);
	qsort(out->at, out->n, sizeof(*out->at), by_time);
	return MR_OK;
}

void mr_layer_classes_fini(mr_layer_classes *c)
{
	free(c->at);
	c->at = NULL;
	c->n = 0;
}

/* --- the table --- */

static void put(mr_table *t, const char *format, double x)
{
	char text[32];

	snprintf(text, sizeof(text), format, x);
	mr_table_put(t, "%s", isfinite(x) ? text : "-");
}

/* What was counted; the first of it by the kernel, the others by the processor. */
static const size_t counted[] = {offsetof(mr_speed, cores), offsetof(mr_speed, ipc), offsetof(mr_speed, stalled),
				 offsetof(mr_speed, bytes), offsetof(mr_speed, remote)};

enum { N_COUNTED = sizeof(counted) / sizeof(counted[0]) };

static void put_row(mr_table *t, const mr_layer_class *k, double peak, bool hardware)
{
	bool computes = k->flops > 0;

	mr_table_cells(t, "%s\t%s\t%s\t%u", k->kind, k->pass, k->product, k->n);
	put(t, "%.4f", 1e3 * k->seconds);
	put(t, "%.1f", computes ? k->flops / k->seconds * 1e-9 : (double)NAN);
	put(t, "%.1f%%", computes ? 100 * k->flops / k->seconds / peak : (double)NAN);
	put(t, "%.2f", k->bytes * 1e-6);
	put(t, "%.2f", computes ? k->flops / k->bytes : (double)NAN);
	mr_table_put(t, "%s", mr_speed_level_name(k->level));
	put(t, "%.1f%%", 100 * k->least_s / k->seconds);
	for (size_t i = 0; i < (hardware ? N_COUNTED : 1); i++)
		mr_member_cell(mr_record_member(MR_RECORD_SPEED, counted[i]), &k->counted, t);
}

mr_status mr_layer_classes_print(const mr_layer_classes *c, FILE *out)
{
	static const mr_table_column columns[] = {
		{"class", false}, {"pass", false}, {"product", false}, {"layers", true},    {"ms", true},
		{"GFLOP/s", true}, {"peak", true}, {"MB", true},       {"FLOP/byte", true}, {"from", false},
		{"roof", true},
	};
	enum { N_COLUMNS = sizeof(columns) / sizeof(columns[0]) };
	mr_table_column all[N_COLUMNS + N_COUNTED];
	bool hardware = false;
	mr_table *t;
	mr_status st;

	memcpy(all, columns, sizeof(columns));
	for (size_t i = 0; i < N_COUNTED; i++)
		all[N_COLUMNS + i] = mr_member_column(mr_record_member(MR_RECORD_SPEED, counted[i]));
	for (uint32_t i = 0; i < c->n; i++)
		hardware = hardware || isfinite(c->at[i].counted.ipc) || isfinite(c->at[i].counted.bytes);
	MR_TRY(mr_table_create(all, N_COLUMNS + (hardware ? N_COUNTED : 1), &t));
	for (uint32_t i = 0; i < c->n; i++)
		put_row(t, &c->at[i], c->limits.peak, hardware);
	st = mr_table_finish(t, out);
	if (st == MR_OK && *c->missing)
		fprintf(out, "counters: %s\n", c->missing);
	return st;
}

/* --- the picture --- */

mr_status mr_layer_classes_svg(const mr_layer_classes *c, const char *title, const mr_svg *v)
{
	mr_roofline r = mr_speed_roofline(&c->limits, c->threads);

	for (uint32_t i = 0; i < c->n && r.n < MR_ROOFLINE_POINTS; i++) {
		const mr_layer_class *k = &c->at[i];
		mr_roofline_point *p = &r.point[r.n];

		if (!(k->flops > 0))
			continue;
		*p = (mr_roofline_point){
			.flop = k->flops, .bytes = k->bytes, .seconds = k->seconds, .least = k->least_s};
		snprintf(p->name, sizeof(p->name), "%s %s (%s)", k->kind, k->pass, k->product);
		r.n++;
	}
	return mr_roofline_put(&r, title, v);
}
