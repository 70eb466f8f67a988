/*
 * feature.h - what only some plans need, as hooks. A feature is a file that fills this struct, and a line in
 * features.def; what builds a run, carries out its instructions and pauses it calls the hooks of the run's features, in
 * the order of the list, and names none of them.
 *
 * A run finds its features when it is built, and collects in its mr_hooks what they do at instructions: a hook that
 * none of them has costs an instruction one look at an empty list.
 */
#ifndef MR_EXEC_FEATURE_H
#define MR_EXEC_FEATURE_H

#include "base/arena.h"
#include "base/status.h"
#include "exec/links.h"
#include "ir/op.h"
#include "ir/trace.h"
#include "weights/stage_weights.h"

typedef struct mr_run mr_run;
typedef struct mr_run_config mr_run_config;
typedef struct mr_shares mr_shares;
typedef struct mr_run_memory mr_run_memory;
typedef struct mr_worker mr_worker;
typedef struct mr_task mr_task;
typedef struct mr_state mr_state;
typedef struct mr_snapshot mr_snapshot;

#define MR_FEATURE(id, present) MR_FEATURE_##id,
enum {
#include "exec/features.def"
	MR_N_FEATURES
};

#define MR_OF_RUN(type, name) typedef struct type type;
#define MR_OF_WORKER(type, name) typedef struct type type;
#include "exec/features.def"

typedef mr_wait_cause mr_ready_hook(mr_worker *w, const mr_task *t);
typedef void mr_passed_hook(mr_worker *w, const mr_task *t);
typedef mr_status mr_pass_hook(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io);
typedef mr_status mr_leave_hook(mr_worker *w, const mr_links *l);
typedef bool mr_reads_hook(const mr_worker *w, const mr_task *t);
typedef mr_status mr_entered_hook(mr_worker *w, const mr_task *t, const mr_slot *slot);
typedef mr_status mr_commit_hook(mr_worker *w, const mr_task *t, mr_stage_weights *b);
typedef mr_status mr_step_hook(mr_worker *w, mr_stage_weights *b);
typedef double mr_rate_hook(const mr_stage_weights *b, uint64_t version);

/* What the features of a run change for all of it. */
typedef enum mr_feature_fact {
	MR_ANY_WORKER = 1,    /* W of a stage may be on any worker */
	MR_REDUCED_STEPS = 2, /* U of each shard waits for the AR of all */
	MR_NEEDS_NORMS = 4,   /* the norm of each step is known before the step is certain */
	MR_SETTLES = 8,       /* a pause needs mr_exec_settle */
	MR_JUDGES_STEPS = 16, /* a loss that is not finite is an error with its step, not with its F */
	MR_SHARES_STAGES = 32, /* several workers have a part in a stage, and any may wait for its versions and sums */
	MR_OVERWRITES = 64,   /* other workers may overwrite a version once it is published: observers come before */
	MR_COUNTS_AT_STEPS = 128, /* the ages of gradients are counted with their steps, not with their passes */
	MR_COPIES = 256, /* workers that share no memory have a copy each of all weights, and each makes all steps */
} mr_feature_fact;

/* Where a ring that feeds samples stands in lists that are no plan's own. */
typedef struct mr_feed_place {
	const mr_plan *plan; /* whose list it is; NULL: not looked up yet */
	uint64_t n;          /* its number */
	uint32_t at;         /* place in the list */
} mr_feed_place;

/* What is done in place of the engine, by one feature of a run. All may be NULL. */
typedef struct mr_instead {
	/** Compute and release, by instruction; of a run never NULL. */
	mr_status (*carry_out[MR_N_OPS])(mr_worker *w, const mr_task *t);
	/** The optimizer step of a U, as mr_exec_step; of a run never NULL. */
	mr_status (*step)(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double norm);
	/** Its arithmetic, with rate @lr and gradients times @scale, as mr_exec_apply; of a run never NULL. */
	mr_status (*apply)(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double lr, double scale);
	/** The last stage, in @b, has made step @step of its own: does this complete the run's? *@norm: of its record.
	 * NULL: it does. */
	bool (*completes)(mr_run *run, const mr_stage_weights *b, uint64_t step, double *norm);
	/** Carry out @w's part of training up to @limit, as mr_exec_run; NULL: the lists in their order. */
	mr_status (*train)(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit);
	/** The list in which @w's cursor of training stands; NULL where there is none. NULL: a list of the plan. */
	const mr_list *(*list)(const mr_worker *w);
	/** Move that cursor past the instruction at which it stands. NULL: in the lists of the plan. */
	void (*advance)(mr_worker *w);
	/** The minibatch of the data that F number @step at @stage takes, where F are fed in that order, and leave its
	 * place behind. @place: of the ring that feeds them, zeros at first. NULL: as the lists have them. */
	mr_status (*sample)(mr_run *run, uint16_t stage, uint64_t step, mr_feed_place *place, uint64_t *micro);
	void (*leave_sample)(mr_run *run, mr_feed_place *place);
	/** Make training sample @i of micro-batch @micro, in @pipe. NULL: the data's, in the order of their numbers. */
	void (*make_sample)(const mr_run *run, uint8_t pipe, uint64_t micro, int64_t i, void *input, void *target);
	/** Links in whose slots those of stage @s in @pipe lie, of training and of evaluations. NULL: in memory of
	 * their own; where a run pauses only when all are free, evaluations in those of training. */
	const mr_links_stage *(*lender)(const mr_run *run, uint8_t pipe, uint16_t s);
	/** See mr_run_read; NULL: found in the lists. */
	mr_status (*read)(const mr_run *run, uint8_t pipe, uint16_t stage, uint64_t micro, uint64_t *version,
			  bool *drops);
	/** See mr_run_done; NULL: counted in the lists. */
	uint64_t (*done)(const mr_run *run, uint8_t pipe, uint16_t stage, bool forward);
	/** May a U of @w make @version in a plan with a global norm? NULL: when all norms are known. */
	bool (*may_step)(mr_worker *w, uint64_t version);
	/** May @t, an F, be repeated, so that its input and target are kept? NULL: no. */
	bool (*repeats)(const mr_run *run, const mr_task *t);
	/** W of a stage may be on any worker: does @w carry out @t, which is in its list? NULL: it does. */
	bool (*claim)(mr_worker *w, const mr_task *t);
	/** @w would wait since @since, for @cause: it carries out another instruction instead, and returns whether it
	 * did. NULL: none does. */
	bool (*help)(mr_worker *w, mr_links *links, mr_wait_cause cause, uint64_t since, mr_status *status);
	/** Add what is saved of parameter @p of stage @s, in place of its weights and states. */
	mr_status (*save_param)(const mr_run *run, uint16_t s, uint32_t p, mr_state *out);
	/** Does @t leave its slot and buffers to the U of its stage? NULL: no. */
	bool (*leaves_slot)(const mr_worker *w, const mr_task *t);
} mr_instead;

/* All may be NULL, or 0. */
typedef struct mr_feature {
	unsigned facts;     /* mr_feature_fact */
	const char *shares; /* why the run needs workers that share memory, whatever its edges are */
	mr_instead instead;

	/* --- building a run --- */

	/** What the engine does not carry out: MR_ECONFIG. */
	mr_status (*refuse)(const mr_run_config *c);
	/** Why a step cannot go right behind the gradient of its layer, inside a pass: MR_ECONFIG. */
	mr_status (*refuse_inside)(const mr_run_config *c);
	/** Before there are stages; run->weights are zeros. */
	mr_status (*create)(mr_run *run);
	/** Stage @s exists; its weights @b have no memory yet. */
	mr_status (*open)(mr_run *run, mr_stage_weights *b, uint16_t s);
	/** All features of @b are open, and it is cut into the ranges of its shards. */
	mr_status (*cut)(mr_run *run, mr_stage_weights *b);
	/** Choose kinds of link, when all stages are open; and open the links, when memory is laid out. */
	mr_status (*choose)(mr_run *run);
	mr_status (*open_links)(mr_run *run);
	/** Choose the nodes of copies of what several workers read, before memory is laid out. */
	mr_status (*choose_homes)(mr_run *run);
	/** Take (or measure) memory of stage @s, in that of pipe 0's worker. */
	void (*layout)(mr_run *run, uint16_t s, mr_arena *a);
	/** The same in @pipe, in that of its worker. */
	void (*layout_pipe)(mr_run *run, uint8_t pipe, uint16_t s, mr_arena *a);
	/** Add the bytes that the feature has in the memory of @pipe's worker to @out. */
	void (*memory)(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out);
	/** Bytes that it has mapped outside the workers' regions. */
	uint64_t (*mapped)(const mr_run *run);
	/** Fill that memory at version 0, on that worker's thread. */
	void (*init)(mr_run *run, uint8_t pipe, uint16_t s);
	/** Change the call of the passes on zeros before the first step. */
	void (*warm_up)(const mr_run *run, uint8_t pipe, uint16_t s, mr_stage_io *io);
	/** Worker @w exists, and no memory is laid out. */
	mr_status (*create_worker)(mr_worker *w);
	/** Also after one of the others has failed. */
	void (*destroy_worker)(mr_worker *w);
	void (*destroy)(mr_run *run);

	/* --- at pauses; no worker runs --- */

	/** Return to the beginning with @b, weights of stage @s. */
	void (*reset_stage)(mr_run *run, mr_stage_weights *b, uint16_t s);
	/** Go to pause point @step. */
	mr_status (*stand_worker)(mr_worker *w, uint64_t step);
	void (*stand)(mr_run *run, uint64_t step);
	/** An evaluation begins. */
	void (*begin_eval)(mr_run *run);
	/** The same for @stage in @pipe of a plan that never flushes: its slots are taken. */
	mr_status (*stand_stage)(mr_run *run, uint8_t pipe, uint16_t stage);
	/** Add the buffers of the size of a version that the feature has for stage @s of @pipe, and those used since
	 * the reset. */
	void (*count_buffers)(const mr_run *run, uint8_t pipe, uint16_t s, uint32_t *planned, uint32_t *used);
	/** Weights were restored: update what is made of them (mr_run_spread). */
	void (*spread)(mr_run *run);
	/** Add what else is saved of parameter @p of stage @s, of the stage, of its pipe in a plan that never flushes,
	 * and of the stage behind all of these of all stages (exec/state.h). */
	mr_status (*save_param)(const mr_run *run, uint16_t s, uint32_t p, mr_state *out);
	mr_status (*save_stage)(const mr_run *run, uint16_t s, mr_state *out);
	mr_status (*save_pipe)(const mr_run *run, uint8_t pipe, uint16_t s, mr_state *out);
	mr_status (*save_end)(const mr_run *run, uint16_t s, mr_state *out);
	/** Make steps of @w's stages certain, on its thread: all workers are at one pause point (mr_exec_settle). */
	mr_status (*settle)(mr_worker *w);

	/* --- at an instruction, on the worker's thread --- */

	/** May @t begin? MR_WAIT_NONE, or what it waits for. Before its buffers are acquired; blocks never. */
	mr_ready_hook *ready;
	/** A pass of @t over the micro-batch in @slot is about to begin: change its call. */
	mr_pass_hook *pass;
	/** @t, an instruction of any op, is done. */
	mr_passed_hook *passed;
	/** The lists of @l are carried out up to the limit. */
	mr_leave_hook *leave;
	/** Does the pass @t of training read the version of its stage? False: another counts for it. */
	mr_reads_hook *reads;
	/** B, I or W of @t has the micro-batch in @slot, one of its span. */
	mr_entered_hook *entered;
	/** The sum of the gradients of @t's pipe is complete, and is not published yet. */
	mr_commit_hook *summed;
	/** All gradients of the commit of @t are there: before N, and before U. */
	mr_commit_hook *complete;
	/** The sum over all pipes is complete in the range of @t's shard, and no norm of it is taken yet. */
	mr_commit_hook *reduced;
	/** The sum over all pipes is complete in all ranges: once a commit. */
	mr_commit_hook *whole;
	/** What the rate of the commit that makes @version is multiplied by. */
	mr_rate_hook *rate;
	/** Around the arithmetic of a step of @b. */
	mr_step_hook *before_step, *after_step;
	/** U, or a step inside B or W, has made its part of version latest + 1 of @b, which is not published yet. */
	mr_commit_hook *stepped;
} mr_feature;

/* The hooks at instructions. */
#define MR_HOOKS                                                                                                       \
	MR_HOOK(mr_ready_hook, ready)                                                                                  \
	MR_HOOK(mr_pass_hook, pass)                                                                                    \
	MR_HOOK(mr_passed_hook, passed)                                                                                \
	MR_HOOK(mr_leave_hook, leave)                                                                                  \
	MR_HOOK(mr_reads_hook, reads)                                                                                  \
	MR_HOOK(mr_entered_hook, entered)                                                                              \
	MR_HOOK(mr_commit_hook, summed)                                                                                \
	MR_HOOK(mr_commit_hook, complete)                                                                              \
	MR_HOOK(mr_commit_hook, reduced)                                                                               \
	MR_HOOK(mr_commit_hook, whole)                                                                                 \
	MR_HOOK(mr_rate_hook, rate)                                                                                    \
	MR_HOOK(mr_step_hook, before_step)                                                                             \
	MR_HOOK(mr_step_hook, after_step)                                                                              \
	MR_HOOK(mr_commit_hook, stepped)

/* What the features of a run do at its instructions. */
typedef struct mr_hooks {
	mr_instead instead;
	/* Those of all features, NULL after the last. */
#define MR_HOOK(type, name) type *name[MR_N_FEATURES + 1];
	MR_HOOKS
#undef MR_HOOK
} mr_hooks;

/** Fill @out [MR_N_FEATURES + 1] with the features of runs with the configuration @c, NULL after the last. */
void mr_features_of(const mr_run_config *c, const mr_feature **out);

/** Find the features of @run, whose configuration is set, and their hooks. */
void mr_features_find(mr_run *run);

/* For each feature @f of @run that has @hook. */
#define MR_EACH_FEATURE(run, f, hook) \
	for (const mr_feature *const *f = (run)->feature; *f; f++) \
		if ((*f)->hook)

/* Call the hooks @name of @run. */
#define MR_TRY_HOOKS(run, name, ...) \
	for (uint32_t i_hook = 0; (run)->hooks.name[i_hook]; i_hook++) \
		MR_TRY((run)->hooks.name[i_hook](__VA_ARGS__))

#endif
