/* stage_layout.h - the inside of mr_stage, for stage_layout.c and stage_params.c (build), and stage.c (run). */
#ifndef MR_STAGE_STAGE_LAYOUT_H
#define MR_STAGE_STAGE_LAYOUT_H

#include "stage/boundary.h"
#include "stage/layer_symbols.h"
#include "stage/stage.h"
#include "stage/tied_table.h"

typedef enum mr_where {
	MR_AT_NOWHERE,
	MR_AT_IN,
	MR_AT_OUT,
	MR_AT_GRAD_OUT,
	MR_AT_GRAD_IN,
	MR_AT_SLOT,
	MR_AT_SCRATCH,
} mr_where;

typedef struct mr_ref {
	mr_where where;
	size_t offset;
} mr_ref;

typedef struct mr_stage_step {
	const mr_node *node;
	mr_ref x[MR_LAYER_INPUTS];
	mr_ref y[MR_LAYER_OUTPUTS];     /* y[0] with an addend: of the sum behind this node */
	mr_ref addend;                  /* nowhere: none */
	bool quiet_f;                   /* no F to call: the node before computes it */
	mr_ref dy[MR_LAYER_OUTPUTS], dx[MR_LAYER_INPUTS]; /* dx nowhere: not wanted, or the same buffer as dy */
	bool dx_add[MR_LAYER_INPUTS];
	mr_act fuse_act_backward;                 /* of the step before, if this one's I does its act_backward; and the
	                                             data that it reads */
	mr_ref fuse_act_backward_aux;
	bool dy_is_pre_activation;                  /* the next step does this one's act_backward */
	bool quiet_i;                   /* no input half to call: every wanted dx is dy's own buffer, or none is wanted
	                                   */
	mr_ref aux_i, aux_w, kept, scratch_f, scratch_b;
	size_t weight_at[MR_LAYER_PARAMS];
	bool weight_tied[MR_LAYER_PARAMS]; /* weight_at counts from io->tied_weights */
	size_t grad_at[MR_LAYER_PARAMS];
	int64_t sum_rows;               /* see mr_layer_call */
	uint32_t n_carried;
	size_t carried_at[MR_LAYER_CARRIED];
	size_t panels_at;               /* in those of the stage */
	mr_layer_needs needs;
	mr_layer_symbols symbols;
} mr_stage_step;

/* A tensor that a call copies to a boundary buffer, since it cannot be written there. */
typedef struct mr_copy {
	mr_ref from, to;
	uint16_t value;
} mr_copy;

struct mr_stage {
	const mr_graph *g;
	const mr_kernels *k;
	const mr_stage *tied_owner;
	uint32_t first, end;             /* nodes */
	uint32_t first_param, end_param;
	int64_t samples;
	bool split;
	bool recorded;                   /* its kernels only note that they were called: no probe of a layer fires */
	mr_boundary in, out;             /* before it and after it */
	mr_stage_step *step;             /* [end - first] */
	uint32_t saves_end;              /* steps from here on save nothing in the slot in F */
	size_t *weight_at, *state_at, *grad_at; /* [end_param - first_param] */
	bool shares_grads;               /* see mr_stage_share_grads */
	mr_tied_table *table;           /* see mr_stage_step_rows; NULL: none. Owned */
	bool frozen;                     /* see mr_stage_freeze */
	uint32_t summed;                 /* see mr_stage_sum_rows; 0: all gradients are those of all rows */
	uint32_t first_state, end_state;
	size_t *layer_state_at;          /* [end_state - first_state], in the states and in what was seen */
	mr_ref seen;                     /* of a micro-batch */
	mr_copy *copy_out, *copy_grad;   /* [out.n], [in.n]: copies of F to `out` at its end, and of B to grad_in at its
	                                    start */
	uint32_t n_copy_out, n_copy_grad;
	mr_stage_sizes size;
};

/** Give every parameter its places. Errors: MR_ECONFIG for one that is tied to a parameter which is not known here. */
mr_status mr_stage_place_params(mr_stage *s) MR_MUST_USE;

#endif
