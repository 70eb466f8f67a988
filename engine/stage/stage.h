/*
 * stage.h - one stage as a straight program: its layers in order, and the place of each of their tensors.
 *
 * Built once from the graph (mr_stage_create); it owns no tensors. Every call gets its memory in an mr_stage_io:
 *
 *	in, out            boundary buffers: the activations that enter and those that leave (stage/boundary.h)
 *	grad_out           gradients of `out`, from the next stage (consumed: they may be overwritten)
 *	grad_in            gradients of `in`, for the stage before; NULL at the model's input
 *	slot               data of one micro-batch that live from F to the end of B
 *	scratch            data that live during one call
 *	weights, grads     one version of the stage's parameters, and the running sum of their gradients
 *	layer_state        the states of the stage's layers (nn/layer.h), which evaluation reads
 *
 * Layers work wherever a tensor lies, so neither F nor B copies anything, with these exceptions. An outgoing
 * activation that this stage's own backward reads again is kept in the slot and copied out once (the boundary buffer
 * belongs to the consumer afterwards). A value that is also read after this stage is copied from in to out, and its
 * gradient from grad_out to grad_in. A gradient that runs through a whole chain of residuals is copied, too; in
 * between, that chain is one buffer: the gradient of a sum's inputs is the gradient of the sum, and the layers on the
 * branch add to it in place. That needs every reader of the branch's gradient to come before the first writer, which
 * alias_residual checks; if it fails, or when I and W are apart (W reads upstream gradients late), the sum's backward
 * copies.
 *
 * Recomputation runs F again, up to the last layer that saves anything; its output goes to a spare
 * place, since `out` belongs to the consumer by then.
 *
 * Steps inside: with io->step, each layer's parameters are stepped right after its W, from a gradient that is still in
 * the cache or never leaves the registers; `grads` is then only work memory. Parameters that are tied within the stage
 * are stepped behind the pass, when their gradients are added up (weights/tied_sum.h). The layers before (which come
 * later in backward) still need only their own weights, so a step may overwrite even the version that this call reads:
 * see exec_compute.c.
 *
 * Values that layers carry from one micro-batch to another lie in memory of the caller, in one piece for all layers of
 * the stage (weights/carried.h).
 *
 * What the layers have seen of a micro-batch for their states lies in its slot, in one piece as the states do.
 *
 * Parameters: every parameter whose storage is here has an offset in the weights and one in the state, lazy ones behind
 * the others; gradients begin in the same order, and tied parameters (which share storage, but not gradients) follow.
 * Bytes are those of the class's type.
 */
#ifndef MR_STAGE_STAGE_H
#define MR_STAGE_STAGE_H

#include "nn/layer.h"
#include "planner/graph.h"

typedef struct mr_stage mr_stage;

typedef struct mr_stage_sizes {
	size_t in_bytes, out_bytes;       /* boundary activations of one micro-batch; out 0 at the last stage */
	size_t grad_in_bytes, grad_out_bytes; /* of their gradients: 0 at the model's input and at the last stage */
	size_t slot_bytes, scratch_bytes;
	uint64_t slot_hash;               /* of the contents of the slot, piece by piece (nn/saved.h) */
	size_t spare_bytes;               /* size of a recomputation's `out`; 0: it has none */
	size_t target_bytes;              /* 0 unless this is the last stage */
	size_t weight_bytes, grad_bytes;
	size_t table_bytes;               /* of the weights: lazy parameters (planner/graph.h), which are at the end */
	size_t state_bytes;               /* of one state of the optimizer: a number for each element of the weights */
	size_t layer_state_bytes;         /* of all layers' states, and of what they have seen of a micro-batch */
	size_t panel_bytes;               /* of all layers' panels */
	size_t carried_bytes;             /* of the values that all layers carry, for one micro-batch */
	size_t rest_bytes; /* of the masters' rests, laid out like the weights; 0: weights are their masters */
	int64_t n_elements;               /* of the parameters stored here */
} mr_stage_sizes;

/* For W that several threads add to one sum at once: called before and after each layer with parameters, the k-th of
 * them (from 0) in backward order. */
typedef struct mr_sum_order_hook {
	mr_status (*before)(void *arg, uint32_t k);
	void (*after)(void *arg, uint32_t k);
	void *arg;
} mr_sum_order_hook;

/* A loss in place of that of the model's last layer: like its F, finds call->loss and overwrites call->x[0], the values
 * that enter it, by the gradient. On any worker's thread, on several at once where a plan has replicas. */
typedef struct mr_own_loss {
	mr_status (*find)(void *arg, const mr_layer_call *call);
	void *arg;
} mr_own_loss;

typedef struct mr_stage_io {
	mr_kctx *kc;
	const void *in;
	void *out;
	void *grad_out;
	void *grad_in;
	void *slot, *scratch;
	const void *weights;
	const void *tables;       /* where lazy parameters are at their offsets instead; NULL: in the weights */
	mr_old_rows *const *old_rows; /* [parameters of the stage] of the tables; NULL: none */
	uint64_t version;         /* that is read, with old_rows */
	const void *tied_weights; /* the weights of the stage that owns a parameter tied from here; NULL: none */
	const void *layer_state;  /* read where train is false */
	const void *begin;        /* carried_bytes with which the micro-batch begins; NULL: zeros */
	void *end;                /* F writes those with which it ends; NULL: it does not */
	void *panels;             /* of F: panel_bytes, see mr_layer_call; NULL: none */
	bool packs;
	const mr_layer_past *past; /* [nodes of the stage] see mr_layer_call; NULL: micro-batches are whole */
	void *grads;
	bool add_grads;           /* false: first micro-batch of the sum */
	const mr_step *step;      /* B and W that complete the sum: [parameters of the stage] steps; NULL: gradients
	                             alone */
	double *sumsq;            /* with step: [parameters of the stage], see mr_layer_call; NULL: none */
	const mr_sum_order_hook *turn;      /* W apart from its I; of a span, the first's; NULL: no order */
	const void *target;
	double *loss;
	mr_judged *judged;        /* see mr_layer_call.judged */
	const mr_own_loss *own_loss; /* NULL: that of the model */
	const mr_shares_face *shares; /* see mr_layer_call.shares */
	int64_t samples;          /* at most the number for which the stage was made */
	bool train;
	uint64_t seed, first_sample;
	uint64_t window;          /* see mr_layer_call.window */
} mr_stage_io;

/**
 * Make a stage of the nodes [@first, @end) of @g for micro-batches of @samples. @split: backward may come as I and W
 * apart (which takes more memory). @tied_owner: the stage that stores a parameter which this one shares (create that
 * one first); NULL: none. All borrowed. Errors: MR_ERESOURCE; MR_ECONFIG for a tied parameter without its owner.
 */
mr_status mr_stage_create(const mr_graph *g, uint32_t first, uint32_t end, int64_t samples, const mr_kernels *k,
			  bool split, const mr_stage *tied_owner, mr_stage **out) MR_MUST_USE;
void mr_stage_destroy(mr_stage *s);

const mr_stage_sizes *mr_stage_size(const mr_stage *s);
const mr_graph *mr_stage_graph(const mr_stage *s);

/**
 * From now on the gradients of all layers lie in one place, as large as the largest layer's: for a stage in which every
 * micro-batch is a sum of its own and steps inside. Those of tied parameters have places of their own. Call it before
 * any size is read.
 */
void mr_stage_share_grads(mr_stage *s);

/**
 * And steps inside of a table that a head of the stage is tied to take the rows that occur apart, where that is faster
 * (tied_table.h): the gradients of the two are then not written, but with @norms where io->sumsq asks for them. For a
 * stage whose weights nobody else reads while it goes backward, and whose optimizer stores its states as numbers. Call
 * it before any size is read. Errors: MR_ERESOURCE.
 */
mr_status mr_stage_step_rows(mr_stage *s, bool norms) MR_MUST_USE;
/** Is @p such a table? *@user: the head's parameter, whose step is then that of @p. */
bool mr_stage_steps_rows(const mr_stage *s, uint32_t p, uint32_t *user);

/**
 * From now on the gradients of tables (lazy parameters) are sums of rows (nn/row_sum.h) of up to @micro micro-batches,
 * where that is much less than the table: for a stage of whose sums nothing but its own W, norms and steps see a part.
 * Call it before any size is read.
 */
void mr_stage_sum_rows(mr_stage *s, uint32_t micro);

/** From now on the stage has no gradients, no states and no masters: for one whose weights stay as they are. Call it
 * before any size is read. */
void mr_stage_freeze(mr_stage *s);
/** Rows that the sum of parameter @p may have; 0: it is that of all. */
int64_t mr_stage_rows_of(const mr_stage *s, uint32_t p);

/* Parameters of the stage: numbers [first, end) in the graph. */
void mr_stage_params(const mr_stage *s, uint32_t *first, uint32_t *end);
/** Byte offset of parameter @p's storage in the weights; SIZE_MAX when it is tied to another. */
size_t mr_stage_weight_at(const mr_stage *s, uint32_t p);
/** Does the optimizer step parameter @p's storage here? Not that of a frozen layer, nor one tied to another. */
bool mr_stage_steps(const mr_stage *s, uint32_t p);
/** The same in each of the states. Of parameters that are stepped. */
size_t mr_stage_state_at(const mr_stage *s, uint32_t p);
/** Byte offset of parameter @p's own gradient, if it has one. */
size_t mr_stage_grad_at(const mr_stage *s, uint32_t p);

/** F: reads in, weights (and target); writes out, slot (and *loss). Errors: MR_EDNN. Thread: the owner of io->kc. */
mr_status mr_stage_forward(const mr_stage *s, const mr_stage_io *io) MR_MUST_USE;
/** R: F again, to fill the slot; @io as for F, with `out` spare_bytes that nothing reads. Same bits, same
 * *loss. */
mr_status mr_stage_recompute(const mr_stage *s, const mr_stage_io *io) MR_MUST_USE;
/** B: I then W, layer by layer. This and the halves do nothing where no value that leaves the stage has a gradient. */
mr_status mr_stage_backward(const mr_stage *s, const mr_stage_io *io) MR_MUST_USE;
/**
 * W of @n micro-batches at once, for a stage made with @split, with the same bits as calls of
 * mr_stage_backward_weight one after the other with each @io[j]. io[0] tells whether the sum begins, the last one has
 * the step; this function sets these two fields of the others. @call: [@n] work memory.
 */
mr_status mr_stage_backward_weights(const mr_stage *s, mr_stage_io *io, uint32_t n, mr_layer_call *call) MR_MUST_USE;
/** The same for the layers alone whose parameters are numbers [@first, @end) in the graph. Several threads may call it
 * at once for different layers, with io of their own whose kc, scratch and grads are their own, too. */
mr_status mr_stage_backward_layers(const mr_stage *s, mr_stage_io *io, uint32_t n, mr_layer_call *call, uint32_t first,
				   uint32_t end) MR_MUST_USE;
/** I if no W will follow: the gradient of `in` alone. Same bits as B's. */
mr_status mr_stage_backward_through(const mr_stage *s, const mr_stage_io *io) MR_MUST_USE;
/** The halves, for a stage made with @split; of a frozen one I alone. */
mr_status mr_stage_backward_input(const mr_stage *s, const mr_stage_io *io) MR_MUST_USE;
mr_status mr_stage_backward_weight(const mr_stage *s, const mr_stage_io *io) MR_MUST_USE;

/** Number of layers with parameters, to which W add in order (mr_sum_order_hook). */
uint32_t mr_stage_weight_layers(const mr_stage *s);

/** Write the initial parameters to @weights, and the rests of their masters to @rest (NULL: not wanted). */
void mr_stage_init_weights(const mr_stage *s, uint64_t seed, void *weights, int16_t *rest);

/** Byte offset of state @i of the graph, which is one of this stage's, in the states of all its layers. */
size_t mr_stage_layer_state_at(const mr_stage *s, uint32_t i);
/** States of the stage: numbers [first, end) in the graph. */
void mr_stage_layer_states(const mr_stage *s, uint32_t *first, uint32_t *end);
/** Write the initial states. */
void mr_stage_init_layer_state(const mr_stage *s, void *state);
/** What the layers have seen of the micro-batch in @slot: layer_state_bytes of it. */
const void *mr_stage_seen(const mr_stage *s, const void *slot);
/** Put what they have seen of one micro-batch into @state; frozen ones keep theirs. */
void mr_stage_fold(const mr_stage *s, const void *seen, void *state);

/** Byte offset of carried value @i of @node, which is in this stage, in those of all its layers. */
size_t mr_stage_carried_at(const mr_stage *s, uint32_t node, uint32_t i);
/** Nodes of the stage: numbers [first, end) in the graph. */
void mr_stage_nodes(const mr_stage *s, uint32_t *first, uint32_t *end);

/** Add the gradients of each tied use in this stage to those of its owner, in model order, if the owner is here, too;
 * but for a table of mr_stage_step_rows. */
mr_status mr_stage_sum_tied(const mr_stage *s, mr_kctx *kc, void *grads) MR_MUST_USE;
/** The same for uses in @user, whose gradients are @user_grads (an AR edge). */
mr_status mr_stage_sum_tied_from(const mr_stage *s, mr_kctx *kc, void *grads, const mr_stage *user,
				 const void *user_grads) MR_MUST_USE;

#endif
