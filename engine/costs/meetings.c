#include "costs/meetings.h"

#include <math.h>

#include "ir/stage_ops.h"

static uint16_t rank_of(const mr_workload *of, const mr_hosts *h, uint32_t q, uint16_t w)
{
	return h->rank[q * of->place->n_workers + w];
}

/* Shares of worker @w on @rank; it lies there if there are any. */
static uint32_t members(const mr_workload *of, const mr_hosts *h, uint16_t w, uint16_t rank)
{
	uint32_t n = 0;

	for (uint32_t q = 0; q < of->n_shares; q++)
		n += rank_of(of, h, q, w) == rank;
	return n;
}

uint32_t mr_meetings_together(const mr_workload *of)
{
	return of->hosts ? members(of, of->hosts, 0, of->hosts->rank[0]) : of->n_shares;
}

static double sent_at(const mr_workload *of, uint32_t node, int pass, uint32_t to)
{
	return (double)mr_graph_sends(of->graph, node, pass, of->samples, &of->kernels->types, of->n_shares, to);
}

/* A meeting of worker @w at @node: the slowest of the links of its first share. */
static double meeting_s(const mr_workload *of, uint16_t w, uint32_t node, int pass)
{
	const mr_hosts *h = of->hosts;
	uint16_t own = rank_of(of, h, 0, w);
	uint32_t here = members(of, h, w, own);
	double port = 0, latency = 0;

	for (uint16_t r = 0; r < h->n_ranks; r++) {
		const mr_link_cost *c = &h->link[h->host[own] * h->n_hosts + h->host[r]];
		uint32_t there = r == own ? 0 : members(of, h, w, r);
		double bytes = there ? sent_at(of, node, pass, there) : 0;

		if (bytes <= 0)
			continue;
		port += here * (c->message + bytes * fmax(c->byte_s, c->both_s));
		latency = fmax(latency, c->latency);
	}
	return port + latency;
}

void mr_meetings_lengthen(const mr_workload *of, mr_stage_cost *stage)
{
	if (of->n_shares < 2 || !of->hosts || !of->plan)
		return;
	for (uint16_t s = 0; s < of->partition->n_stages; s++) {
		double *const into[MR_PASSES] = {&stage[s].f, &stage[s].i, &stage[s].w};
		uint16_t w = mr_plan_worker(of->plan, 0, s);

		for (uint32_t n = of->partition->first[s]; n < of->partition->first[s + 1]; n++)
			for (int k = 0; k < MR_PASSES; k++)
				*into[k] += meeting_s(of, w, n, k);
	}
}

/* What a share of worker @w sends a rank that has @there of them. */
static double of_worker(const mr_workload *of, uint16_t w, uint32_t there)
{
	double sum = 0;

	for (uint16_t s = 0; s < of->partition->n_stages; s++)
		for (int k = 0; k < MR_PASSES; k++) {
			uint32_t passes = mr_stage_count(of->plan, w, UINT32_MAX, s, mr_pass_ops[k], true);
			double times = (double)passes / mr_plan_steps(of->plan);

			for (uint32_t n = of->partition->first[s]; times > 0 && n < of->partition->first[s + 1]; n++)
				sum += times * sent_at(of, n, k, there);
		}
	return sum;
}

void mr_meetings_of_step(const mr_workload *of, const mr_hosts *h, double *out)
{
	for (uint16_t w = 0; of->n_shares > 1 && w < of->plan->n_workers; w++)
		for (uint32_t q = 0; q < of->n_shares; q++)
			for (uint16_t r = 0; r < h->n_ranks; r++) {
				uint16_t own = rank_of(of, h, q, w);
				uint32_t there = r == own ? 0 : members(of, h, w, r);

				out[own * h->n_ranks + r] += there ? of_worker(of, w, there) : 0;
			}
}
