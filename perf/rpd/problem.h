/*
 * problem.h - an objective with its data, with one stage per block, and the methods that the experiments compare on it.
 *
 * A method's run computes the objective on all the data, after every block update or in every step of unit time,
 * depending on the experiment. A run is stopped if its objective is not finite or is far above its first value; its
 * value is then INFINITY.
 */
#ifndef MR_PERF_RPD_PROBLEM_H
#define MR_PERF_RPD_PROBLEM_H

#include "host/place.h"
#include "planner/graph_objective.h"
#include "perf/theory/aged_run.h"
#include "perf/theory/unit_run.h"
#include "schedules/common/rpd_draw.h"

typedef struct problem {
	mr_dataset *data;
	mr_graph *graph;
	mr_partition partition;
	mr_objective *f;
	const mr_kernels *kernels;
	mr_place_worker place;
	uint16_t n_stages;
	uint32_t n_batches;
	int64_t samples;          /* of a minibatch */
	double f0, l, f_star;
} problem;

/**
 * @model with "key=value" settings (without blocks), on data @source with its settings, in @n_stages blocks and
 * minibatches of @samples. L and f* are computed if @facts. Ends the program on failure, as everything here does.
 */
problem problem_open(const char *model, const char *model_sets, const char *source, const char *data_sets,
		     uint16_t n_stages, int64_t samples, bool facts);
void problem_close(problem *p);

/* f along a run. */
typedef struct curve {
	double *f;      /* [n] */
	size_t n, room;
	double last, tail; /* the last value of the run, and the mean over its last part */
	double mean_grad;  /* mean of |grad f|^2 over all models, the initial one included; NAN: not requested */
	double largest;    /* largest norm of a block gradient */
	double missed_sq;  /* mean over updates of sum_j (updates of block j that its read missed)^2 */
	double distance_sq; /* mean of |w - z|^2, z: the mixed model that a step of run_steps reads; with missed_sq */
	double mean_block;  /* mean of the square of the norm of a block gradient; with mean_grad */
	uint32_t n_updates;
} curve;
void curve_fini(curve *c);

typedef struct asking {
	double gamma;
	uint64_t seed;      /* of the run's noise */
	double tail;        /* fraction of the run that `curve.tail` averages */
	bool grads;         /* compute full gradients too */
	bool all;           /* keep every value, not only those of the tail */
	const double *noise; /* run_timeline: as mr_unit_config has it; NULL: none */
	size_t n_noise;
} asking;

/** Run steps of one block each, with a value after each step. Here and below mr_objective_point(p->f) is the last model
 * afterwards. */
curve run_steps(problem *p, const mr_aged *steps, const asking *a);
/** Run a timeline, with a value in each step of time, or after each update if @by_update. */
curve run_timeline(problem *p, const mr_unit_time *u, const asking *a, bool by_update);

void die_unless(mr_status st, const char *what);

#endif
