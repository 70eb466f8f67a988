/*
 * lower_versions.c - which version every instruction reads, found by walking the lists.
 *
 * A worker commits its stages' weights (or its ranges of them) in the order of its list, so at each place of the list
 * the latest version is a number.
 * For repeating plans the numbers of the unrolled iterations become offsets: field = version - n * commits, taken from
 * the last iteration and compared with all others through the formula of plan.h, whose max(0, .) yields version 0
 * before the first commits.
 */
#include "lower/lower_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/op.h"

typedef struct mr_versions {
	mr_plan *plan;
	const mr_unroll *g;
	uint64_t *latest; /* [n_pipes][n_stages] at the present place of the walk, by the commits of its worker; the
	                     pipes differ only with replicas */
	uint64_t *read;   /* [n_nodes] */
	uint64_t *tag;    /* [n_micro] what F at stage 0 read; where reads are held, [n_stages] what the last F read */
} mr_versions;

static uint64_t *latest_of(const mr_versions *v, const mr_instr *in)
{
	return &v->latest[mr_contract_replicates(&v->plan->contract) ? mr_plan_at(v->plan, in->pipe, in->stage)
								     : in->stage];
}

static uint64_t read_of(const mr_versions *v, uint32_t node)
{
	const mr_contract *c = &v->plan->contract;
	const mr_instr *in = v->g->at[node].in;
	uint64_t micro = mr_unroll_micro(v->g, node);

	if (c->coverage == MR_COVER_FORWARD)
		return 0;
	if (in->op != MR_OP_F && c->same_version_b)
		return v->read[v->g->f[in->stage * (size_t)v->g->n_micro + (size_t)micro]];
	if (in->op == MR_OP_F && c->read_f == MR_READ_AGED)
		return in->read > 0 ? (uint64_t)in->read : 0;
	if (in->op != MR_OP_F || c->read_f == MR_READ_LATEST)
		return *latest_of(v, in);
	if (c->read_f == MR_READ_FIRST)
		return micro % c->need ? v->tag[in->stage] : *latest_of(v, in);
	if (c->read_f == MR_READ_BATCH)
		return mr_plan_batch_version(v->plan, in->stage, micro);
	return in->stage ? v->tag[micro] : *latest_of(v, in);
}

/* Commits from the oldest version that compute node @node needs to the last one before it has finished using it;
 * @latest: the latest version at its place. */
static uint64_t distance_of(const mr_versions *v, uint32_t node, uint64_t latest)
{
	const mr_contract *c = &v->plan->contract;
	const mr_instr *in = v->g->at[node].in;
	uint64_t read = v->read[node], distance = latest - read + mr_instr_takes_two(v->plan, in, read);
	uint64_t applied_on = mr_unroll_micro(v->g, node) / mr_plan_need(v->plan, in->stage);

	/* whole steps: by then other workers have made the versions in between */
	return c->whole_steps || (c->keep_read && in->op == MR_OP_F) ? applied_on - read : distance;
}

static mr_status walk_worker(mr_versions *v, uint16_t w)
{
	const mr_contract *c = &v->plan->contract;
	const mr_unroll *g = v->g;
	bool held = v->plan->contract.read_f == MR_READ_FIRST; /* see plan.h */
	char name[MR_NODE_TEXT];

	memset(v->latest, 0, (size_t)v->plan->n_pipes * v->plan->n_stages * sizeof(*v->latest));
	for (uint32_t i = g->first[w]; i < g->first[w + 1]; i++) {
		const mr_instr *in = g->at[i].in;
		uint64_t distance, latest = *latest_of(v, in);

		if (mr_op_is_compute(in->op)) {
			v->read[i] = read_of(v, i);
			if (in->op == MR_OP_F && (held || in->stage == 0))
				v->tag[held ? in->stage : mr_unroll_micro(g, i)] = v->read[i];
			if (c->whole_steps) /* it waits for those that others make, up to its own */
				latest = mr_unroll_micro(g, i) / c->need;
			if (v->read[i] > latest)
				return mr_fail(MR_ECONFIG,
					       "%s: has to read version %" PRIu64 " at a place where only %" PRIu64
					       " versions are committed",
					       mr_unroll_name(g, i, name), v->read[i], latest);
			distance = distance_of(v, i, latest);
			if (distance >= UINT16_MAX)
				return mr_fail(MR_ECONFIG, "%s: reads a version %" PRIu64 " commits old",
					       mr_unroll_name(g, i, name), distance);
			if (distance >= v->plan->n_versions[in->stage] &&
			    !(held && in->op == MR_OP_F && !c->keep_read) && !mr_instr_takes_made(v->plan, in))
				v->plan->n_versions[in->stage] = (uint16_t)(distance + 1);
		}
		if (in->op == MR_OP_U || in->op == MR_OP_AVG || in->flags & MR_INSTR_UPDATE)
			*latest_of(v, in) = mr_unroll_target(g, i);
	}
	return MR_OK;
}

/* Turn horizons into the versions predicted. */
static void take_aim(mr_plan *plan)
{
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < plan->lists[i].n; k++)
			if (plan->contract.predict != MR_PREDICT_NONE && plan->lists[i].at[k].op <= MR_OP_I)
				plan->lists[i].at[k].target += plan->lists[i].at[k].read;
}

/* Take offsets from the last instance of each instruction, then compare the formula with every instance. */
static mr_status fit(mr_versions *v)
{
	const mr_unroll *g = v->g;
	char name[MR_NODE_TEXT];

	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (mr_op_is_compute(g->at[i].in->op))
			mr_lower_instr(g, i)->read =
				(int32_t)((int64_t)v->read[i] -
					  (int64_t)g->at[i].n * mr_plan_commits(v->plan, g->at[i].in->stage));
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (mr_op_is_compute(g->at[i].in->op) && mr_unroll_read(g, i) != v->read[i])
			return mr_fail(MR_ECONFIG,
				       "%s: reads version %" PRIu64
				       " in iteration %u, later ones would make it %" PRIu64,
				       mr_unroll_name(g, i, name), v->read[i], g->at[i].n, mr_unroll_read(g, i));
	take_aim(v->plan);
	return MR_OK;
}

static mr_status walk_all(mr_versions *v)
{
	uint16_t head = mr_plan_worker(v->plan, 0, 0); /* makes the tags */

	MR_TRY(walk_worker(v, head));
	for (uint16_t w = 0; w < v->plan->n_workers; w++)
		if (w != head)
			MR_TRY(walk_worker(v, w));
	return fit(v);
}

mr_status mr_lower_versions(mr_plan *plan)
{
	mr_versions v = {.plan = plan};
	uint32_t distinct = mr_plan_distinct(plan);
	mr_unroll *g;
	mr_status st;

	for (uint16_t s = 0; s < plan->n_stages; s++)
		plan->n_versions[s] = plan->contract.flush == MR_FLUSH_VALIDATED ? 2 : 1;
	/* One iteration more than needed: offsets are taken from the last one, which then predicts the next. */
	MR_TRY(mr_unroll_create(plan, distinct + (distinct > 0), NULL, &g));
	v.g = g;
	v.latest = calloc((size_t)plan->n_pipes * plan->n_stages, sizeof(*v.latest));
	v.read = calloc((size_t)g->n_nodes + 1, sizeof(*v.read));
	v.tag = calloc((size_t)g->n_micro + plan->n_stages, sizeof(*v.tag));
	st = v.latest && v.read && v.tag ? walk_all(&v) : mr_fail(MR_ERESOURCE, "no memory for the versions of a plan");
	free(v.latest);
	free(v.read);
	free(v.tag);
	mr_unroll_destroy(g);
	return st;
}
