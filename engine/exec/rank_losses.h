/*
 * rank_losses.h - the losses of a run over ranks: each rank has those of its own last stages.
 *
 * run->losses and run->eval_loss hold mr_elsewhere() where another rank computes the loss, until it is put together on
 * rank 0: there the mean of a step is summed in the order of its micro-batches, as in one process.
 */
#ifndef MR_EXEC_RANK_LOSSES_H
#define MR_EXEC_RANK_LOSSES_H

#include <string.h>

#include "exec/run.h"

/* Is @loss another rank's? */
static inline bool mr_is_elsewhere(double loss)
{
	uint64_t bits;

	memcpy(&bits, &loss, sizeof(bits));
	return bits == MR_ELSEWHERE_BITS;
}

static inline double mr_elsewhere(void)
{
	uint64_t bits = MR_ELSEWHERE_BITS;
	double loss;

	memcpy(&loss, &bits, sizeof(loss));
	return loss;
}

/** Before a run begins, or goes on at another step: all losses are elsewhere. */
void mr_rank_losses_reset(mr_run *run);

/** Step @version is committed: keep its losses for telling, and forget them. Thread: the last stage's worker. */
void mr_rank_losses_take(mr_run *run, uint64_t version);

/** [need] the losses of step @version, which is one of the last run->rank_steps. */
double *mr_rank_losses_of(const mr_run *run, uint64_t version);

/** Put what another rank told of a step or an evaluation, [@n] @from, into @to; returns how many of @to are there. */
uint64_t mr_rank_losses_merge(double *to, const double *from, uint64_t n);

#endif
