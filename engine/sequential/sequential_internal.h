/*
 * sequential_internal.h - the inside of mr_sequential, shared by its files: sequential.c (memory, thread, calls from
 * outside) and sequential_step.c (what is computed).
 */
#ifndef MR_SEQUENTIAL_SEQUENTIAL_INTERNAL_H
#define MR_SEQUENTIAL_SEQUENTIAL_INTERNAL_H

#include <stdatomic.h>

#include "base/size.h"
#include "host/memory.h"
#include "host/stall.h"
#include "host/team_delay.h"
#include "sequential/sequential.h"
#include "sequential/sequential_loader.h"
#include "stage/layer_symbols.h"
#include "weights/carried.h"

typedef struct mr_sequential_tensor {
	void *value, *grad; /* the value and its gradient */
} mr_sequential_tensor;

typedef struct mr_sequential_node {
	void *aux_i, *aux_w, *kept;
	uint32_t n_carried;
	size_t carried_at[MR_LAYER_CARRIED]; /* in an entry of what all layers carry */
	mr_layer_symbols symbols;
	const void *act_aux; /* what act_backward of its activation reads: aux_i, or its output where it has none */
} mr_sequential_node;

/* Of reports. */
enum { MR_SEQUENTIAL_SILENT, MR_SEQUENTIAL_REPORTS, MR_SEQUENTIAL_ABANDONED /* nobody listens any more */ };

struct mr_sequential {
	mr_sequential_config c;
	const mr_graph *g;
	mr_kctx *kc;
	mr_sequential_tensor *value;         /* [n_values] */
	mr_sequential_node *node;    /* [n_nodes] */
	void **weight, **grad; /* [n_params]; weight NULL when tied */
	int16_t **rest;        /* [n_params] of the masters; NULL when tied, and where the weights are their masters */
	void **state[MR_OPTIM_STATES];
	void **layer_state;    /* [n_states] of the graph */
	char **seen;           /* [n_states] of each micro-batch of a step, like the state, one behind the other */
	mr_carried carried;    /* bytes 0: no layer carries values */
	bool inside;           /* the last backward of a step carries out the optimizer steps, layer by layer */
	bool *late;            /* [n_params] of tied ones, when inside: their step comes after the backward passes */
	uint32_t sparse_owner; /* the parameter whose gradient is MR_GRAD_SPARSE; UINT32_MAX: there is none */
	uint32_t sparse_user;  /* the one tied to it, likewise */
	mr_sparse_rows sparse_rows;
	double *sumsq;         /* [n_params] of the gradients that steps inside have completed, if the step's norm
	                          is requested */
	mr_step *steps;        /* [n_params] of the current step, when inside */
	void *work;            /* of an optimizer that steps whole matrices; else NULL */
	void *scratch;         /* of the current call */
	mr_sequential_loader loader;
	void *target;          /* of the present micro-batch, as value 0 */
	bool *has_grad;        /* [n_values] scratch of one backward */
	void **part;           /* [n_params] with lists of several pipes: the sum of a pipe other than the first */
	bool *active;          /* [n_nodes] with lists: the present pass keeps the node's gradients */
	double *loss;          /* [n_micro] */
	double largest;        /* gradient so far */
	uint64_t step;
	mr_region region;      /* all tensors */
	mr_node_list nodes;    /* where it is planned to lie */
	bool elsewhere;        /* not on the nodes of its threads, which have no room for it */
	mr_stall stall;        /* of its thread; the caller's thread looks at it */
	_Atomic uint64_t beat; /* layers and parameters done */
	_Atomic uint32_t reports;  /* the caller's functions are called, by one thread at a time, which may take long */
	_Atomic bool pause;        /* they have asked for an end, on the caller's thread */
	uint64_t ns_f, ns_b, ns_u; /* without lost time */
	uint64_t ns_data;      /* training made samples or waited for them */
	uint64_t ns_lost;      /* lost in these: ready to run, and another program had a core */
	uint64_t n_trained;    /* micro-batches */
	mr_counted *counted;   /* NULL: not asked for; open while it trains */
	mr_team_delay delay;   /* of the thread that trains; open while it does */
	bool delay_known;
	bool stalled;          /* its thread hangs: it cannot be joined */
	/* a job for the thread */
	mr_status (*job)(mr_sequential *q);
	uint64_t until, reached;
	mr_engine_progress *progress;
	mr_eval_wanted *wanted;
	void *arg; /* of either */
	const void *forward_in;
	double eval_loss;
	mr_judging judging;    /* of the evaluation */
	mr_status status;
	char text[1024];
};

/* Bytes of value @v for a micro-batch. */
static inline size_t mr_sequential_value_bytes(const mr_sequential *q, uint32_t v)
{
	return (size_t)q->c.samples * mr_shape_bytes(q->g->values[v].shape, q->c.kernels->types.activations);
}

/* Bytes of state @i, and of what one micro-batch has seen for it. */
static inline size_t mr_sequential_layer_state_bytes(const mr_sequential_config *c, uint32_t i)
{
	return mr_align_up((size_t)c->graph->states[i].n * mr_dtype_bytes(c->kernels->types.compute), MR_CACHE_LINE);
}

/* Jobs of the thread; results and errors as their callers in sequential.h say. */
mr_status mr_sequential_steps(mr_sequential *q) MR_MUST_USE;
mr_status mr_sequential_evaluate(mr_sequential *q) MR_MUST_USE;
mr_status mr_sequential_forward_one(mr_sequential *q) MR_MUST_USE;

/** Wait until no other thread calls the caller's functions; once the run was given up, for ever. On the training
 * thread. */
void mr_sequential_claim(mr_sequential *q);
static inline void mr_sequential_release(mr_sequential *q)
{
	atomic_store_explicit(&q->reports, MR_SEQUENTIAL_SILENT, memory_order_release);
}

#endif
