/*
 * endless.h - plans whose lists go on without ever repeating. They are made, lowered and checked a window at a time.
 *
 * Window n has the instructions of every worker between pause points n * length and (n + 1) * length (ir/pause.h;
 * length is the plan's n_micro). It is a plan with one iteration of a body, and its numbers are offsets from iteration
 * n (plan.h, "Sections"), so they stay small however long the run is. Nothing is drained between windows: an F
 * before the pause point belongs to the window before, even if the B of its micro-batch comes after the pause point.
 * Where the lists are cut changes no list.
 *
 * Slots, buffers and version buffers are the same in all windows, numbered by micro-batch and version, so that work
 * under way passes from one window to the next without a copy. Their number follows from the contract
 * alone: stage s of S has at most S - s micro-batches under way and boundary s one more, so that no worker ever
 * waits for a buffer, and max_staleness + 1 versions, or as many as there are steps. A run that is resumed with more
 * steps may have more versions then: what a checkpoint holds does not depend on their number (exec/state.c).
 *
 * A window is a pure function of its number: any thread may make it, more than once, and it is the same whether a run
 * reached it from the start or was resumed there.
 *
 * For now such plans are BLOCK coverage on one pipe, a stage a worker, without R: each stage has F, and B with its
 * commit, both ascending. mr_window_check (lower/window_check.h) holds a window and its seam with the one before to
 * that.
 */
#ifndef MR_IR_ENDLESS_H
#define MR_IR_ENDLESS_H

#include "ir/plan.h"

typedef struct mr_endless {
	uint64_t n_steps;   /* number of steps, including those that a run's last steps begin; UINT64_MAX: no end */
	uint64_t identity;  /* a hash of everything that the steps follow from */
	/* Append F and B of window @n, the active stage's flags and the versions read included, to the body of @out,
	 * which is empty. */
	mr_status (*window)(void *arg, uint64_t n, mr_plan *out);
	void (*destroy)(void *arg);
	void *arg;
} mr_endless;

void mr_endless_destroy(mr_endless *e); /* accepts NULL */

/** Number the storage of the lowered, endless @plan for all its windows (see above), which may need more than window 0.
 * Errors: MR_ECONFIG. */
mr_status mr_endless_storage(mr_plan *plan) MR_MUST_USE;

/** Make window @n of @plan, lowered as the plan's lists are. The caller destroys it. Errors: those of the system;
 * MR_ERESOURCE. */
mr_status mr_window_create(const mr_plan *plan, uint64_t n, mr_plan **out) MR_MUST_USE;

/* Does @in, an instruction of a window, end with a commit, and so at a pause point? */
static inline bool mr_window_pauses(const mr_instr *in)
{
	return in->op == MR_OP_U || in->flags & MR_INSTR_UPDATE;
}

#endif
