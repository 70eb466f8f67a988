/*
 * ages.h - how old what a run really read was: the steps of a pipeline as this machine carried them out, in the
 * terms of ir/aged.h.
 *
 * All commits of a run, in the order in which one counter has counted them, are its steps, and the history is counted
 * in them. Step k updates the stage that the k-th commit updated, with the micro-batch of that commit; its delay at
 * stage b is the number of commits, of whatever stages, between the moment at which F of that micro-batch began at b
 * (then it has its weights) and step k.
 *
 * A stage is read and committed by one worker, which reads the counter before each F and moves it on behind each
 * commit: so the versions that follow from these delays are the ones the run has read. Carried out one after the other
 * (theory/aged_run.h), or by the system rpd from a record (mr_aged_print), the steps give the weights of the run to the
 * bit, where the optimizer and the learning rate do not look at the number of a step.
 */
#ifndef MR_THEORY_AGES_H
#define MR_THEORY_AGES_H

#include "ir/aged.h"
#include "exec/run.h"

/**
 * The steps of micro-batches 0 .. @n_micro - 1 of @run, which stands at a pause point behind them and has kept trace
 * records of all of them; the minibatch of a step is its micro-batch. The caller destroys *@out.
 * Errors: MR_EINVAL no trace, or more instructions than it keeps (MR_TRACE_RING a worker), or the plan is not one
 * that commits after each micro-batch and goes back on the version it went forward on; MR_ERESOURCE.
 */
mr_status mr_ages_of_run(const mr_run *run, uint32_t n_micro, mr_aged **out) MR_MUST_USE;

#endif
