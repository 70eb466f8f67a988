/*
 * feature.h - what only some plans need, as hooks. A feature is a file that fills this struct, and a line in
 * features.def; what builds a run, carries out its instructions and pauses it calls the hooks of the run's features, in
 * the order of the list, and names none of them.
 *
 * A run finds its features when it is built, and what they do in place of the engine is then in its mr_hooks.
 */
#ifndef MR_EXEC_FEATURE_H
#define MR_EXEC_FEATURE_H

#include "base/arena.h"
#include "base/status.h"
#include "ir/trace.h"
#include "weights/stage_weights.h"

typedef struct mr_run mr_run;
typedef struct mr_run_config mr_run_config;
typedef struct mr_worker mr_worker;
typedef struct mr_links mr_links;
typedef struct mr_task mr_task;

#define MR_FEATURE(id) MR_FEATURE_##id,
enum {
#include "exec/features.def"
	MR_N_FEATURES
};

#define MR_OF_RUN(type, name) typedef struct type type;
#define MR_OF_WORKER(type, name) typedef struct type type;
#include "exec/features.def"

/* All but `present` may be NULL. */
typedef struct mr_feature {
	/** Has a run of this configuration the feature? No other hook of one that is absent is called. */
	bool (*present)(const mr_run_config *c);

	/* --- building a run --- */

	/** What the engine does not carry out: MR_ECONFIG. */
	mr_status (*refuse)(const mr_run_config *c);
	/** Before there are stages; run->weights are zeros. */
	mr_status (*create)(mr_run *run);
	/** Worker @w exists, and no memory is laid out. */
	mr_status (*create_worker)(mr_worker *w);
	/** Also after one of the others has failed. */
	void (*destroy_worker)(mr_worker *w);
	void (*destroy)(mr_run *run);

	/* --- at pauses; no worker runs --- */

	/** Return to the beginning (mr_run_reset). */
	mr_status (*reset_worker)(mr_worker *w);
	/** Go to pause point @step, after the reset. */
	mr_status (*stand_worker)(mr_worker *w, uint64_t step);
} mr_feature;

/* What the features of a run do in place of the engine; where none has it, run.c fills in the engine's own. */
typedef struct mr_hooks {
	/** Carry out @w's part of training up to @limit, as mr_exec_run; NULL: the lists in their order. */
	mr_status (*train)(mr_worker *w, mr_links *links, const _Atomic uint64_t *limit);
	/** See mr_run_done; NULL: counted in the lists. */
	uint64_t (*done)(const mr_run *run, uint8_t pipe, uint16_t stage, bool forward);
} mr_hooks;

/** Find the features of @run, whose configuration is set. Errors: those of `refuse`. */
mr_status mr_features_find(mr_run *run) MR_MUST_USE;

/* For each feature @f of @run that has @hook. */
#define MR_EACH_FEATURE(run, f, hook) \
	for (const mr_feature *const *f = (run)->feature; *f; f++) \
		if ((*f)->hook)

#endif
