#include "costs/sends.h"

#include <math.h>
#include <stdlib.h>

#include "costs/costs.h"
#include "costs/meetings.h"
#include "ir/fetches.h"
#include "ir/stage_ops.h"

static double bytes_into(const mr_workload *of, uint16_t stage, bool gradients)
{
	return (double)of->samples * (double)mr_graph_crossing(of->graph, of->partition->first[stage],
							       of->kernels->types.activations, gradients);
}

static double stepped(const mr_workload *of, uint16_t stage)
{
	double n = 0;

	for (uint32_t i = of->partition->first[stage]; i < of->partition->first[stage + 1]; i++)
		n += (double)mr_costs_stepped(of->graph, i);
	return n;
}

/* Parameters of stage 0 that the last one uses too. */
static double tied(const mr_workload *of)
{
	double n = 0;

	for (uint32_t i = 0; i < of->graph->n_params; i++) {
		const mr_param *p = &of->graph->params[i];

		if (p->tied_to >= 0 && mr_partition_stage(of->partition, p->node) > 0 &&
		    mr_partition_stage(of->partition, of->graph->params[p->tied_to].node) == 0)
			n += (double)p->n;
	}
	return n;
}

/* How often a worker gets the weights of @stage in a step: once, or as often as it fetches them. */
static double gets(const mr_plan *p, uint16_t stage)
{
	double n = 1;
	mr_fetches f;

	if (!p->contract.weight_rooms || mr_fetches_of(mr_plan_list(p, mr_plan_worker(p, 0, 0), MR_BODY), 0,
						       p->contract.weight_rooms, &f) != MR_OK)
		return n;
	n = mr_fetches_of_stage(&f, stage);
	mr_fetches_fini(&f);
	return n;
}

/* What a replica sends for each number of an average, and gets back (weights/replica_links.h). */
static double averaged(const mr_workload *of)
{
	const mr_types *t = &of->kernels->types;
	uint32_t states = of->plan->contract.average.state ? of->optim->ops->n_states : 0;

	return (double)(mr_dtype_bytes(t->weights) + mr_types_rest_bytes(t) + states * mr_dtype_bytes(t->state));
}

static double layer_states(const mr_workload *of, uint16_t stage)
{
	double n = 0;

	for (uint32_t i = 0; i < of->graph->n_states; i++)
		if (mr_partition_stage(of->partition, of->graph->states[i].node) == stage)
			n += (double)of->graph->states[i].n;
	return n * (double)mr_dtype_bytes(of->kernels->types.compute);
}

/* Parts of stage @s send each other ranges of @n numbers: gradients and weights, or all that is averaged. */
static mr_stage_sends ranges_of(const mr_workload *of, uint16_t s, double n)
{
	const mr_types *t = &of->kernels->types;
	double range = n * (double)mr_dtype_bytes(t->weights);
	uint32_t groups = of->plan->contract.weight_groups ? of->plan->contract.weight_groups : 1;

	if (mr_contract_replicates(&of->plan->contract))
		return (mr_stage_sends){.gradients = n * averaged(of) + layer_states(of, s),
					.weights = n * averaged(of)};
	return (mr_stage_sends){.gradients = n * (double)mr_dtype_bytes(t->gradients),
				.weights = gets(of->plan, s) * range * groups,
				.copies = range};
}

void mr_sends_of_stages(const mr_workload *of, mr_stage_sends *out)
{
	for (uint16_t s = 0; s < of->partition->n_stages; s++) {
		out[s] = ranges_of(of, s, stepped(of, s) / mr_plan_partial_sums(of->plan, s));
		if (s) {
			out[s].forward = bytes_into(of, s, false);
			out[s].backward = bytes_into(of, s, true);
		} else {
			out[s].tied = tied(of) * (double)mr_dtype_bytes(of->kernels->types.weights);
		}
	}
}

/* What a message of @bytes takes from worker @from to worker @to, if it meets no other; 0 within a rank. */
static double message_s(const mr_hosts *h, uint16_t from, uint16_t to, double bytes)
{
	const mr_link_cost *c = &h->link[h->host[h->rank[from]] * h->n_hosts + h->host[h->rank[to]]];

	return h->rank[from] == h->rank[to] ? 0 : c->message + c->latency + bytes * c->byte_s;
}

mr_status mr_sends_lengthen(const mr_workload *of, mr_stage_cost *stage)
{
	uint16_t n = of->partition->n_stages;
	mr_stage_sends *sends;

	if (!of->hosts)
		return MR_OK;
	sends = calloc(n, sizeof(*sends));
	if (!sends)
		return mr_fail(MR_ERESOURCE, "no memory for the messages of %u stages", n);
	mr_sends_of_stages(of, sends);
	for (unsigned p = 0; p < of->plan->n_pipes; p++)
		for (uint16_t s = 1; s < n; s++) {
			uint16_t a = mr_plan_worker(of->plan, (uint8_t)p, (uint16_t)(s - 1));
			uint16_t b = mr_plan_worker(of->plan, (uint8_t)p, s);

			stage[s - 1].o = fmax(stage[s - 1].o, message_s(of->hosts, a, b, sends[s].forward));
			stage[s].b = fmax(stage[s].b, message_s(of->hosts, b, a, sends[s].backward));
		}
	free(sends);
	return MR_OK;
}

/* --- a step --- */

/* Instructions of stage @s in @pipe that carry out one of @ops, a step. */
static double times_of(const mr_plan *p, uint8_t pipe, uint16_t s, unsigned ops)
{
	return (double)mr_stage_count(p, mr_plan_worker(p, pipe, s), pipe, s, ops, false) / mr_plan_steps(p);
}

typedef struct counting {
	const mr_plan *plan;
	const mr_hosts *hosts;
	double *out;
	uint32_t first; /* the number of worker 0 through all shares */
} counting;

static void add(const counting *c, uint16_t from, uint16_t to, double bytes)
{
	const uint16_t *rank = c->hosts->rank + c->first;
	uint16_t a = rank[from], b = rank[to];

	c->out[a * c->hosts->n_ranks + b] += a != b ? bytes : 0;
}

static void add_boundaries(const counting *c, uint8_t pipe, uint16_t s, const mr_stage_sends *sends)
{
	uint16_t a = mr_plan_worker(c->plan, pipe, (uint16_t)(s - 1)), b = mr_plan_worker(c->plan, pipe, s);

	add(c, a, b, sends[s].forward * times_of(c->plan, pipe, (uint16_t)(s - 1), 1u << MR_OP_F));
	add(c, b, a, sends[s].backward * times_of(c->plan, pipe, s, 1u << MR_OP_B | 1u << MR_OP_I));
}

/* Commits of stage @s in a step. */
static double commits_of(const mr_plan *p, uint16_t s)
{
	return (double)mr_plan_commits(p, s) / mr_plan_steps(p);
}

/* A norm reads the sum of all parts on part 0's worker; a replica has its own. */
static void add_ranges(const counting *c, uint16_t s, const mr_stage_sends *sends)
{
	unsigned parts = mr_plan_partial_sums(c->plan, s);
	bool averages = mr_contract_replicates(&c->plan->contract);
	double times = averages ? 1.0 / c->plan->contract.average.every : commits_of(c->plan, s);

	for (unsigned i = 0; i < parts; i++)
		for (unsigned j = 0; j < parts; j++) {
			mr_weights_go how = mr_plan_weights_go(c->plan, i, j);
			double weights = how == MR_GO_FETCHED  ? sends[s].weights
					 : how == MR_GO_COPIED ? sends[s].copies
								  : 0;

			add(c, mr_plan_worker(c->plan, (uint8_t)i, s), mr_plan_worker(c->plan, (uint8_t)j, s),
			    (sends[s].gradients * (c->plan->contract.clip && !j && !averages ? 2 : 1) + weights) *
				    times);
		}
}

/* Whole steps: the sum of a step goes to each other rank, and in a ring from worker to worker before. */
static void add_whole(const counting *c, uint16_t s, const mr_stage_sends *sends)
{
	const mr_plan *p = c->plan;
	const uint16_t *rank = c->hosts->rank + c->first;

	for (unsigned i = 0; i < p->n_pipes; i++) {
		uint16_t w = mr_plan_worker(p, (uint8_t)i, s);
		unsigned next = (i + 1) % p->n_pipes;

		for (unsigned j = 0; j < p->n_pipes; j++) {
			unsigned first = 0; /* of its rank */

			while (rank[mr_plan_worker(p, (uint8_t)first, s)] != rank[mr_plan_worker(p, (uint8_t)j, s)])
				first++;
			if (first == j)
				add(c, w, mr_plan_worker(p, (uint8_t)j, s),
				    sends[s].gradients * times_of(p, (uint8_t)i, s, 1u << MR_OP_U));
		}
		if (p->contract.ring)
			add(c, w, mr_plan_worker(p, (uint8_t)next, s),
			    sends[s].gradients * (times_of(p, (uint8_t)i, s, 1u << MR_OP_B) - !next));
	}
}

static void add_tied(const counting *c, const mr_stage_sends *sends)
{
	uint16_t last = (uint16_t)(c->plan->n_stages - 1);

	for (unsigned p = 0; sends[0].tied > 0 && p < mr_plan_partial_sums(c->plan, last); p++) {
		uint16_t a = mr_plan_worker(c->plan, (uint8_t)p, 0), b = mr_plan_worker(c->plan, (uint8_t)p, last);

		add(c, a, b, sends[0].tied * commits_of(c->plan, 0));
		add(c, b, a, sends[0].tied * commits_of(c->plan, 0));
	}
}

static void add_share(const counting *c)
{
	for (uint16_t s = 0; s < c->plan->n_stages; s++) {
		for (unsigned p = 0; s && p < c->plan->n_pipes; p++)
			add_boundaries(c, (uint8_t)p, s, c->hosts->sends);
		if (c->plan->contract.whole_steps)
			add_whole(c, s, c->hosts->sends);
		else
			add_ranges(c, s, c->hosts->sends);
	}
	add_tied(c, c->hosts->sends);
}

void mr_sends_of_step(const mr_workload *of, const mr_hosts *hosts, double *out)
{
	if (!mr_plan_length(of->plan, MR_BODY) || !mr_plan_steps(of->plan))
		return;
	for (uint32_t q = 0; q < (of->n_shares ? of->n_shares : 1); q++)
		add_share(&(counting){of->plan, hosts, out, q * of->plan->n_workers});
	mr_meetings_of_step(of, hosts, out);
}
