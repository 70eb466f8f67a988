#include "observe/run_roofline.h"

#include <string.h>

#include "costs/cost_model.h"
#include "session/shares.h"

/* F, I and W of a layer, or sums of them. */
typedef struct work {
	double flops, bytes, least_s;
} work;

static void add(work *to, const work *x, double times)
{
	to->flops += times * x->flops;
	to->bytes += times * x->bytes;
	to->least_s += times * x->least_s;
}

/* Layers @first to @end - 1 in pass @op, for one micro-batch. */
static work work_of(const mr_session *s, uint32_t first, uint32_t end, mr_op op, const mr_speed_limits *limits)
{
	const bool does[3] = {op == MR_OP_F || op == MR_OP_R, op == MR_OP_B || op == MR_OP_I,
			      op == MR_OP_B || op == MR_OP_W};
	mr_workload of = mr_session_workload(s);
	work sum = {0};

	for (uint32_t i = first; i < end; i++) {
		const mr_node *nd = &s->graph->nodes[i];
		bool dx = mr_graph_wants_dx(s->graph, i, 0);
		double flops[3], bytes[3];
		mr_layer_needs z = {0};

		nd->ops->needs(&nd->cfg, nd->in_shape, s->samples, s->kernels, &z);
		mr_model_bytes(&of, i, bytes);
		flops[0] = z.flops_f;
		flops[1] = dx ? z.flops_i : 0;
		flops[2] = z.flops_w;
		for (int k = 0; k < 3; k++)
			if (does[k] && bytes[k] > 0)
				add(&sum, &(work){flops[k], bytes[k], mr_speed_least(flops[k], bytes[k], limits)}, 1);
	}
	return sum;
}

/* The mean instruction @op of worker @w, or of a share of it: all have as much to do as the first. A plan repeats its
 * body. */
static work mean_of(const mr_session *s, uint16_t w, mr_op op, const mr_speed_limits *limits)
{
	const mr_list *list = mr_plan_list(s->plan, w, MR_BODY);
	work sum = {0}, mean = {0};
	uint64_t n = 0;

	if (!list->n)
		list = mr_plan_list(s->plan, w, MR_PROLOGUE);
	for (uint16_t stage = 0; stage < s->partition.n_stages; stage++) {
		uint64_t micro = 0;
		work x;

		for (uint32_t i = 0; i < list->n; i++)
			if (list->at[i].op == op && list->at[i].stage == stage) {
				micro += list->at[i].span;
				n++;
			}
		if (!micro)
			continue;
		x = work_of(s, s->partition.first[stage], s->partition.first[stage + 1], op, limits);
		add(&sum, &x, (double)micro);
	}
	if (n)
		add(&mean, &sum, 1.0 / (double)n);
	return mean;
}

/* In order, without the shortest once there are too many. */
static void keep(mr_roofline *r, const mr_roofline_point *p)
{
	size_t least = 0;

	if (r->n < MR_ROOFLINE_POINTS) {
		r->point[r->n++] = *p;
		return;
	}
	for (size_t i = 1; i < r->n; i++)
		least = r->point[i].seconds < r->point[least].seconds ? i : least;
	if (r->point[least].seconds >= p->seconds)
		return;
	memmove(&r->point[least], &r->point[least + 1], (r->n - least - 1) * sizeof(*r->point));
	r->point[r->n - 1] = *p;
}

static void put(mr_roofline *r, const char *name, mr_op op, const work *each, uint64_t n, uint64_t ns)
{
	mr_roofline_point p = {.flop = each->flops * (double)n, .bytes = each->bytes * (double)n,
			       .seconds = (double)ns * 1e-9, .least = each->least_s * (double)n};

	snprintf(p.name, sizeof(p.name), "%s %s", name, mr_op_name((uint8_t)op));
	if (p.flop > 0 && p.bytes > 0 && ns)
		keep(r, &p);
}

mr_roofline mr_run_roofline(const mr_session *s, double peak, const mr_bandwidth *b)
{
	static const mr_op ops[] = {MR_OP_F, MR_OP_R, MR_OP_B, MR_OP_I, MR_OP_W};
	uint32_t shares = mr_executor_shares(&s->executor);
	mr_speed_limits first = mr_speed_limits_of(s->place.worker[0].n_threads, peak, b);
	mr_roofline r = mr_speed_roofline(&first, s->place.worker[0].n_threads);

	for (uint32_t i = 0; i < mr_executor_rows(&s->executor); i++) {
		mr_speed_limits limits = mr_speed_limits_of(mr_session_row_place(s, i)->n_threads, peak, b);
		const mr_worker *w = mr_executor_row(&s->executor, i);
		const mr_worker_stats *st = &w->stats;
		char name[24];

		for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
			work each = mean_of(s, w->id, ops[k], &limits);

			put(&r, mr_report_row_name(i, shares, name), ops[k], &each, st->count[ops[k]],
			    st->busy_ns[ops[k]]);
		}
	}
	return r;
}
