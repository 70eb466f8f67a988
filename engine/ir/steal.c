#include "ir/steal.h"

#include <stdlib.h>

#include "ir/unroll.h"

/* The lists while they are rewritten. */
typedef struct rewrite {
	const mr_plan *plan; /* with a body */
	uint32_t n_bodies;
	const mr_plan *flat; /* its iterations one after the other */
	mr_plan *to;
	const mr_steal *steal;
	size_t n;
	bool **gone;    /* [D][n_bodies * length of the body] taken by other workers, or by the owner out of order */
	size_t *next;   /* [D] the next move of each thief */
} rewrite;

uint32_t mr_steal_count(const mr_plan *plan, uint16_t worker)
{
	const mr_list *l = mr_plan_list(plan, worker, MR_BODY);
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		n += (l->at[i].flags & MR_INSTR_ANY) != 0;
	return n;
}

static uint32_t length(const rewrite *r, uint16_t w)
{
	return mr_plan_list(r->plan, w, MR_BODY)->n;
}

static mr_status check_move(const rewrite *r, const mr_steal *s)
{
	const mr_plan *p = r->plan;
	size_t at;

	if (s->owner >= p->n_workers || s->thief >= p->n_workers || s->n >= r->n_bodies ||
	    s->from >= length(r, s->owner) || s->to > length(r, s->thief) ||
	    !(mr_plan_list(p, s->owner, MR_BODY)->at[s->from].flags & MR_INSTR_ANY))
		return mr_fail(MR_EINVAL, "worker %u cannot have taken instruction %u of worker %u in iteration %u",
			       s->thief, s->from, s->owner, s->n);
	at = (size_t)s->n * length(r, s->owner) + s->from;
	if (r->gone[s->owner][at])
		return mr_fail(MR_EINVAL, "instruction %u of worker %u was taken twice in iteration %u", s->from,
			       s->owner, s->n);
	r->gone[s->owner][at] = true;
	return MR_OK;
}

static mr_status put(rewrite *r, uint16_t worker, mr_instr in)
{
	in.flags &= (uint8_t)~MR_INSTR_ANY;
	return mr_plan_append(r->to, worker, MR_PROLOGUE, in);
}

/* Append the W that @w took in iteration @n before instruction @to of its own. */
static mr_status put_taken(rewrite *r, uint16_t w, uint32_t n, uint32_t to)
{
	for (size_t *k = &r->next[w]; *k < r->n; ++*k) {
		const mr_steal *s = &r->steal[*k];

		if (s->thief != w)
			continue;
		if (s->n != n || s->to != to)
			return MR_OK;
		MR_TRY(put(
			r, w,
			mr_plan_list(r->flat, s->owner, MR_PROLOGUE)->at[(size_t)n * length(r, s->owner) + s->from]));
	}
	return MR_OK;
}

static mr_status write_list(rewrite *r, uint16_t w)
{
	const mr_instr *own = mr_plan_list(r->flat, w, MR_PROLOGUE)->at;
	uint32_t len = length(r, w);

	for (uint32_t n = 0; n < r->n_bodies; n++)
		for (uint32_t i = 0; i <= len; i++) {
			MR_TRY(put_taken(r, w, n, i));
			if (i < len && !r->gone[w][(size_t)n * len + i])
				MR_TRY(put(r, w, own[(size_t)n * len + i]));
		}
	for (; r->next[w] < r->n; r->next[w]++)
		if (r->steal[r->next[w]].thief == w)
			return mr_fail(MR_EINVAL, "worker %u: its moves are not in the order of its list", w);
	return MR_OK;
}

static mr_status fill(rewrite *r)
{
	const mr_plan *p = r->plan;

	r->gone = calloc(p->n_workers, sizeof(*r->gone));
	r->next = calloc(p->n_workers, sizeof(*r->next));
	if (!r->gone || !r->next)
		return mr_fail(MR_ERESOURCE, "no memory for the moves of %u workers", p->n_workers);
	for (uint16_t w = 0; w < p->n_workers; w++) {
		r->gone[w] = calloc((size_t)r->n_bodies * length(r, w) + 1, sizeof(**r->gone));
		if (!r->gone[w])
			return mr_fail(MR_ERESOURCE, "no memory for the moves of %u workers", p->n_workers);
	}
	for (size_t i = 0; i < r->n; i++)
		MR_TRY(check_move(r, &r->steal[i]));
	for (uint16_t w = 0; w < p->n_workers; w++) {
		mr_plan_list(r->to, w, MR_PROLOGUE)->n = 0;
		MR_TRY(write_list(r, w));
	}
	return MR_OK;
}

mr_status mr_steal_plan(const mr_plan *plan, uint32_t n_bodies, const mr_steal *steal, size_t n, mr_plan **out)
{
	rewrite r = {.plan = plan, .n_bodies = n_bodies, .steal = steal, .n = n};
	mr_plan *flat = NULL;
	mr_status st;

	for (uint16_t w = 0; w < plan->n_workers; w++)
		if (mr_plan_list(plan, w, MR_PROLOGUE)->n || mr_plan_list(plan, w, MR_EPILOGUE)->n)
			return mr_fail(MR_EINVAL,
				       "only the W of a plan that is a body alone can have been taken by others");
	MR_TRY(mr_plan_unroll(plan, n_bodies, &flat));
	st = mr_plan_unroll(plan, n_bodies, &r.to);
	r.flat = flat;
	if (st == MR_OK)
		st = fill(&r);
	for (uint16_t w = 0; r.gone && w < plan->n_workers; w++)
		free(r.gone[w]);
	free(r.gone);
	free(r.next);
	mr_plan_destroy(flat);
	if (st == MR_OK)
		*out = r.to;
	else
		mr_plan_destroy(r.to);
	return st;
}
