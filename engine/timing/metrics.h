/*
 * metrics.h - the figures of a lowered plan, which `schedule` prints and the law tests of the systems compare.
 *
 * Times come from a walk (walk.h says what they mean), storage from the lowering, staleness from the versions in the
 * lists. Nothing is measured here.
 */
#ifndef MR_TIMING_METRICS_H
#define MR_TIMING_METRICS_H

#include "base/json.h"
#include "ir/plan.h"
#include "timing/walk.h"

typedef struct mr_metrics {
	uint16_t n_workers, n_stages;
	uint8_t n_pipes;
	uint32_t n_bodies;      /* iterations of the body that were walked */
	double makespan;        /* in the unit of the costs, as are period and busy */
	double period;          /* NaN for a plan without a body */
	double bubble_flush;    /* 1 - sum of busy / (workers * makespan) */
	double bubble_period;   /* 1 - longest busy / period; NaN for a plan without a body */
	double *busy;           /* [n_workers] */
	double *peak_until_w;   /* [n_workers] micro-batches of a worker's whole share kept at once, each until its W or
	                           B */
	double *peak_until_i;   /* [n_workers] the same, each until its I or B */
	double weight_copies;   /* of the whole model stored at once: versions, and private copies of the pipes */
	double gradient_copies; /* likewise: one buffer a pipe */
	uint16_t *slots;        /* [n_pipes][n_stages] activation slots */
	uint16_t *fwd, *bwd;    /* [n_pipes][n_stages] boundary buffers before the stage, forward and backward */
	uint16_t *versions;     /* [n_stages] weight versions stored at once */
	size_t n_stolen;        /* W that were taken from another worker (ir/plan.h, "Stealing") */
	bool steals;            /* the plan allows W to be taken by other workers */
	uint32_t *staleness;    /* [n_stages] most commits between the version a micro-batch reads and the one it is
	                           applied to */
	uint32_t most_stale;    /* of any stage */
} mr_metrics;

/**
 * Walk @plan for @n_bodies iterations with costs @f, @i, @w of a worker's whole share a micro-batch and @c a hand-over
 * between workers. The caller destroys *@out. Errors: those of mr_plan_walk; MR_EINVAL for costs that are negative, not
 * finite or all zero.
 */
mr_status mr_metrics_walk(const mr_plan *plan, double f, double i, double w, double c, uint32_t n_bodies,
			  mr_walk **out) MR_MUST_USE;

/** Collect the figures of a lowered @plan and its @walk; borrows neither. Errors: MR_EINVAL not lowered; MR_ERESOURCE.
 */
mr_status mr_metrics_create(const mr_plan *plan, const mr_walk *walk, mr_metrics **out) MR_MUST_USE;
void mr_metrics_destroy(mr_metrics *m);

/** Fill @staleness [plan->n_stages] of a lowered plan; repeating plans: of the steady state and of all before it. */
void mr_metrics_staleness(const mr_plan *plan, uint32_t *staleness);

/** Write @m as one object: the value behind a key such as "metrics". Figures that the plan has not are null. */
void mr_metrics_put(mr_json_writer *w, const mr_metrics *m);

#endif
