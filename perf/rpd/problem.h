/*
 * problem.h - an objective with its data, cut into a stage a block, and the methods that the experiments compare on it.
 *
 * A method's run gives the objective on all the data after every block update or in every step of unit time, whichever
 * its experiment looks at. A run whose objective is not finite, or is far above where it began, is stopped: its value
 * is INFINITY.
 */
#ifndef MR_PERF_RPD_PROBLEM_H
#define MR_PERF_RPD_PROBLEM_H

#include "host/place.h"
#include "planner/graph_objective.h"
#include "theory/aged_run.h"
#include "theory/unit_run.h"
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
 * minibatches of @samples. L and f* are found when @facts. Ends the program on failure, as everything here does.
 */
problem problem_open(const char *model, const char *model_sets, const char *source, const char *data_sets,
		     uint16_t n_stages, int64_t samples, bool facts);
void problem_close(problem *p);

/* f along a run. */
typedef struct curve {
	double *f;      /* [n] */
	size_t n, room;
	double last, tail; /* of the run: the last value, and the mean of the last part of it */
	double mean_grad;  /* mean of |grad f|^2 over all models, the initial one included; NAN: not asked for */
	double largest;    /* of the block gradients' norms */
	double missed_sq;  /* mean over updates of sum_j (updates of block j that its read missed)^2 */
	uint32_t n_updates;
} curve;
void curve_fini(curve *c);

typedef struct asking {
	double gamma;
	uint64_t seed;      /* of the run: noise */
	double tail;        /* part of the run that the tail's mean is over */
	bool grads;         /* full gradients too */
	bool all;           /* keep every value, not only those of the tail */
	const double *noise; /* run_timeline: as mr_unit_config has it; NULL: none */
	size_t n_noise;
} asking;

/** Steps of one block each; a value after each. Afterwards mr_objective_point(p->f) is the last model, here and below.
 */
curve run_steps(problem *p, const mr_aged *steps, const asking *a);
/** A timeline; a value in each step of time, or after each update when @by_update. */
curve run_timeline(problem *p, const mr_unit_time *u, const asking *a, bool by_update);

void die_unless(mr_status st, const char *what);

#endif
