/*
 * small_run.h - a chain of linear layers with everything that a run of it needs, in f64 on the reference backend: what
 * the tests of the executor's parts work on. Sample g of the data has the input g + 1 in every column and the target
 * -(g + 1); validation samples the same from 1000.
 */
#ifndef MR_TESTS_EXEC_SMALL_RUN_H
#define MR_TESTS_EXEC_SMALL_RUN_H

#include "exec/run.h"

enum { SMALL_MOST = 8, SMALL_COLS = 3, SMALL_VALID = 5 };

/* A chain of layers "fc.0", "fc.1", ... and its loss, cut into stages of one layer each; the last has the loss. */
typedef struct small_model {
	mr_graph *graph;
	mr_partition partition;
	uint32_t first[SMALL_MOST + 1];
	const mr_kernels *k;
} small_model;

void small_model_init(small_model *m, uint16_t n_stages);
void small_model_fini(small_model *m);

typedef struct small_run {
	small_model model;
	mr_plan *plan;
	mr_dataset data;
	mr_optim optim;
	mr_lr lr;
	mr_place place;
	mr_place_worker worker[SMALL_MOST];
	mr_run_config c;
	mr_run *run;
} small_run;

/* For @plan, of at most SMALL_MOST stages in one pipe, which is given away: lowers it, checks it and fills r->c. */
void small_run_init(small_run *r, mr_plan *plan);
/* Make the run of r->c, set up its workers and put it to the beginning. */
void small_run_start(small_run *r);
void small_run_fini(small_run *r);

/* The weights of one stage alone, with one shard or several, without a plan: a linear layer of SMALL_COLS columns. */
typedef struct small_weights {
	small_model model;
	mr_stage *stage;
	mr_stage_weights b;
	mr_shard *shard;
	mr_optim optim;
	mr_kctx *kc;
	uint8_t *memory;
} small_weights;

/* Optimizer @optim with the defaults of its options. Features may be opened between these two. */
void small_weights_init(small_weights *w, const char *optim, uint32_t cap, uint32_t n_shards);
/* The same with @cols columns. */
void small_weights_init_wide(small_weights *w, const char *optim, uint32_t cap, uint32_t n_shards, int64_t cols);
void small_weights_layout(small_weights *w);
void small_weights_fini(small_weights *w);

/* Element @i of version @v, of shard @shard; of the gradient sum of @shard. */
double *small_weight(small_weights *w, uint8_t shard, uint64_t v, int64_t i);
double *small_grad(small_weights *w, uint8_t shard, int64_t i);
/* Elements of the stage. */
int64_t small_elements(const small_weights *w);

#endif
