/*
 * workload.h - what is timed: a model with its cut, its plan and the place of its workers on a machine.
 *
 * Costs (costs.h) and the model of costs (cost_model.h) take what they need as this plain struct, which borrows all of
 * it; mr_session_workload fills it for a session.
 */
#ifndef MR_COSTS_WORKLOAD_H
#define MR_COSTS_WORKLOAD_H

#include "host/place.h"
#include "host/topo.h"
#include "ir/plan.h"
#include "nn/kernels.h"
#include "nn/optim.h"
#include "planner/graph.h"
#include "planner/partition.h"
#include "timing/hosts.h"

struct mr_costs;
struct mr_measured_machine;

typedef struct mr_workload {
	const mr_graph *graph;
	const mr_partition *partition;
	const mr_plan *plan;       /* NULL: there is none yet */
	const mr_kernels *kernels;
	const mr_optim *optim;
	const mr_topo *topo;
	const mr_place *place;
	const struct mr_costs *costs;                 /* measured ones, for micro-batches of any size; NULL: none */
	const struct mr_measured_machine *measured;   /* constants of the machine at hand; NULL: nominal ones */
	const mr_hosts *hosts;     /* over which the workers are spread, without sends; NULL: there is one */
	int64_t samples;           /* of a micro-batch */
	uint32_t n_micro;          /* micro-batches a step */
	bool clips;                /* gradients are clipped */
	uint32_t n_shares, shares_here; /* of a worker, of which plan and place are the first share's, and of them on
	                                   its node; 0: workers are whole */
} mr_workload;

#endif
