#include "costs/cost_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "costs/measured_machine.h"
#include "costs/meetings.h"
#include "costs/team_costs.h"
#include "weights/replicas.h"

#define UPDATE_PASSES 7 /* as in mr_partition_cost */

/* --- constants --- */

/* A core's peak and its bandwidth are those of the nominal costs (planner/partition.h); a node has the memory of a
 * usual socket. */
static mr_server nominal(const mr_topo *t)
{
	uint32_t cores = t->n_usable / t->n_nodes;

	return (mr_server){
		.name = "nominal",
		.what = "a server core",
		.sockets = t->n_nodes,
		.nodes = 1,
		.domains = 1,
		.cores = cores ? cores : 1,
		.smt = 1,
		.l2_kib = 2048,
		.l3_mib = 2 * (cores ? cores : 1),
		.ghz_vector = MR_PARTITION_FLOPS / MR_MODEL_EFFICIENCY / 50e9,
		.ghz_matrix = MR_PARTITION_FLOPS / MR_MODEL_EFFICIENCY / 50e9,
		.f32_cycle = 50,
		.bf16_cycle = 50,
		.dram_gbs = 300,
		.l3_gbs = MR_PARTITION_BYTES / 1e9,
		.domain_ns = 60,
		.node_ns = 60,
		.socket_ns = 150,
		.link_gbs = 100,
	};
}

mr_server mr_model_server(const mr_workload *of)
{
	if (of->topo->server)
		return *of->topo->server;
	return of->measured ? of->measured->server : nominal(of->topo);
}

double mr_model_memory_rate(const mr_server *m)
{
	return m->dram_gbs * 1e9 / m->nodes;
}

double mr_model_link_rate(const mr_server *m)
{
	return m->link_gbs * 1e9 / m->nodes;
}

double mr_model_peak(const mr_server *m, const mr_workload *of)
{
	double f32 = m->f32_cycle * m->ghz_vector, bf16 = m->bf16_cycle * m->ghz_matrix;

	return 1e9 * (of->kernels->types.weights == MR_BF16 && bf16 > f32 ? bf16 : f32);
}

/* Fitted (cost_model.h). */
#define HALF_ROWS 7.0
#define HALF_COLUMNS 4.0
#define HALF_TERMS 7.0

double mr_model_efficiency(double elements, double columns, double terms, uint32_t k)
{
	double pieces = fmax(1, ceil(elements / MR_MODEL_PIECE)), part = fmax(1, elements / fmin(k, pieces));
	double rows = fmax(1, elements / columns), m = fmin(rows, fmax(sqrt(part), part / columns)), n = part / m;

	return MR_MODEL_EFFICIENCY * pieces / (k * ceil(pieces / k)) * m / (m + HALF_ROWS) * n / (n + HALF_COLUMNS) *
	       terms / (terms + HALF_TERMS);
}

/* --- passes --- */

/* One worker's team and the rates at which it reads what it uses. */
typedef struct team {
	const mr_server *m;
	uint32_t k, nodes;               /* threads, and the nodes on which they are */
	double peak;                     /* FLOP/s of a core */
	double rate_pass, rate_step;     /* bytes a second in F, I, W; in U */
	double memory_pass, memory_step; /* the part of them that comes from the node's memory */
} team;

/* Bytes that worker @w uses in each pass, and in a step. Without a plan worker 0 has all stages. */
static void working_set(const mr_workload *of, uint16_t w, double *pass, double *step)
{
	const mr_types *types = &of->kernels->types;
	const mr_plan *p = of->plan;
	double n_weights = 0, stepped = 0, values = 0, copies = 1;

	for (uint16_t i = 0; i < of->partition->n_stages; i++) {
		bool hosts = !p;

		for (unsigned q = 0; p && q < p->n_pipes; q++)
			hosts |= mr_plan_worker(p, (uint8_t)q, i) == w;
		for (uint32_t n = of->partition->first[i]; hosts && n < of->partition->first[i + 1]; n++) {
			n_weights += (double)mr_costs_params(of->graph, n);
			stepped += (double)mr_costs_stepped(of->graph, n);
			values += (double)of->samples * (double)mr_costs_values(of, n);
		}
		copies = hosts && p && p->n_versions[i] > copies ? p->n_versions[i] : copies;
	}
	*pass = n_weights * (double)mr_dtype_bytes(types->weights) +
		stepped * (double)mr_dtype_bytes(types->gradients) + values;
	*step = *pass + stepped * ((copies - 1) * (double)mr_dtype_bytes(types->weights) +
				     of->optim->ops->n_states *
					     (double)mr_dtype_bytes(mr_optim_state_type(of->optim, types)));
}

/* The nodes on which @k threads of worker @w are: their memory is spread over these, in equal parts. */
static uint32_t nodes_of(const mr_workload *of, uint16_t w, uint32_t k)
{
	const mr_place_worker *at = &of->place->worker[w];
	uint32_t n = at->straddles && at->memory.n > 1 ? at->memory.n : 1;

	return n < k ? n : k;
}

/* The bandwidth at which @k cores, as many on each of @nodes, read the memory of these nodes: of what a core reads, all
 * but one part in @nodes comes over links, and each node's link carries what the cores of the others read of it. */
static double memory_rate(const mr_server *m, uint32_t k, uint32_t nodes)
{
	double rate = k * m->l3_gbs * 1e9;

	if (m->core_gbs > 0)
		rate = fmin(rate, k * m->core_gbs * 1e9);
	if (m->domain_gbs > 0)
		rate = fmin(rate, ceil((double)k / m->cores) * m->domain_gbs * 1e9);
	if (nodes > 1)
		rate = fmin(rate, (double)nodes * nodes / (nodes - 1) * mr_model_link_rate(m));
	return fmin(rate, nodes * mr_model_memory_rate(m));
}

/* Of @k cores that have all in their second caches. */
static double l2_rate(const mr_server *m, uint32_t k)
{
	return m->l2_gbs > 0 ? k * m->l2_gbs * 1e9 : INFINITY;
}

/* The bandwidth at which @k cores of @nodes nodes, of a run that uses @used, use @bytes again and again. What their
 * part of the L3 does not hold, *@memory of it, comes from memory. */
static double rate_of(const mr_server *m, uint32_t k, uint32_t nodes, double used, double bytes, double *memory)
{
	double holds = k * 1048576.0 * m->l3_mib / fmin(m->cores, used);

	*memory = 0;
	if (bytes <= k * 1024.0 * m->l2_kib)
		return l2_rate(m, k);
	*memory = bytes > holds ? 1 - holds / bytes : 0;
	return 1 / (*memory / memory_rate(m, k, nodes) + (1 - *memory) / (k * m->l3_gbs * 1e9));
}

static team team_of(const mr_workload *of, const mr_server *m, uint16_t w, uint32_t k, double used)
{
	team t = {.m = m, .k = k, .nodes = nodes_of(of, w, k), .peak = mr_model_peak(m, of)};
	double pass, step;

	working_set(of, w, &pass, &step);
	t.rate_pass = rate_of(m, k, t.nodes, used, pass, &t.memory_pass);
	t.rate_step = rate_of(m, k, t.nodes, used, step, &t.memory_step);
	return t;
}

/* Threads of the team that a pass keeps: kernels use one only for enough work. */
static uint32_t threads_for(const team *t, double work, double each)
{
	return work >= t->k * each ? t->k : work < 2 * each ? 1 : (uint32_t)(work / each);
}

static double seconds(const team *t, double flops, double bytes, double elements, double columns)
{
	uint32_t k = flops > 0 ? threads_for(t, flops, MR_MODEL_LEAST_FLOPS)
			       : threads_for(t, elements, MR_MODEL_LEAST_ELEMENTS);
	double e = mr_model_efficiency(elements, columns, flops / (2 * elements), k);

	return fmax(flops > 0 ? flops / (k * t->peak * e) : 0, bytes / t->rate_pass * t->k / k) + MR_MODEL_CALL_S +
	       mr_server_barrier_ns(t->m, k) / 1e9;
}

/* What the passes over a layer read and write, and make. */
typedef struct work {
	double flops[3], bytes[3], elements[3], columns[3]; /* of F, I, W; no bytes: no such pass */
	double step_bytes;
} work;

static work work_of(const mr_workload *of, uint32_t node)
{
	const mr_types *types = &of->kernels->types;
	const mr_graph *g = of->graph;
	const mr_node *n = &g->nodes[node];
	double in = 0, gradients = 0, out = 0, weights = 0, n_weights = 0,
	a = (double)mr_dtype_bytes(types->activations);
	double wide = n->n_out ? fmax(1, (double)n->out_shape[0].cols) : 1;
	bool back = mr_graph_wants_any_dx(g, node), steps = !n->frozen;
	mr_layer_needs z = mr_graph_needs(g, node, of->samples);

	for (uint32_t i = 0; i < n->n_in; i++) {
		double each = (double)of->samples * (double)mr_shape_count(g->values[n->in[i]].shape);

		in += each;
		gradients += mr_graph_wants_dx(g, node, i) ? each : 0;
	}
	for (uint32_t i = 0; i < n->n_out; i++)
		out += (double)of->samples * (double)mr_shape_count(n->out_shape[i]);
	for (uint32_t i = n->first_param; i < n->first_param + n->n_params; i++)
		n_weights += (double)g->params[i].n;
	/* Without products it looks rows up, or scales: it reads no more of the weights than it has results. */
	n_weights = z.flops_f > 0 ? n_weights : fmin(n_weights, out);
	weights = n_weights * (double)mr_dtype_bytes(types->weights);
	return (work){
		.flops = {z.flops_f, z.flops_i, z.flops_w},
		.bytes = {in * a + out * a + weights, back ? out * a + gradients * a + weights : 0,
			  n_weights > 0 && steps
				  ? in * a + out * a + n_weights * (double)mr_dtype_bytes(types->gradients) : 0},
		.elements = {fmax(out, 1), gradients, n_weights},
		.columns = {wide, fmax(1, (double)n->in_shape[0].cols), wide},
		.step_bytes = UPDATE_PASSES * (double)mr_costs_stepped(g, node) *
			      (double)mr_dtype_bytes(types->weights),
	};
}

void mr_model_bytes(const mr_workload *of, uint32_t node, double bytes[3])
{
	work w = work_of(of, node);
	bool loss = of->graph->nodes[node].ops->loss;

	for (int k = 0; k < 3; k++)
		bytes[k] = loss && k ? 0 : w.bytes[k];
}

/* The teams of all workers; the caller frees them. NULL without memory. @k: threads of each; 0: those of the session.
 * @share: as in mr_costs_modelled. */
static team *teams_of(const mr_workload *of, const mr_server *m, uint32_t k, double share)
{
	team *t = calloc(of->place->n_workers, sizeof(*t));
	double used = k * (double)of->place->n_workers;

	for (uint16_t w = 0; !k && w < of->place->n_workers; w++)
		used += of->place->worker[w].n_threads;
	used *= of->n_shares > 1 ? of->n_shares : 1;
	for (uint16_t w = 0; t && w < of->place->n_workers; w++)
		t[w] = team_of(of, m, w, k ? k : of->place->worker[w].n_threads, share > 0 ? used / share : used);
	return t;
}

static uint16_t worker_of(const mr_workload *of, uint32_t node)
{
	return mr_plan_worker(of->plan, 0, mr_partition_stage(of->partition, node));
}

static double step_seconds(const team *t, double bytes)
{
	uint32_t k = threads_for(t, bytes / UPDATE_PASSES / sizeof(float), MR_MODEL_LEAST_ELEMENTS);

	return bytes / fmin(t->rate_step * k / t->k, k * t->m->l3_gbs * 1e9) + MR_MODEL_CALL_S +
	       mr_server_barrier_ns(t->m, k) / 1e9;
}

/* Seconds in which a share reads @bytes of each other share of its rank. All shares of a node do so at once, and share
 * its link. */
static double meeting_seconds(const mr_workload *of, const team *t, double bytes)
{
	double here = of->shares_here, far = fmax(0, mr_meetings_together(of) - here);

	return bytes * ((here - 1) / (t->k * t->m->l3_gbs * 1e9) + far * here / mr_model_link_rate(t->m));
}

/* Bytes that a share shows each of the others in a pass over @node: F, I or W. */
static double shown_bytes(const mr_workload *of, uint32_t node, int pass)
{
	const mr_types *types = &of->kernels->types;

	if (pass == 2)
		return (double)mr_graph_shown_gradients(of->graph, node) * (double)mr_dtype_bytes(types->gradients);
	return (double)(mr_graph_shown(of->graph, node, pass) * of->samples) *
	       (double)mr_dtype_bytes(types->activations);
}

static void cost_layer(const mr_workload *of, const team *t, uint32_t node, mr_stage_cost *c, mr_stage_cost *b)
{
	work w = work_of(of, node);
	bool loss = of->graph->nodes[node].ops->loss;
	double *const into[] = {&c->f, &c->i, &c->w};
	double memory = of->n_shares > 1 ? of->shares_here : 1.0 / t->nodes; /* shares compute the same at one time */

	for (int k = 0; k < 3; k++)
		*into[k] = w.bytes[k] > 0 && !(loss && k) ? seconds(t, w.flops[k], w.bytes[k], w.elements[k],
								    w.columns[k]) : 0;
	c->u = w.step_bytes > 0 ? step_seconds(t, w.step_bytes) : 0;
	*b = (mr_stage_cost){.f = memory * t->memory_pass * w.bytes[0],
			      .i = loss ? 0 : memory * t->memory_pass * w.bytes[1],
			      .w = loss ? 0 : memory * t->memory_pass * w.bytes[2],
			      .u = memory * t->memory_step * w.step_bytes};
	for (int k = 0; k < 3 && of->n_shares > 1; k++)
		*into[k] += meeting_seconds(of, t, shown_bytes(of, node, k));
}

/* Whether some workers of the plan lie on different nodes. */
static bool is_spread(const mr_workload *of)
{
	for (uint32_t w = 1; w < of->place->n_workers; w++)
		if (of->place->worker[w].node != of->place->worker[0].node)
			return true;
	return false;
}

static void rates_of_bytes(const mr_workload *of, const mr_server *m, const team *t, mr_costs *out)
{
	double rate = fmin(t->rate_step, t->k * m->l3_gbs * 1e9);

	out->norm_s = 1 / rate;
	out->sum_s = 3 / rate;
	out->average_s = 1 / rate;
	out->remote = (mr_handoff){.read_s = 1 / (t->k * m->l3_gbs * 1e9)};
	out->far = (mr_handoff){.read_s = 1 / fmin(mr_model_link_rate(m), t->k * m->l3_gbs * 1e9)};
	out->far_s = 1 / mr_model_link_rate(m);
	/* a hand-over is two messages: a number in the ring, and the place that it frees */
	out->hop_s = 2e-9 * (is_spread(of) ? m->socket_ns : m->node_ns);
}

/* What was measured of a layer like @node, in place of @c, what the model has for it. False: nothing was. */
static bool recall(const mr_workload *of, const team *t, uint32_t node, mr_stage_cost *c)
{
	mr_stage_cost was = {0};
	mr_stage_cost ignored = {0};
	mr_workload at = *of;
	mr_kept_layer l;
	team then = *t;
	double w;

	if (!of->measured || of->costs || !mr_kept_layers_find(of->measured->kept, of, node, t->k, &l))
		return false;
	at.samples = l.samples;
	then.k = l.threads;
	then.rate_pass *= (double)then.k / t->k;
	then.rate_step *= (double)then.k / t->k;
	cost_layer(&at, &then, node, &was, &ignored);
	w = was.w + was.u > 0 ? l.w / (was.w + was.u) : 0;
	c->f = was.f > 0 ? l.f * c->f / was.f : c->f;
	c->i = was.i > 0 ? l.i * c->i / was.i : c->i;
	c->w = was.w <= 0 ? c->w : l.u > 0 ? l.w * c->w / was.w : w * c->w;
	c->u = was.u <= 0 ? c->u : l.u > 0 ? l.u * c->u / was.u : w * c->u;
	return true;
}

/* @known: layers that were recalled. */
static void name_source(const mr_workload *of, const mr_server *m, uint32_t known, mr_costs *out)
{
	const mr_measured_machine *here = of->measured;
	const char *when = !here || !*here->busy ? "reach now"
			   : here->recalled	 ? "reached when it was last measured and not busy"
						 : "reach now, busy with other programs";

	if (of->topo->server)
		snprintf(out->source, sizeof(out->source),
			 "modelled by published constants of %s, %s, not measured: %.0f GFLOP/s a core, %.0f GB/s a "
			 "node",
			 m->name, m->what, mr_model_peak(m, of) / 1e9, mr_model_memory_rate(m) / 1e9);
	else if (known)
		snprintf(out->source, sizeof(out->source),
			 "modelled by what this machine's cores and memory %s, and for %u of %u layers by what "
			 "was measured of them: %.0f GFLOP/s and %.1f GB/s of L3 a core, %.1f GB/s a node",
			 when, known, of->graph->n_nodes, mr_model_peak(m, of) / 1e9,
			 m->l3_gbs, mr_model_memory_rate(m) / 1e9);
	else if (here)
		snprintf(out->source, sizeof(out->source),
			 "modelled by what this machine's cores and memory %s: %.0f GFLOP/s and %.1f GB/s of L3 "
			 "a core, %.1f GB/s a node; layers were not measured: plan --auto --measure, or "
			 "profile -o FILE, then --costs FILE",
			 when, mr_model_peak(m, of) / 1e9, m->l3_gbs, mr_model_memory_rate(m) / 1e9);
	else
		snprintf(out->source, sizeof(out->source),
			 "nominal: at most %g GFLOP/s and %g GB/s a core, %g GB/s a node; measure them with "
			 "profile -o FILE, then --costs FILE",
			 mr_model_peak(m, of) * MR_MODEL_EFFICIENCY / 1e9, m->l3_gbs, m->dram_gbs);
}

mr_status mr_costs_modelled(const mr_workload *of, double share, mr_costs *out)
{
	mr_server m = mr_model_server(of);
	uint32_t known = 0;
	team *t;

	MR_TRY(mr_costs_alloc(of, out));
	out->bytes = calloc(of->graph->n_nodes, sizeof(*out->bytes));
	t = teams_of(of, &m, 0, share);
	if (!out->bytes || !t) {
		free(t);
		mr_costs_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %u layers", of->graph->n_nodes);
	}
	for (uint32_t i = 0; i < of->graph->n_nodes; i++)
		cost_layer(of, &t[worker_of(of, i)], i, &out->layer[i], &out->bytes[i]);
	for (uint32_t i = 0; i < of->graph->n_nodes; i++)
		known += recall(of, &t[worker_of(of, i)], i, &out->layer[i]);
	rates_of_bytes(of, &m, &t[0], out);
	name_source(of, &m, known, out);
	free(t);
	return MR_OK;
}

static double ratio(double is, double was)
{
	return was > 0 ? is / was : 1;
}

static mr_stage_cost ratios(const mr_stage_cost *is, const mr_stage_cost *was)
{
	return (mr_stage_cost){.f = ratio(is->f, was->f), .i = ratio(is->i, was->i), .w = ratio(is->w, was->w),
			       .u = ratio(is->u, was->u)};
}

/* How many times as long as by @from threads layer @node takes by teams of *@to threads, as measured; *@to becomes the
 * nearest number that was. @from: those of the other costs. */
static mr_stage_cost team_ratio(const mr_team_costs *t, uint32_t node, uint32_t from, uint32_t *to)
{
	uint32_t by = from;
	mr_stage_cost was, is;

	if (!t || !t->n) {
		*to = from;
		return (mr_stage_cost){.f = 1, .i = 1, .w = 1, .u = 1};
	}
	was = mr_team_costs_at(t, node, &by);
	is = mr_team_costs_at(t, node, to);
	return ratios(&is, &was);
}

/* Change @l by the ratio of the model's times of layer @node and by the measured @by. */
static void change(mr_stage_cost *l, const mr_stage_cost *by, const mr_stage_cost *is, const mr_stage_cost *was)
{
	mr_stage_cost times = ratios(is, was);

	mr_cost_scale(&times, by);
	mr_cost_scale(l, &times);
}

/* The team of worker @w as measured: with the nearest number of threads that was. */
static team nearest_team(const mr_costs *c, const mr_workload *of, const mr_server *m, uint16_t w)
{
	uint32_t k = of->place->worker[w].n_threads;

	team_ratio(c->teams, 0, c->threads, &k);
	return team_of(of, m, w, k, k * (double)of->place->n_workers);
}

static void name_teams(mr_costs *c, const mr_workload *of)
{
	uint32_t k = of->place->worker[0].n_threads, by = k;
	size_t n = strlen(c->source);

	team_ratio(c->teams, 0, c->threads, &by);
	if (k != by)
		snprintf(c->source + n, sizeof(c->source) - n, "; teams of %u threads were not measured: those of %u "
			 "and the model", k, by);
}

mr_status mr_costs_rescale(mr_costs *c, const mr_workload *of)
{
	mr_server m = mr_model_server(of);
	mr_workload measured = *of; /* with the micro-batches of then */
	team *from = calloc(of->place->n_workers, sizeof(*from)), *to = teams_of(of, &m, 0, 0);

	measured.samples = c->samples;
	c->samples = of->samples;
	c->threads = c->threads ? c->threads : of->place->worker[0].n_threads;
	for (uint16_t w = 0; from && to && w < of->place->n_workers; w++)
		from[w] = nearest_team(c, &measured, &m, w);
	for (uint32_t i = 0; from && to && i < of->graph->n_nodes; i++) {
		uint16_t w = worker_of(of, i);
		uint32_t k = of->place->worker[w].n_threads;
		mr_stage_cost was = {0}, is = {0}, by = team_ratio(c->teams, i, c->threads, &k);
		mr_stage_cost ignored = {0};

		cost_layer(&measured, &from[w], i, &was, &ignored);
		cost_layer(of, &to[w], i, &is, &ignored);
		change(&c->layer[i], &by, &is, &was);
	}
	free(from);
	free(to);
	name_teams(c, of);
	if (!from || !to)
		return mr_fail(MR_ERESOURCE, "no memory for the teams of %u workers", of->place->n_workers);
	return MR_OK;
}

mr_status mr_costs_forecast(const mr_workload *of, double share, mr_costs *out)
{
	mr_workload then = *of;

	if (!of->costs)
		return mr_costs_modelled(of, share, out);
	then.samples = of->costs->samples;
	MR_TRY(mr_costs_scale(of->costs, &then, out));
	return mr_costs_rescale(out, of);
}

/* A team of @threads threads all of whose work is at @level. */
static team team_at(const mr_workload *of, const mr_server *m, uint32_t threads, mr_model_level level)
{
	team t = {.m = m, .k = threads, .nodes = 1, .peak = mr_model_peak(m, of), .rate_pass = l2_rate(m, threads)};

	if (level == MR_MODEL_L3)
		t.rate_pass = threads * m->l3_gbs * 1e9;
	else if (level == MR_MODEL_MEMORY)
		t.rate_pass = memory_rate(m, threads, 1);
	t.rate_step = t.rate_pass;
	return t;
}

mr_stage_cost mr_model_layer(const mr_workload *of, int64_t samples, uint32_t threads, mr_model_level level,
			     uint32_t node)
{
	mr_server m = mr_model_server(of);
	team t = team_at(of, &m, threads, level);
	mr_stage_cost ignored = {0};
	mr_stage_cost c = {0}, was = {0};
	mr_workload at = *of;

	at.samples = samples;
	cost_layer(&at, &t, node, &c, &ignored);
	recall(&at, &t, node, &c);
	if (of->costs) {
		uint32_t measured = of->costs->threads ? of->costs->threads : threads, k = threads;
		mr_stage_cost by = team_ratio(of->costs->teams, node, measured, &k), l = {0};

		t = team_at(of, &m, k, level);
		at.samples = of->costs->samples;
		cost_layer(&at, &t, node, &was, &ignored);
		mr_costs_add(of->graph, node, &of->costs->layer[node], &l);
		change(&l, &by, &c, &was);
		l.g = 0;
		c = l;
	}
	return c;
}

mr_model_least mr_model_least_of(const mr_workload *of, int64_t samples, uint32_t threads)
{
	mr_model_least least = {0};

	for (uint32_t i = 0; i < of->graph->n_nodes; i++) {
		mr_stage_cost c = mr_model_layer(of, samples, threads, MR_MODEL_L2, i);

		least.micro += c.f + c.i + c.w;
		least.commit += c.u;
		least.largest = fmax(least.largest, c.f + c.i + c.w);
	}
	return least;
}
