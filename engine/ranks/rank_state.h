/* rank_state.h - what a run over ranks keeps (exec/state.h), from all ranks to rank 0 and from there to all. */
#ifndef MR_RANKS_RANK_STATE_H
#define MR_RANKS_RANK_STATE_H

#include "exec/state.h"

/** All ranks call it, paused and mirrored (mr_run_mirror) at the same step: what each rank's stages hold goes to
 * rank 0. Errors: the transport's;
 * MR_EINVAL the ranks' lists differ. */
mr_status mr_rank_state_gather(mr_run *run) MR_MUST_USE;

/** The stretch of @bytes bytes from byte @at of @t on is @rank's. */
typedef mr_status mr_rank_stretch(void *arg, const mr_saved_tensor *t, uint64_t at, uint64_t bytes, uint32_t rank);

/** Call @take for each stretch of @t, a tensor of the lists of @run, in ascending order and without gaps. Errors:
 * those of @take. */
mr_status mr_rank_state_cut(const mr_run *run, const mr_saved_tensor *t, mr_rank_stretch *take, void *arg) MR_MUST_USE;

/** All ranks call it: @bytes at @data, which @rank has, to the same place on rank 0. Errors: the transport's. */
mr_status mr_rank_state_bring(const mr_run *run, uint32_t rank, void *data, size_t bytes) MR_MUST_USE;

/** All ranks call it: are their lists equally long? Errors: MR_EINVAL; the transport's. */
mr_status mr_rank_state_check(const mr_run *run, const mr_state *state) MR_MUST_USE;

/** All ranks call it, paused: what averages of replicas have in common (weights/replicas.h), each rank its ranges,
 * goes to all that have a replica. */
mr_status mr_rank_state_share(mr_run *run) MR_MUST_USE;

/** All ranks call it, standing at the same step: what rank 0 has loaded goes to those who need it. */
mr_status mr_rank_state_scatter(mr_run *run) MR_MUST_USE;

/** Rank 0, in place of it, for each tensor in turn once it is loaded: to those who need it. What rank 0 does not need
 * itself takes no memory any more. Errors: the transport's. */
mr_status mr_rank_state_give(mr_run *run, const mr_saved_tensor *t) MR_MUST_USE;

#endif
