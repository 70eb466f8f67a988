/* lm_model.h - the model of experiment 5: a small character language model, cut into stages at its blocks, on a text of
 * which a tenth validates. */
#ifndef MR_PERF_RPD_LM_MODEL_H
#define MR_PERF_RPD_LM_MODEL_H

#include "data/dataset.h"
#include "perf/rpd/experiments.h"
#include "planner/graph.h"
#include "planner/make_plan.h"
#include "planner/partition.h"

typedef struct lm_size {
	uint16_t stages;
	uint16_t blocks;      /* divided evenly (up to one) among the stages; the first stage also has the embedding,
	                         the last one the head */
	bool ends_apart;      /* instead: the embedding and the head are separate stages, and blocks = stages - 2 */
	uint16_t width, context, heads;
	const char *validation; /* fraction of the text that validates */
} lm_size;

typedef struct lm_model {
	mr_dataset *data;
	mr_graph *graph;
	mr_partition partition;
	const mr_kernels *kernels; /* f32: oneDNN where there is one */
	uint16_t n_stages;
} lm_model;

/** Open the data and build the model. Initial weights are GPT-2's, but with deviation 0.08, and 1 for embeddings. Ends
 * the program on failure, with a message. */
lm_model lm_model_open(const char *text, const lm_size *size);
void lm_model_close(lm_model *m);

/** Write the first @n characters of the text given with --text, from which minibatches are cut, to a file; returns its
 * path. */
const char *lm_beginning(const settings *s, size_t n);

/** @table's options with the values @sets, pairs of key and text, terminated by {NULL, NULL}. The caller destroys
 * them. */
mr_values *lm_values(const mr_option *table, const char *const (*sets)[2]);

/** The plan of @system for @args with the options @sets as above (NULL: the defaults), with steps inside the backward
 * passes. The caller destroys it. */
mr_plan *lm_plan(const char *system, const char *const (*sets)[2], mr_sched_args args);

#endif
