/* exec_internal.h - the inside of the step loop, shared by its files: exec.c (loop), exec_acquire.c, exec_compute.c,
 * exec_commit.c, exec_race.c, exec_steal.c. */
#ifndef MR_EXEC_EXEC_INTERNAL_H
#define MR_EXEC_EXEC_INTERNAL_H

#include "exec/exec.h"

/** Book a wait on the current instruction. */
void mr_exec_book(mr_worker *w, mr_wait_cause cause, uint64_t ns);

/* What a worker waits for. */
typedef struct mr_wait {
	/* One try: MR_WAIT_NONE when the wait is over, else its cause. It may fail: *@st. */
	mr_wait_cause (*look)(mr_worker *w, void *arg, mr_status *st);
	void *arg;
	bool helps; /* the worker carries out W of others meanwhile, where the plan steals */
} mr_wait;

/** Look until the wait is over, spinning, then sleeping in between; waits are booked by cause. @t is the task that the
 * last look was for. Errors: those of a look, MR_ESTOPPED. */
mr_status mr_exec_wait_until(mr_worker *w, const mr_wait *wait, const mr_task *t) MR_MUST_USE;

/** As mr_exec_run, of a racing plan (exec_race.c). */
mr_status mr_exec_race(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit) MR_MUST_USE;

/** What worker @w of a racing plan does next before pause point *@limit, in *@t: MR_WAIT_NONE, it is ready; else why
 * nothing is. *@more: false, nothing is left to do. */
mr_wait_cause mr_exec_race_look(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit, mr_task *t, bool *more,
				mr_status *st);
/** @t, which mr_exec_race_look showed, is carried out. */
void mr_exec_race_done(mr_worker *w, const mr_task *t);
/** Forwards that @w has begun, as far as its neighbours can see. */
uint64_t mr_exec_race_begun(const mr_worker *w);
/** @w stands at a pause point. */
void mr_exec_race_paused(mr_worker *w, const mr_links *links);

/** Plans whose W are placed on any worker (exec_steal.c). May @w do @t, which is in its list, or has another worker
 * taken it? */
bool mr_exec_claim(mr_worker *w, const mr_task *t);
/** @w would wait since @since, for @cause: it takes and carries out a W that is left, if there is one, and says so. */
bool mr_exec_help(mr_worker *w, mr_links *links, mr_wait_cause cause, uint64_t since, mr_status *status);
/** May W @t begin: has the W before it begun to add, and if it is another worker's, are all I of its count done? */
bool mr_exec_has_turn(const mr_worker *w, const mr_task *t);
/** The place of @t in the order of its sum while it is carried out; *@arg lives as long. */
typedef struct mr_exec_turn {
	mr_worker *w;
	mr_stage_weights *b; /* NULL: the plan does not steal */
	mr_steal_sum *sum;   /* of b */
	uint32_t at, last;   /* places in its count, of its first and of its last micro-batch */
	uint32_t base;       /* layers of the counts before */
	uint64_t micro, version;
	bool away;         /* of a stage of another worker */
	mr_sum_order_hook turn;
} mr_exec_turn;
const mr_sum_order_hook *mr_exec_turn_begin(mr_worker *w, const mr_task *t, mr_exec_turn *arg);
/** W @t has added its gradient. */
void mr_exec_turn_end(mr_exec_turn *turn);
/** An I of @t's stage is done. */
void mr_exec_open(mr_run *run, const mr_task *t);
/** Does W @t leave what it used to the U of its stage, to be given back there? */
bool mr_exec_leaves_slot(const mr_worker *w, const mr_task *t);

/** F: compute, hand over, book the loss. */
mr_status mr_exec_forward(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** R: the saved activations of a dropped micro-batch once more. */
mr_status mr_exec_recompute(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** B, I and W, with the optimizer step inside where the instruction has MR_INSTR_UPDATE. */
mr_status mr_exec_backward(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** Give back what the W of @t's stage have left: all of them are done. */
void mr_exec_release_rest(mr_run *run, const mr_task *t);

/** W of several micro-batches. */
mr_status mr_exec_span(mr_worker *w, const mr_task *t) MR_MUST_USE;

/** AR, N and U. */
void mr_exec_reduce(mr_worker *w, const mr_task *t);
void mr_exec_norms(mr_worker *w, const mr_task *t);
mr_status mr_exec_commit(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** An observer has seen what @t did: what waited for that goes on. */
void mr_exec_observed(mr_worker *w, const mr_task *t);
/** AVG. */
void mr_exec_average(mr_worker *w, const mr_task *t);

/** MR_EDIVERGED with the message about the loss of a training micro-batch that is not finite. */
mr_status mr_exec_bad_loss(uint64_t micro, double loss, uint64_t version) MR_MUST_USE;
/** One step of @b's @pipe to @version, clipped by @norm where the run clips; none, and the old weights, where the norm
 * is not finite and the run skips such steps. Errors: MR_EDIVERGED. */
mr_status mr_exec_step(mr_worker *w, mr_stage_weights *b, uint8_t pipe, uint64_t version, double norm) MR_MUST_USE;
/** Whether each shard of @b computes the norm that it clips by: stage replicas whose workers share no memory. */
bool mr_exec_clips_by_shard(const mr_run *run, const mr_stage_weights *b);
/** Global norm of the gradient that makes @version, all of whose parts are known. */
double mr_exec_norm(const mr_run *run, uint64_t version);

/** Plans that validate (exec_validate.c). Are all norms of @version known? */
bool mr_exec_norms_known(mr_run *run, uint64_t version);
/** Would a step without clipping be right? */
bool mr_exec_is_right(const mr_run *run, double norm);
/** May U go ahead: with all norms, or on trust? */
bool mr_exec_may_step(mr_run *run, uint64_t version);
/** U on trust. */
mr_status mr_exec_step_early(mr_worker *w, mr_stage_weights *b, uint64_t version) MR_MUST_USE;
/** V. */
mr_status mr_exec_validate(mr_worker *w, const mr_task *t) MR_MUST_USE;
/** As mr_exec_acquire, for an instruction that is repeated. */
mr_wait_cause mr_exec_acquire_again(const mr_worker *w, const mr_task *t);
/** Is the input of F what it is to be, also where the stage before had to repeat it? */
bool mr_exec_input_is_redone(const mr_worker *w, const mr_task *t);
/** A repeated F is done. */
void mr_exec_redone(mr_worker *w, const mr_task *t);

/**
 * Is the norm of the gradient that makes @version of @b asked for, although nothing is clipped by it
 * (mr_run_config.norm_every)? Then its step is carried out apart, from the whole gradient.
 */
bool mr_exec_asks_norm(const mr_run *run, const mr_stage_weights *b, uint64_t version);
/** The squared norms of the gradient that makes @version of @b are known: the norm for the record of its step. NAN
 * where it is global: the last of all stages works that out, before it goes on to its step (mr_run_next_step). */
double mr_exec_take_norm(mr_run *run, mr_stage_weights *b, uint64_t version);

/** A commit must make the version after the latest. */
mr_status mr_exec_check_next(const mr_stage_weights *b, const mr_task *t, uint64_t version) MR_MUST_USE;
/** Version @version of @stage, in @b, is made, for good: let others read it, and book the step. Errors: MR_EDIVERGED a
 * loss of it. */
mr_status mr_exec_publish(mr_worker *w, mr_stage_weights *b, uint16_t stage, uint64_t version, double lr,
			  double norm) MR_MUST_USE;

#endif
