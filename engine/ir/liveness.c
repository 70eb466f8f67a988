#include "ir/liveness.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "ir/unroll.h"

/* Of one stage in one pipe, by version: where in its worker's list it is committed, and where it is read last. */
typedef struct life {
	uint32_t *made, *last; /* [n] node + 1; 0: the start, or never */
	int32_t *more;         /* [n + 1] change in the number of live versions from right after the commit of one
	                          version to right after the commit of the next */
	uint32_t *first, *own; /* [P * S + 1] into own: the instructions of each part and stage, in the order of their
	                          numbers */
	uint64_t n, latest;
} life;

static size_t place_of(const mr_plan *p, const mr_instr *in)
{
	return mr_plan_at(p, mr_plan_part(p, in->stage, in->pipe), in->stage);
}

/* Sorts the instructions by part and stage, so that each stage of a worker with many looks only at its own. */
static void sort(const mr_unroll *g, life *l)
{
	size_t places = (size_t)g->plan->n_pipes * g->plan->n_stages;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		l->first[place_of(g->plan, g->at[i].in) + 1]++;
	for (size_t k = 1; k <= places; k++)
		l->first[k] += l->first[k - 1];
	for (uint32_t i = g->n_nodes; i-- > 0;)
		l->own[--l->first[place_of(g->plan, g->at[i].in) + 1]] = i;
	memmove(l->first, l->first + 1, places * sizeof(*l->first)); /* each is now the begin of its own place */
	l->first[places] = g->n_nodes;
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

/* Commits and last reads of part @pipe of stage @s, in the order of its worker's list. */
static void trace(const mr_unroll *g, uint8_t pipe, uint16_t s, life *l)
{
	size_t place = mr_plan_at(g->plan, pipe, s);

	memset(l->made, 0, l->n * sizeof(*l->made));
	memset(l->last, 0, l->n * sizeof(*l->last));
	l->latest = 0;
	for (uint32_t k = l->first[place]; k < l->first[place + 1]; k++) {
		uint32_t i = l->own[k];
		const mr_instr *in = g->at[i].in;

		if (mr_unroll_is_away(g, i)) /* a W that was stolen */
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

/* Whole steps: commits of several workers follow each other, and what a gradient was computed on is live until the step
 * with it. So commits and last reads are numbered by versions. */
static void trace_whole(const mr_unroll *g, uint16_t s, life *l)
{
	memset(l->last, 0, l->n * sizeof(*l->last));
	for (l->latest = 0; l->latest + 1 < g->n_versions; l->latest++) {
		uint32_t v = (uint32_t)l->latest + 1, node = g->commit[mr_unroll_at(g, 0, s, v)];
		uint64_t need = g->plan->contract.need, first = (v - 1) * need;

		if (node == MR_NO_NODE)
			return;
		l->made[v] = 2 * v + 1;
		for (uint64_t m = first; m < first + need; m++)
			note(l, mr_unroll_read(g, g->f[s * (size_t)g->n_micro + (size_t)m]), 2 * v - 1);
	}
}

/* The first version from @from up to @to that is committed after the last read of @version; @to if none is. */
static uint64_t gone_at(const life *l, uint64_t version, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t v = from + (to - from) / 2;

		if (l->made[v] < l->last[version])
			from = v + 1;
		else
			to = v;
	}
	return to;
}

/* The most versions live at once, which can only be right after a commit. A version is live after every commit from its
 * own to its last read; at most @cap are. */
static uint16_t most(const life *l, uint32_t cap)
{
	uint64_t end = l->latest + 1 < l->n ? l->latest + 1 : l->n;
	int32_t n = 1, best = 1;

	memset(l->more, 0, (l->n + 1) * sizeof(*l->more));
	for (uint64_t u = 0; u + 1 < end; u++) {
		l->more[u + 1]++;
		l->more[gone_at(l, u, u + 1, u + 1 + cap < end ? u + 1 + cap : end)]--;
	}
	for (uint64_t v = 1; v < end; v++) {
		n += l->more[v];
		best = n > best ? n : best;
	}
	return (uint16_t)best;
}

static void find(const mr_unroll *g, life *l, uint16_t *live)
{
	for (uint16_t s = 0; s < g->plan->n_stages; s++) {
		live[s] = 1;
		for (unsigned p = 0; p < mr_plan_partial_sums(g->plan, s); p++) {
			uint16_t n;

			if (g->plan->contract.whole_steps)
				trace_whole(g, s, l);
			else
				trace(g, (uint8_t)p, s, l);
			n = most(l, g->plan->n_versions[s]);
			live[s] = n > live[s] ? n : live[s];
		}
	}
}

/* Iterations to look at: those until the plan is steady, and once more as many as pass until the oldest version of that
 * time has been read. */
static uint32_t bodies(const mr_plan *plan)
{
	uint32_t most = 1, steady = mr_plan_steady(plan);

	for (uint16_t s = 0; s < plan->n_stages; s++)
		most = plan->n_versions[s] > most ? plan->n_versions[s] : most;
	return steady ? steady + most / (plan->commits ? plan->commits : 1) + 1 : 0;
}

mr_status mr_plan_liveness(const mr_plan *plan, uint16_t *live)
{
	life l = {0};
	mr_unroll *g;
	mr_status st = MR_OK;

	if (!plan->lowered)
		return mr_fail(MR_EINVAL, "which versions of a plan are live is known only when it is lowered");
	MR_TRY(mr_unroll_create(plan, bodies(plan), NULL, &g));
	l.n = g->n_versions + 1;
	l.made = calloc(2 * l.n, sizeof(*l.made));
	l.more = calloc(l.n + 1, sizeof(*l.more));
	l.first = calloc((size_t)plan->n_pipes * plan->n_stages + 2, sizeof(*l.first));
	l.own = malloc(((size_t)g->n_nodes + 1) * sizeof(*l.own));
	if (l.made && l.more && l.first && l.own) {
		l.last = l.made + l.n;
		sort(g, &l);
		find(g, &l, live);
	} else {
		st = mr_fail(MR_ERESOURCE, "no memory for the versions of %u stages", plan->n_stages);
	}
	free(l.made);
	free(l.more);
	free(l.first);
	free(l.own);
	mr_unroll_destroy(g);
	return st;
}
