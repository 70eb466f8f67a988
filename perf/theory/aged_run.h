/*
 * aged_run.h - carries out steps that update one block each (timing/aged.h), one after the other, as they are defined.
 *
 * For each step: forward through all blocks, each at the version that the step reads; back to the block that it
 * updates; one optimizer step there, from the block's latest version. There is no plan, no lowering and no worker:
 * every other way of running the same steps must equal this one bit for bit.
 */
#ifndef MR_THEORY_AGED_RUN_H
#define MR_THEORY_AGED_RUN_H

#include "host/place.h"
#include "timing/aged.h"
#include "perf/theory/flight.h"
#include "perf/theory/history.h"

/* Passed to an observer right after step @k. */
typedef struct mr_aged_event {
	uint32_t k;
	uint16_t stage;          /* the block that was updated */
	double loss;             /* of the micro-batch, at the mixed model that the step read */
	const uint32_t *read;    /* [n_stages] versions that it read; all of them still exist */
	const mr_histories *model; /* latest of each stage is the model after the step; at[stage].grads is the gradient
	                              */
} mr_aged_event;

/* Returning false ends the run after this step. */
typedef bool mr_aged_observer(void *arg, const mr_aged_event *e);

typedef struct mr_aged_config {
	const mr_graph *graph;
	const mr_partition *partition;  /* as many stages as the steps have blocks */
	const mr_kernels *kernels;
	const mr_dataset *data;
	const mr_optim *optim;
	const mr_lr *lr;                /* by the number of the step, from 1; optimizers count the same */
	const mr_place_worker *place;
	int64_t samples;                /* of a minibatch */
	uint64_t seed;
	const mr_aged *steps;
	mr_aged_observer *observer;     /* on the thread that computes; NULL: none */
	void *arg;
} mr_aged_config;

/**
 * Initial weights, then all steps. When @final is not NULL the latest weights of each stage are copied to final[stage],
 * as mr_stage lays them out. Errors: MR_ECONFIG, MR_ERESOURCE, MR_EDNN, MR_EDIVERGED when a loss is not finite.
 */
mr_status mr_aged_run(const mr_aged_config *c, void *const *final) MR_MUST_USE;

#endif
