/* exec_internal.h - the inside of the step loop, shared by its files: exec.c (loop), exec_acquire.c, exec_compute.c,
 * exec_commit.c, and those of features/. */
#ifndef MR_EXEC_EXEC_INTERNAL_H
#define MR_EXEC_EXEC_INTERNAL_H

#include "exec/exec.h"

/** Add @ns nanoseconds of waiting for @cause to the current instruction. */
void mr_exec_book(mr_worker *w, mr_wait_cause cause, uint64_t ns);

/* A wait of a worker. */
typedef struct mr_wait {
	/* One try: MR_WAIT_NONE when the wait is over, else its cause. It may fail: *@st. */
	mr_wait_cause (*look)(mr_worker *w, void *arg, mr_status *st);
	void *arg;
	bool helps; /* the worker may carry out instructions of others meanwhile (mr_hooks.help) */
} mr_wait;

/** Look until the wait is over, spinning, then sleeping in between; waits are recorded by cause. @t is the task of the
 * last look. Errors: those of a look, MR_ESTOPPED. */
mr_status mr_exec_wait_until(mr_worker *w, const mr_wait *wait, const mr_task *t) MR_MUST_USE;

/** The next task of worker @w of a racing plan before pause point *@limit, in *@t: MR_WAIT_NONE: it is ready; else why
 * no task is. *@more: false: no task is left. */
mr_wait_cause mr_exec_race_look(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit, mr_task *t, bool *more,
				mr_status *st);
/** @t, which mr_exec_race_look returned, has been carried out. */
void mr_exec_race_done(mr_worker *w, const mr_task *t);
/** Forwards that @w has begun, as its neighbours see it. */
uint64_t mr_exec_race_begun(const mr_worker *w);
/** @w has reached a pause point. */
void mr_exec_race_paused(mr_worker *w, const mr_links *links);

/** F: compute, send the result, record the loss. */
mr_status mr_exec_forward(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** Fill in @io for a pass of @t over the micro-batch in @slot. Errors: those of the features' hooks. */
mr_status mr_exec_make_io(mr_worker *w, const mr_task *t, mr_slot *slot, mr_stage_io *io) MR_MUST_USE;
/** The last stage's F of @t has found @loss. Errors: MR_EDIVERGED, unless losses are judged with their steps. */
mr_status mr_exec_book_loss(mr_run *run, const mr_task *t, double loss) MR_MUST_USE;
/** R: compute the dropped activations of a micro-batch again. */
mr_status mr_exec_recompute(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** B, I and W, with the optimizer step inside where the instruction has MR_INSTR_UPDATE. */
mr_status mr_exec_backward(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** Give back @slot, of @t's micro-batch, and its buffers: the last reader of its activations at this stage is done. */
void mr_exec_release(mr_run *run, const mr_task *t, mr_slot *slot);
/** Give back the slots and buffers that the W of @t's stage and pipe have left; all of them are done. */
void mr_exec_release_rest(mr_run *run, const mr_task *t);

/** W, of one micro-batch or of several. */
mr_status mr_exec_weights(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** The call of the @j-th W of the span of @t, whose slot is *@slot. */
mr_status mr_exec_span_io(mr_worker *w, const mr_task *t, uint32_t j, mr_slot **slot, mr_stage_io *io) MR_MUST_USE;
/** More gradients are in the sum of their pipe; the last of a count in all pipes publishes it. */
mr_status mr_exec_count_sum(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** AR, N and U. */
mr_status mr_exec_reduce(mr_worker *w, const mr_task *t) MR_MUST_USE;
mr_status mr_exec_norms(mr_worker *w, const mr_task *t) MR_MUST_USE;
mr_status mr_exec_commit(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** The two halves of U: what all gradients go through, and norm, step and publishing. */
mr_status mr_exec_begin_commit(mr_worker *w, const mr_task *t) MR_MUST_USE;
mr_status mr_exec_end_commit(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** An observer has been called for @t: release the workers that waited for that. */
void mr_exec_observed(mr_worker *w, const mr_task *t);

/** MR_EDIVERGED with the message about the loss of a training micro-batch that is not finite. */
mr_status mr_exec_bad_loss(uint64_t micro, double loss, uint64_t version) MR_MUST_USE;
/** One step of @b's @shard to @version, clipped by @norm if the run clips. If the norm is not finite and the run skips
 * such steps, the weights stay unchanged. Errors: MR_EDIVERGED. */
mr_status mr_exec_step(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double norm) MR_MUST_USE;
/** Its arithmetic, with rate @lr and gradients times @scale. */
mr_status mr_exec_apply(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double lr,
			double scale) MR_MUST_USE;
/** The learning rate of the commit that makes @version of @b. */
double mr_exec_lr(const mr_run *run, const mr_stage_weights *b, uint64_t version);
/** Whether each shard of @b computes the norm that it clips by: stage replicas whose workers share no memory. */
bool mr_exec_clips_by_shard(const mr_run *run, const mr_stage_weights *b);
/** Global norm of the gradient that makes @version, all of whose parts are known to @worker (mr_norms_all). */
double mr_exec_norm(const mr_run *run, uint64_t version, uint16_t worker);

/**
 * Is the norm of the gradient that makes @version of @b requested, although nothing is clipped by it
 * (mr_run_config.norm_every)? Then its step is carried out separately, from the whole gradient.
 */
bool mr_exec_asks_norm(const mr_run *run, const mr_stage_weights *b, uint64_t version);
/** The squared norms of the gradient that makes @version of @b are known: returns the norm for the record of its step.
 * NAN if it is global: the last stage to get there computes it, before its step (mr_run_next_step). */
double mr_exec_take_norm(mr_run *run, mr_stage_weights *b, uint64_t version);

/** A commit must make the version after the latest. */
mr_status mr_exec_check_next(const mr_stage_weights *b, const mr_task *t, uint64_t version) MR_MUST_USE;
/** Version @version of @stage, in @b, is made and final: publish it, and record the step. Errors: MR_EDIVERGED a loss
 * of it is not finite. */
mr_status mr_exec_publish(mr_worker *w, mr_stage_weights *b, uint16_t stage, uint64_t version, double lr,
			  double norm) MR_MUST_USE;

#endif
