/*
 * check_versions.c - checks that every instruction reads the version of the contract's rule while it is still stored.
 *
 * A worker that hosts a stage commits its weights, or its pipe's range of them, so at each place of its list the latest
 * version is a number. Version v lies in buffer v mod cap, and the commit of v + cap overwrites it: a read of v is
 * valid if latest - v < cap at the place of the read.
 *
 * Replicas have versions of their own, and each row is that of one stage in one pipe. AVG makes a version of every
 * pipe, also of pipes on other workers: it waits for all their steps (deps.h), and each F that reads the average waits
 * for all parts of the AVG.
 *
 * Stage replicas: the other parts may step to version n + 1 as soon as this part has reduced its range of the sum, and
 * overwrite a version before this worker steps. So from its AR on, not only from its own step on, version n + 1 is
 * treated as committed when checking overwrites.
 *
 * Whole steps: the versions between a read and the step with its gradient are made by other workers, in an order that
 * the edges keep. So all of them are treated as committed at the read, when checking overwrites; and what an F may read
 * are versions up to that step, for which it waits.
 *
 * Other workers that change the same weights (further pipes; a tied use): an instruction reads its own batch's version,
 * F waits for the commit of that version in all pipes (deps.h), and the next commit waits, through AR in each pipe, for
 * the last gradient of the batch, which comes after all the reads.
 */
#include "lower/check_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/hosted.h"
#include "ir/op.h"

typedef struct mr_reads {
	const mr_unroll *g;
	uint64_t *latest;    /* [n_pipes][n_stages] with replicas; else [n_stages], and pipe 0 stands for all pipes */
	uint64_t *reduced;   /* likewise: the version of the last AR */
	uint64_t *validated; /* [n_stages] by V; VALIDATED only */
	uint8_t *early;      /* [n_nodes] an F that reads a version before it is validated */
	mr_hosted hosted;    /* of pipe 0; VALIDATED only */
	uint64_t lowest, highest; /* of validated, over the stages of the current worker */
	int32_t *horizon; /* [2 n_stages] of F and of B at each stage; INT32_MIN: none seen yet */
} mr_reads;

/* The row of latest and reduced that belongs to @in. */
static size_t row(const mr_plan *p, const mr_instr *in)
{
	return mr_contract_replicates(&p->contract) ? mr_plan_at(p, in->pipe, in->stage) : in->stage;
}

static uint64_t rule(const mr_reads *r, uint32_t node)
{
	const mr_unroll *g = r->g;
	const mr_contract *c = &g->plan->contract;
	const mr_instr *in = g->at[node].in;
	uint64_t micro = mr_unroll_micro(g, node);
	size_t at = in->stage * (size_t)g->n_micro + (size_t)micro;
	bool first = micro % c->need == 0;

	if (c->coverage == MR_COVER_FORWARD)
		return 0;
	if (in->op != MR_OP_F && c->same_version_b)
		return mr_unroll_read(g, g->f[in->stage * (size_t)g->n_micro + (size_t)micro]);
	if (in->op == MR_OP_F && c->read_f == MR_READ_AGED)
		return mr_unroll_read(g, node);
	if (in->op != MR_OP_F || c->read_f == MR_READ_LATEST || (c->read_f == MR_READ_TAG && in->stage == 0))
		return r->latest[row(g->plan, in)];
	if (c->read_f == MR_READ_FIRST)
		/* see check_held */
		return first ? r->latest[row(g->plan, in)] : mr_unroll_read(g, g->f[at - micro % c->need]);
	if (c->read_f == MR_READ_BATCH)
		return mr_plan_batch_version(g->plan, in->stage, micro);
	return mr_unroll_read(g, g->f[micro]); /* F of stage 0, which is checked against the rule itself */
}

/* All micro-batches of a span read one version. */
static mr_status check_span(const mr_unroll *g, uint32_t node)
{
	const mr_instr *in = g->at[node].in;
	const uint32_t *f = &g->f[in->stage * (size_t)g->n_micro + (size_t)mr_unroll_micro(g, node)];
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	for (uint32_t k = 1; k < in->span && g->plan->contract.same_version_b; k++)
		if (mr_unroll_read(g, f[k]) != mr_unroll_read(g, f[0]))
			return mr_fail(MR_ECONFIG, "%s: handles %u micro-batches at once, but %s read another version",
				       mr_unroll_name(g, node, a), in->span, mr_unroll_name(g, f[k], b));
	return MR_OK;
}

/* Whether F works on weights that are held for it: the version that they were made from is then no longer needed. */
static bool is_held(const mr_unroll *g, uint32_t node)
{
	const mr_contract *c = &g->plan->contract;

	return c->read_f == MR_READ_FIRST && g->at[node].in->op == MR_OP_F && mr_unroll_micro(g, node) % c->need > 0;
}

/* The held weights are those of the commit's first micro-batch if the forwards ascend. */
static mr_status check_held(const mr_unroll *g, uint32_t node)
{
	const mr_instr *in = g->at[node].in;
	uint64_t micro = mr_unroll_micro(g, node);
	uint32_t before;
	char a[MR_NODE_TEXT];

	if (g->plan->contract.read_f != MR_READ_FIRST || in->op != MR_OP_F || micro == 0)
		return MR_OK;
	before = g->f[in->stage * (size_t)g->n_micro + (size_t)micro - 1];
	if (before == MR_NO_NODE || before > node)
		return mr_fail(MR_ECONFIG,
			       "%s: comes before F of m%" PRIu64
			       ", but held weights require forwards in ascending order",
			       mr_unroll_name(g, node, a), micro - 1);
	return MR_OK;
}

static mr_status check_read(const mr_reads *r, uint32_t node)
{
	const mr_unroll *g = r->g;
	const mr_plan *p = g->plan;
	const mr_instr *in = g->at[node].in;
	uint64_t read = mr_unroll_read(g, node), wanted, latest = r->latest[row(p, in)], newest = latest;
	uint64_t applied_on = mr_plan_applied_on(p, in->stage, mr_unroll_micro(g, node));
	char name[MR_NODE_TEXT];

	if (p->contract.whole_steps)
		latest = newest = applied_on;
	MR_TRY(check_held(g, node));
	wanted = rule(r, node);
	if (read != wanted)
		return mr_fail(MR_ECONFIG, "%s: reads version %" PRIu64 " where the contract says %" PRIu64,
			       mr_unroll_name(g, node, name), read, wanted);
	/* a W: its I waited for the F that read the version, and the next commit waits for it */
	if (mr_unroll_is_away(g, node))
		return check_span(g, node);
	if (in->op == MR_OP_F && read != applied_on && applied_on < p->contract.sync_steps)
		return mr_fail(MR_ECONFIG,
			       "%s: reads version %" PRIu64
			       ", but the first %u commits are synchronous, and it belongs to version %" PRIu64,
			       mr_unroll_name(g, node, name), read, p->contract.sync_steps, applied_on);
	if (read > latest)
		return mr_fail(MR_ECONFIG,
			       "%s: reads version %" PRIu64 ", but only %" PRIu64 " is committed at that place",
			       mr_unroll_name(g, node, name), read, latest);
	if (p->stage_replicas[in->stage] && r->reduced[row(p, in)] > newest)
		newest = r->reduced[row(p, in)];
	if (mr_instr_takes_two(p, in, read) && newest - read + 1 >= p->n_versions[in->stage])
		return mr_fail(MR_ECONFIG,
			       "%s: predicts by the step from version %" PRIu64 ", which version %" PRIu64
			       " has overwritten: stage %u keeps %u",
			       mr_unroll_name(g, node, name), read - 1, read - 1 + p->n_versions[in->stage], in->stage,
			       p->n_versions[in->stage]);
	if (newest - read >= p->n_versions[in->stage] && !is_held(g, node) && !mr_instr_takes_made(p, in))
		return mr_fail(MR_ECONFIG,
			       "%s: reads version %" PRIu64 ", which version %" PRIu64
			       " has overwritten: stage %u keeps %u",
			       mr_unroll_name(g, node, name), read, read + p->n_versions[in->stage], in->stage,
			       p->n_versions[in->stage]);
	if (in->op == MR_OP_F && p->contract.keep_read && applied_on > read &&
	    applied_on - read >= p->n_versions[in->stage])
		return mr_fail(MR_ECONFIG, "%s: reads version %" PRIu64 ", which is overwritten before version %" PRIu64
			       " steps with its gradient: stage %u keeps %u, and the contract says that it is kept",
			       mr_unroll_name(g, node, name), read, applied_on, in->stage, p->n_versions[in->stage]);
	if (in->op == MR_OP_F && applied_on > read && applied_on - read > p->contract.max_staleness &&
	    p->contract.coverage != MR_COVER_FORWARD)
		return mr_fail(MR_ECONFIG,
			       "%s: reads version %" PRIu64 " and is applied to version %" PRIu64 ": staleness %" PRIu64
			       ", the contract claims at most %u",
			       mr_unroll_name(g, node, name), read, applied_on, applied_on - read,
			       p->contract.max_staleness);
	return check_span(g, node);
}

/* --- validation --- */

/* V must validate the version committed last, which no V has validated yet. */
static mr_status validate(mr_reads *r, uint32_t node)
{
	const mr_unroll *g = r->g;
	uint16_t s = g->at[node].in->stage;
	uint64_t v = mr_unroll_target(g, node);
	char name[MR_NODE_TEXT];

	if (v != r->latest[s] || (v && v != r->validated[s] + 1))
		return mr_fail(MR_ECONFIG, "%s: validates version %" PRIu64 ", and at that place %" PRIu64
					   " is committed and %" PRIu64 " validated",
			       mr_unroll_name(g, node, name), v, r->latest[s], r->validated[s]);
	r->validated[s] = v;
	r->lowest = UINT64_MAX;
	r->highest = 0;
	for (uint32_t w = g->at[node].worker, k = r->hosted.first[w]; k < r->hosted.first[w + 1]; k++) {
		uint64_t of = r->validated[r->hosted.stage[k]];

		r->lowest = of < r->lowest ? of : r->lowest;
		r->highest = of > r->highest ? of : r->highest;
	}
	return MR_OK;
}

/* Before V only F may stand, which can be repeated, and nothing may stand between the V of one worker's stages. */
static mr_status use_validated(const mr_reads *r, uint32_t node)
{
	const mr_unroll *g = r->g;
	const mr_instr *in = g->at[node].in;
	uint64_t read = mr_unroll_read(g, node);
	bool early = read > r->validated[in->stage];
	char name[MR_NODE_TEXT];

	if (early && in->op != MR_OP_F)
		return mr_fail(MR_ECONFIG, "%s: reads version %" PRIu64 " before V has validated it",
			       mr_unroll_name(g, node, name), read);
	if ((r->lowest < read) != (r->highest < read))
		return mr_fail(MR_ECONFIG, "%s: stands between the V of its worker's stages",
			       mr_unroll_name(g, node, name));
	r->early[node] = early;
	return MR_OK;
}

/* If an early F reads the output of another stage, that stage must repeat it, too. */
static mr_status check_early(const mr_reads *r)
{
	const mr_unroll *g = r->g;
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_instr *in = g->at[i].in;
		uint32_t before;

		if (!r->early[i] || in->stage == 0)
			continue;
		before = g->f[(in->stage - 1u) * (size_t)g->n_micro + (size_t)mr_unroll_micro(g, i)];
		if (!r->early[before])
			return mr_fail(MR_ECONFIG, "%s: stands before V, but %s behind it: it could not be repeated",
				       mr_unroll_name(g, i, a), mr_unroll_name(g, before, b));
	}
	return MR_OK;
}

/* F, or B, of a stage must all have the same horizon, in the direction that the contract allows. */
static mr_status check_horizon(const mr_reads *r, uint32_t node)
{
	const mr_unroll *g = r->g;
	const mr_contract *c = &g->plan->contract;
	const mr_instr *in = g->at[node].in;
	int32_t h = mr_instr_horizon(g->plan, in), *first = &r->horizon[2 * in->stage + (in->op != MR_OP_F)];
	char name[MR_NODE_TEXT];

	if (c->predict == MR_PREDICT_NONE || in->op > MR_OP_I)
		return MR_OK;
	if (mr_unroll_micro(g, node) / c->need < c->sync_steps)
		return h == 0 ? MR_OK
			      : mr_fail(MR_ECONFIG,
					"%s: predicts another version, but the first %u commits are synchronous",
					mr_unroll_name(g, node, name), c->sync_steps);
	if (c->predict != MR_PREDICT_BACK ? h < 0 : h > 0 || (h && in->op == MR_OP_F))
		return mr_fail(MR_ECONFIG, "%s: predicts %d %s, which the contract does not allow",
			       mr_unroll_name(g, node, name), h < 0 ? -h : h, h < 0 ? "back" : "ahead");
	if (*first == INT32_MIN)
		*first = h;
	if (c->same_version_b && in->op != MR_OP_F && h != r->horizon[2 * in->stage])
		return mr_fail(MR_ECONFIG, "%s: has horizon %d where its F has %d, and must work on the same weights",
			       mr_unroll_name(g, node, name), h, r->horizon[2 * in->stage]);
	if (*first != h)
		return mr_fail(MR_ECONFIG, "%s: has horizon %d where the others of its stage have %d",
			       mr_unroll_name(g, node, name), h, *first);
	return MR_OK;
}

/* Rows of latest, and of reduced and validated, which follow it. */
static size_t n_rows(const mr_plan *p)
{
	return 2 * (size_t)p->n_pipes * p->n_stages + p->n_stages;
}

static mr_status walk(mr_reads *r)
{
	const mr_unroll *g = r->g;
	bool validated = g->plan->contract.flush == MR_FLUSH_VALIDATED;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_instr *in = g->at[i].in;

		if (i == g->first[g->at[i].worker]) {
			memset(r->latest, 0, n_rows(g->plan) * sizeof(*r->latest));
			r->lowest = r->highest = 0;
		}
		if (mr_op_is_compute(in->op))
			MR_TRY(check_read(r, i));
		MR_TRY(check_horizon(r, i));
		if (validated && mr_op_is_compute(in->op))
			MR_TRY(use_validated(r, i));
		if (in->op == MR_OP_V)
			MR_TRY(validate(r, i));
		if (in->op == MR_OP_U || in->op == MR_OP_AVG ||
		    (mr_op_is_compute(in->op) && in->flags & MR_INSTR_UPDATE))
			r->latest[row(g->plan, in)] = mr_unroll_target(g, i);
		if (in->op == MR_OP_AR)
			r->reduced[row(g->plan, in)] = mr_unroll_target(g, i);
	}
	return validated ? check_early(r) : MR_OK;
}

mr_status mr_check_versions(const mr_unroll *g)
{
	mr_reads r = {.g = g};
	mr_status st;

	r.latest = calloc(n_rows(g->plan), sizeof(*r.latest));
	r.reduced = r.latest + (size_t)g->plan->n_pipes * g->plan->n_stages;
	r.validated = r.reduced + (size_t)g->plan->n_pipes * g->plan->n_stages;
	r.early = calloc((size_t)g->n_nodes + 1, 1);
	r.horizon = malloc(2 * (size_t)g->plan->n_stages * sizeof(*r.horizon));
	for (size_t i = 0; r.horizon && i < 2 * (size_t)g->plan->n_stages; i++)
		r.horizon[i] = INT32_MIN;
	st = r.latest && r.early && r.horizon ? mr_hosted_init(&r.hosted, g->plan, 1)
				 : mr_fail(MR_ERESOURCE, "no memory for the versions of %u stages", g->plan->n_stages);
	if (st == MR_OK)
		st = walk(&r);
	mr_hosted_fini(&r.hosted);
	free(r.latest);
	free(r.early);
	free(r.horizon);
	return st;
}
