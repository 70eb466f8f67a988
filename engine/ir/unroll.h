/*
 * unroll.h - a plan unrolled: every instruction instance as a node, with its edges from deps.h. For the lowering, the
 * walk, the checker and tests; executors ask deps.h directly.
 *
 * Nodes 0 .. n_nodes-1 are instances, worker after worker in list order (prologue, bodies, epilogue), so the list-order
 * predecessor of a node is the one before it. Behind them stand join nodes that cost nothing: "all norms of version v"
 * and "all commits of version v", which keep the number of edges linear. A storage edge (a buffer that must first be
 * given back) is kept apart from the others, since the lowering changes buffer numbers while it looks for the right
 * ones.
 *
 * Building fails with a message when an instruction stands on the wrong worker, exists twice, or waits for something
 * that no instruction makes within the unrolled iterations. For a repeating plan this means that no edge may lead from
 * a later iteration to an earlier one: otherwise the run could not stop at the end of an iteration.
 *
 * Tables by [stage * n_micro + micro] hold node numbers or MR_NO_NODE.
 */
#ifndef MR_IR_UNROLL_H
#define MR_IR_UNROLL_H

#include "ir/deps.h"
#include "ir/plan.h"

#define MR_NO_NODE UINT32_MAX

typedef struct mr_unroll_node {
	const mr_instr *in; /* NULL for a join */
	uint32_t n;         /* iteration */
	uint16_t worker;
	uint8_t op; /* of @in, copied here so that code which visits the sources of a node need not load each @in */
} mr_unroll_node;

typedef struct mr_unroll {
	const mr_plan *plan;    /* borrowed */
	uint32_t n_bodies;
	uint32_t n_nodes, n_all; /* instances; and joins */
	uint32_t *first;         /* [D + 1] first node of each worker */
	mr_unroll_node *at;      /* [n_nodes] */
	uint32_t *edge_first;    /* [n_all + 1] */
	uint32_t *edge;          /* sources of the edges into each node */
	uint32_t *storage;       /* [n_nodes] release that the node waits for, or MR_NO_NODE */
	uint32_t *place_first;   /* [P * S + 1] into place_node, by mr_plan_at */
	uint32_t *place_node;    /* the F, R, B, I and W of each (pipe, stage), in the order of their numbers */
	uint64_t n_micro;        /* micro-batches 0 .. n_micro-1 appear */
	uint64_t n_versions;     /* versions 1 .. n_versions-1 are committed */
	uint32_t *f, *grad, *sum, *recompute; /* F; B or I; B or W; R */
	uint32_t *release;       /* last of the instructions that use the saved activations of (stage, micro) */
	uint32_t *norm;          /* by [stage * n_versions + version]: N */
	uint32_t *commit, *reduce, *last_sum; /* by mr_unroll_at: U or flagged B, W; AR; last B or W of the count */
} mr_unroll;

typedef struct mr_unroll_opts {
	bool no_barrier; /* leave out what a BARRIER plan waits for between iterations: AR, N and U wait only for their
			    predecessor in the list, and F for no commit. Other plans are unchanged. */
	bool no_storage; /* leave all storage edges out; see mr_unroll_storage */
} mr_unroll_opts;

/** Unroll @plan. Errors: MR_ECONFIG (see above), MR_ERESOURCE. @out borrows @plan and its lists. */
mr_status mr_unroll_create(const mr_plan *plan, uint32_t n_bodies, const mr_unroll_opts *opts,
			   mr_unroll **out) MR_MUST_USE;
void mr_unroll_destroy(mr_unroll *g);

/**
 * Set the storage edges of one boundary from the plan's numbers: forward buffers of boundary @stage (written at
 * stage-1), or gradient buffers that @stage writes for stage-1. Errors: MR_ECONFIG for a buffer number out of range, or
 * one whose content is never released.
 */
mr_status mr_unroll_storage(mr_unroll *g, uint8_t pipe, uint16_t stage, bool forward) MR_MUST_USE;

/** A topological order of all nodes into @order [n_all]. Errors: MR_ECONFIG with a cycle in words, MR_ERESOURCE. */
mr_status mr_unroll_order(const mr_unroll *g, uint32_t *order) MR_MUST_USE;

/* A search that repeats while storage edges change, and reuses the part of its result that no change affects. */
typedef struct mr_order mr_order;

/** Prepare a search. It borrows @g, and @order [n_all], which it fills. Errors: MR_ERESOURCE. */
mr_status mr_order_create(const mr_unroll *g, uint32_t *order, mr_order **out) MR_MUST_USE;
void mr_order_destroy(mr_order *o);

/**
 * Search, or continue to search, and add the number of nodes visited to @visits. On a cycle: MR_ECONFIG. *@on_cycle is
 * then a node of the cycle that waits for storage, and there is no message; or it is MR_NO_NODE when no node of it
 * does, and the message describes the cycle. Node and order are those that a new search would give.
 */
mr_status mr_order_search(mr_order *o, uint32_t *on_cycle, uint64_t *visits) MR_MUST_USE;

/** The storage edges of one boundary may have changed (as in mr_unroll_storage). */
void mr_order_changed(mr_order *o, uint8_t pipe, uint16_t stage, bool forward);

/** Write @node as `w0 F m3 s1 p0` into @text (absolute numbers); returns @text. */
#define MR_NODE_TEXT 48
const char *mr_unroll_name(const mr_unroll *g, uint32_t node, char text[MR_NODE_TEXT]);

/* Index into the tables by pipe, stage and version. */
static inline size_t mr_unroll_at(const mr_unroll *g, uint8_t pipe, uint16_t stage, uint64_t version)
{
	return mr_plan_at(g->plan, pipe, stage) * g->n_versions + (size_t)version;
}

/* The last node of worker @w in iteration @n of the body; only where the worker's body is not empty. */
static inline uint32_t mr_unroll_body_end(const mr_unroll *g, uint16_t w, uint32_t n)
{
	uint32_t length = mr_plan_list(g->plan, w, MR_BODY)->n;

	return g->first[w] + mr_plan_list(g->plan, w, MR_PROLOGUE)->n + (n + 1) * length - 1;
}

/* What @node becomes when iteration n + @by becomes iteration n; MR_NO_NODE: it is gone. */
static inline uint32_t mr_unroll_moved(const mr_unroll *g, uint32_t node, uint32_t by)
{
	uint32_t join = node - g->n_nodes, shift = by * g->plan->commits;
	uint16_t w;

	if (node >= g->n_all)
		return MR_NO_NODE;
	if (node >= g->n_nodes)
		return join % g->n_versions >= shift ? node - shift : MR_NO_NODE;
	w = g->at[node].worker;
	shift = by * mr_plan_list(g->plan, w, MR_BODY)->n;
	return node >= g->first[w] + mr_plan_list(g->plan, w, MR_PROLOGUE)->n + shift ? node - shift : MR_NO_NODE;
}

static inline uint64_t mr_unroll_micro(const mr_unroll *g, uint32_t node)
{
	return mr_instr_micro(g->plan, g->at[node].in, g->at[node].n);
}

/* Is @node on another worker than its stage's (a stolen W)? */
static inline bool mr_unroll_is_away(const mr_unroll *g, uint32_t node)
{
	return mr_plan_worker(g->plan, g->at[node].in->pipe, g->at[node].in->stage) != g->at[node].worker;
}

static inline uint64_t mr_unroll_read(const mr_unroll *g, uint32_t node)
{
	return mr_instr_read(g->plan, g->at[node].in, g->at[node].n);
}

static inline uint64_t mr_unroll_target(const mr_unroll *g, uint32_t node)
{
	return mr_instr_target(g->plan, g->at[node].in, g->at[node].n);
}

/** Iterations after which a repeating plan is steady, with room to see it repeat; 0 for a plan without a body. */
uint32_t mr_plan_steady(const mr_plan *plan);

/**
 * Iterations that together show every relation of later ones: from the last of them on, each iteration relates to the
 * one before it as the last does, except that all version numbers grow alike. 1 of a plan that flushes and does not
 * refer to other iterations, else mr_plan_steady. For proofs, not for times.
 */
uint32_t mr_plan_distinct(const mr_plan *plan);

/**
 * Make the finite plan (prologue alone, MR_STORED, absolute numbers) of the prologue, @n_bodies iterations and the
 * epilogue of the lowered @plan. Buffer and slot numbers are those of @plan. The caller destroys @out. Errors:
 * MR_EINVAL not lowered; MR_ECONFIG too many micro-batches to number; MR_ERESOURCE.
 */
mr_status mr_plan_unroll(const mr_plan *plan, uint32_t n_bodies, mr_plan **out) MR_MUST_USE;

#endif
