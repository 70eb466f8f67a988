/*
 * loader.h - feeds the links of one plan: inputs to the first stage of each pipe, targets straight to its last.
 *
 * Which sample is where is a pure function of the micro-batch number, whatever pipe it goes through (data/dataset.h),
 * so the loader has no state worth saving: it can begin anywhere. Each ring gets the micro-batches of the F that read
 * from it, in the order of that worker's list. All rings are filled independently, each as far as it has idle buffers.
 * Each sample is made once: a source that can leave a half out makes the other when it is needed, and one that cannot
 * makes the target with the input, beside which it waits (mr_links_stage.half). Where the two rings of a pipe have
 * different orders, or the run was resumed between the halves, targets may be made again.
 *
 * In the engine a loader has threads of its own: one for the pipes that begin on one NUMA node, so that inputs are
 * written by a near core, and with a source that decodes files others beside them (loader_crew.h). They stay off the
 * stages' cores where there are others. The replay calls mr_loader_pump instead.
 */
#ifndef MR_THREADS_LOADER_H
#define MR_THREADS_LOADER_H

#include "exec/run.h"

typedef struct mr_loader mr_loader;

/** For run->train or run->eval. Borrows both. Errors: MR_ERESOURCE. */
mr_status mr_loader_create(mr_run *run, mr_links *links, mr_loader **out) MR_MUST_USE;
void mr_loader_destroy(mr_loader *l);

/** Feed from pause point @step on, micro-batches below number @end (UINT64_MAX: no end). Call it while the loader's
 * thread does not run. */
void mr_loader_seek(mr_loader *l, uint64_t step, uint64_t end);

/** Fill all buffers that can be filled without waiting; false: none could. */
bool mr_loader_pump(mr_loader *l);

/** Run on own threads until the end, or until the run's stop flag rises. Errors: MR_ERESOURCE; then some may run, until
 * the flag rises. */
mr_status mr_loader_start(mr_loader *l) MR_MUST_USE;
void mr_loader_join(mr_loader *l);

#endif
