/*
 * graph.h - a model as data: its layers in order, the values that flow between them, its parameters.
 *
 * A graph is a list of nodes in topological order. Every node is one layer (nn/layer.h): it reads one or more values
 * and writes one or more, whose numbers follow each other; the last node is the loss, which writes none. A value may be
 * read by several later nodes (a residual branch), and its gradient is then the sum of their gradients, the last
 * reader first. Value 0 is the model's input and has no gradient, nor have values of tokens. Parameters stand in node
 * order, so a stage (a range of nodes) owns a range of parameters.
 *
 *	values      0        1          2         3       4
 *	nodes     --> fc.0 ---> ln_1 ---> fc.1 ---> add ---> loss        add reads 3 and 1
 *	                    \______________________/
 *
 * A sum right after a layer that can add (mr_layer_ops.adds), and whose output only the sum reads, may be computed by
 * that layer: with the sum's other input as its addend it writes the output of the sum, its own output is never
 * computed, and the sum has no F. If a stage begins between the two, the layer writes its own output and the sum is
 * computed. In the picture above: fc.1, given value 1, writes value 4.
 *
 * A stage may begin at any node but the loss. The values that are live there, written before and read there or later,
 * cross the boundary between the two stages: value 1 before ln_1, values 1 and 2 before fc.1, 1 and 3
 * before add.
 *
 * A graph has no dtype, no micro-batch size and no memory for tensors: shapes are those of one sample, and executors
 * add the rest. Two parameters may share storage (a head tied to the token embedding): the later one names
 * its owner in @tied_to; it has no storage of its own, but a gradient of its own.
 *
 * Build once (create, add..., tie, finish) on one thread; a finished graph is constant and any thread may read it.
 * Fields are public to read, never to write.
 */
#ifndef MR_PLANNER_GRAPH_H
#define MR_PLANNER_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fields.h"
#include "base/status.h"
#include "nn/layer.h"
#include "nn/optim.h"
#include "planner/names.h"
#include "planner/param_cut.h"

#define MR_GRAPH_MAX_NODES 65000 /* node, value and stage numbers fit uint16_t */
#define MR_GRAPH_MAX_VALUES 65500
#define MR_GRAPH_NO_VALUE UINT16_MAX
#define MR_GRAPH_NO_NODE UINT32_MAX

typedef struct mr_value {
	mr_shape shape;
	uint32_t producer;   /* node that writes it; MR_GRAPH_NO_NODE: the model's input */
	uint32_t last_use;   /* last node that reads it, after mr_graph_finish */
	uint32_t n_uses;     /* inputs of nodes with this value: a node that reads it twice counts twice */
	bool fixed;          /* all parameters before it are frozen (mr_graph_freeze) */
} mr_value;

typedef char mr_param_name[64];
typedef int64_t mr_param_dims[MR_MAX_DIMS];

/* The properties of a parameter. A run's identity (checkpoint/identity.h) holds every field of this list: append a new
 * field, and let its value 0 mean the behaviour before it existed. */
#define MR_PARAM_FIELDS(X) \
	X(mr_param_name, name)  /* "h.0.attn.c_attn.weight" */ \
	X(uint32_t, rank) \
	X(mr_init, init) \
	X(bool, decay)          /* weight decay applies */ \
	X(int32_t, tied_to)     /* -1, or the parameter whose storage it shares (a lower number, itself not tied) */ \
	X(mr_param_dims, dim)   /* after the last: 1 */ \
	X(double, std)          /* standard deviation, or the value, or the bound on both sides of 0 */ \
	X(int64_t, lazy)        /* most rows of this table that one sample looks up; a step leaves the rows that \
	                           have no gradient alone (nn/lazy_rows.h). 0: over all rows */

typedef struct mr_param {
	MR_PARAM_FIELDS(MR_FIELD_MEMBER)
	int64_t n;           /* elements */
	uint32_t node;
	uint32_t index;      /* which parameter of its node */
	mr_param_cut cut;    /* of a share's: the part of the model's that it is */
} mr_param;

/* Numbers in a row of a lazy parameter, whose rows are stepped each by itself; 0: of another. */
static inline int64_t mr_param_lazy_cols(const mr_param *p)
{
	return p->lazy ? p->n / p->dim[0] : 0;
}

/* Elements behind the dimension that is cut. */
static inline int64_t mr_param_inner(const mr_param *p)
{
	int64_t n = 1;

	for (uint32_t d = p->cut.axis + 1; d < p->rank; d++)
		n *= p->dim[d];
	return n;
}

/** The fields of MR_PARAM_FIELDS, in its order. */
extern const mr_field mr_param_fields[];

/* A state of a layer (nn/layer.h). What it is follows from the layer and its configuration. */
typedef struct mr_graph_state {
	mr_param_name name;  /* "bn_1.running_mean" */
	mr_layer_state spec; /* dimensions behind the last: 1 */
	int64_t n;           /* elements */
	uint32_t node;
	uint32_t index;      /* which state of its node */
} mr_graph_state;

typedef struct mr_node {
	const mr_layer_ops *ops;
	char name[48];       /* "h.0.attn.c_attn"; unique in the graph */
	mr_layer_cfg cfg;
	uint8_t n_in;
	uint16_t in[MR_LAYER_INPUTS];
	const mr_shape *in_shape; /* [n_in] after mr_graph_finish */
	uint8_t n_out;       /* 0 for the loss */
	uint16_t out;        /* the first of its values; MR_GRAPH_NO_VALUE for the loss */
	const mr_shape *out_shape; /* [n_out] after mr_graph_finish; of the loss that of its input */
	uint32_t first_param, n_params;
	uint32_t first_state, n_states;
	uint32_t number;     /* layer number in the model, for random numbers: the node's index */
	uint16_t addend;     /* after mr_graph_finish: the value that this node may add to its output, or
	                        MR_GRAPH_NO_VALUE */
	bool fuse_act_backward;        /* after mr_graph_finish: if the node before is in the same stage, this one's I
	                                  may do its act_backward (mr_layer_call.fuse_act_backward) */
	bool added;          /* after mr_graph_finish: the node before may do this one's F as its addend */
	bool frozen;         /* its parameters stay as they are (mr_graph_freeze) */
} mr_node;

typedef struct mr_graph {
	mr_node *nodes;
	mr_value *values;    /* values[0]: the model's input */
	mr_param *params;
	mr_graph_state *states; /* in node order, as parameters are */
	uint32_t n_nodes, n_values, n_params, n_states;
	mr_shape input, target; /* of one sample */
	mr_shape *shapes;    /* of all inputs and outputs of all nodes, for in_shape and out_shape */
	double *class_weight; /* [n_class_weights] of the loss (mr_graph_weigh); NULL: all samples count alike */
	uint32_t n_class_weights;
	uint16_t *n_live;    /* [n_nodes]: number of values that are live before it; NULL until mr_graph_finish */
	uint32_t cap_nodes, cap_values, cap_params, cap_states; /* room in the arrays; private to graph.c, as are the
	                                                           next two */
	mr_names node_names, param_names;
} mr_graph;

/* For mr_names_find. */
static inline const char *mr_graph_node_name(const void *graph, uint32_t i)
{
	return ((const mr_graph *)graph)->nodes[i].name;
}

static inline const char *mr_graph_param_name(const void *graph, uint32_t i)
{
	return ((const mr_graph *)graph)->params[i].name;
}

/* --- building --- */

/** An empty graph for samples of these shapes; the caller destroys *@out. Errors: MR_ERESOURCE. */
mr_status mr_graph_create(mr_shape input, mr_shape target, mr_graph **out) MR_MUST_USE;
void mr_graph_destroy(mr_graph *g); /* accepts NULL */

/**
 * Append a node that reads values @in[0 .. @n_in). *@out (may be NULL) is the number of the first value that it writes,
 * MR_GRAPH_NO_VALUE for a loss; its further outputs have the following numbers. Its parameters are called
 * "<name>.<suffix>"; a suffix that itself holds a dot takes the place of the name's last component (node "embed",
 * suffix "wte.weight": "wte.weight"). Errors: MR_ECONFIG with a message that names the node (shapes that do not fit, a
 * name used twice or too long), MR_ERESOURCE.
 */
mr_status mr_graph_add(mr_graph *g, const mr_layer_ops *ops, const char *name, const mr_layer_cfg *cfg,
		       const uint16_t *in, uint32_t n_in, uint16_t *out) MR_MUST_USE;

/** Parameter @param shares the storage (and the initial value) of @owner, which comes before it and has the same
 * dimensions. Errors: MR_ECONFIG. */
mr_status mr_graph_tie(mr_graph *g, uint32_t param, uint32_t owner) MR_MUST_USE;
/** Every parameter has storage, and an initial value, of its own again. */
void mr_graph_untie(mr_graph *g);

/**
 * Close the graph. Checks that it ends in its only loss node, that no other node reads the value that the loss
 * overwrites (so no ReLU stands before it), that the target fits that loss, and that every value is read. After an
 * error only mr_graph_destroy may follow. Errors: MR_ECONFIG with a message, MR_ERESOURCE.
 */
mr_status mr_graph_finish(mr_graph *g) MR_MUST_USE;

/**
 * Let the parameters of the nodes that @pattern names, or that are in blocks which it names, stay as they are; behind
 * "!" it names those that train after all. "h.0" is a block, "h.*" are all blocks of h, "*" is everything (mr_matches).
 * Values before which no parameter trains have no gradient from then on. After mr_graph_finish and before stages are
 * made. Errors: MR_ECONFIG no node with parameters has such a name.
 */
mr_status mr_graph_freeze(mr_graph *g, const char *pattern) MR_MUST_USE;

/** Find the values before which no parameter trains, after `frozen` of nodes has changed. */
void mr_graph_note_frozen(mr_graph *g);

/**
 * Let the samples of each class count as often in training as g->class_weight says, which the caller fills; until then
 * they are all 1. After mr_graph_finish and before stages are made. Errors: MR_ECONFIG a loss that has no classes, or
 * several of them for a sample; MR_ERESOURCE.
 */
mr_status mr_graph_weigh(mr_graph *g) MR_MUST_USE;

/* --- queries on a finished graph --- */

/** The node called @name, the first node of the block called @name ("h.1" is where "h.1.ln_1" stands first), or
 * MR_GRAPH_NO_NODE. */
uint32_t mr_graph_find_node(const mr_graph *g, const char *name);
/** The parameter called @name, or UINT32_MAX. */
uint32_t mr_graph_find_param(const mr_graph *g, const char *name);

/**
 * May a stage begin at @node? At every node but the loss, which overwrites its input by the gradient and so stays with
 * the layer that computes it.
 */
bool mr_graph_cut_ok(const mr_graph *g, uint32_t node);
/** May a stage begin at @node, with a single live value before it? */
bool mr_graph_is_narrow(const mr_graph *g, uint32_t node);
/** Put the values that cross into a stage that begins at @node, ascending, into @live unless that is NULL. Returns
 * their number; 0 after the last node. */
uint32_t mr_graph_live(const mr_graph *g, uint32_t node, uint16_t *live);
/** Bytes of these for one sample, or of the gradients that come back for them. */
size_t mr_graph_crossing(const mr_graph *g, uint32_t node, mr_dtype dtype, bool gradients);
/** The largest number of stages into which the model can be cut. */
uint32_t mr_graph_max_stages(const mr_graph *g);
/** The same if all stages begin at nodes with a single live value. */
uint32_t mr_graph_narrow_stages(const mr_graph *g);
/** Has value @v a gradient? Not the model's input, nor tokens, nor one before which all parameters are frozen. */
bool mr_graph_has_grad(const mr_graph *g, uint16_t v);

/** Is the gradient of input @i of @node needed? Those of the model's input and of tokens are not. */
bool mr_graph_wants_dx(const mr_graph *g, uint32_t node, uint32_t i);
/** Is the gradient of any of its inputs needed? */
bool mr_graph_wants_any_dx(const mr_graph *g, uint32_t node);

/** Has @node parameters that train? Only such layers have W and U. */
static inline bool mr_graph_trains(const mr_graph *g, uint32_t node)
{
	return g->nodes[node].n_params && !g->nodes[node].frozen;
}

/** What @node needs in training with micro-batches of @samples: without FLOPs for gradients that nobody wants. */
mr_layer_needs mr_graph_needs(const mr_graph *g, uint32_t node, int64_t samples);

/** Of a share's graph (planner/share_graph.h): numbers that each other share reads of it at @node, for a sample in one
 * direction; and numbers of gradients, for a micro-batch. 0: it meets none there, or is whole. */
int64_t mr_graph_shown(const mr_graph *g, uint32_t node, bool backward);
int64_t mr_graph_shown_gradients(const mr_graph *g, uint32_t node);
/** Bytes that it shows at @node in a micro-batch of @samples, in a pass: 0 forward, 1 for its input, 2 for weights; and
 * of these what goes to a process that has @members of the @n shares. */
size_t mr_graph_shows(const mr_graph *g, uint32_t node, int pass, int64_t samples, const mr_types *types);
size_t mr_graph_sends(const mr_graph *g, uint32_t node, int pass, int64_t samples, const mr_types *types, uint32_t n,
		      uint32_t members);
/** Bytes that each other share reads of it in a micro-batch of @samples; and the most that it shows at once. */
uint64_t mr_graph_exchanged(const mr_graph *g, int64_t samples, const mr_types *types);
size_t mr_graph_largest_exchanged(const mr_graph *g, int64_t samples, const mr_types *types);

/** Does any parameter share another's storage? */
bool mr_graph_ties(const mr_graph *g);

/** Does @param share storage: as its owner, or as a user? */
bool mr_graph_tied(const mr_graph *g, uint32_t param);

/** Parameter @param as optimizers of matrices see it: no matrix (rows 0) unless it is the untied weight matrix of a
 * layer that neither reads tokens nor feeds the loss. */
mr_optim_matrix mr_graph_matrix(const mr_graph *g, uint32_t param);

/** Number of classes of the loss, whose predictions can be counted (nn/scores.h); 0: a loss without classes. */
int64_t mr_graph_judged_classes(const mr_graph *g);

/** Elements of all parameters; shared storage counts once. */
int64_t mr_graph_n_params(const mr_graph *g);

/** Do all layers take micro-batches of @samples in training? Else MR_ECONFIG with a message that names one. */
mr_status mr_graph_takes(const mr_graph *g, int64_t samples) MR_MUST_USE;

/** Write the initial value of @state to @dst, numbers of @dtype, which is computed in. */
void mr_graph_init_state(const mr_graph *g, uint32_t state, mr_dtype dtype, void *dst);

/**
 * Model FLOPs of one sample, as usually counted: a multiply-add is 2, and only matrix products and attention count.
 * Forward 2 * rows * weights of each linear layer plus 4 * T^2 * C for each attention (the full square, as in PaLM,
 * appendix B: the causal half is not subtracted). A training step is three times that, without the input gradient of a
 * layer that reads the model's input (which is not computed), without recomputation and without the weight gradients of
 * frozen layers. So an mlp gives 6 * weights -
 * 2 * (weights of the first layer), a gpt 6 * T * (weights of linear layers) + 12 * T^2 * C * layers.
 */
double mr_graph_flops_train(const mr_graph *g);

/**
 * Write the initial value of @param (its owner's, if it is tied) to @dst, @n elements of @dtype (f32 values are the
 * rounded f64 ones), and the rest of the f32 master of a weight in bf16 to @rest (NULL: there is no master). Random
 * values come from base/rng.h, MR_RNG_INIT, addressed by the layer's number (layer), the parameter's index in it
 * (sample) and the element: they do not depend on how the model is cut. Thread: any.
 */
void mr_graph_init_param(const mr_graph *g, uint32_t param, uint64_t seed, mr_dtype dtype, void *dst,
			 int16_t *rest);

#define MR_GRAPH_INIT_PART ((int64_t)1 << 16)

/** The same in parts of MR_GRAPH_INIT_PART elements, of which several threads may each carry out some: how many there
 * are, and one of them. @dst and @rest are of all elements. */
int64_t mr_graph_init_parts(const mr_graph *g, uint32_t param);
void mr_graph_init_part(const mr_graph *g, uint32_t param, int64_t part, uint64_t seed, mr_dtype dtype, void *dst,
			int16_t *rest);

#endif
