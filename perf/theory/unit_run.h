/*
 * unit_run.h - train on a timeline of unit time (timing/unit_time.h): the theory's PipeDream and LocalSGD, with real
 * arithmetic.
 *
 * Operations are carried out in the timeline's order. F reads the latest version of its stage and keeps it (weight
 * stashing); B uses that version and the activations saved with it, and commits. With replicas, micro-batch m belongs
 * to replica m mod R, and when the last micro-batch of a round is back at stage 0 every replica becomes the plain mean
 * of all.
 */
#ifndef MR_THEORY_UNIT_RUN_H
#define MR_THEORY_UNIT_RUN_H

#include "host/place.h"
#include "timing/unit_time.h"
#include "perf/theory/flight.h"
#include "perf/theory/history.h"

typedef enum mr_unit_event_kind {
	MR_UNIT_UPDATE, /* after a commit: stage, micro */
	MR_UNIT_STEP,   /* after all operations of a time step, and the average if one falls on it: time */
} mr_unit_event_kind;

typedef struct mr_unit_event {
	mr_unit_event_kind kind;
	uint32_t time;
	uint16_t stage, replica;  /* UPDATE */
	uint32_t micro;           /* UPDATE */
	uint64_t read;            /* UPDATE: version that the micro-batch read there */
	uint32_t n_losses;        /* STEP: losses so far */
	double loss;              /* STEP: the last of them */
	const mr_histories *model; /* [n_replicas]: latest of each stage is the present model */
} mr_unit_event;

/* Returning false ends the run. */
typedef bool mr_unit_observer(void *arg, const mr_unit_event *e);

typedef struct mr_unit_config {
	const mr_graph *graph;
	const mr_partition *partition;
	const mr_kernels *kernels;
	const mr_dataset *data;
	const mr_optim *optim;
	const mr_lr *lr;               /* by the commit number of the replica's stage */
	const mr_place_worker *place;
	int64_t samples;               /* of a micro-batch; micro-batch m takes minibatch m of the data */
	uint64_t seed;
	const mr_unit_time *timeline;
	const double *noise;           /* recorded noise, added to gradients in the order of the backward operations;
	                                  NULL: none */
	size_t n_noise;
	mr_unit_observer *observer;    /* NULL: none */
	void *arg;
} mr_unit_config;

/** Errors: MR_ECONFIG, MR_EDATA (the noise ends before the timeline), MR_ERESOURCE, MR_EDNN, MR_EDIVERGED when a loss
 * is not finite. */
mr_status mr_unit_run(const mr_unit_config *c) MR_MUST_USE;

/** Write the mean over @n_replicas models of the masters of the latest weights of @stage to @weights, as weights of
 * @types are stored, and the rest of the masters to @rest (NULL: the weights are their masters). */
void mr_unit_mean(const mr_histories *model, uint16_t n_replicas, uint16_t stage, const mr_types *types, void *weights,
		  int16_t *rest);

#endif
