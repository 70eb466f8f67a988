/*
 * rank_parts.h - checkpoints of a training over ranks, of which each rank writes its own parts.
 *
 * Every rank knows where each byte of each file of a checkpoint lies and who has it (ranks/rank_state.h). A rank's
 * parts are the whole pages of what it has; the rest, which is little, goes to rank 0 by messages, so that no page has
 * two writers.
 *
 *	shared   rank 0 makes the files in a temporary folder; all write their parts into the same files and sync them;
 *	         rank 0 adds up the checksums, writes the manifest, reads all back, and gives the folder its name. Bytes
 *	         and names are those that one process writes.
 *	local    rank R saves its parts as a checkpoint of its own, checkpoints/rank-R/step-00001000; that of rank 0 is
 *	         the last, and its manifest also has the facts of the whole. `millrace gather` makes the whole of them
 *	         (gather.h), and so does a resume over ranks.
 *	rank0    as one process, once all has come to rank 0 (session/executor.h).
 *
 * Rank 0 calls; the others carry out their part when it says so (mr_rank_parts_follow). While paused.
 */
#ifndef MR_CHECKPOINT_RANK_PARTS_H
#define MR_CHECKPOINT_RANK_PARTS_H

#include "checkpoint/checkpoint_draft.h"
#include "ranks/over_ranks.h"

/** Decide who writes the checkpoints of @s, which is started, over ranks: as checkpoint.parts says, or by trying
 * whether all ranks see the folder @run_dir. Does nothing for one process. Errors: MR_EIO; MR_ECONFIG shared was asked
 * for, and a rank does not see the folder; the transport's. */
mr_status mr_rank_parts_begin(mr_session *s, const char *run_dir) MR_MUST_USE;

/** Do all ranks write? Else mr_executor_state has all. */
bool mr_rank_parts_write(const mr_session *s);

/** As mr_state_copy without a copy: the lists of @s to @st, the sum of all squares of the weights, of which each rank
 * has its own, and the name of a weight that is not finite, or "". Errors: also the transport's. */
mr_status mr_rank_parts_measure(mr_session *s, mr_state *st, double *squares, char bad[160]) MR_MUST_USE;

/** As mr_checkpoint_save, by all ranks. Errors: also those of another rank, which its message names. */
mr_status mr_rank_parts_save(mr_session *s, const char *dir, const mr_checkpoint_draft *d) MR_MUST_USE;

/** Another rank, whose session is @session: carry out what rank 0 says. */
mr_over_ranks_part mr_rank_parts_follow;

#endif
