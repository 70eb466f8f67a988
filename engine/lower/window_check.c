/* window_check.c - the proof that a window of an endless plan may follow the one before (window_check.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "lower/window_check.h"

/* State of a stage while a window is checked. */
typedef struct mr_going {
	const mr_list *l;
	uint32_t at;
	uint64_t n_f, n_b;  /* F and B done since the start of the run */
	bool owes;          /* its last B is not committed yet */
} mr_going;

typedef struct mr_proof {
	const mr_plan *plan;
	uint64_t n, first, end; /* window; its steps, up to the last step of the plan */
	mr_going *stage;        /* [S] */
	uint64_t *read;         /* [S][S] what F of a micro-batch under way has read, by micro-batch modulo S */
	uint16_t *active;       /* [n_micro] */
	int32_t *batch;         /* [S] minibatch of a micro-batch under way at stage 0, modulo S */
} mr_proof;

#define NO_STAGE UINT16_MAX

static mr_status wrong(const mr_proof *p, uint16_t s, const mr_instr *in, const char *what, uint64_t x)
{
	return mr_fail(MR_ECONFIG, "window %" PRIu64 ", w%u %s m%" PRIu64 ": %s %" PRIu64, p->n, s,
		       mr_op_name((mr_op)in->op), mr_instr_micro(p->plan, in, p->n), what, x);
}

/* --- what was under way when the window before ended --- */

static void take_over(mr_proof *p, const mr_plan *before)
{
	uint16_t n_stages = p->plan->n_stages;

	for (uint16_t s = 0; s < n_stages; s++) {
		mr_going *g = &p->stage[s];
		const mr_list *l = before ? mr_plan_list(before, s, MR_BODY) : NULL;

		g->n_f = g->n_b = p->first;
		for (uint32_t i = 0; before && i < l->n; i++) {
			uint64_t m = mr_instr_micro(before, &l->at[i], p->n - 1);

			if (l->at[i].op != MR_OP_F || m < p->first)
				continue;
			p->read[(size_t)s * n_stages + m % n_stages] = mr_instr_read(before, &l->at[i], p->n - 1);
			if (s == 0)
				p->batch[m % n_stages] = l->at[i].target;
			g->n_f = m + 1;
		}
	}
}

/* Find the stage that each step updates; entries of @p->active for B outside the window stay unchanged. */
static void find_active(mr_proof *p)
{
	for (uint32_t i = 0; i < p->plan->n_micro; i++)
		p->active[i] = NO_STAGE;
	for (uint16_t s = 0; s < p->plan->n_stages; s++)
		for (uint32_t i = 0; i < p->stage[s].l->n; i++) {
			const mr_instr *in = &p->stage[s].l->at[i];

			if (in->op == MR_OP_B && !(in->flags & (MR_INSTR_PASS | MR_INSTR_KEEP)) &&
			    in->micro < p->plan->n_micro)
				p->active[in->micro] = s;
		}
}

/* --- instructions --- */

static mr_status check_f(mr_proof *p, uint16_t s, const mr_instr *in)
{
	const mr_plan *plan = p->plan;
	mr_going *g = &p->stage[s];
	uint64_t m = mr_instr_micro(plan, in, p->n), read = mr_instr_read(plan, in, p->n);

	if (in->flags)
		return wrong(p, s, in, "has flags", in->flags);
	if (m != g->n_f || g->owes)
		return wrong(p, s, in,
			     g->owes ? "stands between B and its commit, of micro-batch"
				     : "the next F here is that of micro-batch",
			     g->n_f);
	if (m - g->n_b >= plan->n_slots[s])
		return wrong(p, s, in, "takes one slot more than the stage has:", plan->n_slots[s]);
	if (read > g->n_b)
		return wrong(p, s, in, "reads a version where there are only", g->n_b);
	if (read > m || m - read > plan->contract.max_staleness)
		return wrong(p, s, in,
			     "its gradient would be older than the contract says:", plan->contract.max_staleness);
	if (m - read >= plan->n_versions[s]) /* its B reads it when version m is the latest */
		return wrong(p, s, in, "reads a version that is overwritten before its B: the stage keeps",
			     plan->n_versions[s]);
	if (in->target < 0 || (s && in->target != p->batch[m % plan->n_stages]))
		return wrong(p, s, in, "takes another minibatch than stage 0, or none; it says",
			     (uint64_t)(uint32_t)in->target);
	if (s == 0)
		p->batch[m % plan->n_stages] = in->target;
	p->read[(size_t)s * plan->n_stages + m % plan->n_stages] = read;
	return MR_OK;
}

static mr_status check_b(mr_proof *p, uint16_t s, const mr_instr *in)
{
	const mr_plan *plan = p->plan;
	mr_going *g = &p->stage[s];
	uint64_t m = mr_instr_micro(plan, in, p->n);
	uint16_t active;
	uint8_t flags;

	if (m != g->n_b || g->owes || m >= p->end)
		return wrong(p, s, in, "the next B or commit here is that of micro-batch", g->n_b - g->owes);
	if (m >= g->n_f)
		return wrong(p, s, in, "stands before its F, and F done here are", g->n_f);
	if (mr_instr_read(plan, in, p->n) != p->read[(size_t)s * plan->n_stages + m % plan->n_stages])
		return wrong(p, s, in, "reads another version than its F, which is",
			     p->read[(size_t)s * plan->n_stages + m % plan->n_stages]);
	active = p->active[in->micro];
	if (active == NO_STAGE)
		return wrong(p, s, in, "updates no stage in any window but", p->n);
	flags = s < active ? MR_INSTR_PASS : s > active ? MR_INSTR_KEEP : 0;
	if ((in->flags & ~(unsigned)MR_INSTR_UPDATE) != (unsigned)(flags | MR_INSTR_FIRST_SUM))
		return wrong(p, s, in, "has other flags than a step that updates stage", active);
	if (in->flags & MR_INSTR_UPDATE && mr_instr_target(plan, in, p->n) != m + 1)
		return wrong(p, s, in, "does not make version", m + 1);
	return MR_OK;
}

static mr_status check_u(const mr_proof *p, uint16_t s, const mr_instr *in)
{
	const mr_going *g = &p->stage[s];

	if (!g->owes || mr_instr_micro(p->plan, in, p->n) + 1 != g->n_b || mr_instr_target(p->plan, in, p->n) != g->n_b)
		return wrong(p, s, in, "does not follow its B; versions begun here are", g->n_b);
	return MR_OK;
}

static mr_status check_instr(mr_proof *p, uint16_t s, const mr_instr *in)
{
	if (in->stage != s || in->pipe || in->span != 1)
		return wrong(p, s, in, "is not of this worker's stage,", s);
	switch (in->op) {
	case MR_OP_F:
		return check_f(p, s, in);
	case MR_OP_B:
		return check_b(p, s, in);
	case MR_OP_U:
		return check_u(p, s, in);
	default:
		return wrong(p, s, in, "is no instruction of an endless plan; stage", s);
	}
}

/* Have the messages that @in takes arrived, and is the buffer free into which it writes? */
static bool is_ready(const mr_proof *p, uint16_t s, const mr_instr *in)
{
	const mr_going *before = s ? &p->stage[s - 1] : NULL,
		       *behind = s + 1 < p->plan->n_stages ? &p->stage[s + 1] : NULL;
	uint64_t m = mr_instr_micro(p->plan, in, p->n);

	if (in->op == MR_OP_F)
		return (!before || before->n_f > m) && (!behind || m < behind->n_b + p->plan->n_fwd[s + 1]);
	return in->op != MR_OP_B || ((!behind || behind->n_b > m) && (!before || m < before->n_b + p->plan->n_bwd[s]));
}

/* Advance stage @s as far as it can go by itself; *@moved: whether it carried out anything. */
static mr_status go(mr_proof *p, uint16_t s, bool *moved)
{
	mr_going *g = &p->stage[s];

	for (; g->at < g->l->n && is_ready(p, s, &g->l->at[g->at]); g->at++) {
		const mr_instr *in = &g->l->at[g->at];

		MR_TRY(check_instr(p, s, in));
		g->n_f += in->op == MR_OP_F;
		g->n_b += in->op == MR_OP_B;
		g->owes = in->op == MR_OP_B && !(in->flags & MR_INSTR_UPDATE);
		*moved = true;
	}
	return MR_OK;
}

static mr_status prove(mr_proof *p, const mr_plan *before, const mr_plan *window)
{
	bool moved = true;

	for (uint16_t s = 0; s < p->plan->n_stages; s++) {
		if (mr_plan_worker(p->plan, 0, s) != s)
			return mr_fail(
				MR_ECONFIG,
				"stage %u lives on worker %u, and an endless plan has each on the worker of its number",
				s, mr_plan_worker(p->plan, 0, s));
		p->stage[s].l = mr_plan_list(window, s, MR_BODY);
	}
	take_over(p, before);
	find_active(p);
	while (moved) {
		moved = false;
		for (uint16_t s = 0; s < p->plan->n_stages; s++)
			MR_TRY(go(p, s, &moved));
		for (uint16_t s = p->plan->n_stages; s-- > 0;)
			MR_TRY(go(p, s, &moved));
	}
	for (uint16_t s = 0; s < p->plan->n_stages; s++) {
		const mr_going *g = &p->stage[s];

		if (g->at < g->l->n)
			return wrong(p, s, &g->l->at[g->at],
				     "waits for what never comes; instructions of its worker before it:", g->at);
		if (g->n_b != p->end || g->owes)
			return mr_fail(MR_ECONFIG,
				       "window %" PRIu64 ", w%u: ends at step %" PRIu64 " instead of %" PRIu64, p->n, s,
				       g->n_b, p->end);
	}
	return MR_OK;
}

mr_status mr_window_check(const mr_plan *plan, const mr_plan *before, uint64_t n, const mr_plan *window)
{
	size_t n_stages = plan->n_stages;
	uint64_t last = plan->endless->n_steps, first = n * plan->n_micro;
	mr_proof p = {.plan = plan, .n = n, .first = first < last ? first : last};
	mr_status st;

	p.end = last - p.first < plan->n_micro ? last : p.first + plan->n_micro;
	p.stage = calloc(n_stages, sizeof(*p.stage));
	p.read = calloc(n_stages * n_stages, sizeof(*p.read));
	p.active = malloc(plan->n_micro * sizeof(*p.active));
	p.batch = calloc(n_stages, sizeof(*p.batch));
	st = p.stage && p.read && p.active && p.batch
		     ? prove(&p, before, window)
		     : mr_fail(MR_ERESOURCE, "no memory to check a window of %u steps", plan->n_micro);
	free(p.stage);
	free(p.read);
	free(p.active);
	free(p.batch);
	return st;
}
