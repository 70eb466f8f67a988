#include "costs/costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "costs/costs_live.h"
#include "costs/meetings.h"
#include "costs/team_costs.h"
#include "weights/replicas.h"

#define UPDATE_PASSES 7 /* as in mr_partition_cost */
#define SUM_PASSES 3    /* two gradients are read, one is written */
#define LEAST_CROWD 0.9 /* less, or more, is not what caches do */
#define MOST_CROWD 2.0

mr_status mr_costs_alloc(const mr_workload *of, mr_costs *out)
{
	uint32_t n = of->graph->n_nodes;

	*out = (mr_costs){.layer = calloc(n, sizeof(*out->layer)),
			  .spreads = calloc(n, sizeof(*out->spreads)),
			  .samples = of->samples,
			  .error = NAN};
	if (out->layer && out->spreads)
		return MR_OK;
	mr_costs_fini(out);
	return mr_fail(MR_ERESOURCE, "no memory for the costs of %u layers", n);
}

void mr_costs_fini(mr_costs *c)
{
	free(c->layer);
	free(c->bytes);
	free(c->spreads);
	if (c->owns_teams)
		mr_team_costs_destroy(c->teams);
	*c = (mr_costs){0};
}

/* Bytes of a micro-batch that enter @stage, or of the gradients that it sends back. */
static double bytes_into(const mr_workload *of, uint16_t stage, bool gradients)
{
	return (double)of->samples * (double)mr_graph_crossing(of->graph, of->partition->first[stage],
							       of->kernels->types.activations, gradients);
}

/* Bytes of the weights of @stage. */
static double weight_bytes(const mr_workload *of, uint16_t stage)
{
	double n = 0;

	for (uint32_t i = of->partition->first[stage]; i < of->partition->first[stage + 1]; i++)
		n += (double)mr_costs_params(of->graph, i);
	return n * (double)mr_dtype_bytes(of->kernels->types.weights);
}

/* Has @stage a backward pass: does any layer up to its last one train? */
static bool goes_back(const mr_workload *of, uint16_t stage)
{
	const mr_node *last = &of->graph->nodes[of->partition->first[stage + 1] - 1];

	return !last->n_out || !of->graph->values[last->out].fixed;
}

/* Bytes of those that its commits step. */
static double param_bytes(const mr_workload *of, uint16_t stage)
{
	double n = 0;

	for (uint32_t i = of->partition->first[stage]; i < of->partition->first[stage + 1]; i++)
		n += (double)mr_costs_stepped(of->graph, i);
	return n * (double)mr_dtype_bytes(of->kernels->types.weights);
}

/* Bytes of the parameters that @stage stores and another one uses too: each pipe has a gradient of both uses. */
static double tied_bytes(const mr_workload *of, uint16_t stage)
{
	double n = 0;

	for (uint32_t i = 0; i < of->graph->n_params; i++) {
		const mr_param *p = &of->graph->params[i];

		if (p->tied_to >= 0 &&
		    mr_partition_stage(of->partition, of->graph->params[p->tied_to].node) == stage &&
		    mr_partition_stage(of->partition, p->node) != stage)
			n += (double)p->n;
	}
	return n * (double)mr_dtype_bytes(of->kernels->types.weights);
}

/* The part of the other stages that a worker of stage @stage hosts beyond its share: 0 for the share, 1 for all. */
static double crowding(const mr_workload *of, uint16_t stage)
{
	const mr_plan *p = of->plan;
	double all = 0, share;

	if (!p || p->n_workers < 2 || p->n_pipes < 2 || mr_contract_replicates(&p->contract) ||
	    mr_plan_partial_sums(p, stage) < 2)
		return 0;
	share = 1.0 / p->n_workers;
	for (unsigned own = 0; own < p->n_pipes; own++) {
		uint16_t worker = mr_plan_worker(p, (uint8_t)own, stage);
		double n = 0;

		for (uint16_t k = 0; k < p->n_stages; k++) {
			bool hosts = false;

			for (unsigned q = 0; q < p->n_pipes; q++)
				hosts |= mr_plan_worker(p, (uint8_t)q, k) == worker;
			n += hosts;
		}
		all += n / p->n_stages / p->n_pipes;
	}
	return fmax(0, (all - share) / (1 - share));
}

/* Weights and gradients of more than a share evict each other from the caches. */
static void add_crowding(const mr_workload *of, const mr_costs *c, mr_stage_cost *stage)
{
	for (uint16_t i = 0; i < of->partition->n_stages; i++) {
		double part = crowding(of, i), f = c->crowd_f > 0 ? 1 + part * (c->crowd_f - 1) : 1;
		double b = c->crowd_b > 0 ? 1 + part * (c->crowd_b - 1) : 1;

		mr_cost_scale(&stage[i], &(mr_stage_cost){.f = f, .i = b, .w = b, .u = 1});
	}
}

/* Each gradient but one is added to it. */
static void add_reductions(const mr_workload *of, const mr_costs *c, mr_stage_cost *stage)
{
	for (uint16_t i = 0; i < of->partition->n_stages; i++)
		stage[i].r = c->sum_s * (param_bytes(of, i) * (mr_plan_partial_sums(of->plan, i) - 1) +
					 tied_bytes(of, i) * of->plan->n_pipes);
}

/* For commits that are more than a step by itself. A norm that is no instruction is part of the step. */
static void add_commits(const mr_workload *of, const mr_costs *c, mr_stage_cost *stage)
{
	bool replicates = mr_contract_replicates(&of->plan->contract);
	bool global = of->plan->contract.flush != MR_FLUSH_NONE && !replicates;
	uint32_t pipes = of->plan->n_pipes;

	for (uint16_t i = 0; i < of->partition->n_stages; i++) {
		double bytes = param_bytes(of, i), norm = bytes * c->norm_s;

		if (pipes > 1 && mr_plan_partial_sums(of->plan, i) > 1 && !replicates && c->shared_s > 0)
			stage[i].u = c->shared_s * bytes;
		if (replicates && c->average_s > 0)
			stage[i].a = c->average_s * bytes *
				     mr_replicas_passes(&of->plan->contract.average, pipes, of->optim->ops->n_states);
		else if (replicates)
			stage[i].a = stage[i].u * pipes;
		stage[i].s = fmin(stage[i].u, c->save_s * bytes);
		if (global)
			stage[i].n = norm;
		else if (of->clips)
			stage[i].u += norm;
	}
}

/* Are workers @a and @b on two nodes of one host? What goes between hosts are messages (timing/hosts.h). */
static bool is_far(const mr_workload *of, uint16_t a, uint16_t b)
{
	const mr_hosts *h = of->hosts;

	return of->place->worker[a].node != of->place->worker[b].node && (!h || h->rank[a] == h->rank[b]);
}

/* The part of the pipes in which stages @a and @b lie on two workers; @far: on two nodes. */
static double apart(const mr_workload *of, uint16_t a, uint16_t b, bool far)
{
	unsigned n = 0;

	for (unsigned p = 0; p < of->plan->n_pipes; p++) {
		uint16_t from = mr_plan_worker(of->plan, (uint8_t)p, a), to = mr_plan_worker(of->plan, (uint8_t)p, b);

		n += far ? is_far(of, from, to) : from != to;
	}
	return n ? (double)n / of->plan->n_pipes : 0;
}

static void add_boundaries(const mr_workload *of, const mr_costs *c, mr_stage_cost *stage)
{
	uint16_t n = of->partition->n_stages;
	bool differ = c->far.read_s > 0 || c->far.write_s > 0;

	stage[0].f += bytes_into(of, 0, false) * c->remote.read_s;
	for (uint16_t i = 1; i < n; i++) {
		double far = differ ? apart(of, (uint16_t)(i - 1), i, true) : 0;
		double near = apart(of, (uint16_t)(i - 1), i, false) - far;
		double read = near * c->remote.read_s + far * c->far.read_s;
		double write = near * c->remote.write_s + far * c->far.write_s;

		stage[i - 1].f += bytes_into(of, i, false) * write;
		stage[i].f += bytes_into(of, i, false) * read;
		stage[i].i += bytes_into(of, i, true) * write;
		stage[i - 1].i += bytes_into(of, i, true) * read;
	}
}

/* Weights of a stage that pipes on several nodes read. */
typedef struct spread_weights {
	double sums; /* copies of the gradient that cross when each worker sums its range */
	double far;  /* pipes on other nodes than the first */
	double part; /* the same as a part of all pipes */
} spread_weights;

static spread_weights spread_of(const mr_workload *of, uint16_t stage)
{
	const mr_plan *p = of->plan;
	unsigned parts = p && !mr_contract_replicates(&p->contract) ? mr_plan_partial_sums(p, stage) : 1;
	spread_weights x = {0};

	for (unsigned a = 0; a < parts && parts > 1; a++) {
		uint16_t w = mr_plan_worker(p, (uint8_t)a, stage);

		for (unsigned b = 0; b < parts; b++)
			x.sums += is_far(of, mr_plan_worker(p, (uint8_t)b, stage), w) ? 1.0 / parts : 0;
		x.far += is_far(of, mr_plan_worker(p, 0, stage), w);
	}
	x.part = x.far / parts;
	return x;
}

/* Bytes of layers over the stages, from the memory of the nodes. */
static void add_memory(const mr_workload *of, const mr_costs *c, mr_stage_cost *memory)
{
	for (uint16_t i = 0; i < of->partition->n_stages; i++) {
		memory[i] = (mr_stage_cost){0};
		for (uint32_t n = of->partition->first[i]; c->bytes && n < of->partition->first[i + 1]; n++)
			mr_cost_add(&memory[i], &c->bytes[n]);
		/* sums and norms go through the gradients that U reads */
		if (of->plan && memory[i].u > 0) {
			memory[i].r = SUM_PASSES * param_bytes(of, i) * (mr_plan_partial_sums(of->plan, i) - 1);
			memory[i].n = param_bytes(of, i);
		}
	}
}

void mr_costs_bytes_of_stages(const mr_workload *of, const mr_costs *c, mr_stage_cost *memory, mr_stage_cost *link)
{
	add_memory(of, c, memory);
	for (uint16_t i = 0; i < of->partition->n_stages; i++)
		link[i] = (mr_stage_cost){0};
	for (uint16_t i = 0; c->bytes && of->plan && i < of->partition->n_stages; i++) {
		double far = i ? apart(of, (uint16_t)(i - 1), i, true) : 0, bytes = param_bytes(of, i);
		spread_weights x = spread_of(of, i);

		link[i].f += bytes_into(of, i, false) * far;
		if (i)
			link[i - 1].i += bytes_into(of, i, true) * far;
		link[i].r += bytes * (x.sums + x.far); /* gradients to where they are summed, new weights back */
		if (memory[i].f > 0) {                 /* no cache keeps them until the next micro-batch */
			link[i].f += weight_bytes(of, i) * x.part;
			link[i].i += goes_back(of, i) ? weight_bytes(of, i) * x.part : 0;
		}
	}
}

/* What crosses between nodes takes time beside the boundaries, whose readers wait for them. */
static void add_links(const mr_workload *of, const mr_costs *c, mr_stage_cost *stage)
{
	for (uint16_t i = 0; c->far_s > 0 && of->plan && i < of->partition->n_stages; i++) {
		double bytes = param_bytes(of, i), kept = 0;
		spread_weights x = spread_of(of, i);

		for (uint32_t n = of->partition->first[i]; c->bytes && n < of->partition->first[i + 1]; n++)
			kept += c->bytes[n].f;
		stage[i].r += c->far_s * bytes * (x.sums + x.far);
		stage[i].f += kept > 0 ? c->far_s * weight_bytes(of, i) * x.part : 0;
		stage[i].i += kept > 0 && goes_back(of, i) ? c->far_s * weight_bytes(of, i) * x.part : 0;
	}
}

void mr_costs_of_stages(const mr_workload *of, const mr_costs *c, mr_stage_cost *stage)
{
	for (uint16_t i = 0; i < of->partition->n_stages; i++) {
		stage[i] = (mr_stage_cost){.c = c->hop_s};
		for (uint32_t n = of->partition->first[i]; n < of->partition->first[i + 1]; n++)
			mr_costs_add(of->graph, n, &c->layer[n], &stage[i]);
	}
	add_crowding(of, c, stage);
	add_boundaries(of, c, stage);
	add_reductions(of, c, stage);
	add_links(of, c, stage);
	add_commits(of, c, stage);
	mr_meetings_lengthen(of, stage);
}

/* --- nominal --- */

void mr_costs_add(const mr_graph *g, uint32_t node, const mr_stage_cost *layer, mr_stage_cost *sum)
{
	mr_stage_cost c = *layer;

	if (g->nodes[node].frozen)
		c.w = c.u = c.g = 0;
	if (g->values[g->nodes[node].in[0]].fixed && !mr_graph_wants_any_dx(g, node))
		c.i = 0;
	mr_cost_add(sum, &c);
}

int64_t mr_costs_stepped(const mr_graph *g, uint32_t node)
{
	return mr_graph_trains(g, node) ? mr_costs_params(g, node) : 0;
}

int64_t mr_costs_params(const mr_graph *g, uint32_t node)
{
	int64_t n = 0;

	for (uint32_t p = g->nodes[node].first_param; p < g->nodes[node].first_param + g->nodes[node].n_params; p++)
		n += g->params[p].tied_to < 0 ? g->params[p].n : 0;
	return n;
}

uint64_t mr_costs_values(const mr_workload *of, uint32_t node)
{
	const mr_node *nd = &of->graph->nodes[node];
	uint64_t bytes = 0;

	for (uint32_t o = 0; o < nd->n_out; o++)
		bytes += mr_shape_bytes(nd->out_shape[o], of->kernels->types.activations);
	return bytes;
}

static mr_stage_cost nominal(const mr_workload *of, uint32_t node)
{
	const mr_graph *g = of->graph;
	const mr_node *nd = &g->nodes[node];
	uint16_t stage = mr_partition_stage(of->partition, node);
	double threads = of->place->worker[mr_plan_worker(of->plan, 0, stage)].n_threads;
	double all = mr_partition_cost(g, node, of->samples, of->kernels) / threads, share[3];
	mr_stage_cost c = {0};
	mr_layer_needs z = mr_graph_needs(g, node, of->samples);

	c.u = UPDATE_PASSES * (double)mr_costs_stepped(g, node) * (double)mr_dtype_bytes(of->kernels->types.weights) /
	      MR_PARTITION_BYTES / threads;
	share[0] = z.flops_f;
	share[1] = mr_graph_wants_dx(g, node, 0) ? z.flops_i : 0;
	share[2] = z.flops_w;
	if (z.flops_f <= 0) {
		share[0] = 1;
		share[1] = mr_graph_wants_dx(g, node, 0) && !nd->ops->loss;
		share[2] = mr_graph_trains(g, node);
	}
	all = (all - c.u) / (share[0] + share[1] + share[2]);
	c.f = all * share[0];
	c.i = all * share[1];
	c.w = all * share[2];
	return c;
}

mr_status mr_costs_nominal(const mr_workload *of, mr_costs *out)
{
	MR_TRY(mr_costs_alloc(of, out));
	for (uint32_t i = 0; i < of->graph->n_nodes; i++)
		out->layer[i] = nominal(of, i);
	out->norm_s = 1 / MR_PARTITION_BYTES / of->place->worker[0].n_threads;
	out->sum_s = SUM_PASSES * out->norm_s;
	out->average_s = out->norm_s;
	snprintf(out->source, sizeof(out->source),
		 "nominal: %g GFLOP/s and %g GB/s a thread; measure them with profile -o FILE, then --costs FILE",
		 MR_PARTITION_FLOPS / 1e9, MR_PARTITION_BYTES / 1e9);
	return MR_OK;
}

/* --- measured --- */

mr_status mr_costs_scale(const mr_costs *from, const mr_workload *of, mr_costs *out)
{
	double by = (double)of->samples / (double)from->samples;
	mr_costs own;

	MR_TRY(mr_costs_alloc(of, &own));
	*out = *from;
	out->layer = own.layer;
	out->spreads = own.spreads;
	out->samples = of->samples;
	out->bytes = NULL; /* measured ones have none */
	out->owns_teams = false;
	for (uint32_t i = 0; i < of->graph->n_nodes; i++) {
		out->layer[i] = from->layer[i];
		out->spreads[i] = from->spreads[i];
		mr_cost_scale(&out->layer[i], &(mr_stage_cost){.f = by, .i = by, .w = by, .u = 1});
	}
	return MR_OK;
}

mr_status mr_costs_at_hand(const mr_workload *of, mr_costs *out)
{
	return of->costs ? mr_costs_scale(of->costs, of, out) : mr_costs_nominal(of, out);
}

/* Seconds a byte, from the @seconds of each stage. */
static double rate_of(const mr_workload *of, const double *seconds)
{
	double sum = 0, bytes = 0;

	for (uint16_t i = 0; i < of->partition->n_stages; i++) {
		sum += seconds[i];
		bytes += param_bytes(of, i);
	}
	return bytes > 0 ? sum / bytes : 0;
}

/* Seconds a byte that a step inside saves compared with one by itself, if both were measured. */
static double saved_rate(const mr_workload *of, const mr_profile *p)
{
	double sum = 0, bytes = 0;

	for (uint16_t i = 0; i < of->partition->n_stages; i++)
		if (p->update_s[i] > 0 && !isnan(p->inside_s[i])) {
			sum += p->update_s[i] - p->inside_s[i];
			bytes += param_bytes(of, i);
		}
	return bytes > 0 ? fmax(0, sum / bytes) : 0;
}

/* The ratio of @crowded to @own seconds of all layers together; 0: not measured. */
static double crowd_of(double crowded, double own)
{
	return crowded > 0 && own > 0 ? fmin(fmax(crowded / own, LEAST_CROWD), MOST_CROWD) : 0;
}

static void take_crowding(const mr_workload *of, const mr_profile *p, mr_costs *c)
{
	double f = 0, b = 0;

	for (uint32_t i = 0; i < of->graph->n_nodes; i++) {
		f += c->layer[i].f;
		b += c->layer[i].i + c->layer[i].w;
	}
	c->crowd_f = crowd_of(p->commits.forward_s, f);
	c->crowd_b = crowd_of(p->commits.back_s, b);
}

mr_status mr_costs_of_profile(const mr_workload *of, const mr_profile *p, mr_costs *out)
{
	MR_TRY(mr_costs_alloc(of, out));
	out->measured = true;
	out->remote = p->handoff;
	out->threads = of->place->worker[0].n_threads;
	out->spread = p->worst;
	out->sum_s = p->commits.reduce_s > 0 ? p->commits.reduce_s : rate_of(of, p->sum_s);
	out->norm_s = rate_of(of, p->norm_s);
	out->save_s = saved_rate(of, p);
	out->shared_s = p->commits.shared_s;
	out->average_s = p->commits.average_s;
	out->hop_s = p->live.hop_s;
	snprintf(out->source, sizeof(out->source), "measured");
	for (uint16_t stage = 0; stage < of->partition->n_stages; stage++) {
		uint32_t first = of->partition->first[stage], end = of->partition->first[stage + 1];
		int64_t all = 0;

		for (uint32_t i = first; i < end; i++)
			all += mr_costs_stepped(of->graph, i);
		for (uint32_t i = first; i < end; i++) {
			double part = all ? (double)mr_costs_stepped(of->graph, i) / (double)all : 0;

			out->layer[i] = (mr_stage_cost){.f = p->layer[i].f,
							.i = p->layer[i].i,
							.w = p->layer[i].w,
							.u = part * p->update_s[stage],
							.g = p->layer[i].g};
			out->spreads[i] = p->layer[i].spread;
		}
	}
	if (!p->live.instr)
		return MR_OK;
	MR_TRY(mr_costs_follow_run(of, p->live.instr, out));
	take_crowding(of, p, out);
	return MR_OK;
}
