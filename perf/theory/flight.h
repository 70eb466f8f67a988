/*
 * flight.h - stages and the buffers of micro-batches under way, without a plan, workers or rings: for executors that
 * decide themselves, on one thread, which micro-batch goes through which stage with which weights.
 *
 * A flight holds everything of one micro-batch from its first F to its last B: input and target, the activations and
 * gradients between stages, and the slots of the stages. The stages are those of the engine, split into halves (I and
 * W), so the bits are the engine's.
 *
 * Thread: one, set up like a leader (host/group.h).
 */
#ifndef MR_THEORY_FLIGHT_H
#define MR_THEORY_FLIGHT_H

#include "host/memory.h"
#include "data/dataset.h"
#include "planner/partition.h"
#include "stage/stage.h"

typedef struct mr_flights mr_flights;

typedef struct mr_flights_config {
	const mr_graph *graph;         /* without tied parameters */
	const mr_partition *partition;
	const mr_kernels *kernels;
	const mr_dataset *data;
	int64_t samples;               /* of a micro-batch */
	uint64_t seed;
	uint32_t n_flights;            /* under way at once */
} mr_flights_config;

/** Errors: MR_ECONFIG for tied parameters, MR_ERESOURCE, MR_EDNN. */
mr_status mr_flights_create(const mr_flights_config *c, mr_flights **out) MR_MUST_USE;
void mr_flights_destroy(mr_flights *f); /* accepts NULL; on the thread that made it */

/** The stages, [n_stages]. */
mr_stage *const *mr_flights_stages(const mr_flights *f);
mr_kctx *mr_flights_kctx(mr_flights *f);

/** Begin flight @i with micro-batch @micro (whose number addresses its random numbers) and minibatch @batch of the
 * data. */
void mr_flights_load(mr_flights *f, uint32_t i, uint64_t micro, uint64_t batch);

/** F of flight @i at @stage with @weights. At the last stage *@loss is set. */
mr_status mr_flights_forward(mr_flights *f, uint32_t i, uint16_t stage, const void *weights, double *loss) MR_MUST_USE;

/** I of flight @i at @stage with @weights, and W into @grads (overwritten) unless that is NULL. */
mr_status mr_flights_backward(mr_flights *f, uint32_t i, uint16_t stage, const void *weights, void *grads) MR_MUST_USE;

#endif
