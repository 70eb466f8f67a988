/*
 * endless.h - plans whose lists go on without ever repeating: they are made, lowered and checked a window at a time.
 *
 * Window n has the instructions of every worker between pause points n * length and (n + 1) * length (ir/pause.h;
 * length is the plan's n_micro). It is a plan of its own with one iteration of a body, in whose numbers iteration n is
 * what is meant (plan.h, "Sections"): so they stay small however long the run is. Nothing is drained between windows: F
 * that stand before the pause point belong to the window before, also those of micro-batches whose B come behind it.
 * Where the lists are cut changes no list.
 *
 * Slots, buffers and version buffers are the same in all windows, numbered by micro-batch and version, so that what is
 * under way passes from one window to the next without being touched. How many there are follows from the contract
 * alone: stage s of S has at most S - s micro-batches under way and boundary s one more, with which no worker ever
 * waits for a buffer, and max_staleness + 1 versions, or as many as there are steps.
 *
 * A window is a pure function of its number: it may be made twice, by any thread, and is the same whether a run has
 * come to it from the start or was resumed there.
 *
 * For now such plans are BLOCK coverage on one pipe, a stage a worker, without R: each stage has F, and B with its
 * commit, both ascending. mr_window_check (lower/window_check.h) holds a window and its seam with the one before to
 * that.
 */
#ifndef MR_IR_ENDLESS_H
#define MR_IR_ENDLESS_H

#include "ir/plan.h"

typedef struct mr_endless {
	uint64_t n_steps;   /* steps that there are, with those that the last ones of a run begin; UINT64_MAX: no end */
	uint64_t identity;  /* a hash of everything that decides them */
	bool fixed;         /* their last ones would be others if there were more */
	/* Append F and B of window @n, the active stage's flags and the versions read included, to the body of @out,
	 * which is empty. */
	mr_status (*window)(void *arg, uint64_t n, mr_plan *out);
	void (*destroy)(void *arg);
	void *arg;
} mr_endless;

void mr_endless_destroy(mr_endless *e); /* accepts NULL */

/** Number the storage of lowered @plan, which is endless, for all its windows (see above), whatever window 0 needs.
 * Errors: MR_ECONFIG. */
mr_status mr_endless_storage(mr_plan *plan) MR_MUST_USE;

/** Window @n of @plan, lowered as its lists are. The caller destroys it. Errors: what the system says, MR_ERESOURCE. */
mr_status mr_window_create(const mr_plan *plan, uint64_t n, mr_plan **out) MR_MUST_USE;

/* Does @in, of a window, end in a commit, and so at a pause point? */
static inline bool mr_window_pauses(const mr_instr *in)
{
	return in->op == MR_OP_U || in->flags & MR_INSTR_UPDATE;
}

#endif
