/*
 * graph_run.h - carry out a graph on one thread with every tensor kept, the plainest way, to check models. Not the
 * engine: no stages, no reuse of memory, no versions.
 */
#ifndef MR_TESTS_MODELS_GRAPH_RUN_H
#define MR_TESTS_MODELS_GRAPH_RUN_H

#include "planner/graph.h"

typedef struct graph_run {
	const mr_graph *g;
	const mr_kernels *k;
	mr_kctx *kc;
	int64_t samples;  /* of a micro-batch */
	void **value;     /* [n_values], value 0 borrowed during a step */
	void **gradient;  /* [n_values] */
	void **w;         /* [n_params]; a tied parameter's is its owner's */
	void **dw;        /* [n_params], each of its own */
	struct graph_run_node *node;
	uint64_t seed;    /* of dropout */
	bool train;
} graph_run;

/** Parameters at their initial values for @seed. Ends the test on failure. */
void graph_run_init(graph_run *r, const mr_graph *g, const mr_kernels *k, int64_t samples, uint64_t seed);
void graph_run_fini(graph_run *r);

/** Forward: @input and @target hold @samples samples. Returns the loss. */
double graph_run_forward(graph_run *r, const void *input, const void *target);
/** Node @i of @r alone, forward and backward, with the inputs and the gradients of its outputs that @of has, converted.
 * Its outputs are then in value, the gradients of its inputs in gradient. Value 0 is the caller's. */
void graph_run_alone(graph_run *r, uint32_t i, const graph_run *of);

/** Backward of the last forward: gradients of the mean loss go to dw, or are added. */
void graph_run_backward(graph_run *r, bool add);

#endif
