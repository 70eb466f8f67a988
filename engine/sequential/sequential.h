/*
 * sequential.h - plain training on one thread group, without a pipeline: the oracle of every synchronous system.
 *
 * For each step: for each micro-batch, in the order in which the system sums gradients, forward through all layers and
 * backward through all layers; then one optimizer step, or, if nothing needs the whole gradient first, each
 * layer's step right after its gradient in the last micro-batch's backward. It shares the layers, kernels and
 * optimizers with the engine and nothing else: no plan, no lowering, no stages, no planned memory, no aliased
 * gradients. Every value and every gradient has a buffer of its own, except the value that the loss overwrites by its
 * gradient. Given the order and grouping of a synchronous system's sums, as data, it gives that system's weights to the
 * bit.
 *
 * It is also a system that users can choose: `sequential` on all cores is intra-operator parallelism, the thing that a
 * pipeline has to beat.
 */
#ifndef MR_SEQUENTIAL_SEQUENTIAL_H
#define MR_SEQUENTIAL_SEQUENTIAL_H

#include "ir/plan.h"
#include "exec/counted.h"
#include "exec/engine.h"

typedef struct mr_sequential mr_sequential;

/*
 * The order and grouping in which the gradients of a step are summed, for each part of the model: within a pipe the
 * micro-batches of its list one after the other, then pipe by pipe (those without a micro-batch are left out). If
 * parts have different lists the step goes over all micro-batches once for each, and each pass keeps only the
 * gradients of the parts for which it is made.
 */
typedef struct mr_sum_lists {
	uint32_t n_parts, n_pipes;
	const uint32_t *first;   /* [n_parts + 1] part s is the graph's nodes first[s] to first[s + 1] - 1 */
	const uint32_t *begin;   /* [n_parts * n_pipes + 1] list (s, p) is micro[begin[s * n_pipes + p]] up to the next
	                            begin */
	const uint32_t *micro;   /* each of a step's micro-batches once in every part */
} mr_sum_lists;

typedef struct mr_sequential_config {
	const mr_graph *graph;
	const mr_kernels *kernels;
	const mr_dataset *data;
	const mr_optim *optim;
	const mr_lr *lr;
	const mr_place_worker *place; /* the thread group */
	const mr_place *machine;      /* for memory that has no room on its nodes; NULL: it has */
	double clip;                  /* global norm; <= 0: none */
	uint64_t norm_every;          /* see mr_run_config */
	bool measures;                /* find the largest gradient; see mr_run_config */
	bool counts;                  /* count processor events (exec/counted.h) */
	bool skip_nonfinite;          /* with clip: a step whose norm is not finite leaves the weights unchanged */
	uint64_t seed;
	int64_t samples;              /* per micro-batch */
	double watchdog_s;            /* as mr_engine_create */
	uint32_t n_loaders;           /* threads that make samples ahead, of data that are read from files on the way;
	                                 0: the team makes them when they are needed */
	uint32_t n_micro;             /* micro-batches a step */
	mr_sum_order sum;             /* ASCENDING or DESCENDING, in one group; without lists */
	const mr_sum_lists *lists;    /* NULL: sum decides */
} mr_sequential_config;

/** Allocate, set up the thread, initialise the weights. Borrows everything that @c points to. Errors: MR_ERESOURCE,
 * MR_EDNN. */
mr_status mr_sequential_create(const mr_sequential_config *c, mr_sequential **out) MR_MUST_USE;
void mr_sequential_destroy(mr_sequential *q);

/** The configuration with which @q was made. */
const mr_sequential_config *mr_sequential_config_of(const mr_sequential *q);

/** As mr_engine_run; @progress is called with a step's record on the training thread, which ends behind that step when
 * it returns false, and with NULL on the caller's; never on both at once. MR_ECONFIG: layers carry values, and
 * the data are not in as many columns as a step has samples. */
mr_status mr_sequential_run(mr_sequential *q, uint64_t until, mr_engine_progress *progress, void *arg,
			    uint64_t *reached) MR_MUST_USE;

/** Scores of the last evaluation. */
mr_scores mr_sequential_scores(mr_sequential *q);

/** Mean validation loss at the present weights. As mr_engine_eval; @wanted is called before each micro-batch on the
 * training thread, and about ten times a second on the caller's; never on both at once. */
mr_status mr_sequential_eval(mr_sequential *q, mr_eval_wanted *wanted, void *arg, double *loss) MR_MUST_USE;

/**
 * Forward of one sample (@input as the data give it) without the loss: the activations that enter the loss are copied
 * to @out, mr_sequential_out_bytes(q) bytes. For sampling from a language model.
 */
mr_status mr_sequential_forward(mr_sequential *q, const void *input, void *out) MR_MUST_USE;
size_t mr_sequential_out_bytes(const mr_sequential *q);

/** Storage of parameter @p (its owner's, when tied) and its optimizer state; between runs only. */
void *mr_sequential_weights(mr_sequential *q, uint32_t p);
void *mr_sequential_state(mr_sequential *q, uint32_t p, uint32_t i);
/** The rest of the masters of @p, an owner; NULL: the weights are their masters. Between runs only. */
int16_t *mr_sequential_rest(mr_sequential *q, uint32_t p);

/** State @i of the graph; between runs only. */
void *mr_sequential_layer_state(mr_sequential *q, uint32_t i);

/** Where the values lie that @node carries into micro-batch @place of the next step, to @at; between runs only. */
void mr_sequential_carried(mr_sequential *q, uint32_t node, uint32_t place, uint8_t *at[MR_LAYER_CARRIED]);

/** Losses of the last step's micro-batches, [n_micro] by micro-batch. Between steps: also in @progress. */
const double *mr_sequential_losses(const mr_sequential *q);

/** As mr_run_largest_gradient. Between runs. */
double mr_sequential_largest_gradient(const mr_sequential *q);

/** Continue as if @step steps had been done (weights and state have been restored). */
void mr_sequential_resume_at(mr_sequential *q, uint64_t step);

/** Its memory, and the nodes where that is planned to lie. */
const mr_region *mr_sequential_region(const mr_sequential *q);
const mr_node_list *mr_sequential_nodes(const mr_sequential *q);

/** Nanoseconds spent in F, in B and in U so far, and bytes of memory it holds. */
void mr_sequential_busy(const mr_sequential *q, uint64_t *f, uint64_t *b, uint64_t *u);
/** Nanoseconds in which training made samples or waited for them. */
uint64_t mr_sequential_data_ns(const mr_sequential *q);
/** Time that other programs had the cores, which is not in these; false: this kernel does not count it. Between
 * runs. */
bool mr_sequential_lost(const mr_sequential *q, uint64_t *ns);
/** Micro-batches trained so far, and layers and parameters done. */
uint64_t mr_sequential_trained(const mr_sequential *q);
uint64_t mr_sequential_beat(const mr_sequential *q);
/** What was counted in F, B and U, as of stage 0; NULL: not asked for. Between runs. */
const mr_counted *mr_sequential_counted(const mr_sequential *q);
uint64_t mr_sequential_bytes(const mr_sequential *q);

#endif
