/*
 * unroll_time.h - when each node of an unrolled plan begins and ends, by a table of costs: the rule of time that walks,
 * the lowering and the simulator share.
 */
#ifndef MR_TIMING_UNROLL_TIME_H
#define MR_TIMING_UNROLL_TIME_H

#include "ir/cost.h"
#include "ir/unroll.h"

/** How long @in takes where its stage costs what @cost says. */
double mr_instr_cost(const mr_plan *plan, const mr_instr *in, const mr_cost *cost);

/* What may make times differ from the cost table: the simulator changes a walk with these. Either may be NULL. */
typedef struct mr_time_hooks {
	/* The end of the instruction of @node, which begins at @begin and costs @duration; NULL: @begin + @duration.
	   Not before @begin. */
	double (*finish)(const void *arg, const mr_unroll *g, uint32_t node, double begin, double duration);
	/* The time of a transfer from worker @from to worker @to that costs @c by the table; NULL: @c. Not below 0. */
	double (*handoff)(const void *arg, uint16_t from, uint16_t to, double c);
	const void *arg;
	const uint32_t *known; /* [n_workers] worker w's nodes before known[w] keep the begin and end that they have;
	                          NULL: none */
	bool irregular; /* finish treats iterations differently: a period is a mean over many */
} mr_time_hooks;

/**
 * When each node begins and ends at the earliest, in topological @order. @begin, @end: [n_all]. @binding [n_all] (may
 * be NULL): the source that the node waited for last, MR_NO_NODE when it begins at 0; a list predecessor wins a tie.
 * @hooks may be NULL.
 */
void mr_unroll_times(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, const uint32_t *order,
		     double *begin, double *end, uint32_t *binding);

/**
 * The same without a given order: it sweeps the graph in an order of its own, and notes no binding sources. *@complete
 * is false where a cycle leaves nodes without times. Errors: MR_ERESOURCE.
 */
mr_status mr_unroll_times_swept(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, double *begin,
				double *end, bool *complete) MR_MUST_USE;

/** Whether the edge from @from to @to carries an activation or a gradient to another worker. */
bool mr_unroll_hands_over(const mr_unroll *g, uint32_t from, uint32_t to);

/* When a node may begin. */
typedef struct mr_ready {
	double at;     /* its earliest begin */
	double behind; /* its earliest end: a W of a shared sum cannot end before the previous W */
	uint32_t last; /* the source that it waited for last, or MR_NO_NODE */
} mr_ready;

/** @r, raised to the time at which all edges into @node have arrived; the times of their sources are known. */
mr_ready mr_unroll_ready(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, uint32_t node,
			 const double *begin, const double *end, mr_ready r);

/** The end of @node if it begins at @r->at. */
double mr_unroll_finish(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, uint32_t node,
			const mr_ready *r);

/** The cause (mr_wait_cause) under which the wait of @node for its binding source @from is recorded; MR_WAIT_NONE if
 * @from is its predecessor in the list. */
uint8_t mr_unroll_cause(const mr_unroll *g, uint32_t node, uint32_t from);

#endif
