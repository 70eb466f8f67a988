/*
 * oracle.h - training by naive loops over layers: what plans that flush, and those of one worker, equal to the bit.
 *
 * For each step: for each micro-batch forward through all layers and backward through all layers; then the optimizer's
 * steps. It shares with the program the model as data (planner/graph.h), the data source, and what lies in engine/nn:
 * layers, kernels, optimizers; of engine/host the set-up of a thread. It has no plan, no stages, no laid-out memory, no
 * two tensors in one place, no steps inside a backward pass, no sparse gradients and no fused sums or activations: each
 * value, each gradient and whatever a layer keeps has memory of its own. The order and grouping in which a system
 * sums gradients is given as data.
 */
#ifndef MR_TESTS_SYSTEM_ORACLE_H
#define MR_TESTS_SYSTEM_ORACLE_H

#include "data/dataset.h"
#include "host/place.h"
#include "planner/graph.h"
#include "rig.h"

typedef struct oracle oracle;

/*
 * The order and grouping in which the gradients of a step are summed, for each part of the model: within a pipe the
 * micro-batches of its list one after the other, then pipe by pipe (those without a micro-batch are left out). If
 * parts have different lists the step goes over all micro-batches once for each, and each pass keeps only the
 * gradients of the parts for which it is made.
 */
typedef struct oracle_lists {
	uint32_t n_parts, n_pipes;
	const uint32_t *first;   /* [n_parts + 1] part s is the graph's nodes first[s] to first[s + 1] - 1 */
	const uint32_t *begin;   /* [n_parts * n_pipes + 1] list (s, p) is micro[begin[s * n_pipes + p]] up to the next
	                            begin */
	const uint32_t *micro;   /* each of a step's micro-batches once in every part */
} oracle_lists;

typedef struct oracle_config {
	const mr_graph *graph;
	const mr_kernels *kernels;
	const mr_dataset *data;
	const mr_optim *optim;
	const mr_lr *lr;
	const mr_place_worker *place; /* of the thread and its team */
	double clip;                  /* global norm; <= 0: none */
	bool skip_nonfinite;
	uint64_t norm_every;
	uint64_t seed;
	int64_t samples;              /* a micro-batch */
	uint32_t n_micro;             /* a step */
	const oracle_lists *lists;    /* NULL: one sum, ascending */
	const char *frozen;           /* names of layers, with commas between them, that are not stepped; NULL: none */
} oracle_config;

/** What an open session trains. */
oracle_config oracle_config_of(const mr_session *s);

/** All of these must succeed, or the test ends. Borrows what @c points to. */
oracle *oracle_create(const oracle_config *c);
void oracle_destroy(oracle *o);

/** Train to step @until, with each step's record to @progress (rig.h; may be NULL). */
void oracle_run(oracle *o, uint64_t until, mr_engine_progress *progress, void *arg);
/** Mean validation loss at the present weights. */
double oracle_eval(oracle *o);
/** Copy weights, optimizer state, states of layers and carried values as rig_collect does; with @eval it evaluates
 * first. */
void oracle_collect(oracle *o, bool eval, rig_result *out);

/** The parameter @p (of a tied one its owner's), and its gradient's sum after the last step. */
void *oracle_weights(const oracle *o, uint32_t p);
const void *oracle_gradient(const oracle *o, uint32_t p);
/** Losses of the last step's micro-batches. */
const double *oracle_losses(const oracle *o);

/** All in one: train what @s, an open session, trains, for @steps, with @lists (NULL: one sum, ascending). */
void oracle_train(const mr_session *s, const oracle_lists *lists, uint64_t steps, bool eval, rig_result *out);

#endif
