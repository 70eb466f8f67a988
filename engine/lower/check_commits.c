/*
 * check_commits.c - checks that the gradients of each commit are summed completely, unmixed and in the stated order,
 * and committed once.
 *
 * All this is read off the lists. That AR, N and U come after the instructions they need is proved by the edges
 * (deps.h) together with the absence of cycles. The edges do not show that a sum is not begun anew before its
 * commit has used it; that is checked here.
 */
#include "lower/check_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ir/op.h"
#include "ir/stage_ops.h"

/* The sum buffer of one (pipe, stage) while its worker's list is walked. */
typedef struct mr_sum_state {
	bool begun;
	uint32_t last;  /* node added last */
	uint64_t count; /* of the node added last */
} mr_sum_state;

static bool sums(uint8_t op)
{
	return op == MR_OP_B || op == MR_OP_W;
}

static uint32_t by_version(const mr_unroll *g, const uint32_t *table, uint8_t pipe, uint16_t stage, uint64_t version)
{
	return version < g->n_versions ? table[mr_unroll_at(g, pipe, stage, version)] : MR_NO_NODE;
}

/* An F must drop the activations that an R saves again, and no others. */
static mr_status check_drop(const mr_unroll *g, uint32_t node)
{
	const mr_instr *in = g->at[node].in;
	uint64_t micro = mr_unroll_micro(g, node);
	uint32_t r = g->recompute[in->stage * (size_t)g->n_micro + (size_t)micro];
	bool drops = in->flags & MR_INSTR_DROP;
	char name[MR_NODE_TEXT];

	if (in->flags & ~MR_INSTR_DROP)
		return mr_fail(MR_ECONFIG, "%s: flags %u, but an F can only drop what it saves",
			       mr_unroll_name(g, node, name), in->flags);
	if (drops && r == MR_NO_NODE && micro < mr_check_full(g))
		return mr_fail(MR_ECONFIG, "%s: drops what it saves, and no R saves it again",
			       mr_unroll_name(g, node, name));
	if (!drops && r != MR_NO_NODE)
		return mr_fail(MR_ECONFIG, "%s: keeps what it saves, although an R saves it again",
			       mr_unroll_name(g, node, name));
	return MR_OK;
}

/* Any free worker may take @node, so no later instruction of its iteration may be one that other workers wait for. */
static mr_status check_any(const mr_unroll *g, uint32_t node)
{
	const mr_plan *p = g->plan;
	uint16_t w = g->at[node].worker;
	const mr_list *l = mr_plan_list(p, w, MR_BODY);
	const mr_instr *in = g->at[node].in;
	char name[MR_NODE_TEXT];

	if (!p->contract.steal || in->op != MR_OP_W || !l->n || in < l->at || in >= l->at + l->n)
		return mr_fail(
			MR_ECONFIG,
			"%s: is marked any, but only a W in the body of a plan whose contract has steal may be",
			mr_unroll_name(g, node, name));
	while (++in < l->at + l->n)
		if (mr_op_is_compute(in->op) && !(in->op == MR_OP_W && in->flags & MR_INSTR_ANY))
			return mr_fail(MR_ECONFIG, "%s: is marked any, but %s m%u s%u of its own worker comes after it",
				       mr_unroll_name(g, node, name), mr_op_name((mr_op)in->op), in->micro, in->stage);
	return MR_OK;
}

static mr_status check_flags(const mr_unroll *g, uint32_t node, bool first)
{
	const mr_instr *in = g->at[node].in;
	uint64_t version = mr_plan_applied_on(g->plan, in->stage, mr_unroll_micro(g, node)) + 1;
	uint8_t part = mr_plan_part(g->plan, in->stage, in->pipe);
	char name[MR_NODE_TEXT];

	if (in->op == MR_OP_F && g->plan->contract.coverage == MR_COVER_BLOCK && in->target < 0)
		return mr_fail(MR_ECONFIG, "%s: takes minibatch %d of the data", mr_unroll_name(g, node, name),
			       in->target);
	if (in->op == MR_OP_F)
		return check_drop(g, node);
	if (!sums(in->op) && in->flags)
		return mr_fail(MR_ECONFIG, "%s: flags %u, but only F, B and W have any", mr_unroll_name(g, node, name),
			       in->flags);
	if (in->flags & (MR_INSTR_KEEP | MR_INSTR_PASS) &&
	    (g->plan->contract.coverage != MR_COVER_BLOCK || in->op != MR_OP_B))
		return mr_fail(
			MR_ECONFIG,
			"%s: leaves its stage as it is, which only a B of a plan that updates one stage a step may do",
			mr_unroll_name(g, node, name));
	if (in->flags & MR_INSTR_ANY)
		MR_TRY(check_any(g, node));
	if (in->flags & ~(MR_INSTR_FIRST_SUM | MR_INSTR_UPDATE | MR_INSTR_KEEP | MR_INSTR_PASS | MR_INSTR_ANY))
		return mr_fail(MR_ECONFIG, "%s: unknown flags %u", mr_unroll_name(g, node, name), in->flags);
	if (sums(in->op) && first != !!(in->flags & MR_INSTR_FIRST_SUM))
		return mr_fail(MR_ECONFIG, "%s: is %sthe first gradient of its sum, but marked as if it were%s",
			       mr_unroll_name(g, node, name), first ? "" : "not ", first ? " not" : "");
	if (!(in->flags & MR_INSTR_UPDATE))
		return MR_OK;
	if (g->plan->contract.steal)
		return mr_fail(MR_ECONFIG, "%s: updates by itself, but other workers may still add to the gradients",
			       mr_unroll_name(g, node, name));
	if (g->plan->contract.predict != MR_PREDICT_NONE)
		return mr_fail(MR_ECONFIG,
			       "%s: updates by itself while it works on weights made from the optimizer's state",
			       mr_unroll_name(g, node, name));
	if (g->plan->contract.keep_read)
		return mr_fail(MR_ECONFIG, "%s: updates by itself, but the update compares with the weights before it",
			       mr_unroll_name(g, node, name));
	if (g->plan->contract.clip || mr_stage_has(g->plan, in->stage, MR_OP_AR))
		return mr_fail(MR_ECONFIG, "%s: updates by itself, but the update has to wait for %s",
			       mr_unroll_name(g, node, name),
			       g->plan->contract.clip ? "the norms of all stages" : "a reduction");
	if (mr_unroll_target(g, node) != version || by_version(g, g->last_sum, part, in->stage, version) != node)
		return mr_fail(MR_ECONFIG, "%s: updates to version %" PRIu64 " without completing its sum",
			       mr_unroll_name(g, node, name), mr_unroll_target(g, node));
	return MR_OK;
}

/* A new count begins at @node: an instruction before it in the same list must have committed the last count. */
static mr_status begin_sum(const mr_unroll *g, uint32_t node, const mr_sum_state *s, uint64_t count)
{
	const mr_instr *in = g->at[node].in;
	uint32_t commit = by_version(g, g->commit, mr_plan_part(g->plan, in->stage, in->pipe), in->stage,
				     mr_contract_after(&g->plan->contract, s->count) + 1);
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (count <= s->count)
		return mr_fail(MR_ECONFIG, "%s: goes back to commit %" PRIu64 " after %s", mr_unroll_name(g, node, a),
			       count + 1, mr_unroll_name(g, s->last, b));
	if (commit == MR_NO_NODE)
		return mr_fail(MR_ECONFIG, "%s: begins a new sum, but %s is in one that is never committed",
			       mr_unroll_name(g, node, a), mr_unroll_name(g, s->last, b));
	/* The other pipes' steps read this sum, too. The F of this count (see mr_check_versions), or with stage
	 * replicas its B, waited for them. */
	if (commit > node)
		return mr_fail(MR_ECONFIG, "%s: overwrites a sum that %s has yet to use", mr_unroll_name(g, node, a),
			       mr_unroll_name(g, commit, b));
	return MR_OK;
}

/* @node adds to a sum of several workers. No single list shows such a sum; the edges keep its order (deps.h). */
static mr_status enter_shared(const mr_unroll *g, uint32_t node)
{
	uint64_t micro = mr_unroll_micro(g, node), need = g->plan->contract.need;
	uint32_t last = by_version(g, g->last_sum, g->at[node].in->pipe, g->at[node].in->stage, micro / need + 1);
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (last != MR_NO_NODE && g->at[last].in->op != g->at[node].in->op)
		return mr_fail(MR_ECONFIG, "%s: in one sum with %s, and a sum that several workers make must be all W",
			       mr_unroll_name(g, node, a), mr_unroll_name(g, last, b));
	return check_flags(g, node, micro % need == 0);
}

/* Whole steps: the sum of @node, and its pipe, are free if the step with the sum before stands before it in its list;
 * @last: the node that was last at this pipe and stage. Edges keep the order of the steps. */
static mr_status enter_whole(const mr_unroll *g, uint32_t node, mr_sum_state *s)
{
	const mr_instr *in = g->at[node].in;
	uint64_t count = mr_unroll_micro(g, node) / g->plan->contract.need;
	bool last = (mr_unroll_micro(g, node) + 1) % g->plan->contract.need == 0;
	uint32_t commit = by_version(g, g->commit, 0, in->stage, count + 1);
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (in->flags & MR_INSTR_UPDATE)
		return mr_fail(MR_ECONFIG, "%s: updates by itself, but the update has to wait for that of another pipe",
			       mr_unroll_name(g, node, a));
	if (s->begun && mr_unroll_micro(g, node) <= mr_unroll_micro(g, s->last))
		return mr_fail(MR_ECONFIG, "%s: goes back to commit %" PRIu64 " after %s", mr_unroll_name(g, node, a),
			       count + 1, mr_unroll_name(g, s->last, b));
	if (last && (commit == MR_NO_NODE || g->at[commit].in->pipe != in->pipe || commit < node))
		return mr_fail(MR_ECONFIG, "%s: completes a sum with which its own pipe has to step behind it",
			       mr_unroll_name(g, node, a));
	commit = s->begun && count > s->count ? by_version(g, g->commit, 0, in->stage, s->count + 1) : MR_NO_NODE;
	if (commit != MR_NO_NODE && g->at[commit].in->pipe == in->pipe && commit > node)
		return mr_fail(MR_ECONFIG, "%s: overwrites a sum that %s has yet to use", mr_unroll_name(g, node, a),
			       mr_unroll_name(g, commit, b));
	*s = (mr_sum_state){true, node, count};
	return check_flags(g, node, mr_unroll_micro(g, node) % g->plan->contract.need == 0);
}

static mr_status enter_sum(const mr_unroll *g, uint32_t node, mr_sum_state *s)
{
	uint64_t micro = mr_unroll_micro(g, node), count = micro / mr_plan_need(g->plan, g->at[node].in->stage);
	mr_sum_order order = g->plan->contract.sum;
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];
	bool first = !s->begun || count != s->count;

	if (first && s->begun)
		MR_TRY(begin_sum(g, node, s, count));
	if (!first && order != MR_SUM_LISTED && (micro > mr_unroll_micro(g, s->last)) != (order == MR_SUM_ASCENDING))
		return mr_fail(MR_ECONFIG, "%s after %s: the contract says that gradients are summed in %s order",
			       mr_unroll_name(g, node, a), mr_unroll_name(g, s->last, b),
			       order == MR_SUM_ASCENDING ? "ascending" : "descending");
	if (g->at[node].in->span > 1 && order == MR_SUM_DESCENDING)
		return mr_fail(MR_ECONFIG,
			       "%s: sums %u micro-batches in ascending order, and the contract says descending",
			       mr_unroll_name(g, node, a), g->at[node].in->span);
	*s = (mr_sum_state){true, node, count};
	return check_flags(g, node, first);
}

static mr_status check_sums(const mr_unroll *g)
{
	mr_sum_state *s = calloc((size_t)g->plan->n_pipes * g->plan->n_stages, sizeof(*s));
	mr_status st = s ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the sums of %u stages", g->plan->n_stages);

	for (uint32_t i = 0; st == MR_OK && i < g->n_nodes; i++) {
		const mr_instr *in = g->at[i].in;

		if (sums(in->op) && g->plan->contract.steal)
			st = enter_shared(g, i);
		else if (sums(in->op) && g->plan->contract.whole_steps)
			st = enter_whole(g, i, &s[mr_plan_at(g->plan, in->pipe, in->stage)]);
		else
			st = sums(in->op) ? enter_sum(g, i,
						      &s[mr_plan_at(g->plan, mr_plan_part(g->plan, in->stage, in->pipe),
								    in->stage)])
					  : check_flags(g, i, false);
	}
	free(s);
	return st;
}

/* AR and U of one pipe agree with the contract at one version of one stage; U comes in the order of the versions. */
static mr_status check_step(const mr_unroll *g, uint8_t p, uint16_t s, uint64_t v)
{
	uint32_t u = by_version(g, g->commit, p, s, v), before = by_version(g, g->commit, p, s, v - 1);
	bool ar = by_version(g, g->reduce, p, s, v) != MR_NO_NODE;
	char name[MR_NODE_TEXT];

	if (u == MR_NO_NODE)
		return mr_fail(MR_ECONFIG, "U for version %" PRIu64 " of stage %u in pipe %u: missing", v, s, p);
	if (ar != mr_stage_has(g->plan, s, MR_OP_AR))
		return mr_fail(MR_ECONFIG, "AR for version %" PRIu64 " of stage %u in pipe %u: missing", v, s, p);
	if (mr_contract_averages(&g->plan->contract, v) != (g->at[u].in->op == MR_OP_AVG))
		return mr_fail(MR_ECONFIG, "%s: version %" PRIu64 " is %s average", mr_unroll_name(g, u, name), v,
			       g->at[u].in->op == MR_OP_AVG ? "no" : "an");
	if (v > 1 && before > u && !g->plan->contract.whole_steps) /* there an edge keeps the order */
		return mr_fail(MR_ECONFIG, "%s: makes version %" PRIu64 " before version %" PRIu64 " is made",
			       mr_unroll_name(g, u, name), v, v - 1);
	return MR_OK;
}

static mr_status check_version(const mr_unroll *g, uint16_t s, uint64_t v)
{
	bool n = v < g->n_versions && g->norm[s * (size_t)g->n_versions + (size_t)v] != MR_NO_NODE;

	for (unsigned p = 0; p < mr_plan_partial_sums(g->plan, s); p++)
		MR_TRY(check_step(g, (uint8_t)p, s, v));
	if (n != g->plan->contract.clip)
		return mr_fail(MR_ECONFIG, "N for version %" PRIu64 " of stage %u: missing, but the contract clips",
			       v, s);
	return MR_OK;
}

static mr_status check_commit_instr(const mr_unroll *g, uint32_t node)
{
	const mr_instr *in = g->at[node].in;
	uint64_t version = mr_unroll_target(g, node), need = mr_plan_need(g->plan, in->stage);
	uint64_t last = mr_contract_steps(&g->plan->contract, version) * need - 1;
	char name[MR_NODE_TEXT];

	if (in->op == MR_OP_V && mr_unroll_micro(g, node) != version * need)
		return mr_fail(MR_ECONFIG, "%s: version %" PRIu64 " is first read by m%" PRIu64,
			       mr_unroll_name(g, node, name), version, version * need);
	if (in->op != MR_OP_AR && in->op != MR_OP_N && in->op != MR_OP_U && in->op != MR_OP_AVG)
		return MR_OK;
	if (in->pipe && in->op == MR_OP_N)
		return mr_fail(MR_ECONFIG, "%s: belongs to pipe 0, where the whole gradient is",
			       mr_unroll_name(g, node, name));
	if (mr_unroll_micro(g, node) != last)
		return mr_fail(MR_ECONFIG, "%s: version %" PRIu64 " is complete with m%" PRIu64,
			       mr_unroll_name(g, node, name), version, last);
	return MR_OK;
}

/* B before the active stage pass on, B behind it keep, and exactly one stage is active. */
static mr_status check_active(const mr_unroll *g, uint64_t micro)
{
	uint16_t active = g->plan->n_stages;
	char name[MR_NODE_TEXT];

	for (uint16_t s = 0; s < g->plan->n_stages; s++) {
		uint32_t b = g->grad[s * (size_t)g->n_micro + (size_t)micro];
		uint8_t flags = g->at[b].in->flags & (MR_INSTR_KEEP | MR_INSTR_PASS);

		if (g->at[b].in->op != MR_OP_B)
			return mr_fail(MR_ECONFIG, "%s: a plan that updates one stage a step goes backward in whole B",
				       mr_unroll_name(g, b, name));
		if (active == g->plan->n_stages && !flags)
			active = s;
		else if (flags != (active == g->plan->n_stages ? MR_INSTR_PASS : MR_INSTR_KEEP))
			return mr_fail(MR_ECONFIG,
				       "%s: a B must pass before the stage that its step updates, and keep after it",
				       mr_unroll_name(g, b, name));
	}
	if (active < g->plan->n_stages)
		return MR_OK;
	return mr_fail(MR_ECONFIG, "%s: the step of its micro-batch updates no stage",
		       mr_unroll_name(g, g->grad[(size_t)micro], name));
}

mr_status mr_check_commits(const mr_unroll *g)
{
	uint64_t full = mr_check_full(g), need = g->plan->contract.need;

	if (g->plan->contract.coverage == MR_COVER_FORWARD)
		return MR_OK;
	if (full % need)
		return mr_fail(MR_ECONFIG, "%" PRIu64 " micro-batches leave a commit of %" PRIu64 " incomplete", full,
			       need);
	for (uint64_t m = 0; m < full && g->plan->contract.coverage == MR_COVER_BLOCK; m++)
		MR_TRY(check_active(g, m));
	for (uint32_t i = 0; i < g->n_nodes; i++)
		MR_TRY(check_commit_instr(g, i));
	for (uint16_t s = 0; s < g->plan->n_stages; s++)
		for (uint64_t v = 1; v <= mr_plan_applied_on(g->plan, s, full); v++)
			MR_TRY(check_version(g, s, v));
	return check_sums(g);
}
