/*
 * loader.h - feeds the links of one plan: inputs to the first stage of each pipe, targets straight to its last.
 *
 * Which sample is where is a pure function of the micro-batch number, whatever pipe it goes through (data/dataset.h),
 * so the loader has no state worth saving: it can begin anywhere. Each ring gets the micro-batches of the F that read
 * from it, in the order of that worker's list. All rings are filled independently, each as far as it has idle buffers;
 * a sample's other half is not made where the source can leave it out, and else goes into a spare, which is cheaper
 * than tying the two ends of the pipeline together. In the engine a loader has a thread of its own, and with a source
 * that decodes files others beside it (loader_crew.h); the replay calls mr_loader_pump instead.
 */
#ifndef MR_EXEC_LOADER_H
#define MR_EXEC_LOADER_H

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

/** Run on an own thread until the end, or until the run's stop flag rises. */
mr_status mr_loader_start(mr_loader *l) MR_MUST_USE;
void mr_loader_join(mr_loader *l);

#endif
