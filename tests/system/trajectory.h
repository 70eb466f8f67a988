/*
 * trajectory.h - the complete record of a tiny model's training: the version that every micro-batch read, and every
 * version of every weight. For comparing update rules with numbers worked out by hand or by another program.
 *
 * Of @n_steps commits with `need` micro-batches each, at every stage: the versions that F and B read, how many commits
 * had been made when the gradient was applied, and the weights of every version; and every micro-batch's loss. An
 * asynchronous system is already busy with later micro-batches when the last of these commits is made; those are left
 * out.
 *
 * The engine and the replay fill it through trajectory_observer. All
 * memory is taken at the start. Micro-batch 0 of a stage begins its record again, so a restarted engine may use it
 * again. It must observe a run from its first step; a resumed one cannot be recorded.
 *
 * Replicas: each has rows of its own, and an average is one more version. Stage replicas (ir/plan.h): a stage has the
 * versions that it commits, at its own pace.
 *
 * Threads: a stage's row is written by the worker that owns the stage, the losses by the one that owns the last stage.
 * With stage replicas a worker writes the versions that its own micro-batches read; the worker that makes a version
 * writes its weights, and the lives of versions are those seen by the first part.
 * Read it while the run is paused.
 */
#ifndef TRAJECTORY_H
#define TRAJECTORY_H

#include "planner/partition.h"
#include "exec/run.h"

#define TRAJECTORY_NONE UINT64_MAX /* a version that is not read yet */

typedef struct trajectory_stage {
	uint32_t n_scalars;            /* parameters stored here, tied ones at their owner */
	uint64_t *f_version;           /* [n_micro] */
	uint64_t *b_version;           /* [n_micro] of B, or of I */
	uint64_t *applied_on;          /* [n_micro] commits made before the one that holds its gradient */
	double *weights;               /* [n_versions + 1][n_scalars], parameters in model order */
	double *reference;             /* pipe 0 of replicas that have one: [averages + 1][n_scalars]; else NULL */
	uint64_t n_commits;
	/* Life of a version, in instructions of this stage: made at, last read at. [n_versions + 1] */
	uint64_t *born, *last_read, n_events;
	uint64_t *summed;              /* [sum] micro-batches in the gradient sum */
	uint32_t n_summed;
	uint64_t first_micro;          /* the micro-batch that begins its record */
} trajectory_stage;

typedef struct trajectory {
	uint16_t n_stages;
	uint32_t need;                 /* micro-batches a step */
	uint8_t *stage_replicas;                /* [n_stages] micro-batches a commit, if parts of a stage take turns;
	                                           NULL: none do */
	uint32_t sum;                  /* micro-batches in one sum of gradients: need, or a replica's part of it */
	uint16_t n_rows;               /* replicas; 1 where there are none */
	mr_average average;
	uint64_t n_steps, n_micro;     /* recorded at most; n_micro = n_steps * need */
	uint64_t n_versions;           /* versions after these steps, averages included; with stage replicas, of the
	                                  stage that makes most */
	const mr_graph *graph;         /* borrowed */
	uint32_t *first;               /* [n_stages + 1] parameters of the stages */
	trajectory_stage *stage;    /* [n_rows][n_stages] */
	double *loss;                  /* [n_micro] */
} trajectory;

/* The row of stage @s of replica @r. */
static inline trajectory_stage *trajectory_row(const trajectory *t, uint16_t r, uint16_t s)
{
	return &t->stage[(size_t)r * t->n_stages + s];
}

/**
 * Make a trajectory of @n_steps steps of @graph cut by @p, @need micro-batches a commit (plan->contract.need).
 * Borrows @graph. Errors: MR_ERESOURCE.
 */
mr_status trajectory_create(const mr_graph *graph, const mr_partition *p, uint32_t need, uint64_t n_steps,
			       trajectory **out) MR_MUST_USE;
void trajectory_destroy(trajectory *t); /* accepts NULL */

/** The same for a training of @plan: if it has replicas, a row a replica and stage. Borrows nothing of @plan. */
mr_status trajectory_create_for(const mr_graph *graph, const mr_partition *p, const mr_plan *plan, uint64_t n_steps,
				   trajectory **out) MR_MUST_USE;

/**
 * Replicas: record the last average. An average is made in parts, and is otherwise recorded by the forward that reads
 * it. Call it before reading, while the run is paused; without replicas it does nothing.
 */
void trajectory_close(trajectory *t, const mr_run *run);

/** An mr_run_observer; @arg is the trajectory. */
void trajectory_observer(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version);

/** Versions that @stage makes in @n_steps steps. */
uint64_t trajectory_versions(const trajectory *t, uint16_t stage, uint64_t n_steps);

/** Steps that every stage has committed. */
uint64_t trajectory_steps(const trajectory *t);

/** The most versions of @stage that were alive at once: from the commit to the last read; the latest one always is. */
uint32_t trajectory_peak_live(const trajectory *t, uint16_t stage);

/**
 * Write the steps done as JSON: F_ver[k][m], B_ver, applied_on, staleness = applied_on - F_ver, weights[k][v],
 * final[k], peak_live[k], loss[m], for stages k. Of replicas r weights[r][k][v] counts averages among the versions,
 * with `every`, and where they have one reference[k][a] after a averages, which is then what `final` says (else replica
 * 0). A weight is a number where the stage has one scalar, else an array. Errors: MR_EIO.
 */
mr_status trajectory_write(const trajectory *t, const char *path) MR_MUST_USE;

#endif
