/*
 * snapshot.h - a state that is copied while the run goes on: each worker copies what it has as it passes a pause point.
 *
 * Nothing that a worker has before a pause point waits for what another has behind it (ir/pause.h), so the state there
 * is whole although workers pass it at different times. What belongs to a stage only its worker changes, and copies as
 * it passes: weights, optimizer state, slots and their inputs. An activation on its way, which the stage before has
 * sent before its pause point and the stage takes behind its own, is copied right before the F that takes it. No
 * gradient is on its way there, as all stages have the same version. Of a plan that flushes nothing is on its way.
 *
 * Thread: the caller's lists, arms and ends; workers pass. The members but the atomics belong to the caller until it
 * has armed the snapshot, then each tensor to the worker of its stage, and to the caller again once it is whole.
 */
#ifndef MR_EXEC_SNAPSHOT_H
#define MR_EXEC_SNAPSHOT_H

#include <stdatomic.h>

#include "exec/state.h"

#define MR_SNAPSHOT_NONE UINT64_MAX

/* Copy tensor @i of list @list (0 model, 1 optimizer, 2 inflight) of the state now, by the threads of @kc, or by the
 * calling one where that is NULL. Thread: its worker's, the leader of @kc. */
typedef void mr_snapshot_copy(void *arg, int list, size_t i, const mr_kernels *k, mr_kctx *kc);

/* The tensors of a stage in the three lists: [first, end) of each. In the last one, inputs of the model begin at
 * `inputs`, and activations that the stage before has sent at `sent`. */
typedef struct mr_snapshot_stage {
	size_t first[3], end[3], inputs, sent;
} mr_snapshot_stage;

struct mr_snapshot {
	uint64_t number;     /* of the snapshot that is armed; from 1 on */
	mr_state state;      /* as of that step; where inputs of the model lie is known when they are copied */
	mr_snapshot_stage *stage; /* [n_stages] */
	uint8_t *late;       /* [state.inflight.n] it is on its way there, and not copied yet */
	mr_snapshot_copy *copy;
	void *arg;
	_Alignas(64) _Atomic uint64_t step;      /* MR_SNAPSHOT_NONE: no snapshot is armed */
	_Alignas(64) _Atomic uint32_t n_passed;  /* workers that have copied all but activations on their way */
	_Alignas(64) _Atomic uint32_t n_whole;   /* workers that have copied all */
};

/** Give @run a snapshot (run->snapshot) if its states can be copied so: of one pipe, on workers of one process,
 * without dropped activations, and without features that save something. Errors: MR_ERESOURCE. */
mr_status mr_snapshot_open(mr_run *run) MR_MUST_USE;
void mr_snapshot_close(mr_run *run);

/** Make run->snapshot->state of pause point @step > 0, which no worker has passed. Errors: MR_ERESOURCE. */
mr_status mr_snapshot_list(mr_run *run, uint64_t step) MR_MUST_USE;

/** From now on workers that pass @step, for which the list was made, copy by @copy. None has passed it. */
void mr_snapshot_arm(mr_run *run, uint64_t step, mr_snapshot_copy *copy, void *arg);

/** Has everything been copied? */
bool mr_snapshot_is_whole(const mr_run *run);

/** While all workers pause: copy what they have left to copy. False: they have not all passed the step. */
bool mr_snapshot_complete(mr_run *run);

/** No snapshot is armed from now on, and its lists are the caller's. The snapshot is whole, or all workers pause. */
void mr_snapshot_end(mr_run *run);

/** @w passes pause point @step: if a snapshot of it is armed, copy what @w has of it. */
void mr_snapshot_pass(mr_worker *w, uint64_t step);

/** @w is about to carry out an F of @stage, whose input is in buffer @in. */
void mr_snapshot_take(mr_worker *w, uint16_t stage, uint32_t in);

#endif
