#include "session/cost_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/measured_machine.h"
#include "session/team_costs.h"
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

mr_server mr_model_server(const mr_session *s)
{
	if (s->topo.server)
		return *s->topo.server;
	return s->measured ? s->measured->server : nominal(&s->topo);
}

double mr_model_memory_rate(const mr_server *m)
{
	return m->dram_gbs * 1e9 / m->nodes;
}

double mr_model_link_rate(const mr_server *m)
{
	return m->link_gbs * 1e9 / m->nodes;
}

double mr_model_peak(const mr_server *m, const mr_session *s)
{
	double f32 = m->f32_cycle * m->ghz_vector, bf16 = m->bf16_cycle * m->ghz_matrix;
	bool wide = s->kernels->types.compute != MR_BF16;

	return 1e9 * (wide || bf16 < f32 ? f32 : bf16);
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
	uint32_t k;
	double peak;                     /* FLOP/s of a core */
	double rate_pass, rate_step;     /* bytes a second in F, I, W; in U */
	double memory_pass, memory_step; /* the part of them that comes from the node's memory */
} team;

/* Bytes that worker @w uses in each pass, and in a step. Without a plan worker 0 has all stages. */
static void working_set(const mr_session *s, uint16_t w, double *pass, double *step)
{
	const mr_types *types = &s->kernels->types;
	const mr_plan *p = s->plan;
	double n_weights = 0, values = 0, copies = 1;

	for (uint16_t i = 0; i < s->partition.n_stages; i++) {
		bool hosts = !p;

		for (unsigned q = 0; p && q < p->n_pipes; q++)
			hosts |= mr_plan_worker(p, (uint8_t)q, i) == w;
		for (uint32_t n = s->partition.first[i]; hosts && n < s->partition.first[i + 1]; n++) {
			n_weights += (double)mr_costs_params(s->graph, n);
			for (uint32_t o = 0; o < s->graph->nodes[n].n_out; o++)
				values += (double)s->samples *
					  (double)mr_shape_bytes(s->graph->nodes[n].out_shape[o], types->activations);
		}
		copies = hosts && p && p->n_versions[i] > copies ? p->n_versions[i] : copies;
	}
	*pass = n_weights * (double)(mr_dtype_bytes(types->weights) + mr_dtype_bytes(types->gradients)) + values;
	*step = *pass + n_weights * ((copies - 1) * (double)mr_dtype_bytes(types->weights) +
				     s->optim.ops->n_states * (double)mr_dtype_bytes(types->state));
}

/* The bandwidth at which @k cores read the node's memory. */
static double memory_rate(const mr_server *m, uint32_t k)
{
	double rate = k * m->l3_gbs * 1e9;

	if (m->core_gbs > 0)
		rate = fmin(rate, k * m->core_gbs * 1e9);
	if (m->domain_gbs > 0)
		rate = fmin(rate, ceil((double)k / m->cores) * m->domain_gbs * 1e9);
	return fmin(rate, mr_model_memory_rate(m));
}

/* The bandwidth at which @k cores of a run that uses @used use @bytes again and again. What their part of the L3 does
 * not hold, *@memory of it, comes from memory. */
static double rate_of(const mr_server *m, uint32_t k, double used, double bytes, double *memory)
{
	double holds = k * 1048576.0 * m->l3_mib / fmin(m->cores, used);

	*memory = 0;
	if (bytes <= k * 1024.0 * m->l2_kib)
		return INFINITY;
	*memory = bytes > holds ? 1 - holds / bytes : 0;
	return 1 / (*memory / memory_rate(m, k) + (1 - *memory) / (k * m->l3_gbs * 1e9));
}

static team team_of(const mr_session *s, const mr_server *m, uint16_t w, uint32_t k, double used)
{
	team t = {.m = m, .k = k, .peak = mr_model_peak(m, s)};
	double pass, step;

	working_set(s, w, &pass, &step);
	t.rate_pass = rate_of(m, k, used, pass, &t.memory_pass);
	t.rate_step = rate_of(m, k, used, step, &t.memory_step);
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

static work work_of(const mr_session *s, uint32_t node)
{
	const mr_types *types = &s->kernels->types;
	const mr_graph *g = s->graph;
	const mr_node *n = &g->nodes[node];
	double in = 0, gradients = 0, out = 0, weights = 0, n_weights = 0,
	a = (double)mr_dtype_bytes(types->activations);
	double wide = n->n_out ? fmax(1, (double)n->out_shape[0].cols) : 1;
	bool back = mr_graph_wants_any_dx(g, node);
	mr_layer_needs z;

	n->ops->needs(&n->cfg, n->in_shape, s->samples, NULL, &z);
	for (uint32_t i = 0; i < n->n_in; i++) {
		double each = (double)s->samples * (double)mr_shape_count(g->values[n->in[i]].shape);

		in += each;
		gradients += mr_graph_wants_dx(g, node, i) ? each : 0;
	}
	for (uint32_t i = 0; i < n->n_out; i++)
		out += (double)s->samples * (double)mr_shape_count(n->out_shape[i]);
	for (uint32_t i = n->first_param; i < n->first_param + n->n_params; i++)
		n_weights += (double)g->params[i].n;
	/* Without products it looks rows up, or scales: it reads no more of the weights than it has results. */
	n_weights = z.flops_f > 0 ? n_weights : fmin(n_weights, out);
	weights = n_weights * (double)mr_dtype_bytes(types->weights);
	return (work){
		.flops = {z.flops_f, back ? z.flops_i : 0, z.flops_w},
		.bytes = {in * a + out * a + weights, back ? out * a + gradients * a + weights : 0,
			  n_weights > 0 ? in * a + out * a + n_weights * (double)mr_dtype_bytes(types->gradients) : 0},
		.elements = {fmax(out, 1), gradients, n_weights},
		.columns = {wide, fmax(1, (double)n->in_shape[0].cols), wide},
		.step_bytes = UPDATE_PASSES * (double)mr_costs_params(g, node) * (double)mr_dtype_bytes(types->weights),
	};
}

void mr_model_bytes(const mr_session *s, uint32_t node, double bytes[3])
{
	work w = work_of(s, node);
	bool loss = s->graph->nodes[node].ops->loss;

	for (int k = 0; k < 3; k++)
		bytes[k] = loss && k ? 0 : w.bytes[k];
}

/* The teams of all workers; the caller frees them. NULL without memory. @k: threads of each; 0: those of the session.
 * @share: as in mr_costs_modelled. */
static team *teams_of(const mr_session *s, const mr_server *m, uint32_t k, double share)
{
	team *t = calloc(s->place.n_workers, sizeof(*t));
	double used = k * (double)s->place.n_workers;

	for (uint16_t w = 0; !k && w < s->place.n_workers; w++)
		used += s->place.worker[w].n_threads;
	for (uint16_t w = 0; t && w < s->place.n_workers; w++)
		t[w] = team_of(s, m, w, k ? k : s->place.worker[w].n_threads, share > 0 ? used / share : used);
	return t;
}

static uint16_t worker_of(const mr_session *s, uint32_t node)
{
	return mr_plan_worker(s->plan, 0, mr_partition_stage(&s->partition, node));
}

static double step_seconds(const team *t, double bytes)
{
	uint32_t k = threads_for(t, bytes / UPDATE_PASSES / sizeof(float), MR_MODEL_LEAST_ELEMENTS);

	return bytes / fmin(t->rate_step * k / t->k, k * t->m->l3_gbs * 1e9) + MR_MODEL_CALL_S +
	       mr_server_barrier_ns(t->m, k) / 1e9;
}

static void cost_layer(const mr_session *s, const team *t, uint32_t node, mr_layer_cost *c, mr_layer_bytes *b)
{
	work w = work_of(s, node);
	bool loss = s->graph->nodes[node].ops->loss;
	double *const into[] = {&c->f, &c->i, &c->w};

	for (int k = 0; k < 3; k++)
		*into[k] = w.bytes[k] > 0 && !(loss && k) ? seconds(t, w.flops[k], w.bytes[k], w.elements[k],
								    w.columns[k]) : 0;
	c->u = w.step_bytes > 0 ? step_seconds(t, w.step_bytes) : 0;
	*b = (mr_layer_bytes){.f = t->memory_pass * w.bytes[0],
			      .i = loss ? 0 : t->memory_pass * w.bytes[1],
			      .w = loss ? 0 : t->memory_pass * w.bytes[2],
			      .u = t->memory_step * w.step_bytes};
}

/* Whether some workers of the plan lie on different nodes. */
static bool is_spread(const mr_session *s)
{
	for (uint32_t w = 1; w < s->place.n_workers; w++)
		if (s->place.worker[w].node != s->place.worker[0].node)
			return true;
	return false;
}

static void rates_of_bytes(const mr_session *s, const mr_server *m, const team *t, mr_costs *out)
{
	double rate = fmin(t->rate_step, t->k * m->l3_gbs * 1e9);

	out->norm_s = 1 / rate;
	out->sum_s = 3 / rate;
	out->average_s = 1 / rate;
	out->remote = (mr_handoff){.read_s = 1 / (t->k * m->l3_gbs * 1e9)};
	out->far = (mr_handoff){.read_s = 1 / fmin(mr_model_link_rate(m), t->k * m->l3_gbs * 1e9)};
	out->far_s = 1 / mr_model_link_rate(m);
	/* a hand-over is two messages: a number in the ring, and the place that it frees */
	out->hop_s = 2e-9 * (is_spread(s) ? m->socket_ns : m->node_ns);
}

/* What was measured of a layer like @node, in place of @c, what the model has for it. False: nothing was. */
static bool recall(const mr_session *s, const team *t, uint32_t node, mr_layer_cost *c)
{
	mr_layer_cost was = {0};
	mr_layer_bytes ignored = {0};
	mr_session at = *s;
	mr_kept_layer l;
	team then = *t;
	double w;

	if (!s->measured || s->costs || !mr_kept_layers_find(s->measured->kept, s, node, t->k, &l))
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
static void name_source(const mr_session *s, const mr_server *m, uint32_t known, mr_costs *out)
{
	const char *when = !s->measured || !*s->measured->busy ? "reach now"
			   : s->measured->recalled	       ? "reached when it was last measured and not busy"
							       : "reach now, busy with other programs";

	if (s->topo.server)
		snprintf(out->source, sizeof(out->source),
			 "modelled by published constants of %s, %s, not measured: %.0f GFLOP/s a core, %.0f GB/s a "
			 "node",
			 m->name, m->what, mr_model_peak(m, s) / 1e9, mr_model_memory_rate(m) / 1e9);
	else if (known)
		snprintf(out->source, sizeof(out->source),
			 "modelled by what this machine's cores and memory %s, and for %u of %u layers by what "
			 "profile measured before: %.0f GFLOP/s and %.1f GB/s of L3 a core, %.1f GB/s a node",
			 when, known, s->graph->n_nodes, mr_model_peak(m, s) / 1e9,
			 m->l3_gbs, mr_model_memory_rate(m) / 1e9);
	else if (s->measured)
		snprintf(out->source, sizeof(out->source),
			 "modelled by what this machine's cores and memory %s: %.0f GFLOP/s and %.1f GB/s of L3 "
			 "a core, %.1f GB/s a node; layers were not measured: profile -o FILE, then --costs FILE",
			 when, mr_model_peak(m, s) / 1e9, m->l3_gbs, mr_model_memory_rate(m) / 1e9);
	else
		snprintf(out->source, sizeof(out->source),
			 "nominal: at most %g GFLOP/s and %g GB/s a core, %g GB/s a node; measure them with "
			 "profile -o FILE, then --costs FILE",
			 mr_model_peak(m, s) * MR_MODEL_EFFICIENCY / 1e9, m->l3_gbs, m->dram_gbs);
}

mr_status mr_costs_modelled(const mr_session *s, double share, mr_costs *out)
{
	mr_server m = mr_model_server(s);
	uint32_t known = 0;
	team *t;

	MR_TRY(mr_costs_alloc(s, out));
	out->bytes = calloc(s->graph->n_nodes, sizeof(*out->bytes));
	t = teams_of(s, &m, 0, share);
	if (!out->bytes || !t) {
		free(t);
		mr_costs_fini(out);
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %u layers", s->graph->n_nodes);
	}
	for (uint32_t i = 0; i < s->graph->n_nodes; i++)
		cost_layer(s, &t[worker_of(s, i)], i, &out->layer[i], &out->bytes[i]);
	for (uint32_t i = 0; i < s->graph->n_nodes; i++)
		known += recall(s, &t[worker_of(s, i)], i, &out->layer[i]);
	rates_of_bytes(s, &m, &t[0], out);
	name_source(s, &m, known, out);
	free(t);
	return MR_OK;
}

static double ratio(double is, double was)
{
	return was > 0 ? is / was : 1;
}

/* How many times as long as by @from threads layer @node takes by teams of *@to threads, as measured; *@to becomes the
 * nearest number that was. @from: those of the other costs. */
static mr_layer_cost team_ratio(const mr_team_costs *t, uint32_t node, uint32_t from, uint32_t *to)
{
	uint32_t by = from;
	mr_layer_cost was, is;

	if (!t || !t->n) {
		*to = from;
		return (mr_layer_cost){.f = 1, .i = 1, .w = 1, .u = 1};
	}
	was = mr_team_costs_at(t, node, &by);
	is = mr_team_costs_at(t, node, to);
	return (mr_layer_cost){.f = ratio(is.f, was.f), .i = ratio(is.i, was.i), .w = ratio(is.w, was.w),
			       .u = ratio(is.u, was.u)};
}

/* Change @l by the ratio of the model's times of layer @node and by the measured @by. */
static void change(mr_layer_cost *l, const mr_layer_cost *by, const mr_layer_cost *is, const mr_layer_cost *was)
{
	l->f *= by->f * ratio(is->f, was->f);
	l->i *= by->i * ratio(is->i, was->i);
	l->g *= by->w * ratio(is->w, was->w);
	l->w *= by->w * ratio(is->w, was->w);
	l->u *= by->u * ratio(is->u, was->u);
}

/* The team of worker @w as measured: with the nearest number of threads that was. */
static team nearest_team(const mr_costs *c, const mr_session *s, const mr_server *m, uint16_t w)
{
	uint32_t k = s->place.worker[w].n_threads;

	team_ratio(c->teams, 0, c->threads, &k);
	return team_of(s, m, w, k, k * (double)s->place.n_workers);
}

static void name_teams(mr_costs *c, const mr_session *s)
{
	uint32_t k = s->place.worker[0].n_threads, by = k;
	size_t n = strlen(c->source);

	team_ratio(c->teams, 0, c->threads, &by);
	if (k != by)
		snprintf(c->source + n, sizeof(c->source) - n, "; teams of %u threads were not measured: those of %u "
			 "and the model", k, by);
}

mr_status mr_costs_rescale(mr_costs *c, int64_t samples, const mr_session *s)
{
	mr_server m = mr_model_server(s);
	mr_session measured = *s; /* with the micro-batches of then */
	team *from = calloc(s->place.n_workers, sizeof(*from)), *to = teams_of(s, &m, 0, 0);

	measured.samples = samples;
	c->threads = c->threads ? c->threads : s->place.worker[0].n_threads;
	for (uint16_t w = 0; from && to && w < s->place.n_workers; w++)
		from[w] = nearest_team(c, &measured, &m, w);
	for (uint32_t i = 0; from && to && i < s->graph->n_nodes; i++) {
		uint16_t w = worker_of(s, i);
		uint32_t k = s->place.worker[w].n_threads;
		mr_layer_cost was = {0}, is = {0}, by = team_ratio(c->teams, i, c->threads, &k);
		mr_layer_bytes ignored = {0};

		cost_layer(&measured, &from[w], i, &was, &ignored);
		cost_layer(s, &to[w], i, &is, &ignored);
		change(&c->layer[i], &by, &is, &was);
	}
	free(from);
	free(to);
	name_teams(c, s);
	return from && to ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the teams of %u workers", s->place.n_workers);
}

mr_status mr_costs_forecast(const mr_session *s, mr_costs *out)
{
	if (!s->costs)
		return mr_costs_modelled(s, 0, out);
	MR_TRY(mr_costs_scale(s->costs, s, 1, out));
	return mr_costs_rescale(out, s->samples, s);
}

/* A team of @threads threads all of whose work is at @level. */
static team team_at(const mr_session *s, const mr_server *m, uint32_t threads, mr_model_level level)
{
	team t = {.m = m, .k = threads, .peak = mr_model_peak(m, s), .rate_pass = INFINITY};

	if (level == MR_MODEL_L3)
		t.rate_pass = threads * m->l3_gbs * 1e9;
	else if (level == MR_MODEL_MEMORY)
		t.rate_pass = memory_rate(m, threads);
	t.rate_step = t.rate_pass;
	return t;
}

mr_layer_cost mr_model_layer(const mr_session *s, int64_t samples, uint32_t threads, mr_model_level level,
			     uint32_t node)
{
	mr_server m = mr_model_server(s);
	team t = team_at(s, &m, threads, level);
	mr_layer_bytes ignored = {0};
	mr_layer_cost c = {0}, was = {0};
	mr_session at = *s;

	at.samples = samples;
	cost_layer(&at, &t, node, &c, &ignored);
	recall(&at, &t, node, &c);
	if (s->costs) { /* measured for s->samples and the threads of then */
		uint32_t measured = s->costs->threads ? s->costs->threads : threads, k = threads;
		mr_layer_cost by = team_ratio(s->costs->teams, node, measured, &k), l = s->costs->layer[node];

		t = team_at(s, &m, k, level);
		cost_layer(s, &t, node, &was, &ignored);
		change(&l, &by, &c, &was);
		c = (mr_layer_cost){.f = l.f, .i = l.i, .w = l.w, .u = l.u};
	}
	return c;
}

mr_model_least mr_model_least_of(const mr_session *s, int64_t samples, uint32_t threads)
{
	mr_model_least least = {0};

	for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
		mr_layer_cost c = mr_model_layer(s, samples, threads, MR_MODEL_L2, i);

		least.micro += c.f + c.i + c.w;
		least.commit += c.u;
		least.largest = fmax(least.largest, c.f + c.i + c.w);
	}
	return least;
}
