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
typedef struct mr_run_memory mr_run_memory;
typedef struct mr_worker mr_worker;
typedef struct mr_task mr_task;

#define MR_FEATURE(id, present) MR_FEATURE_##id,
enum {
#include "exec/features.def"
	MR_N_FEATURES
};

#define MR_OF_RUN(type, name) typedef struct type type;
#define MR_OF_WORKER(type, name) typedef struct type type;
#include "exec/features.def"

typedef mr_wait_cause mr_ready_hook(mr_worker *w, const mr_task *t);
typedef mr_status mr_pass_hook(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io);
typedef bool mr_reads_hook(const mr_worker *w, const mr_task *t);
typedef mr_status mr_complete_hook(mr_worker *w, const mr_task *t, mr_stage_weights *b);
typedef void mr_part_hook(mr_run *run, const mr_task *t, mr_stage_weights *b);

/* What the features of a run change for all of it. */
typedef enum mr_feature_fact {
	MR_ANY_WORKER = 1,    /* W of a stage may be on any worker */
	MR_REDUCED_STEPS = 2, /* U of each shard waits for the AR of all */
	MR_NEEDS_NORMS = 4,   /* the norm of each step is known before the step is certain */
	MR_SETTLES = 8,       /* a pause needs mr_exec_settle */
	MR_JUDGES_STEPS = 16, /* a loss that is not finite is an error with its step, not with its F */
} mr_feature_fact;

/* What is done in place of the engine, by one feature of a run. All may be NULL. */
typedef struct mr_instead {
	/** Compute and release, by instruction; of a run never NULL. */
	mr_status (*carry_out[MR_N_OPS])(mr_worker *w, const mr_task *t);
	/** The optimizer step of a U, as mr_exec_step; of a run never NULL. */
	mr_status (*step)(mr_worker *w, mr_stage_weights *b, uint8_t shard, uint64_t version, double norm);
	/** Carry out @w's part of training up to @limit, as mr_exec_run; NULL: the lists in their order. */
	mr_status (*train)(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit);
	/** See mr_run_done; NULL: counted in the lists. */
	uint64_t (*done)(const mr_run *run, uint8_t pipe, uint16_t stage, bool forward);
	/** May U make @version in a plan with a global norm? NULL: when all norms are known. */
	bool (*may_step)(mr_run *run, uint64_t version);
	/** May @t, an F, be repeated, so that its input and target are kept? NULL: no. */
	bool (*repeats)(const mr_run *run, const mr_task *t);
	/** W of a stage may be on any worker: does @w carry out @t, which is in its list? NULL: it does. */
	bool (*claim)(mr_worker *w, const mr_task *t);
	/** @w would wait since @since, for @cause: it carries out another instruction instead, and returns whether it
	 * did. NULL: none does. */
	bool (*help)(mr_worker *w, mr_links *links, mr_wait_cause cause, uint64_t since, mr_status *status);
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
	/** Before there are stages; run->weights are zeros. */
	mr_status (*create)(mr_run *run);
	/** Stage @s exists; its weights @b have no memory yet. */
	mr_status (*open)(mr_run *run, mr_stage_weights *b, uint16_t s);
	/** Choose kinds of link, when all stages are open; and open the links, when memory is laid out. */
	mr_status (*choose)(mr_run *run);
	mr_status (*open_links)(mr_run *run);
	/** See @shares, of a run whose links are chosen; NULL: it does not. */
	const char *(*why_shared)(const mr_run *run);
	/** Take (or measure) memory of stage @s, in that of pipe 0's worker; and add its bytes to @out. */
	void (*layout)(mr_run *run, uint16_t s, mr_arena *a);
	void (*memory)(const mr_run *run, uint16_t s, mr_run_memory *out);
	/** Fill it at version 0, on that worker's thread. */
	void (*init)(mr_run *run, uint16_t s);
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
	/** Weights were restored: update what is made of them (mr_run_spread). */
	void (*spread)(mr_run *run);
	/** Make steps of @w's stages certain, on its thread: all workers are at one pause point (mr_exec_settle). */
	mr_status (*settle)(mr_worker *w);

	/* --- at an instruction, on the worker's thread --- */

	/** May @t begin? MR_WAIT_NONE, or what it waits for. Before its buffers are acquired; blocks never. */
	mr_ready_hook *ready;
	/** A pass of @t over the micro-batch in @slot is about to begin: change its call. */
	mr_pass_hook *pass;
	/** Does the pass @t of training read the version of its stage? False: another counts for it. */
	mr_reads_hook *reads;
	/** The sum of the gradients of @t's pipe is complete, and is not published yet. */
	mr_part_hook *summed;
	/** All gradients of the commit of @t are there: before N, and before U. */
	mr_complete_hook *complete;
	/** U has stepped its part of @b, and has not published it yet. */
	mr_part_hook *stepped;
} mr_feature;

/* What the features of a run do at its instructions. */
typedef struct mr_hooks {
	mr_instead instead;
	/* Those of all features, NULL after the last. */
	mr_ready_hook *ready[MR_N_FEATURES + 1];
	mr_pass_hook *pass[MR_N_FEATURES + 1];
	mr_reads_hook *reads[MR_N_FEATURES + 1];
	mr_part_hook *summed[MR_N_FEATURES + 1];
	mr_complete_hook *complete[MR_N_FEATURES + 1];
	mr_part_hook *stepped[MR_N_FEATURES + 1];
} mr_hooks;

/** Find the features of @run, whose configuration is set, and their hooks. Errors: those of `refuse`. */
mr_status mr_features_find(mr_run *run) MR_MUST_USE;

/* For each feature @f of @run that has @hook. */
#define MR_EACH_FEATURE(run, f, hook) \
	for (const mr_feature *const *f = (run)->feature; *f; f++) \
		if ((*f)->hook)

/* Call the hooks @name of @run. */
#define MR_CALL_HOOKS(run, name, ...) \
	for (uint32_t i_hook = 0; (run)->hooks.name[i_hook]; i_hook++) \
		(run)->hooks.name[i_hook](__VA_ARGS__)
#define MR_TRY_HOOKS(run, name, ...) \
	for (uint32_t i_hook = 0; (run)->hooks.name[i_hook]; i_hook++) \
		MR_TRY((run)->hooks.name[i_hook](__VA_ARGS__))

#endif
