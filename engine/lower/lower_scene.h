/*
 * lower_scene.h - an unrolled plan and its times under several cost tables, while the lowering changes its storage
 * edges. For files of the lowering only.
 *
 * Four things keep the cost of a change small. The first topological order is made with the storage edges of that
 * moment; a boundary that gets more buffers waits for earlier releases, so the order mostly stays valid, which is
 * checked on the edges that changed. Otherwise the search for another order resumes where it first met a changed edge.
 * All cost tables are timed in one pass over the graph. After a change only the instructions whose begin or end differs
 * are timed again. And the critical path is followed anew only from where it differs. The times, and the binding
 * sources, are those of mr_unroll_times in every case.
 */
#ifndef MR_LOWER_LOWER_SCENE_H
#define MR_LOWER_LOWER_SCENE_H

#include "timing/unroll_time.h"

/* State for following changes, made at the first change. */
typedef struct mr_scene_change {
	uint32_t *storage;                /* [n_nodes] storage edges that the times were made with */
	uint32_t *wait_first, *wait_next; /* [n_all], [n_nodes] nodes whose storage edge comes from a node, linked */
	uint32_t *out_first, *out;        /* the edges of the graph, by their sources */
	uint64_t *dirty;                  /* bits by place in the order: to be timed again */
	uint32_t *path, n_path;           /* [n_all] a critical path from its end, as far as it was followed */
	uint32_t *on_path;                /* [n_all] the place of a node in it */
} mr_scene_change;

typedef struct mr_scene {
	mr_unroll *g;
	bool shares; /* g is the caller's */
	uint32_t *order, *at; /* [n_all] a topological order; the place of each node in it */
	mr_order *search;     /* the search for an order; NULL: none is under way */
	bool ordered;         /* order is valid for the present storage edges */
	bool timed;           /* begin and end are those of cost, with these edges */
	const mr_cost *cost;
	double *begin, *end;  /* [n_all] */
	uint32_t *binding;    /* [n_all] the source that each node waited for last (mr_unroll_times) */
	mr_scene_change change;
	uint64_t visits;      /* instructions ordered or timed so far */
} mr_scene;

/** @shared: a graph of the same plan and iterations, whose storage edges the scene then changes; NULL: make one. */
mr_status mr_scene_init(mr_scene *s, const mr_plan *plan, uint32_t n_bodies, bool no_barrier,
			mr_unroll *shared) MR_MUST_USE;
void mr_scene_fini(mr_scene *s);

/**
 * Order with the storage edges as they are, unless that is done. Errors: as mr_order_search; without @on_cycle as
 * mr_unroll_order.
 */
mr_status mr_scene_order(mr_scene *s, uint32_t *on_cycle) MR_MUST_USE;

/** Order without any storage edge: for mr_scene_time_all alone. Errors: as mr_unroll_order. */
mr_status mr_scene_order_plain(mr_scene *s) MR_MUST_USE;

/**
 * Under each of @n cost tables, when the last instruction ends (@finish [n]) and by how much the slowest worker
 * advances in the last @span iterations (@advance [n]); @storage: with storage edges, else as if buffers were without
 * limit. Errors: MR_ERESOURCE.
 */
mr_status mr_scene_time_all(mr_scene *s, const mr_cost *costs, uint32_t n, uint32_t span, bool storage, double *finish,
			    double *advance) MR_MUST_USE;

/** Fill begin and end under @cost; the scene is ordered. */
void mr_scene_time(mr_scene *s, const mr_cost *cost);

/** Call before the storage edges change. Errors: MR_ERESOURCE. */
mr_status mr_scene_prepare(mr_scene *s) MR_MUST_USE;

/**
 * Call after the storage edges of one boundary have changed. A search for an order is corrected; after mr_scene_prepare
 * the times are corrected, too, or are discarded together with the order.
 */
void mr_scene_changed(mr_scene *s, uint8_t pipe, uint16_t stage, bool forward);

/** When the last instruction ends. */
double mr_scene_finish(const mr_scene *s);

/**
 * The first node from the end of a critical path, which ends at @last, that waited last for storage, or MR_NO_NODE.
 * Nodes that were visited for this and have not changed are not visited again. Call it after mr_scene_prepare.
 */
uint32_t mr_scene_held(mr_scene *s, double last);

/** The next such node before @node, which mr_scene_held has found. */
uint32_t mr_scene_held_before(mr_scene *s, uint32_t node);

#endif
