/*
 * exact_job.h - a problem of ordering in whole numbers, as the exact scheduler (exact.h) works on it.
 *
 * Costs become multiples of a unit: a decimal fraction of which all of them are multiples where there is one (exact),
 * else rounded down to about 1e-9 of the largest one, so that a bound of the rounded problem holds for the given one.
 *
 * Passes of one kind (F, I, W) at one stage are a chain, whose micro-batches go in ascending order. That loses nothing:
 * micro-batches are alike. Take any order, and call the k-th pass of each chain that of micro-batch k; no pass moves.
 * Say that a pass of chain c needs one of its micro-batch in chain d. When the k-th pass of c began, k passes of c had
 * begun, and so k different passes of d had ended and been handed over: the k-th of d to end was among them or earlier.
 * Passes of one chain take the same time, so the k-th to end is the k-th to begin. A worker keeps as many activations
 * as before, since these are counts: F begun less W ended.
 */
#ifndef MR_SCHEDULES_EXACT_JOB_H
#define MR_SCHEDULES_EXACT_JOB_H

#include "schedules/common/list_schedule.h"

#define MR_EXACT_NOWHERE UINT32_MAX

enum mr_exact_kind { MR_EXACT_F, MR_EXACT_I, MR_EXACT_W, MR_EXACT_KINDS };

/* A pass that another one waits for, or that waits for it, and how long after the end of the first. */
typedef struct mr_exact_edge {
	uint32_t pass;
	int64_t lag;
} mr_exact_edge;

typedef struct mr_exact_edges {
	mr_exact_edge at[3];
	uint32_t n;
} mr_exact_edges;

typedef struct mr_exact_job {
	uint16_t n_workers, n_stages;
	uint32_t n_micro;
	uint32_t n_chains;     /* 3 n_stages; chain 3 s + kind */
	uint32_t n_passes;     /* n_chains * n_micro; pass chain * n_micro + micro-batch */
	uint32_t most_beside;  /* the most chains of a worker */
	int64_t *work;         /* [n_chains] */
	int64_t *lag;          /* [n_stages] from a pass of this stage to one of its neighbour on another worker */
	uint16_t *worker;      /* [n_chains] */
	uint32_t *first;       /* [n_workers + 1] where the chains of a worker begin in chain */
	uint16_t *chain;       /* [n_chains] worker after worker */
	uint16_t *place;       /* [n_chains] which of its worker's chains it is */
	uint32_t *cap;         /* [n_workers] most activations, at most those there are */
	mr_exact_edges *needs, *feeds; /* [n_passes] what it waits for and what waits for it, neighbours in its chain
	                                  left aside; room for an activation of its stage, too */
	double unit;           /* of the times */
	bool exact;            /* the costs are multiples of the unit */
} mr_exact_job;

/** Set up @out for @job, which has one pipe; ranks, patience and whether passes are split do not matter. Errors:
 * MR_ECONFIG a cap below the floor; MR_ERESOURCE. */
mr_status mr_exact_job_init(mr_exact_job *out, const mr_list_job *job) MR_MUST_USE;
void mr_exact_job_fini(mr_exact_job *job);

/** The most that a worker works for one micro-batch. */
int64_t mr_exact_job_most_work(const mr_exact_job *job);

#endif
