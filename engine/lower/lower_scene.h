/*
 * lower_scene.h - an unrolled plan and its times under several cost tables, while the lowering changes its storage
 * edges. Not for others.
 *
 * Four things keep the cost of a change small. The first topological order is made with the storage edges that there
 * are; a boundary that gets more buffers waits for earlier releases, so the order mostly stays one, which is checked on
 * the edges that changed; where it does not, the search for another goes on from where it met a changed edge first. All
 * cost tables are timed in one pass over the graph. After a change only the instructions are timed again whose begin or
 * end differs. And the critical path is followed only from where it differs. The times, and what is binding, are those
 * of mr_unroll_times in every case.
 */
#ifndef MR_LOWER_LOWER_SCENE_H
#define MR_LOWER_LOWER_SCENE_H

#include "ir/unroll.h"

/* What is needed to follow a change: made with the first. */
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
	mr_order *search;     /* for one; NULL: none is under way */
	bool ordered;         /* order is one with the storage edges as they are */
	bool timed;           /* begin and end are those of cost, with these edges */
	const mr_cost *cost;
	double *begin, *end;  /* [n_all] */
	uint32_t *binding;    /* [n_all] what each waited for last, as mr_unroll_times says */
	mr_scene_change change;
	uint64_t visits;      /* instructions ordered or timed so far */
} mr_scene;

/** @shared: the graph that would be made, whose storage edges the scene takes for its own; or NULL. */
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

/** The storage edges are about to change. Errors: MR_ERESOURCE. */
mr_status mr_scene_prepare(mr_scene *s) MR_MUST_USE;

/**
 * Those of one boundary have changed: a search for an order is put right; and after mr_scene_prepare times are put
 * right, or with the order forgotten.
 */
void mr_scene_changed(mr_scene *s, uint8_t pipe, uint16_t stage, bool forward);

/** When the last instruction ends. */
double mr_scene_finish(const mr_scene *s);

/**
 * The first node from the end of a critical path, which ends at @last, that waited last for storage, or MR_NO_NODE.
 * What has been looked at for it is not looked at again while it stays as it is. After mr_scene_prepare.
 */
uint32_t mr_scene_held(mr_scene *s, double last);

/** The next such node before @node, which mr_scene_held has found. */
uint32_t mr_scene_held_before(mr_scene *s, uint32_t node);

#endif
