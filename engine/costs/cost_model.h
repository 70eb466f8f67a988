/*
 * cost_model.h - what layers would take on a machine, from constants: a roofline with granularity.
 *
 * A pass over a layer (F, I, W of a micro-batch, U of a commit) by k threads takes
 *
 *	max(flops / (k peak e), bytes / rate) + call + barrier(k)
 *
 *	peak     of a core in the type of the products
 *	e        MR_MODEL_EFFICIENCY, less for small products: a thread whose part of a product is m x n with sums of
 *	         l terms reaches m / (m + 7) n / (n + 4) l / (l + 7) of it, as one core does (fitted to f32 products of
 *	         64 to 512 columns and 2 to 512 rows; costs.cost_model has them). And less where threads have no
 *	         work: results come in pieces of MR_MODEL_PIECE elements, so 5 pieces take 2 threads 3 turns
 *	bytes    inputs, outputs, weights, gradients and state that the pass reads and writes
 *	rate     where what a worker touches again and again fits its second caches, theirs if it was measured, else
 *	         none; the L3's of k cores where it
 *	         fits its part of the L3; of what is more than that part, the memory's, which all workers of a node
 *	         share. The cores that a run uses share the L3s of their domains
 *	call     what an operation takes to begin and end
 *	barrier  of k threads: c0 + c1 ceil(log2 k) (host/server.h)
 *
 * k is not more than the threads that the kernels of the backend fused use (nn/kernels/fused/vec/team.h): one for each
 * MR_MODEL_LEAST_FLOPS of a product, or MR_MODEL_LEAST_ELEMENTS of another pass.
 *
 * F, I and W keep a worker's weights and gradients and the activations of a micro-batch in use, U all that it has.
 * Between nodes, boundaries and weights that pipes on several nodes share cross a link. A worker on several nodes uses
 * the memory of all of them, of which all but one part in n comes over their links. Its shares (machine.shares) use
 * that of their own node, which those on one node share, and read what the others show them.
 *
 * The constants are those of the machine that machine.topology names (host/server.h); else those that were measured on
 * the machine at hand (measured_machine.h), where the session has them; else nominal ones, which say how a plan would
 * scale, not how fast it is. No layer was measured, but where the constants were, layers that are like one that was
 * measured on this machine take the times of that (kept_layers.h).
 */
#ifndef MR_COSTS_COST_MODEL_H
#define MR_COSTS_COST_MODEL_H

#include "host/server.h"
#include "costs/costs.h"

#define MR_MODEL_EFFICIENCY 0.8
#define MR_MODEL_PIECE 1024.0
#define MR_MODEL_CALL_S 0.3e-6
#define MR_MODEL_LEAST_FLOPS 1048576.0
#define MR_MODEL_LEAST_ELEMENTS 8192.0

/** The constants for @of: of the machine named, measured, or nominal ones of a machine like its topology. */
mr_server mr_model_server(const mr_workload *of);

/** Bytes a second of the memory and of the link of each node of @m. */
double mr_model_memory_rate(const mr_server *m);
double mr_model_link_rate(const mr_server *m);

/** FLOP/s that a core of @m has for the products of @of. */
double mr_model_peak(const mr_server *m, const mr_workload *of);

/** The part of the peak that @k threads reach on a pass that makes @elements results in rows of @columns, with @terms
 * products a result. */
double mr_model_efficiency(double elements, double columns, double terms, uint32_t k);

/** The bytes that F, I and W of layer @node read and write for a micro-batch of @of; 0: there is no such pass. */
void mr_model_bytes(const mr_workload *of, uint32_t node, double bytes[3]);

/** The costs of the layers of @of by the model, with the threads of its workers. @share: the part of the L3s that @of
 * has where another run on other cores has the rest; 0: all. Errors: MR_ERESOURCE. */
mr_status mr_costs_modelled(const mr_workload *of, double share, mr_costs *out) MR_MUST_USE;

/* Where a worker has what it goes through. */
typedef enum mr_model_level { MR_MODEL_L2, MR_MODEL_L3, MR_MODEL_MEMORY, MR_MODEL_N_LEVELS } mr_model_level;

/** Seconds of layer @node with micro-batches of @samples samples and @threads threads, if all that their worker uses is
 * at @level; with measured costs, those by the ratio of the model's. Plan and place of @of do not count. */
mr_stage_cost mr_model_layer(const mr_workload *of, int64_t samples, uint32_t threads, mr_model_level level,
			     uint32_t node);

/* What no plan can undercut. */
typedef struct mr_model_least {
	double micro;   /* seconds of all passes over a micro-batch, by one worker */
	double largest; /* of the layer that takes most of them */
	double commit;  /* of all steps of a commit, by one worker */
} mr_model_least;

/** The least that micro-batches of @samples samples take workers of @threads threads of @of, whose plan and place do
 * not count: as if all that a worker uses were in its second caches; with measured costs, from those. */
mr_model_least mr_model_least_of(const mr_workload *of, int64_t samples, uint32_t threads);

/** For predictions: the measured ones of @of, rescaled to its threads and micro-batches; if it has none, those of the
 * model, with @share as above. Errors: MR_ERESOURCE. */
mr_status mr_costs_forecast(const mr_workload *of, double share, mr_costs *out) MR_MUST_USE;

/**
 * Change @c, measured with @c->threads threads and micro-batches of @c->samples samples, to those of the workers and
 * micro-batches of @of: each time by the ratio of those that were measured with teams of other sizes, where there are
 * any, and from the nearest on by the ratio of the model's. The source then says so. Errors: MR_ERESOURCE.
 */
mr_status mr_costs_rescale(mr_costs *c, const mr_workload *of) MR_MUST_USE;

#endif
