/*
 * mitigated.h - a block whose stale gradients are dealt with (nn/mitigate.h): who was read, which rate, what is changed.
 *
 * Only plans that never flush have stale gradients, and those have one pipe (with turns, ir/plan.h, mitigations are refused), so all of this is the owner's, and its team's. Where the
 * mitigation looks at the weights that F read, the plan keeps that version until the commit (plan.h, keep_read). Of several
 * micro-batches in a count the oldest version counts.
 */
#ifndef MR_EXEC_MITIGATED_H
#define MR_EXEC_MITIGATED_H

#include "ir/plan.h"
#include "exec/block.h"

/** What @m (NULL: nothing) makes of a stage of @plan, behind mr_aim_open and before mr_block_layout; @optim: the run's, is copied. */
void mr_mitigated_open(mr_block *b, const mr_mitigate *m, const mr_optim *optim, const mr_plan *plan);

/** Take the block's state of the mitigation (or measure it). */
void mr_mitigated_layout(mr_block *b, mr_arena *a);

/** A gradient enters the count; its F has read @version. @first: it begins the count. */
void mr_mitigated_note(mr_block *b, uint64_t version, bool first);

/** The learning rate of commit @version (from 1), whose gradients have been noted. */
double mr_mitigated_lr(const mr_block *b, const mr_lr *lr, uint64_t version);

/** The same for commits to come, by their steady age: for predictions. */
double mr_mitigated_lr_ahead(const mr_block *b, const mr_lr *lr, uint64_t version);

/** Before and after the step that makes version latest + 1. Neither does anything where nothing is to be done. */
void mr_mitigated_correct(mr_block *b, mr_kctx *kc);
void mr_mitigated_follow(mr_block *b, mr_kctx *kc);

#endif
