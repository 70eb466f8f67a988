/*
 * layer_rig.h - one layer with buffers of exactly the sizes it asks for, for the layer suites.
 *
 * Every buffer is an allocation of its own, so that the address sanitizer sees a layer write past what needs()
 * promised. Inputs, weights and upstream gradients are random numbers that f32 holds exactly: the same for all dtypes
 * and backends.
 */
#ifndef MR_TESTS_NN_LAYER_RIG_H
#define MR_TESTS_NN_LAYER_RIG_H

#include "nn/layer.h"

/* One configuration of one layer. */
typedef struct layer_case {
	const char *layer;
	const char *label;      /* for messages */
	mr_layer_cfg cfg;
	mr_shape in[MR_LAYER_INPUTS];
	mr_shape target;        /* loss layers */
	bool eval;              /* dropout off */
	bool empty;             /* some tokens are negative */
} layer_case;

/* Case @i of the table, or NULL past the end. */
const layer_case *layer_case_at(size_t i);

typedef struct layer_rig {
	const mr_layer_ops *ops;
	const layer_case *what;
	const mr_kernels *k;
	mr_kctx *kc;
	mr_shape out[MR_LAYER_OUTPUTS];
	uint32_t n_out;
	int64_t samples;
	uint32_t n_params;
	mr_param_spec spec[MR_LAYER_PARAMS];
	uint32_t n_states;
	mr_layer_state state_spec[MR_LAYER_STATES];
	mr_layer_needs needs;
	mr_layer_call call;                 /* ready to use; x, y, ... below are its buffers */
	void *x[MR_LAYER_INPUTS], *dx[MR_LAYER_INPUTS];
	void *y[MR_LAYER_OUTPUTS], *dy[MR_LAYER_OUTPUTS];
	void *w[MR_LAYER_PARAMS], *dw[MR_LAYER_PARAMS];
	void *state[MR_LAYER_STATES], *seen[MR_LAYER_STATES]; /* of the type that is computed in, which is the rig's */
	uint32_t n_carried;
	void *begin[MR_LAYER_CARRIED], *end[MR_LAYER_CARRIED]; /* of the rig's dtype, too */
	void *target;
	double loss;
} layer_rig;

/** A rig for @samples samples with random contents drawn from @seed. Ends the test on failure. */
void rig_init(layer_rig *r, const layer_case *what, const mr_kernels *k, int64_t samples, uint64_t seed);
void rig_fini(layer_rig *r);

int rig_n_in(const layer_rig *r);

/** Elements of input @i, of output @i (0 of a loss), of parameter @i. */
int64_t rig_n_x(const layer_rig *r, int i);
int64_t rig_n_y(const layer_rig *r, uint32_t i);
int64_t rig_n_w(const layer_rig *r, uint32_t i);
/** Does input @i have a gradient? */
bool rig_has_dx(const layer_rig *r, int i);

/** Element @i of a buffer of the rig's dtype. */
double rig_get(const layer_rig *r, const void *buffer, int64_t i);
void rig_set(const layer_rig *r, void *buffer, int64_t i, double x);
/** All elements NaN. NULL is fine. */
void rig_poison(const layer_rig *r, void *buffer, int64_t n);

/** F. Scratch and outputs are poisoned first. A loss layer works on a copy of x[0] in dx[0]: there is its gradient. */
void rig_forward(layer_rig *r);
/** I; scratch and kept are poisoned first, and dx where it is not added to. Nothing for a loss. */
void rig_input(layer_rig *r);
/** W; scratch is poisoned first, and dw where it is not added to. Nothing without parameters. */
void rig_weight(layer_rig *r);
/** mr_layer_backward, which overwrites every gradient. */
void rig_backward(layer_rig *r);

/** Poison (tokens: change) what I and W may not read any more between F and I, and between I and W, by needs(). */
void rig_spoil_after_forward(layer_rig *r);
void rig_spoil_after_input(layer_rig *r);

/** What the gradients are of: the loss, or the sum of dy * y over all outputs. Runs F. */
double rig_objective(layer_rig *r);

#endif
