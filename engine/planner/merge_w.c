#include "planner/merge_w.h"

#include <stdlib.h>
#include <string.h>

#include "ir/stage_ops.h"

/* Has any list of @plan a W of several micro-batches? */
static bool has_span(const mr_plan *plan)
{
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < plan->lists[i].n; k++)
			if (plan->lists[i].at[k].span > 1)
				return true;
	return false;
}

bool mr_plan_may_merge(const mr_plan *plan)
{
	const mr_contract *c = &plan->contract;

	return !plan->lowered && !plan->endless && c->coverage == MR_COVER_TRAIN && c->flush != MR_FLUSH_NONE &&
	       c->sum == MR_SUM_ASCENDING && !c->steal && !c->joint_w && !c->release_sums &&
	       !mr_contract_replicates(c) && !mr_plan_has_stage_replicas(plan) &&
	       !mr_plan_length(plan, MR_PROLOGUE) && !has_span(plan);
}

/* One stage of one pipe in the list of its worker. */
typedef struct part {
	const mr_list *list;
	uint16_t stage;
	uint8_t pipe;
} part;

static bool is_of(const part *p, const mr_instr *in)
{
	return in->stage == p->stage && in->pipe == p->pipe;
}

static bool is_w(const part *p, const mr_instr *in)
{
	return is_of(p, in) && (in->op == MR_OP_B || in->op == MR_OP_W);
}

/* The next span of W behind position *@at of the list, at most @most micro-batches; span 0: there is none. */
static mr_instr next_span(const part *p, uint32_t *at, uint32_t most)
{
	mr_instr out = {.op = MR_OP_W, .pipe = p->pipe, .stage = p->stage};

	for (; *at < p->list->n; ++*at) {
		const mr_instr *in = &p->list->at[*at];

		if (!is_w(p, in))
			continue;
		if (out.span && (in->micro != out.micro + out.span || out.span == most))
			break;
		out.micro = out.span ? out.micro : in->micro;
		out.span++;
	}
	return out;
}

/* Does nothing recompute, and do two of its micro-batches follow each other? */
static bool gains(const part *p)
{
	bool spans = false;
	mr_instr in;

	for (uint32_t k = 0; k < p->list->n; k++)
		if (is_of(p, &p->list->at[k]) && p->list->at[k].op == MR_OP_R)
			return false;
	for (uint32_t at = 0; (in = next_span(p, &at, UINT8_MAX)).span;)
		spans |= in.span > 1;
	return spans;
}

/* The list of worker @w anew, with the W of the stages that merge behind all else. */
typedef struct late {
	mr_plan *plan;
	const bool *merges;
	bool *part_merges; /* [pipes][stages] */
	mr_list was;
	uint16_t worker;
} late;

static bool find_parts(late *l)
{
	bool any = false;

	for (unsigned p = 0; p < l->plan->n_pipes; p++)
		for (uint16_t s = 0; s < l->plan->n_stages; s++) {
			size_t at = mr_plan_at(l->plan, (uint8_t)p, s);
			part of = {&l->was, s, (uint8_t)p};

			l->part_merges[at] = l->plan->worker_of[at] == l->worker && l->merges[s] &&
					     mr_stage_has(l->plan, s, MR_OP_W) && gains(&of);
			any |= l->part_merges[at];
		}
	return any;
}

static mr_status put_passes(late *l)
{
	for (uint32_t k = 0; k < l->was.n; k++) {
		mr_instr in = l->was.at[k];
		bool moves = l->part_merges[mr_plan_at(l->plan, in.pipe, in.stage)];

		if (moves && in.op == MR_OP_W)
			continue;
		in.op = moves && in.op == MR_OP_B ? MR_OP_I : in.op;
		MR_TRY(mr_plan_append(l->plan, l->worker, MR_BODY, in));
	}
	return MR_OK;
}

/* The last stage first, whose activations have been there for the shortest time. */
static mr_status put_w(late *l)
{
	for (uint16_t s = l->plan->n_stages; s-- > 0;)
		for (unsigned p = 0; p < l->plan->n_pipes; p++) {
			part of = {&l->was, s, (uint8_t)p};
			mr_instr in;

			if (!l->part_merges[mr_plan_at(l->plan, (uint8_t)p, s)])
				continue;
			for (uint32_t at = 0; (in = next_span(&of, &at, UINT8_MAX)).span;)
				MR_TRY(mr_plan_append(l->plan, l->worker, MR_BODY, in));
		}
	return MR_OK;
}

static mr_status merge_worker(late *l, bool *merged)
{
	mr_list *list = mr_plan_list(l->plan, l->worker, MR_BODY);
	mr_status st;

	l->was = *list;
	if (!find_parts(l))
		return MR_OK;
	*merged = true;
	*list = (mr_list){0};
	st = put_passes(l);
	if (st == MR_OK)
		st = put_w(l);
	free(l->was.at);
	return st;
}

mr_status mr_plan_merge_w(mr_plan *plan, const bool *merges, bool *merged)
{
	late l = {.plan = plan, .merges = merges};
	mr_status st = MR_OK;

	*merged = false;
	if (!mr_plan_may_merge(plan))
		return MR_OK;
	l.part_merges = calloc((size_t)plan->n_pipes * plan->n_stages, sizeof(*l.part_merges));
	if (!l.part_merges)
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", plan->n_stages);
	for (; st == MR_OK && l.worker < plan->n_workers; l.worker++)
		st = merge_worker(&l, merged);
	free(l.part_merges);
	return st;
}
