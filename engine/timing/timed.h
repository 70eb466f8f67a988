/*
 * timed.h - a plan unrolled, with the begin and the end of each node: what walks (walk.c), periods (period.c) and plans
 * with stolen W (walk_stolen.c) are made of. For engine/timing alone.
 */
#ifndef MR_TIMING_TIMED_H
#define MR_TIMING_TIMED_H

#include "timing/bend.h"

/* What is walked, and how. All are borrowed. */
typedef struct mr_walked {
	const mr_plan *plan;
	const mr_cost *cost;
	const mr_walk_opts *opts;
	const mr_time_hooks *hooks;
	const mr_sharing *sharing; /* NULL: nothing is shared, or no instruction takes bytes */
} mr_walked;

typedef struct mr_timed {
	mr_unroll *g;
	double *begin, *end;       /* [n_all] */
	uint32_t *order, *binding; /* [n_all] a topological order, and the source that each node waited for last */
	mr_shared_use use;         /* with sharing */
} mr_timed;

/** Unroll @n_bodies iterations and find their times. @why: also order and binding sources, which take longer. The
 * caller calls fini, also after an error. Errors: those of mr_plan_walk. */
mr_status mr_timed_init(mr_timed *t, const mr_walked *of, uint32_t n_bodies, bool no_barrier, bool why) MR_MUST_USE;
void mr_timed_fini(mr_timed *t);

/** The walk of @n_bodies iterations, without a period. Errors: those of mr_plan_walk. */
mr_status mr_walk_make(const mr_walked *of, uint32_t n_bodies, mr_walk **out) MR_MUST_USE;

/** The same of a plan whose W are stolen, with its period unless the options leave it out. */
mr_status mr_walk_stolen(const mr_walked *of, uint32_t n_bodies, mr_walk **out) MR_MUST_USE;

/** The moves of mr_walk_steals, for options that were checked. */
mr_status mr_steals_find(const mr_walked *of, uint32_t n_bodies, mr_steal **out, size_t *n) MR_MUST_USE;

#endif
