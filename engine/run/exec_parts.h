/* exec_parts.h - the inside of the step loop, shared by its files: exec.c (loop), exec_acquire.c, exec_compute.c, exec_commit.c. */
#ifndef MR_RUN_EXEC_PARTS_H
#define MR_RUN_EXEC_PARTS_H

#include "run/exec.h"

/* What the instruction in hand has acquired: mr_worker's `got`. */
enum { GOT_IN = 1, GOT_OUT = 2, GOT_TARGET = 4 };

/** F: compute, hand over, book the loss. */
mr_status mr_exec_forward(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** R: the saved activations of a dropped micro-batch once more. */
mr_status mr_exec_recompute(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** B, I and W, with the optimizer step inside where the instruction has MR_INSTR_UPDATE. */
mr_status mr_exec_backward(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** W of several micro-batches. */
mr_status mr_exec_span(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** AR, N and U. */
void mr_exec_reduce(mr_worker *w, const mr_task *t);
void mr_exec_norms(mr_worker *w, const mr_task *t);
mr_status mr_exec_commit(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** A commit must make the version after the latest. */
mr_status mr_exec_check_next(const mr_block *b, const mr_task *t, uint64_t version) MR_MUST_USE;
/** Version @version of @t's stage is made: let others read it. */
void mr_exec_publish(mr_run *run, const mr_task *t, uint64_t version, double lr, double norm);

#endif
