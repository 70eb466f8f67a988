/* lm_model.h - a small character language model on a text of which a tenth is kept back, cut into stages at its blocks:
 * what experiment 5 trains. */
#ifndef MR_PERF_RPD_LM_MODEL_H
#define MR_PERF_RPD_LM_MODEL_H

#include "data/dataset.h"
#include "perf/rpd/experiments.h"
#include "planner/graph.h"
#include "planner/make_plan.h"
#include "planner/partition.h"

typedef struct lm_size {
	uint16_t stages;
	uint16_t blocks;      /* as many each, or one more or less; the first has the embedding too, the last the head
	                         */
	bool ends_apart;      /* or: the embedding and the head are stages of their own, and blocks = stages - 2 */
	uint16_t width, context, heads;
	const char *validation; /* part of the text, kept back */
} lm_size;

typedef struct lm_model {
	mr_dataset *data;
	mr_graph *graph;
	mr_partition partition;
	const mr_kernels *kernels; /* f32: oneDNN where there is one */
	uint16_t n_stages;
} lm_model;

/** GPT-2's initial weights, but of deviation 0.08, and 1 for embeddings. Ends the program on failure, with a message.
 */
lm_model lm_model_open(const char *text, const lm_size *size);
void lm_model_close(lm_model *m);

/** The first @n characters of the text given with --text, in a file of their own: what minibatches are made of. Its
 * path. */
const char *lm_beginning(const settings *s, size_t n);

/** @table's options with the values @sets, pairs of key and text behind which {NULL, NULL} stands. The caller destroys
 * them. */
mr_values *lm_values(const mr_option *table, const char *const (*sets)[2]);

/** The plan of @system for @args but the options, which are @sets as above (NULL: the defaults), with steps inside the
 * backward passes. The caller destroys it. */
mr_plan *lm_plan(const char *system, const char *const (*sets)[2], mr_sched_args args);

#endif
