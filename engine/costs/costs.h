/*
 * costs.h - the time of each layer, for predictions and for orders that follow from costs: nominal figures, or those
 * that `profile` measured.
 *
 * Per layer rather than per stage, so that one file serves every cut of its model. Measured costs predict, and order
 * the plan of a configuration that names their file (`costs`); they never decide the cut. The file is CSV after one
 * line that describes the measurement:
 *
 *	# millrace costs 1; machine=...; kernels=...; backend=auto; precision=f32; threads=1; samples=16; optimizer=sgd;
 *	  reads=8.4e-11; writes=1.2e-11; sums=1.4e-10; norms=5e-11; saves=9e-11; shares=3e-10; averages=2e-10;
 *	  hops=4e-6; error=0.03; spread=0.02                               (all of this is one line)
 *	layer,kind,inputs,outputs,params,f_s,i_s,w_s,u_s,g_s,spread
 *	embed,embedding,128,16384,24704,2.1e-05,0,1.9e-05,1.1e-05,0,0.02
 *
 * inputs and outputs are elements of one sample, params those of the layer's own parameters. Times are seconds: f_s,
 * i_s and w_s of F, I and W of one micro-batch of `samples` samples, u_s of U of one commit, g_s the saving of each
 * micro-batch but the first in a W of several (0 unless the measured plan has any). spread is the distance of medians
 * from minima, and in the first line the largest of all: it tells how disturbed the machine was. After the layers may
 * come their times by teams of other sizes (team_costs.h): one block a size, "# threads=1" and rows
 * "layer,f_s,i_s,w_s,u_s"; at the end, what messages between hosts take (link_costs.h). The other words of the first
 * line; a missing one is 0, a crowd 1, an error not known:
 *
 *	reads, writes     s a byte  a boundary between two workers, for its reader and its writer (host/handoff.h)
 *	sums              s a byte  adding one gradient to another (several pipes)
 *	norms             s a byte  the norm of a gradient (clipping)
 *	saves             s a byte  saving of a step inside a backward pass compared with one by itself
 *	shares            s a byte  a step on weights that several pipes read, all ranges together; 0: as any other step
 *	averages          s a byte  each load or store of an average of replicas; 0: an average takes a step of each
 *	hops              s         from the end of an instruction to the begin of one on another worker that waits
 *	error             part      by which a step of the run took longer than predicted from these times (mr_costs)
 *	crowd_f, crowd_b  factor    slowdown of F and of backward passes if each worker hosts every
 *	                            stage, and so goes through all weights and gradients
 */
#ifndef MR_COSTS_COSTS_H
#define MR_COSTS_COSTS_H

#include "ir/cost.h"
#include "profile/profile.h"
#include "costs/workload.h"

typedef struct mr_team_costs mr_team_costs; /* team_costs.h */

typedef struct mr_costs {
	mr_stage_cost *layer; /* [nodes of the graph] f, i, w, g in seconds a micro-batch, u a commit; owned */
	mr_stage_cost *bytes; /* [nodes of the graph] that f, i, w and u of a model (cost_model.h) take from the memory
	                         of the worker's node, where the caches do not hold them: its instructions share memory
	                         and links; NULL: measured, sharing included. Owned */
	double *spreads;      /* [nodes of the graph] distance of the medians of f, i and w from their minima, 0.1 for
	                         a tenth; owned */
	mr_handoff remote;  /* of a byte that one worker writes and another reads */
	mr_handoff far;       /* the same between workers on two nodes; zero: as remote */
	double far_s;         /* of a byte over a link between nodes; 0: links take no time */
	double sum_s;         /* of a byte of one gradient that is added to another */
	double norm_s;        /* of a byte of a gradient whose norm is taken */
	double save_s;        /* saving for a byte of weights that is stepped inside a backward pass */
	double shared_s;      /* of a byte of weights that several pipes step together; 0: as in layer */
	double average_s;     /* of a byte that an average loads or stores (mr_replicas_passes); 0: of R replicas R
	                         steps */
	double crowd_f;       /* slowdown of F if each worker hosts every stage; 0: not measured */
	double crowd_b;       /* likewise, I and W */
	double spread;        /* the largest that was measured anywhere (profile.h); 0 for a file without one */
	double error;         /* of the step of the plan that was measured: by what part it took longer than these costs
	                         predict (mr_forecast_error); NAN: not known */
	double hop_s;         /* from the end of an instruction to the begin of one on another worker that waits */
	int64_t samples;      /* of a micro-batch */
	uint32_t threads;     /* of each worker when they were measured; 0: those of this configuration */
	mr_team_costs *teams; /* what they are by other numbers of threads, as ratios; NULL: not measured */
	bool owns_teams;      /* else borrowed */
	bool measured;        /* else nominal */
	uint64_t hash;        /* of their file; 0: none */
	char source[512];     /* one line about them, for people */
} mr_costs;

/**
 * The costs that the automatic partition balances (planner/partition.h), over the threads of each layer's worker: the
 * update's bytes are U, the rest is divided by FLOPs. A sum moves three bytes for each byte of a gradient, a norm one.
 * Errors: MR_ERESOURCE.
 */
mr_status mr_costs_nominal(const mr_workload *of, mr_costs *out) MR_MUST_USE;

/**
 * Read a file of mr_costs_write for the model, micro-batch, dtype and optimizer of @of. Another number of threads or
 * another backend is a warning on standard error. Errors: MR_ECONFIG with file, line and difference; MR_ERESOURCE.
 */
mr_status mr_costs_read(const char *path, const mr_workload *of, mr_costs *out) MR_MUST_USE;

/** *@found: does @path begin with costs of layers? Else it has links alone (link_costs.h). Errors: as mr_costs_read. */
mr_status mr_costs_has_layers(const char *path, bool *found) MR_MUST_USE;

/** The measured ones of @of; if it has none, nominal ones. Errors: MR_ERESOURCE. */
mr_status mr_costs_at_hand(const mr_workload *of, mr_costs *out) MR_MUST_USE;

/** Fill @out with @from, of the same model as @of, for the micro-batches of @of: F, I and W are proportional to the
 * samples. @from must outlive @out. Errors: MR_ERESOURCE. */
mr_status mr_costs_scale(const mr_costs *from, const mr_workload *of, mr_costs *out) MR_MUST_USE;

/** The costs that @p measured for @of: the update of a stage is divided by parameters, since an optimizer treats all
 * alike. Errors: MR_ERESOURCE. */
mr_status mr_costs_of_profile(const mr_workload *of, const mr_profile *p, mr_costs *out) MR_MUST_USE;

/** Write @c, measured on the machine and with the threads of @of. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_costs_write(const char *path, const mr_workload *of, const mr_costs *c) MR_MUST_USE;

/** All zeros, for the layers of @of. Errors: MR_ERESOURCE. */
mr_status mr_costs_alloc(const mr_workload *of, mr_costs *out) MR_MUST_USE;
void mr_costs_fini(mr_costs *c);

/** Bytes of what layer @node makes of a sample. */
uint64_t mr_costs_values(const mr_workload *of, uint32_t node);

/** Parameters that layer @node stores, and those of them that its optimizer step works on: none of a frozen one. */
int64_t mr_costs_params(const mr_graph *g, uint32_t node);
int64_t mr_costs_stepped(const mr_graph *g, uint32_t node);

/** Add the cost @layer of layer @node to @sum, without the passes that it does not have because layers are frozen, but
 * had where it was measured. */
void mr_costs_add(const mr_graph *g, uint32_t node, const mr_stage_cost *layer, mr_stage_cost *sum);

/**
 * Sum the costs of layers over the stages of @of into @stage [n_stages]. The cost of a boundary between two workers is
 * part of the F and I that read and write it, since it keeps the worker busy, and not of c, which is the time until the
 * other worker notices. The input of stage 0 comes from the loader's thread. The norm is part of U if each stage clips
 * by its own. If several pipes share a stage, each worker hosts more stages than its share, and is slower by a part of
 * crowd_f and crowd_b.
 */
void mr_costs_of_stages(const mr_workload *of, const mr_costs *c, mr_stage_cost *stage);

/** The bytes that the stages of @of take from the memory of their workers' nodes, and over the links between nodes, as
 * tables like those of times: @memory, @link [n_stages]. All 0 where @c has no bytes. */
void mr_costs_bytes_of_stages(const mr_workload *of, const mr_costs *c, mr_stage_cost *memory, mr_stage_cost *link);

#endif
