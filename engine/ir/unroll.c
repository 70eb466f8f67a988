#include "ir/unroll.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "ir/stage_ops.h"

/* A plan beyond this is a mistake: a million instructions is already a large one. */
#define MAX_NODES (1u << 26)

typedef struct mr_unroll_build {
	mr_unroll *g;
	bool no_barrier;
	uint32_t *n_norm, *n_commit; /* [n_versions] how many there are */
	size_t n_edges, room;
} mr_unroll_build;

void mr_unroll_destroy(mr_unroll *g)
{
	if (!g)
		return;
	free(g->first);
	free(g->at);
	free(g->edge_first);
	free(g->edge);
	free(g->storage);
	free(g->place_first);
	free(g->place_node);
	free(g->f);
	free(g->grad);
	free(g->sum);
	free(g->recompute);
	free(g->release);
	free(g->commit);
	free(g->reduce);
	free(g->norm);
	free(g->last_sum);
	free(g);
}

const char *mr_unroll_name(const mr_unroll *g, uint32_t node, char text[MR_NODE_TEXT])
{
	uint64_t join = node - (uint64_t)g->n_nodes;
	const mr_instr *in;

	if (node >= g->n_nodes) {
		snprintf(text, MR_NODE_TEXT, "all %s of version %" PRIu64, join < g->n_versions ? "norms" : "commits",
			 join < g->n_versions ? join : join - g->n_versions);
		return text;
	}
	in = g->at[node].in;
	snprintf(text, MR_NODE_TEXT, "w%u %s m%" PRIu64 " s%u p%u", g->at[node].worker, mr_op_name((mr_op)in->op),
		 mr_unroll_micro(g, node), in->stage, in->pipe);
	return text;
}

static uint32_t *new_table(uint64_t n)
{
	uint32_t *t = n < SIZE_MAX / sizeof(*t) ? malloc((n ? n : 1) * sizeof(*t)) : NULL;

	if (t)
		memset(t, 0xff, n * sizeof(*t));
	return t;
}

/* --- nodes --- */

static mr_status check_place(const mr_unroll *g, uint32_t node)
{
	const mr_plan *p = g->plan;
	const mr_instr *in = g->at[node].in;
	char name[MR_NODE_TEXT];

	if (in->stage >= p->n_stages || in->pipe >= p->n_pipes)
		return mr_fail(MR_ECONFIG, "%s: the plan has stages 0..%u and pipes 0..%u",
			       mr_unroll_name(g, node, name), p->n_stages - 1, p->n_pipes - 1);
	if (in->op >= MR_N_OPS || !mr_stage_has(p, in->stage, (mr_op)in->op))
		return mr_fail(MR_ECONFIG, "%s: the contract of the plan does not allow this op there",
			       mr_unroll_name(g, node, name));
	if (in->span == 0 || (in->span > 1 && in->op != MR_OP_W))
		return mr_fail(MR_ECONFIG, "%s: span %u, but only W handles several micro-batches at once",
			       mr_unroll_name(g, node, name), in->span);
	if (mr_unroll_is_away(g, node) && !(in->op == MR_OP_W && p->contract.steal && !(in->flags & MR_INSTR_ANY)))
		return mr_fail(MR_ECONFIG, "%s: stage %u of pipe %u lives on worker %u", mr_unroll_name(g, node, name),
			       in->stage, in->pipe, mr_plan_worker(p, in->pipe, in->stage));
	return MR_OK;
}

static mr_status unroll(mr_unroll *g)
{
	const mr_plan *p = g->plan;
	uint64_t total = 0;
	uint32_t k = 0;

	for (uint16_t w = 0; w < p->n_workers; w++)
		total += mr_plan_list(p, w, MR_PROLOGUE)->n + mr_plan_list(p, w, MR_EPILOGUE)->n +
			 (uint64_t)mr_plan_list(p, w, MR_BODY)->n * g->n_bodies;
	if (total > MAX_NODES)
		return mr_fail(MR_ERESOURCE, "the plan unrolls to %" PRIu64 " instructions; at most %u are looked at",
			       total, MAX_NODES);
	g->n_nodes = (uint32_t)total;
	g->first = malloc((p->n_workers + 1u) * sizeof(*g->first));
	g->at = malloc((total ? total : 1) * sizeof(*g->at));
	g->storage = new_table(total);
	if (!g->first || !g->at || !g->storage)
		return mr_fail(MR_ERESOURCE, "no memory to unroll %" PRIu64 " instructions", total);
	for (uint16_t w = 0; w < p->n_workers; w++) {
		g->first[w] = k;
		for (int section = 0; section < MR_N_SECTIONS; section++) {
			const mr_list *l = mr_plan_list(p, w, (mr_section)section);
			uint32_t from = section == MR_EPILOGUE ? g->n_bodies : 0;
			uint32_t to = section == MR_BODY ? g->n_bodies : from + 1;

			for (uint32_t n = from; n < to; n++)
				for (uint32_t i = 0; i < l->n; i++)
					g->at[k++] = (mr_unroll_node){&l->at[i], n, w, l->at[i].op};
		}
	}
	g->first[p->n_workers] = k;
	for (uint32_t i = 0; i < k; i++)
		MR_TRY(check_place(g, i));
	return MR_OK;
}

static bool commits(const mr_instr *in)
{
	return in->op == MR_OP_U || in->op == MR_OP_AVG ||
	       (in->flags & MR_INSTR_UPDATE && (in->op == MR_OP_B || in->op == MR_OP_W));
}

/* The number of micro-batches and versions: no stage may name more than the busiest stage has F or commits. */
static mr_status size_tables(mr_unroll *g)
{
	uint32_t n = g->plan->n_stages, places = n * g->plan->n_pipes, most_f = 0, most_u = 0;
	uint32_t *n_f = calloc(n + (size_t)places, sizeof(*n_f)), *n_u = n_f + n;
	uint64_t cells;

	if (!n_f)
		return mr_fail(MR_ERESOURCE, "no memory to count the instructions of %u stages", n);
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		n_f[g->at[i].in->stage] += g->at[i].in->op == MR_OP_F;
		n_u[mr_plan_at(g->plan, mr_plan_part(g->plan, g->at[i].in->stage, g->at[i].in->pipe),
			       g->at[i].in->stage)] += commits(g->at[i].in);
	}
	for (uint32_t s = 0; s < n; s++)
		most_f = n_f[s] > most_f ? n_f[s] : most_f;
	for (uint32_t i = 0; i < places; i++)
		most_u = n_u[i] > most_u ? n_u[i] : most_u;
	free(n_f);
	g->n_micro = most_f;
	g->n_versions = most_u + 1u;
	cells = n * g->n_micro + places * g->n_versions;
	if (cells > 16 * (uint64_t)g->n_nodes + (1u << 20))
		return mr_fail(
			MR_ECONFIG,
			"one stage has %u F and %u commits, but all %u stages together have only %u instructions",
			most_f, most_u, n, g->n_nodes);
	return MR_OK;
}

/* --- tables --- */

/* Sorts the compute instructions by (pipe, stage), so that looking at one stage of many does not walk its worker's
 * whole list. */
static mr_status sort_places(mr_unroll *g)
{
	size_t places = (size_t)g->plan->n_pipes * g->plan->n_stages;
	uint32_t n = 0, *next = calloc(places + 1, sizeof(*next));

	g->place_first = next;
	for (uint32_t i = 0; next && i < g->n_nodes; i++)
		next[mr_plan_at(g->plan, g->at[i].in->pipe, g->at[i].in->stage)] += mr_op_is_compute(g->at[i].in->op);
	for (size_t k = 0; next && k <= places; k++) {
		uint32_t count = next[k];

		next[k] = n;
		n += count;
	}
	g->place_node = malloc(((size_t)n + 1) * sizeof(*g->place_node));
	if (!next || !g->place_node)
		return mr_fail(MR_ERESOURCE, "no memory to sort %u instructions", g->n_nodes);
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (mr_op_is_compute(g->at[i].in->op))
			g->place_node[next[mr_plan_at(g->plan, g->at[i].in->pipe, g->at[i].in->stage)]++] = i;
	memmove(next + 1, next, places * sizeof(*next)); /* each entry is now the end of its own place */
	next[0] = 0;
	return MR_OK;
}

static mr_status put(mr_unroll *g, uint32_t *cell, uint32_t node, const char *what)
{
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (*cell != MR_NO_NODE)
		return mr_fail(MR_ECONFIG, "%s: %s for the second time, after %s", mr_unroll_name(g, node, a), what,
			       mr_unroll_name(g, *cell, b));
	*cell = node;
	return MR_OK;
}

/* Is @node the last of its count so far? In one list that is the later instruction; in lists that steal from each
 * other, or of pipes that add to one sum, it is the one that is summed later. */
static bool is_last_sum(const mr_unroll *g, uint32_t node, uint64_t version)
{
	const mr_instr *in = g->at[node].in;
	uint8_t part = mr_plan_part(g->plan, in->stage, in->pipe);
	uint32_t before = g->last_sum[mr_unroll_at(g, part, in->stage, version)];

	return before == MR_NO_NODE || (!g->plan->contract.steal && !g->plan->contract.whole_steps) ||
	       mr_unroll_micro(g, before) <= mr_unroll_micro(g, node);
}

/* What @node does with micro-batch @micro, one of its span. */
static mr_status enter_micro(mr_unroll *g, uint32_t node, uint64_t micro)
{
	const mr_instr *in = g->at[node].in;
	size_t at = in->stage * (size_t)g->n_micro + (size_t)micro;
	uint64_t version;

	if (in->op == MR_OP_F)
		MR_TRY(put(g, &g->f[at], node, "forward"));
	if (in->op == MR_OP_R)
		MR_TRY(put(g, &g->recompute[at], node, "recomputed"));
	if (in->op == MR_OP_B || in->op == MR_OP_I)
		MR_TRY(put(g, &g->grad[at], node, "input gradient"));
	if (in->op == MR_OP_B || in->op == MR_OP_W) {
		MR_TRY(put(g, &g->sum[at], node, "weight gradient"));
		version = mr_plan_applied_on(g->plan, in->stage, micro) + 1;
		if (version < g->n_versions && is_last_sum(g, node, version))
			g->last_sum[mr_unroll_at(g, mr_plan_part(g->plan, in->stage, in->pipe), in->stage, version)] =
				node;
	}
	/* A W on another worker may have a lower number than its I, and comes after it nevertheless. */
	if (in->op == MR_OP_I && g->sum[at] != MR_NO_NODE)
		return MR_OK;
	if ((in->op != MR_OP_F && in->op != MR_OP_R) || !mr_stage_has(g->plan, in->stage, MR_OP_I))
		g->release[at] = node;
	return MR_OK;
}

static mr_status enter_compute(mr_unroll *g, uint32_t node)
{
	const mr_instr *in = g->at[node].in;
	uint64_t micro = mr_unroll_micro(g, node), last = micro + in->span - 1u,
		 need = mr_plan_need(g->plan, in->stage);
	char name[MR_NODE_TEXT];

	if (last >= g->n_micro)
		return mr_fail(MR_ECONFIG, "%s: there are only %" PRIu64 " micro-batches, the first one is m0",
			       mr_unroll_name(g, node, name), g->n_micro);
	if (last / need != micro / need)
		return mr_fail(MR_ECONFIG,
			       "%s: its %u micro-batches belong to more than one commit (of %" PRIu64 " each)",
			       mr_unroll_name(g, node, name), in->span, need);
	for (; micro <= last; micro++)
		MR_TRY(enter_micro(g, node, micro));
	return MR_OK;
}

static mr_status enter_commit(mr_unroll_build *b, uint32_t node)
{
	mr_unroll *g = b->g;
	const mr_instr *in = g->at[node].in;
	uint64_t version = mr_unroll_target(g, node);
	char name[MR_NODE_TEXT];

	if (in->pipe >= mr_plan_partial_sums(g->plan, in->stage) && !mr_op_is_compute(in->op) &&
	    !g->plan->contract.whole_steps)
		return mr_fail(MR_ECONFIG, "%s: stage %u has parts 0..%u", mr_unroll_name(g, node, name), in->stage,
			       mr_plan_partial_sums(g->plan, in->stage) - 1);
	if (version < 1 || version >= g->n_versions)
		return mr_fail(MR_ECONFIG,
			       "%s: makes version %" PRIu64 " of a stage that has versions 1 to %" PRIu64 " to make",
			       mr_unroll_name(g, node, name), version, g->n_versions - 1);
	if (in->op == MR_OP_AR)
		return put(g, &g->reduce[mr_unroll_at(g, in->pipe, in->stage, version)], node, "reduction");
	if (in->op == MR_OP_N) {
		b->n_norm[version]++;
		return put(g, &g->norm[in->stage * (size_t)g->n_versions + (size_t)version], node, "norm");
	}
	b->n_commit[version]++;
	return put(g, &g->commit[mr_unroll_at(g, mr_plan_part(g->plan, in->stage, in->pipe), in->stage, version)], node,
		   "commit");
}

static mr_status fill_tables(mr_unroll_build *b)
{
	mr_unroll *g = b->g;
	uint64_t by_micro = g->plan->n_stages * g->n_micro, by_version = g->plan->n_stages * g->n_versions;
	uint64_t by_place = by_version * g->plan->n_pipes;

	g->f = new_table(by_micro);
	g->grad = new_table(by_micro);
	g->sum = new_table(by_micro);
	g->recompute = new_table(by_micro);
	g->release = new_table(by_micro);
	g->commit = new_table(by_place);
	g->reduce = new_table(by_place);
	g->norm = new_table(by_version);
	g->last_sum = new_table(by_place);
	b->n_norm = calloc(2 * g->n_versions, sizeof(*b->n_norm));
	if (!g->f || !g->grad || !g->sum || !g->recompute || !g->release || !g->commit || !g->reduce || !g->norm ||
	    !g->last_sum || !b->n_norm)
		return mr_fail(MR_ERESOURCE, "no memory for the tables of %u instructions", g->n_nodes);
	b->n_commit = b->n_norm + g->n_versions;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		uint8_t op = g->at[i].in->op;

		if (mr_op_is_compute(op))
			MR_TRY(enter_compute(g, i));
		if (op == MR_OP_AR || op == MR_OP_N || commits(g->at[i].in))
			MR_TRY(enter_commit(b, i));
	}
	return MR_OK;
}

/* --- edges --- */

static mr_status add_edge(mr_unroll_build *b, uint32_t from)
{
	mr_unroll *g = b->g;

	if (b->n_edges == b->room) {
		size_t room = b->room ? 2 * b->room : 2 * (size_t)g->n_nodes + 64;
		uint32_t *edge = b->n_edges < MR_NO_NODE ? realloc(g->edge, room * sizeof(*edge)) : NULL;

		if (!edge)
			return mr_fail(MR_ERESOURCE, "no memory for the edges of %u instructions", g->n_nodes);
		g->edge = edge;
		b->room = room;
	}
	g->edge[b->n_edges++] = from;
	return MR_OK;
}

static mr_status nobody(const mr_unroll *g, uint32_t node, const char *what, const mr_dep *dep)
{
	char name[MR_NODE_TEXT];

	return mr_fail(MR_ECONFIG, "%s waits for %s%" PRIu64 " of stage %u, which no instruction makes%s",
		       mr_unroll_name(g, node, name), what, dep->number, dep->stage,
		       g->n_bodies > 1 ? " in this or an earlier iteration" : "");
}

static mr_status edge_from_micro(mr_unroll_build *b, uint32_t node, const mr_dep *dep, const uint32_t *table,
				 const char *what)
{
	const mr_unroll *g = b->g;
	uint32_t from = table[dep->stage * (size_t)g->n_micro + (size_t)dep->number];
	char x[MR_NODE_TEXT], y[MR_NODE_TEXT];

	if (from == MR_NO_NODE)
		return nobody(g, node, what, dep);
	if (g->plan->n_pipes > 1 && g->at[from].in->pipe != dep->pipe)
		return mr_fail(MR_ECONFIG, "%s and %s are of one micro-batch in two pipes", mr_unroll_name(g, node, x),
			       mr_unroll_name(g, from, y));
	return add_edge(b, from);
}

/* Adds the edge from the last B or I of a count, all of which stand in the list of their stage's worker. */
static mr_status edge_from_tail(mr_unroll_build *b, uint32_t node, mr_dep *dep)
{
	const mr_unroll *g = b->g;
	uint32_t need = g->plan->contract.need, last = MR_NO_NODE;
	uint64_t first = dep->number / need * need;

	for (uint64_t m = first; m < first + need && m < g->n_micro; m++) {
		uint32_t at = g->grad[dep->stage * (size_t)g->n_micro + (size_t)m];

		if (at != MR_NO_NODE && (last == MR_NO_NODE || at > last))
			last = at;
	}
	return last == MR_NO_NODE ? nobody(g, node, "the gradient of m", dep) : add_edge(b, last);
}

/* From AR or U of dep->pipe. */
static mr_status edge_from_version(mr_unroll_build *b, uint32_t node, const mr_dep *dep, const uint32_t *table,
				   const char *what)
{
	const mr_unroll *g = b->g;
	uint32_t from = dep->number < g->n_versions ? table[mr_unroll_at(g, dep->pipe, dep->stage, dep->number)]
						    : MR_NO_NODE;

	return from == MR_NO_NODE ? nobody(g, node, what, dep) : add_edge(b, from);
}

/* From AR or U of every pipe, or part. */
static mr_status edges_from_pipes(mr_unroll_build *b, uint32_t node, mr_dep dep, const uint32_t *table,
				  const char *what)
{
	for (unsigned p = 0; p < mr_plan_partial_sums(b->g->plan, dep.stage); p++) {
		dep.pipe = (uint8_t)p;
		MR_TRY(edge_from_version(b, node, &dep, table, what));
	}
	return MR_OK;
}

static mr_status edges_from_sums(mr_unroll_build *b, uint32_t node, const mr_dep *dep)
{
	const mr_unroll *g = b->g;
	size_t before = b->n_edges;

	for (unsigned p = 0; p < g->plan->n_pipes && dep->number < g->n_versions; p++) {
		uint32_t from = g->last_sum[mr_unroll_at(g, (uint8_t)p, dep->stage, dep->number)];

		if (mr_contract_replicates(&g->plan->contract) && p != dep->pipe)
			continue;
		if (from != MR_NO_NODE && from != node)
			MR_TRY(add_edge(b, from));
	}
	return b->n_edges > before ? MR_OK : nobody(g, node, "the gradients for version ", dep);
}

/* @each: the number of nodes that each stage has that trains. */
static mr_status edge_from_join(mr_unroll_build *b, uint32_t node, const mr_dep *dep, const uint32_t *count,
				uint32_t each, uint64_t join, const char *what)
{
	const mr_unroll *g = b->g;
	uint32_t trains = 0;
	char name[MR_NODE_TEXT];

	for (uint16_t s = 0; s < g->plan->n_stages; s++)
		trains += mr_stage_has(g->plan, s, MR_OP_U);
	if (dep->number >= g->n_versions || count[dep->number] < trains * each)
		return mr_fail(MR_ECONFIG,
			       "%s waits for the %s of version %" PRIu64 " of all %u stages, and not all have one",
			       mr_unroll_name(g, node, name), what, dep->number, g->plan->n_stages);
	return add_edge(b, (uint32_t)(g->n_nodes + join + dep->number));
}

static mr_status resolve(mr_unroll_build *b, uint32_t node, mr_dep dep)
{
	const mr_unroll *g = b->g;
	uint32_t from;

	if (b->no_barrier && dep.kind > MR_DEP_TAIL)
		return MR_OK;
	switch (dep.kind) {
	case MR_DEP_F:
		return edge_from_micro(b, node, &dep, g->f, "F m");
	case MR_DEP_GRAD:
		for (uint64_t end = dep.number + dep.more; dep.number < end; dep.number++)
			MR_TRY(edge_from_micro(b, node, &dep, g->grad, "the gradient of m"));
		return edge_from_micro(b, node, &dep, g->grad, "the gradient of m");
	case MR_DEP_TURN:
		return edge_from_micro(b, node, &dep, g->sum, "the weight gradient of m");
	case MR_DEP_TAIL:
		return mr_unroll_is_away(g, node) ? edge_from_tail(b, node, &dep) : MR_OK;
	case MR_DEP_SUM:
		return edges_from_sums(b, node, &dep);
	case MR_DEP_AR:
		return edge_from_version(b, node, &dep, g->reduce, "the AR for version ");
	case MR_DEP_REDUCED:
		return edges_from_pipes(b, node, dep, g->reduce, "the AR for version ");
	case MR_DEP_COMMIT:
		if (mr_contract_replicates(&g->plan->contract))
			return edge_from_version(b, node, &dep, g->commit, "version ");
		return edges_from_pipes(b, node, dep, g->commit, "version ");
	case MR_DEP_REPLICAS:
		return edges_from_pipes(b, node, dep, g->commit, "version ");
	case MR_DEP_NORM:
		from = dep.number < g->n_versions ? g->norm[dep.stage * (size_t)g->n_versions + (size_t)dep.number]
						  : MR_NO_NODE;
		return from == MR_NO_NODE ? nobody(g, node, "the norm of version ", &dep) : add_edge(b, from);
	case MR_DEP_NORMS:
		return edge_from_join(b, node, &dep, b->n_norm, 1, 0, "norm");
	case MR_DEP_COMMITS:
		return edge_from_join(b, node, &dep, b->n_commit, g->plan->n_pipes, g->n_versions, "commit");
	default:
		return MR_OK; /* storage: see mr_unroll_storage */
	}
}

static mr_status fill_joins(mr_unroll_build *b)
{
	mr_unroll *g = b->g;

	for (uint64_t j = 0; j < 2 * g->n_versions; j++) {
		const uint32_t *table = j < g->n_versions ? g->norm : g->commit;
		size_t places = (size_t)g->plan->n_stages * (j < g->n_versions ? 1u : g->plan->n_pipes);
		uint64_t v = j % g->n_versions;

		g->edge_first[g->n_nodes + j] = (uint32_t)b->n_edges;
		for (size_t s = 0; s < places; s++)
			if (table[s * g->n_versions + v] != MR_NO_NODE)
				MR_TRY(add_edge(b, table[s * g->n_versions + v]));
	}
	g->edge_first[g->n_all] = (uint32_t)b->n_edges;
	return MR_OK;
}

static mr_status fill_edges(mr_unroll_build *b)
{
	mr_unroll *g = b->g;

	g->n_all = (uint32_t)(g->n_nodes + 2 * g->n_versions);
	g->edge_first = malloc((g->n_all + 1u) * sizeof(*g->edge_first));
	if (!g->edge_first)
		return mr_fail(MR_ERESOURCE, "no memory for the edges of %u instructions", g->n_nodes);
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		mr_dep deps[MR_DEPS_MAX];
		uint32_t n = mr_deps_of(g->plan, g->at[i].in, g->at[i].n, deps);

		g->edge_first[i] = (uint32_t)b->n_edges;
		for (uint32_t k = 0; k < n; k++)
			MR_TRY(resolve(b, i, deps[k]));
	}
	return fill_joins(b);
}

/* --- storage --- */

/* The node that gives back the boundary buffer with the input, or the gradient, of @micro at stage @user: the last that
 * reads it, or the U of the stage where that is a W on another worker (exec/features/stealing.c). */
static uint32_t giver(const mr_unroll *g, uint8_t pipe, uint16_t user, uint64_t micro)
{
	uint32_t node = g->release[user * (size_t)g->n_micro + (size_t)micro];
	uint64_t version = micro / g->plan->contract.need + 1;

	if (node == MR_NO_NODE || !mr_unroll_is_away(g, node))
		return node;
	return version < g->n_versions ? g->commit[mr_unroll_at(g, pipe, user, version)] : MR_NO_NODE;
}

mr_status mr_unroll_storage(mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward)
{
	const mr_plan *p = g->plan;
	uint16_t maker = forward ? (uint16_t)(stage - 1) : stage, user = forward ? stage : (uint16_t)(stage - 1);
	size_t at = mr_plan_at(p, pipe, stage), from = mr_plan_at(p, pipe, maker);
	uint32_t room = forward ? p->n_fwd[at] : p->n_bwd[at];
	uint32_t *held = new_table(room); /* the node whose output each buffer holds */
	mr_status st = held ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %u buffers", room);
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	for (uint32_t k = g->place_first[from]; st == MR_OK && k < g->place_first[from + 1]; k++) {
		uint32_t i = g->place_node[k], number;
		const mr_instr *in = g->at[i].in;
		bool writes = forward ? in->op == MR_OP_F : in->op == MR_OP_B || in->op == MR_OP_I;

		if (!writes)
			continue;
		number = mr_instr_out(p, in, g->at[i].n);
		if (number >= room) {
			st = mr_fail(MR_ECONFIG, "%s: writes %s buffer %u of boundary %u, which has %u",
				     mr_unroll_name(g, i, a), forward ? "forward" : "gradient", number, stage, room);
			break;
		}
		g->storage[i] = MR_NO_NODE;
		if (held[number] != MR_NO_NODE) {
			g->storage[i] = giver(g, pipe, user, mr_unroll_micro(g, held[number]));
			if (g->storage[i] == MR_NO_NODE)
				st = mr_fail(MR_ECONFIG,
					     "%s: writes %s buffer %u of boundary %u, which still holds what %s wrote",
					     mr_unroll_name(g, i, a), forward ? "forward" : "gradient", number, stage,
					     mr_unroll_name(g, held[number], b));
		}
		held[number] = i;
	}
	free(held);
	return st;
}

static mr_status fill_storage(mr_unroll *g)
{
	for (unsigned pipe = 0; pipe < g->plan->n_pipes; pipe++)
		for (uint16_t s = 1; s < g->plan->n_stages; s++) {
			MR_TRY(mr_unroll_storage(g, (uint8_t)pipe, s, true));
			if (mr_stage_hands_back(g->plan, s))
				MR_TRY(mr_unroll_storage(g, (uint8_t)pipe, s, false));
		}
	return MR_OK;
}

mr_status mr_unroll_create(const mr_plan *plan, uint32_t n_bodies, const mr_unroll_opts *opts, mr_unroll **out)
{
	mr_unroll_build b = {.no_barrier = opts && opts->no_barrier && plan->contract.flush == MR_FLUSH_BARRIER};
	mr_status st;

	*out = NULL;
	if (!plan->contract.need)
		return mr_fail(MR_ECONFIG, "the contract's need is 0: a commit sums at least one micro-batch");
	for (uint16_t s = 0; s < plan->n_stages; s++)
		if (plan->stage_replicas[s] > plan->n_pipes)
			return mr_fail(MR_ECONFIG, "%u workers take turns at stage %u, in %u pipes",
				       plan->stage_replicas[s], s, plan->n_pipes);
	b.g = calloc(1, sizeof(*b.g));
	if (!b.g)
		return mr_fail(MR_ERESOURCE, "no memory for a graph");
	b.g->plan = plan;
	b.g->n_bodies = n_bodies;
	st = unroll(b.g);
	if (st == MR_OK)
		st = size_tables(b.g);
	if (st == MR_OK)
		st = sort_places(b.g);
	if (st == MR_OK)
		st = fill_tables(&b);
	if (st == MR_OK)
		st = fill_edges(&b);
	if (st == MR_OK && plan->lowered && !(opts && opts->no_storage))
		st = fill_storage(b.g);
	free(b.n_norm);
	if (st == MR_OK)
		*out = b.g;
	else
		mr_unroll_destroy(b.g);
	return st;
}

uint32_t mr_plan_steady(const mr_plan *plan)
{
	uint64_t last = 0, n = 0, body = 0;

	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++) {
		n += plan->lists[i].n;
		body += i % MR_N_SECTIONS == MR_BODY ? plan->lists[i].n : 0;
		for (uint32_t k = 0; k < plan->lists[i].n; k++)
			last = plan->lists[i].at[k].micro > last ? plan->lists[i].at[k].micro : last;
	}
	if (!body || !plan->n_micro)
		return body ? 1 : 0;
	/* Numbers above the number of instructions are mistakes; the graph refuses them in few iterations as well. */
	last = last < n ? last : n;
	/* The commits of a synchronous start must lie in these iterations. */
	n = plan->contract.sync_steps * (uint64_t)plan->contract.need;
	last = last > n ? last - n : 0;
	return (uint32_t)(last / plan->n_micro + 3);
}

/* Does no number of the body refer to another iteration? */
static bool stands_alone(const mr_plan *plan)
{
	for (size_t i = 0; i < (size_t)plan->n_workers * MR_N_SECTIONS; i++) {
		const mr_list *l = &plan->lists[i];

		if (l->n && i % MR_N_SECTIONS != MR_BODY)
			return false;
		for (uint32_t k = 0; k < l->n; k++)
			if (l->at[k].micro >= plan->n_micro || l->at[k].span > plan->n_micro - l->at[k].micro)
				return false;
	}
	return true;
}

uint32_t mr_plan_distinct(const mr_plan *plan)
{
	const mr_contract *c = &plan->contract;
	bool flushes = c->flush == MR_FLUSH_BARRIER || c->flush == MR_FLUSH_LOCAL,
	     stored = !plan->lowered || plan->storage == MR_STORED;
	bool plain = plan->commits <= 1 && !c->delay && !c->sync_steps && !mr_contract_replicates(c) &&
		     !mr_plan_has_stage_replicas(plan);
	uint32_t steady = mr_plan_steady(plan);

	return steady && flushes && stored && plain && c->coverage != MR_COVER_BLOCK && stands_alone(plan) ? 1 : steady;
}
