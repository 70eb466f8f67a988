/*
 * check_pauses.c - checks that a repeating plan without a flush can stop after every step.
 *
 * Each node belongs to the stretch after the pause point that its worker passed last. To stop at a point, the workers
 * carry out the stretches before it and nothing else. That works if no node waits for a node of a later stretch.
 */
#include "lower/check.h"
#include "lower/check_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ir/hosted.h"

/* Versions of @stage a step. */
static uint64_t in_step(const mr_plan *p, uint16_t stage)
{
	return mr_plan_has_stage_replicas(p) ? p->contract.need / p->stage_replicas[stage] : 1;
}

/* The stretch of every node of worker @w; @made [n_stages]: versions of its stages so far. */
static mr_status find_stretches(const mr_unroll *g, uint16_t w, const mr_hosted *h, uint64_t *made, uint64_t *stretch)
{
	const mr_plan *p = g->plan;
	uint64_t behind = 0; /* pause points passed: in each stretch a stage makes the versions of one step */
	uint32_t there = 0;  /* stages that have made all versions of the current step */
	char name[MR_NODE_TEXT];

	for (uint32_t k = h->first[w]; k < h->first[w + 1u]; k++)
		made[h->stage[k]] = 0;
	for (uint32_t i = g->first[w]; i < g->first[w + 1]; i++) {
		const mr_instr *in = g->at[i].in;
		uint64_t version = mr_unroll_target(g, i), end = (behind + 1) * in_step(p, in->stage);
		uint8_t part = mr_plan_part(p, in->stage, in->pipe);

		/* pause.c */
		stretch[i] = p->contract.steal && in->op == MR_OP_W ? mr_unroll_micro(g, i) / p->contract.need : behind;
		if (version >= g->n_versions || g->commit[mr_unroll_at(g, part, in->stage, version)] != i)
			continue;
		if (version > end)
			return mr_fail(MR_ECONFIG,
				       "%s: makes version %" PRIu64
				       " while another stage of worker %u has yet to make %" PRIu64
				       ": there is no place to stop between them",
				       mr_unroll_name(g, i, name), version, w, end);
		there += version == end && made[in->stage] != end;
		made[in->stage] = version;
		if (there < mr_hosted_count(h, w))
			continue;
		behind++;
		there = 0;
	}
	return MR_OK;
}

static mr_status waits_ahead(const mr_unroll *g, uint32_t node, uint32_t from, const uint64_t *stretch)
{
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	return mr_fail(MR_ECONFIG,
		       "%s waits for %s, which comes after pause point %" PRIu64 ": the run could not stop there",
		       mr_unroll_name(g, node, a), mr_unroll_name(g, from, b), stretch[from]);
}

static mr_status check_edges(const mr_unroll *g, const uint64_t *stretch)
{
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		if (g->storage[i] != MR_NO_NODE && stretch[g->storage[i]] > stretch[i])
			return waits_ahead(g, i, g->storage[i], stretch);
		for (uint32_t e = g->edge_first[i]; e < g->edge_first[i + 1]; e++)
			if (g->edge[e] < g->n_nodes && stretch[g->edge[e]] > stretch[i])
				return waits_ahead(g, i, g->edge[e], stretch);
	}
	return MR_OK;
}

static mr_status check_all(const mr_unroll *g)
{
	const mr_plan *p = g->plan;
	uint64_t *stretch = calloc((size_t)g->n_nodes + 1, sizeof(*stretch)),
		 *made = calloc(p->n_stages, sizeof(*made));
	mr_hosted h = {0};
	mr_status st = stretch && made
			       ? mr_hosted_init(&h, p, p->n_pipes)
			       : mr_fail(MR_ERESOURCE, "no memory to find where %u instructions may pause", g->n_nodes);

	for (uint16_t w = 0; st == MR_OK && w < p->n_workers; w++)
		st = find_stretches(g, w, &h, made, stretch);
	if (st == MR_OK)
		st = check_edges(g, stretch);
	mr_hosted_fini(&h);
	free(stretch);
	free(made);
	return st;
}

mr_status mr_check_pauses(const mr_unroll *g)
{
	const mr_plan *p = g->plan;

	if (!mr_plan_steady(p) || p->contract.flush != MR_FLUSH_NONE || p->contract.coverage == MR_COVER_FORWARD ||
	    p->commits != 1 || p->contract.whole_steps) /* there each iteration ends what it begins */
		return MR_OK;
	return check_all(g);
}

mr_status mr_plan_check_pauses(const mr_plan *plan)
{
	mr_unroll *g;
	mr_status st;

	MR_TRY(mr_unroll_create(plan, 0, NULL, &g));
	st = check_all(g);
	mr_unroll_destroy(g);
	return st;
}
