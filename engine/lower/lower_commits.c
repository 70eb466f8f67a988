/*
 * lower_commits.c - where gradients are summed and where versions are committed.
 *
 * A count is `need` micro-batches whose gradients one commit sums: count c holds micro-batches c*need .. c*need +
 * need-1. There is one sum buffer per (stage, pipe), so at each place the counts must follow each other unmixed; the
 * first B or W of a count overwrites the buffer, the last one completes it. All this is read off the unrolled lists,
 * and must come out alike in every iteration of a body.
 */
#include "lower/lower_internal.h"
#include "ir/stage_ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Marks in the flags that only this file uses. */
#define LAST_SUM 0x40u
#define KNOWN 0x80u

/* The count that is being summed at one (pipe, stage). */
typedef struct mr_count {
	uint64_t next; /* the count that begins, or continues, next */
	uint32_t seen; /* its micro-batches so far */
	uint32_t first, last; /* nodes of its first and of its last so far */
} mr_count;

static bool sums(uint8_t op)
{
	return op == MR_OP_B || op == MR_OP_W;
}

/* Fill @needs [n_pipes][@n_counts] with the number of micro-batches of each count that go through each pipe; with stage
 * replicas, through a part of any stage. */
static void fill_needs(const mr_unroll *g, uint32_t *needs, uint64_t n_counts)
{
	const mr_plan *p = g->plan;
	uint32_t need = p->contract.need;
	bool replicas = mr_plan_has_stage_replicas(p);

	for (uint64_t i = 0; i < p->n_pipes * n_counts; i++)
		needs[i] = replicas ? 1 : p->n_pipes == 1 ? need : 0;
	for (uint64_t m = 0; p->n_pipes > 1 && !replicas && m < g->n_micro; m++)
		if (g->f[m] != MR_NO_NODE)
			needs[g->at[g->f[m]].in->pipe * n_counts + m / need]++;
}

static mr_status mark(const mr_unroll *g, uint32_t node, uint8_t bits)
{
	mr_instr *in = mr_lower_instr(g, node);
	char name[MR_NODE_TEXT];

	bits |= in->flags & (MR_INSTR_KEEP | MR_INSTR_PASS); /* the system's own */
	if (in->flags & KNOWN && in->flags != (bits | KNOWN))
		return mr_fail(MR_ECONFIG, "%s: begins or completes a commit in one iteration and not in another",
			       mr_unroll_name(g, node, name));
	in->flags = bits | KNOWN;
	return MR_OK;
}

/* @needs: [n_pipes * counts] from need_of. */
static mr_status enter_sum(const mr_unroll *g, uint32_t node, mr_count *c, const uint32_t *needs, uint64_t n_counts)
{
	uint64_t count = mr_unroll_micro(g, node) / mr_plan_need(g->plan, g->at[node].in->stage);
	uint32_t need = needs[g->at[node].in->pipe * n_counts + count];
	char name[MR_NODE_TEXT];

	while (!c->seen && c->next < count && !needs[g->at[node].in->pipe * n_counts + c->next])
		c->next++; /* this pipe has no part in that count */
	if (c->next != count)
		return mr_fail(MR_ECONFIG, "%s: belongs to commit %" PRIu64 ", but the gradients of commit %" PRIu64
					   " are not complete at this stage (each commit sums %u micro-batches)",
			       mr_unroll_name(g, node, name), count + 1, c->next + 1,
			       mr_plan_need(g->plan, g->at[node].in->stage));
	if (c->seen == 0)
		c->first = node;
	c->seen += g->at[node].in->span;
	if (c->seen < need)
		return MR_OK;
	c->seen = 0;
	c->next++;
	if (c->first == node)
		return mark(g, node, MR_INSTR_FIRST_SUM | LAST_SUM);
	MR_TRY(mark(g, c->first, MR_INSTR_FIRST_SUM));
	return mark(g, node, LAST_SUM);
}

/* Whole steps: the numbers of the micro-batches say which is first and last, in whichever list it stands. */
static mr_status mark_whole(const mr_unroll *g)
{
	uint32_t need = g->plan->contract.need;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		uint64_t at = mr_unroll_micro(g, i) % need;

		if (sums(g->at[i].in->op))
			MR_TRY(mark(g, i, (uint8_t)((at ? 0 : MR_INSTR_FIRST_SUM) | (at + 1 == need ? LAST_SUM : 0))));
	}
	return MR_OK;
}

static mr_status mark_sums(const mr_unroll *g)
{
	const mr_plan *p = g->plan;
	uint64_t n_counts = (mr_plan_has_stage_replicas(p) ? g->n_micro : g->n_micro / p->contract.need) + 1;
	mr_count *counts = calloc((size_t)p->n_pipes * p->n_stages, sizeof(*counts));
	uint32_t *needs = calloc(p->n_pipes * n_counts, sizeof(*needs));
	/* of each B or W, the next one of its sum */
	uint32_t *next = malloc(((size_t)g->n_nodes + 1) * sizeof(*next));
	mr_status st = counts && needs && next
			       ? MR_OK
			       : mr_fail(MR_ERESOURCE, "no memory for the counts of %u stages", p->n_stages);
	char name[MR_NODE_TEXT];

	if (st == MR_OK)
		fill_needs(g, needs, n_counts);
	for (uint32_t i = 0; st == MR_OK && i < g->n_nodes; i++) {
		const mr_instr *in = g->at[i].in;
		mr_count *c = &counts[mr_plan_at(p, mr_plan_part(p, in->stage, in->pipe), in->stage)];
		uint32_t first = c->first, seen = c->seen;

		if (!sums(in->op))
			continue;
		st = enter_sum(g, i, c, needs, n_counts);
		if (seen)
			next[c->last] = i;
		c->last = i;
		/* Between first and last: mark nothing; its count is complete. */
		if (st == MR_OK && seen && c->seen == 0)
			for (uint32_t k = next[first]; st == MR_OK && k != i; k = next[k])
				st = mark(g, k, 0);
	}
	for (uint32_t i = 0; st == MR_OK && i < g->n_nodes; i++)
		if (sums(g->at[i].in->op) && !(g->at[i].in->flags & KNOWN))
			st = mr_fail(MR_ECONFIG, "%s: its commit never gets its %u micro-batches at this stage",
				     mr_unroll_name(g, i, name), p->contract.need);
	free(counts);
	free(needs);
	free(next);
	return st;
}

/* --- insertion --- */

static mr_instr commit_instr(const mr_plan *p, mr_op op, uint16_t stage, uint8_t pipe, uint32_t count)
{
	uint64_t made = mr_contract_after(&p->contract, count) + (op == MR_OP_AVG ? 2 : 1);

	return (mr_instr){.op = (uint8_t)op, .span = 1, .stage = stage, .pipe = pipe,
			  .micro = (count + 1) * mr_plan_need(p, stage) - 1,
			  .target = (int32_t)made};
}

/* Whether U of @stage may stand directly behind the last sum. */
static bool is_simple(const mr_plan *p, uint16_t stage)
{
	return !p->contract.clip && !mr_stage_has(p, stage, MR_OP_AR);
}

/* Whether @in, the completing B or W of its stage, may carry out its step itself (lower.h). */
static bool is_inside(const mr_plan *p, const mr_instr *in, const mr_lower_opts *opts)
{
	uint16_t stage = in->stage;
	bool waited_for =
		stage > 0 && mr_plan_worker(p, in->pipe, (uint16_t)(stage - 1)) != mr_plan_worker(p, in->pipe, stage);

	/* Gradients of parameters that two stages share are added up first. */
	if (p->contract.tied && (stage == 0 || stage + 1 == p->n_stages))
		return false;
	/* Weights are predicted from an optimizer state that the step would change meanwhile. */
	return opts->update_inside && !p->contract.steal && p->contract.predict == MR_PREDICT_NONE &&
	       !p->contract.keep_read && !p->contract.whole_steps && is_simple(p, stage) &&
	       !(opts->handoff_first && in->op == MR_OP_B && waited_for && p->contract.flush != MR_FLUSH_NONE);
}

static mr_status append_at(mr_plan *to, const mr_plan *p, mr_section section, mr_op op, uint8_t pipe, uint16_t stage,
			   uint32_t count)
{
	return mr_plan_append(to, mr_plan_worker(p, pipe, stage), section, commit_instr(p, op, stage, pipe, count));
}

/* AR of the stages of @w that are due before instruction @i, or at the end of @count; without clipping each with its U.
 */
static mr_status append_reductions(mr_plan *to, const mr_plan *p, const mr_steps *steps, uint16_t w, mr_section section,
				   uint32_t i, uint32_t count)
{
	for (uint32_t k = 0; k < p->n_stages; k++)
		for (unsigned pipe = 0; pipe < p->n_pipes; pipe++) {
			uint16_t s = steps->stages[k];

			if (!mr_stage_has(p, s, MR_OP_AR) || mr_plan_worker(p, (uint8_t)pipe, s) != w ||
			    steps->before[mr_plan_at(p, (uint8_t)pipe, s)] != i)
				continue;
			MR_TRY(append_at(to, p, section, MR_OP_AR, (uint8_t)pipe, s, count));
			if (!p->contract.clip)
				MR_TRY(append_at(to, p, section, MR_OP_U, (uint8_t)pipe, s, count));
		}
	return MR_OK;
}

/* The first instruction of @w from @from on before which an AR is due, or MR_AT_END. */
static uint32_t next_early(const mr_plan *p, const mr_steps *steps, uint16_t w, uint32_t from)
{
	uint32_t next = MR_AT_END;

	for (size_t at = 0; at < (size_t)p->n_pipes * p->n_stages; at++)
		if (p->worker_of[at] == w && steps->before[at] >= from && steps->before[at] < next)
			next = steps->before[at];
	return next;
}

/* N that waits for an AR, or U that waits for all norms, of the stages of @w. */
static mr_status append_clipped(mr_plan *to, const mr_plan *p, const mr_steps *steps, uint16_t w, mr_section section,
				mr_op op, uint32_t count)
{
	unsigned n_pipes = op == MR_OP_N ? 1 : p->n_pipes;

	for (uint32_t k = 0; p->contract.clip && k < p->n_stages; k++)
		for (unsigned pipe = 0; pipe < n_pipes; pipe++) {
			uint16_t s = steps->stages[k];

			if (mr_plan_worker(p, (uint8_t)pipe, s) == w &&
			    (op == MR_OP_U ? mr_stage_has(p, s, MR_OP_U) : mr_stage_has(p, s, MR_OP_AR)))
				MR_TRY(append_at(to, p, section, op, (uint8_t)pipe, s, count));
		}
	return MR_OK;
}

/* After the last round before an average: AVG of each stage of which @w averages a range. */
static mr_status append_averages(mr_plan *to, const mr_plan *p, const mr_steps *steps, uint16_t w, mr_section section,
				 uint32_t count)
{
	if (!mr_contract_averages(&p->contract, mr_contract_after(&p->contract, count + (uint64_t)1)))
		return MR_OK;
	for (uint32_t k = 0; k < p->n_stages; k++)
		for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
			if (mr_plan_worker(p, (uint8_t)pipe, steps->stages[k]) == w)
				MR_TRY(append_at(to, p, section, MR_OP_AVG, (uint8_t)pipe, steps->stages[k], count));
	return MR_OK;
}

static mr_status append_block(mr_plan *to, const mr_plan *p, const mr_steps *steps, uint16_t w, mr_section section,
			      uint32_t count)
{
	MR_TRY(append_reductions(to, p, steps, w, section, MR_AT_END, count));
	MR_TRY(append_clipped(to, p, steps, w, section, MR_OP_N, count));
	MR_TRY(append_clipped(to, p, steps, w, section, MR_OP_U, count));
	return append_averages(to, p, steps, w, section, count);
}

static mr_status append_sum(mr_plan *to, const mr_plan *p, uint16_t w, mr_section section, mr_instr in,
			    const mr_lower_opts *opts)
{
	bool last = in.flags & LAST_SUM;
	uint32_t count = in.micro / mr_plan_need(p, in.stage);
	uint8_t part = p->contract.whole_steps ? in.pipe : mr_plan_part(p, in.stage, in.pipe);

	in.flags &= MR_INSTR_FIRST_SUM | MR_INSTR_KEEP | MR_INSTR_PASS;
	if (last && is_inside(p, &in, opts)) {
		in.flags |= MR_INSTR_UPDATE;
		in.target = (int32_t)mr_contract_after(&p->contract, count) + 1;
		return mr_plan_append(to, w, section, in);
	}
	MR_TRY(mr_plan_append(to, w, section, in));
	if (last && is_simple(p, in.stage))
		return mr_plan_append(to, w, section, commit_instr(p, MR_OP_U, in.stage, part, count));
	if (last && mr_plan_has_stage_replicas(p)) {
		MR_TRY(mr_plan_append(to, w, section, commit_instr(p, MR_OP_AR, in.stage, part, count)));
		return mr_plan_append(to, w, section, commit_instr(p, MR_OP_U, in.stage, part, count));
	}
	if (last && p->contract.clip && !mr_stage_has(p, in.stage, MR_OP_AR))
		return mr_plan_append(to, w, section, commit_instr(p, MR_OP_N, in.stage, 0, count));
	return MR_OK;
}

/*
 * Builds the list with its commits. Only flushing plans have blocks at the end of a count. Their counts follow each
 * other unmixed on every worker (or the plan would deadlock at the flush), and a worker that takes no part in a count
 * commits it at the end. Behind its last sum may come passes of stages without sums.
 */
static mr_status rebuild(mr_plan *to, const mr_plan *p, const mr_steps *steps, uint16_t w, mr_section section,
			 const mr_lower_opts *opts)
{
	const mr_list *l = mr_plan_list(p, w, section);
	uint32_t n_counts = mr_plan_steps(p), done = 0;
	uint32_t *ends = calloc(n_counts + 1u, sizeof(*ends)); /* index + 1 of the last instruction of each count */
	uint32_t early = next_early(p, steps, w, 0);
	bool flushes = p->contract.flush != MR_FLUSH_NONE;
	mr_status st = ends ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u commits", n_counts);

	for (uint32_t i = 0; st == MR_OK && flushes && i < l->n; i++)
		if (l->at[i].micro / p->contract.need < n_counts)
			ends[l->at[i].micro / p->contract.need] = i + 1;
	for (uint32_t i = 0; st == MR_OK && i < l->n; i++) {
		if (i == early) {
			st = append_reductions(to, p, steps, w, section, i, 0);
			early = next_early(p, steps, w, i + 1);
		}
		if (st == MR_OK && !sums(l->at[i].op))
			st = mr_plan_append(to, w, section, l->at[i]);
		else if (st == MR_OK)
			st = append_sum(to, p, w, section, l->at[i], opts);
		for (; st == MR_OK && flushes && done < n_counts && ends[done] && ends[done] <= i + 1; done++)
			st = append_block(to, p, steps, w, section, done);
	}
	for (; st == MR_OK && flushes && done < n_counts; done++)
		st = append_block(to, p, steps, w, section, done);
	free(ends);
	return st;
}

/* V of each stage of @w, before the first instruction that is no F. */
static mr_status insert_validation(mr_plan *to, const mr_plan *p, uint16_t w, mr_section section)
{
	mr_list *l = mr_plan_list(to, w, section);
	uint32_t at = 0, n = l->n;

	while (at < n && l->at[at].op == MR_OP_F)
		at++;
	for (uint16_t s = 0; s < p->n_stages; s++)
		if (mr_stage_owner(p, s) == w)
			MR_TRY(mr_plan_append(to, w, section, (mr_instr){.op = MR_OP_V, .span = 1, .stage = s}));
	for (uint32_t k = n; k < l->n; k++, at++) {
		mr_instr v = l->at[k];

		memmove(&l->at[at + 1], &l->at[at], (k - at) * sizeof(*l->at));
		l->at[at] = v;
	}
	return MR_OK;
}

static mr_status insert_commits(mr_plan *p, const mr_steps *steps, const mr_lower_opts *opts)
{
	mr_section used = mr_plan_steady(p) ? MR_BODY : MR_PROLOGUE; /* of a flushing plan */
	mr_plan *to;
	mr_status st;

	MR_TRY(mr_plan_create(p->n_stages, p->n_workers, p->n_pipes, &to));
	st = MR_OK;
	for (uint16_t w = 0; st == MR_OK && w < p->n_workers; w++)
		for (int s = 0; st == MR_OK && s < MR_N_SECTIONS; s++)
			if (p->contract.flush == MR_FLUSH_NONE || s == (int)used)
				st = rebuild(to, p, steps, w, (mr_section)s, opts);
	for (uint16_t w = 0; st == MR_OK && p->contract.flush == MR_FLUSH_VALIDATED && w < p->n_workers; w++)
		st = insert_validation(to, p, w, used);
	for (size_t i = 0; st == MR_OK && i < (size_t)p->n_workers * MR_N_SECTIONS; i++) {
		mr_list old = p->lists[i];

		p->lists[i] = to->lists[i];
		to->lists[i] = old;
	}
	mr_plan_destroy(to);
	return st;
}

/* Finds in the graph what is first and last in each sum, and where steps stand. */
static mr_status look(const mr_plan *plan, const mr_unroll *g, uint32_t *order, mr_steps *steps)
{
	MR_TRY(mr_unroll_order(g, order));
	if (plan->contract.coverage == MR_COVER_FORWARD)
		return MR_OK;
	MR_TRY(plan->contract.whole_steps ? mark_whole(g) : mark_sums(g));
	return mr_lower_eager(plan, g, order, steps);
}

mr_status mr_lower_commits(mr_plan *plan, const mr_lower_opts *opts)
{
	mr_steps steps;
	uint32_t *order;
	mr_unroll *g;
	mr_status st;

	if (plan->contract.flush == MR_FLUSH_VALIDATED && (plan->commits != 1 || mr_plan_steady(plan) == 0))
		return mr_fail(MR_ECONFIG,
			       "flush policy VALIDATED is for plans that repeat, with one commit an iteration");
	MR_TRY(mr_unroll_create(plan, mr_plan_distinct(plan), NULL, &g));
	order = malloc(((size_t)g->n_all + 1) * sizeof(*order));
	steps.before = malloc((size_t)plan->n_pipes * plan->n_stages * sizeof(*steps.before));
	steps.stages = malloc(plan->n_stages * sizeof(*steps.stages));
	st = order && steps.before && steps.stages
		     ? look(plan, g, order, &steps)
		     : mr_fail(MR_ERESOURCE, "no memory to order %u instructions", g->n_all);
	mr_unroll_destroy(g);
	if (st == MR_OK && plan->contract.coverage != MR_COVER_FORWARD)
		st = insert_commits(plan, &steps, opts);
	free(order);
	free(steps.before);
	free(steps.stages);
	return st;
}
