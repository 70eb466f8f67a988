#include "ir/live.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "ir/unroll.h"

/* Of one stage in one pipe, by version: where in its worker's list it is committed, and where it is read last. */
typedef struct life {
	uint32_t *made, *last; /* [n] node + 1; 0: the start, or never */
	uint64_t n, latest;
} life;

/* Of stage @stage in @pipe; with turns, in its part @pipe. */
static bool is_mine(const mr_plan *p, const mr_instr *in, uint8_t pipe, uint16_t stage)
{
	return in->stage == stage && mr_plan_part(p, stage, in->pipe) == pipe;
}

/* The oldest version that an F of the count of @node, a commit at @stage, has read. */
static uint64_t oldest_read(const mr_unroll *g, uint32_t node)
{
	uint32_t need = mr_plan_need(g->plan, g->at[node].in->stage);
	uint64_t count = mr_unroll_micro(g, node) / need, oldest = UINT64_MAX;

	for (uint32_t k = 0; k < need; k++) {
		uint32_t f = g->f[g->at[node].in->stage * (size_t)g->n_micro + (size_t)(count * need + k)];
		uint64_t read = f == MR_NO_NODE ? UINT64_MAX : mr_unroll_read(g, f);

		oldest = read < oldest ? read : oldest;
	}
	return oldest;
}

/* The version that @node reads for its arithmetic; UINT64_MAX: none. */
static uint64_t reads(const mr_unroll *g, uint32_t node)
{
	const mr_contract *c = &g->plan->contract;
	const mr_instr *in = g->at[node].in;
	uint64_t target = in->op == MR_OP_V ? mr_unroll_target(g, node) : 0;

	if (in->op == MR_OP_V)
		return target ? target - 1 : UINT64_MAX;
	if (!mr_op_is_compute(in->op) || mr_instr_takes_made(g->plan, in))
		return UINT64_MAX;
	if (c->read_f == MR_READ_FIRST && in->op == MR_OP_F && mr_unroll_micro(g, node) % c->need)
		return UINT64_MAX;
	return mr_unroll_read(g, node);
}

static bool commits(const mr_instr *in)
{
	return in->op == MR_OP_U || in->op == MR_OP_AVG || (mr_op_is_compute(in->op) && in->flags & MR_INSTR_UPDATE);
}

static void note(life *l, uint64_t version, uint32_t node)
{
	if (version < l->n)
		l->last[version] = node + 1;
}

/* Commits and last reads of stage @s in @pipe, in the order of its worker's list. */
static void trace(const mr_unroll *g, uint8_t pipe, uint16_t s, life *l)
{
	uint16_t w = mr_plan_worker(g->plan, pipe, s);

	memset(l->made, 0, l->n * sizeof(*l->made));
	memset(l->last, 0, l->n * sizeof(*l->last));
	l->latest = 0;
	for (uint32_t i = g->first[w]; i < g->first[w + 1]; i++) {
		const mr_instr *in = g->at[i].in;

		if (!is_mine(g->plan, in, pipe, s))
			continue;
		note(l, reads(g, i), i);
		if (reads(g, i) != UINT64_MAX && mr_instr_takes_two(g->plan, in, mr_unroll_read(g, i)))
			note(l, mr_unroll_read(g, i) - 1, i);
		if (!commits(in))
			continue;
		if (g->plan->contract.keep_read)
			note(l, oldest_read(g, i), i);
		l->latest = mr_unroll_target(g, i);
		if (l->latest < l->n)
			l->made[l->latest] = i + 1;
	}
}

/* Most at once: right behind a commit. */
static uint16_t most(const life *l, uint32_t cap)
{
	uint32_t best = 1;

	for (uint64_t v = 1; v <= l->latest && v < l->n; v++) {
		uint32_t n = 1;

		for (uint64_t u = v > cap ? v - cap : 0; u < v; u++)
			n += l->last[u] > l->made[v];
		best = n > best ? n : best;
	}
	return (uint16_t)best;
}

static void find(const mr_unroll *g, life *l, uint16_t *live)
{
	for (uint16_t s = 0; s < g->plan->n_stages; s++) {
		live[s] = 1;
		for (unsigned p = 0; p < mr_plan_parts(g->plan, s); p++) {
			uint16_t n;

			trace(g, (uint8_t)p, s, l);
			n = most(l, g->plan->n_versions[s]);
			live[s] = n > live[s] ? n : live[s];
		}
	}
}

/* Iterations to look at: until all is steady, and as many more as pass until the oldest version of that time has been read. */
static uint32_t bodies(const mr_plan *plan)
{
	uint32_t most = 1, steady = mr_plan_steady(plan);

	for (uint16_t s = 0; s < plan->n_stages; s++)
		most = plan->n_versions[s] > most ? plan->n_versions[s] : most;
	return steady ? steady + most / (plan->commits ? plan->commits : 1) + 1 : 0;
}

mr_status mr_plan_live(const mr_plan *plan, uint16_t *live)
{
	life l = {0};
	mr_unroll *g;
	mr_status st = MR_OK;

	if (!plan->lowered)
		return mr_fail(MR_EINVAL, "which versions of a plan are live is known only when it is lowered");
	MR_TRY(mr_unroll_create(plan, bodies(plan), NULL, &g));
	l.n = g->n_versions + 1;
	l.made = calloc(l.n, sizeof(*l.made));
	l.last = calloc(l.n, sizeof(*l.last));
	if (l.made && l.last)
		find(g, &l, live);
	else
		st = mr_fail(MR_ERESOURCE, "no memory for the versions of %u stages", plan->n_stages);
	free(l.made);
	free(l.last);
	mr_unroll_destroy(g);
	return st;
}
