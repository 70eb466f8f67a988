/*
 * ages.h - the ages of a run's reads: the steps of a pipeline as this machine carried them out, in the
 * terms of timing/aged.h.
 *
 * All commits of a run, in the order of one counter, are its steps, and the history is counted
 * in them. Step k updates the stage that the k-th commit updated, with the micro-batch of that commit; its delay at
 * stage b is the number of commits, of any stages, between the moment at which F of that micro-batch began at b
 * (when it has its weights) and step k.
 *
 * One worker reads and commits a stage; it reads the counter before each F and increments it after each
 * commit: so the versions that follow from these delays are the ones that the run has read. Carried out one after the
 * other (theory/aged_run.h), or by the system rpd from a record (mr_aged_print), the steps give the weights of the run
 * to the bit, if the optimizer and the learning rate do not depend on the number of a step.
 */
#ifndef MR_THEORY_AGES_H
#define MR_THEORY_AGES_H

#include "timing/aged.h"
#include "exec/run.h"

/**
 * The steps of micro-batches 0 .. @n_micro - 1 of @run, which is at a pause point after them and has kept trace
 * records of all of them; the minibatch of a step is its micro-batch. The caller destroys *@out.
 * Errors: MR_EINVAL no trace, or more instructions than it keeps (MR_TRACE_RING a worker), or the plan does not
 * commit after each micro-batch with the same version forward and backward; MR_ERESOURCE.
 */
mr_status mr_ages_of_run(const mr_run *run, uint32_t n_micro, mr_aged **out) MR_MUST_USE;

#endif
