/*
 * exact_window.h - when each pass of a problem can begin and must have ended, if all is to end by a target.
 *
 * head: no order begins the pass earlier. tail: no order has less behind its end. before: of each chain beside it on
 * its worker, how many passes come before it in every order that meets the target. Each follows from the others:
 *   - along what a pass waits for (chains, stages, room for activations);
 *   - of the passes known to come before it on its worker, those with heads from some time on all lie between that time
 *     and its begin (and mirrored for tails);
 *   - if a pass and one behind it do not fit between head and tail, they come in the other order (a pair), and if they
 *     fit in neither, or all of a worker do not fit in their best preemptive order (Jackson), no order meets it.
 * The least target that is not refuted is a lower bound of the makespan.
 */
#ifndef MR_SCHEDULES_EXACT_WINDOW_H
#define MR_SCHEDULES_EXACT_WINDOW_H

#include "schedules/exact/exact_job.h"

typedef struct mr_exact_window {
	int64_t *head, *tail;  /* [n_passes] */
	uint32_t *before;      /* [n_passes][most_beside] */
} mr_exact_window;

typedef struct mr_exact_narrower mr_exact_narrower;

/** Room for narrowing windows of @job, which must outlive it, and the begins that no target is needed for
 * (exact_cross.h). Errors: MR_ERESOURCE. */
mr_status mr_exact_narrower_create(const mr_exact_job *job, mr_exact_narrower **out) MR_MUST_USE;
void mr_exact_narrower_destroy(mr_exact_narrower *n);

/** How often windows have been narrowed: the measure of work. */
uint64_t mr_exact_narrower_made(const mr_exact_narrower *n);

mr_status mr_exact_window_init(const mr_exact_job *job, mr_exact_window *out) MR_MUST_USE;
void mr_exact_window_fini(mr_exact_window *w);
void mr_exact_window_copy(const mr_exact_job *job, mr_exact_window *to, const mr_exact_window *from);

/** Make @w the windows of @n's job before any target. */
void mr_exact_window_begin(const mr_exact_narrower *n, mr_exact_window *w);

/** Say that the first @n passes of @chain come before @pass, which is on the same worker. */
void mr_exact_put_before(const mr_exact_job *job, mr_exact_window *w, uint32_t pass, uint32_t chain, uint32_t n);

/** Narrow @w for @target. false: no order meets it. @worker: only what was put before on it is new; MR_EXACT_NOWHERE:
 * all is. */
bool mr_exact_narrow(mr_exact_narrower *n, mr_exact_window *w, int64_t target, uint32_t worker);

/** The same, and try each pair of passes whose order is open: a pair that no order meeting the target has is put the
 * other way round. At most about @most trials. @spare is room for one. */
bool mr_exact_narrow_by_trial(mr_exact_narrower *n, mr_exact_window *w, mr_exact_window *spare, int64_t target,
			      uint64_t most);

/** The least target of @from to @to that is not refuted from the start, @to if there is none below it; @w is narrowed
 * for it. */
int64_t mr_exact_lower(mr_exact_narrower *n, int64_t from, int64_t to, mr_exact_window *w);

#endif
