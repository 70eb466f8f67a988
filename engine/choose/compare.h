/*
 * compare.h - every registered system on one configuration's model, data and machine: the time of a step and its
 * memory.
 *
 * All rows compare a step of train.batch samples: systems that flush, and systems that gather several micro-batches
 * into a commit without flushing, cut it into the same number of micro-batches; a system that commits after each takes
 * it as one. Each has the plan, the cut and the memory layout that train would give it. A system whose users choose the
 * chunks of a worker is a row with its default and a row with as many as the model's cut points allow. The baseline is
 * sequential, with a step as one micro-batch and all cores of the machine inside each operator; times that were
 * measured with another number of threads are changed by the ratio of the model's (costs/cost_model.h).
 */
#ifndef MR_CHOOSE_COMPARE_H
#define MR_CHOOSE_COMPARE_H

#include <stdio.h>

#include "job/job.h"
#include "costs/costs.h"
#include "session/session.h"
#include "ir/trace.h"
#include "schedules/registry.h"

typedef struct mr_compare_row {
	const char *system;
	const mr_sched_ops *ops;
	uint32_t chunks;         /* 0: the system's default */
	bool auto_cut;           /* the stages in the configuration do not fit it: the automatic cut is used */
	char label[64];          /* the system, and its chunks if not the default */
	char why[400];           /* the reason why it cannot run; "": it can */
	uint32_t n_micro;
	uint16_t n_workers;
	uint32_t n_shared;       /* cores that its workers share; 0: each has its own */
	double step_s, bubble;   /* predicted; NAN: unknown. Bubble: idle share, mean of the workers */
	uint32_t above, below;   /* rows above and below it that may be as fast: the margin does not keep them apart */
	uint64_t worker_bytes;   /* of the worker with the largest need; 0: the engine has no layout for it */
	uint64_t bytes;          /* of all workers */
	double weight_copies;
	uint32_t staleness;
	mr_trace_rec *rec;       /* [n_rec] of the picture; owned */
	size_t n_rec;
} mr_compare_row;

typedef struct mr_compare {
	mr_compare_row *row;     /* [n]: those that can run by step time, then the others */
	uint32_t n;
	uint32_t n_micro;        /* of systems that cut a step */
	int64_t batch;
	uint64_t cap, limit;     /* most bytes of the workers, and of the process; 0: none */
	double error, spread;    /* of the run that was measured with these costs (costs.h); NAN: none was */
	double less, more;       /* by what part a step may take less, or more, than predicted */
	bool rescaled;            /* some rows have another number of threads than was measured */
	uint32_t n_shared;       /* cores that workers share in some rows; 0: in none */
	bool scaled;             /* measured times were scaled to another size of micro-batch */
	char source[512];        /* of the costs */
	char what[200];          /* model, workers, batch: for titles */
} mr_compare;

/**
 * Try all systems on @job. @cap: most bytes of the workers, in place of the job's limit of the process; 0: that one.
 * @pictures: keep trace records of a stretch of equal length for all. The caller calls fini, also after an error.
 * Errors: the job itself is wrong; MR_ERESOURCE.
 */
mr_status mr_compare_init(mr_compare *c, const mr_job *job, uint64_t cap, bool pictures) MR_MUST_USE;
void mr_compare_fini(mr_compare *c);

/* --- compare_report.c --- */

/** As a table. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_compare_print(const mr_compare *c, FILE *out) MR_MUST_USE;

/** The timelines of all systems that can run, on one axis, as SVG. Errors: MR_ECONFIG none can; MR_EIO. */
mr_status mr_compare_draw(const mr_compare *c, FILE *out) MR_MUST_USE;

#endif
