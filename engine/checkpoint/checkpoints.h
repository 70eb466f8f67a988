/*
 * checkpoints.h - the checkpoints of a run: their contents, and how a session resumes from one.
 *
 *	<run.dir>/checkpoints/step-00001000/model.safetensors       weights, by parameter name
 *	                                    optimizer.safetensors   optimizer state
 *	                                    inflight.safetensors    older versions and activations under way
 *	                                                            (asynchronous systems)
 *	                                    MANIFEST.json           facts and checksums
 *	                     LATEST, BEST
 *
 * A checkpoint is resumed bitwise, so model, data, plan and arithmetic must be the same; the manifest's facts name
 * them.
 */
#ifndef MR_CHECKPOINT_CHECKPOINTS_H
#define MR_CHECKPOINT_CHECKPOINTS_H

#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/state_copy.h"
#include "session/session.h"

/* The size of the weights at a step. */
typedef struct mr_checkpoints_scale {
	double size;   /* root of the mean square */
	uint64_t step;
} mr_checkpoints_scale;

/*
 * The measure by which a save is judged. Weights whose root mean square is more than 1000 * max(1, good.size) * (step -
 * good.step) are suspect: in a training that converges the average step makes them grow less. That alone is no
 * mistake, since a weight may have far to go; they are refused if the loss has risen, too. The loss of a step belongs
 * to the weights before it and does not yet depend on the weights that the step has made: so a save that can wait is
 * postponed until steps have read them.
 */
typedef struct mr_checkpoints_guard {
	mr_checkpoints_scale good;  /* of the weights last saved, or of the first ones, or of weights whose save was
	                               postponed and that were then found good */
	mr_checkpoints_scale doubt; /* of the weights whose save was postponed; step 0: none */
	double loss;          /* of the step that was last saved, or of the session's first step; NAN: no step yet */
} mr_checkpoints_guard;

/* The losses of the weights to be saved. */
typedef struct mr_checkpoints_case {
	uint64_t step;
	double loss;          /* of this step; NAN: no step yet */
	double val_loss;      /* of these weights; NAN: they were not evaluated */
	double best_loss;     /* lowest validation loss of earlier weights; NAN: none was evaluated */
	bool can_wait;        /* the save may be postponed */
} mr_checkpoints_case;

/** Are these weights the best so far? */
bool mr_checkpoints_is_best(const mr_checkpoints_case *c);

/** A guard for a session with the weights of @step. Errors: MR_EDIVERGED when they are not finite, MR_ERESOURCE. */
mr_status mr_checkpoints_guard_init(mr_session *s, uint64_t step, mr_checkpoints_guard *out) MR_MUST_USE;

/**
 * Save the session's state described by @c and mark it when it is the best. With @writer, which has no write under way,
 * the state is judged and copied, and the writer begins to write it; with NULL it is written to @dir before this
 * returns. *@saved: that was done; else it was postponed, and @g->doubt is set.
 * Errors: MR_ERESOURCE, MR_EIO, after which the run may go on; MR_EDIVERGED: the weights are not finite, or have grown
 * too much while the loss has risen (the loss of these weights if they were evaluated, above @g->loss and best_loss;
 * else the step's, above @g->loss), and are not better than all that were evaluated before. Nothing was saved then.
 */
mr_status mr_checkpoints_put(mr_session *s, const char *dir, mr_checkpoint_writer *writer, const mr_checkpoints_case *c,
			     mr_checkpoints_guard *g, bool *saved) MR_MUST_USE;

/** Let the run of @s, started, copy its states while it goes on, where it can (mr_snapshot_open). Errors: MR_ERESOURCE.
 */
mr_status mr_checkpoints_open_snapshots(mr_session *s) MR_MUST_USE;

/**
 * While the workers run to @step, a pause point at which nothing but a save is due: let them go on to @until, and copy
 * the state of @step for @writer, which has no write under way, as they pass it (exec/snapshot.h). *@copying: the copy,
 * for mr_checkpoints_land or mr_state_copying_drop; NULL: they stop at @step as before. @best: the lowest validation
 * loss so far. Errors: MR_ERESOURCE.
 */
mr_status mr_checkpoints_arm(mr_session *s, mr_checkpoint_writer *writer, uint64_t step, uint64_t until, double best,
			     mr_state_copying **copying) MR_MUST_USE;

/** The copy is whole: judge it, and let @writer begin to write it, as mr_checkpoints_put does. */
mr_status mr_checkpoints_land(mr_session *s, const char *dir, mr_checkpoint_writer *writer,
			      const mr_checkpoints_case *c, mr_state_copying *copying, mr_checkpoints_guard *g,
			      bool *saved) MR_MUST_USE;

/** Name of the best checkpoint of @dir, or "". */
void mr_checkpoints_best_name(const char *dir, char *name, size_t size);

/** The step of the best checkpoint of @dir; false when none is marked. */
bool mr_checkpoints_best(const char *dir, uint64_t *step);

/** Check that @dir has room for all checkpoints that will lie there at once from @step on: those kept, the best, and
 * one being written. Errors: MR_ERESOURCE with numbers. */
mr_status mr_checkpoints_preflight(mr_session *s, const char *dir, uint64_t step) MR_MUST_USE;

/** Check that the newest whole checkpoint of @dir is the one of @step. Errors: MR_ECKPT with the reason. */
mr_status mr_checkpoints_check(const char *dir, uint64_t step) MR_MUST_USE;

/** Path of the checkpoint of @dir called @name ("best": the one marked so), verified; the caller frees it. Errors:
 * MR_ECKPT; MR_EUSAGE for an invalid name. */
mr_status mr_checkpoints_find(const char *dir, const char *name, char **path) MR_MUST_USE;

/**
 * Load the newest valid checkpoint of @dir into the started session, or the one called @from ("best": the one marked
 * so; "": the newest). *@step is its step; *@best the lowest validation loss so far, or NAN. Errors: MR_ECKPT,
 * naming what does not fit; MR_EUSAGE for an invalid @from.
 */
mr_status mr_checkpoints_resume(mr_session *s, const char *dir, const char *from, uint64_t *step,
				double *best) MR_MUST_USE;

/**
 * The backend of the checkpoint that mr_checkpoints_resume would load, by its present name, and the hash of its table
 * of choices ("": none); the caller frees both. Errors: those of mr_checkpoints_resume.
 */
mr_status mr_checkpoints_backend(const char *dir, const char *from, char **backend, char **choices) MR_MUST_USE;

/** Load only the weights of checkpoint @path (a folder of checkpoints, or one of them) into @model, of the network @g.
 * For eval and sample. Errors: MR_ECKPT among others when the checkpoint is of another network. */
mr_status mr_checkpoints_load_model(const char *path, const mr_graph *g, const mr_state_list *model,
				    uint64_t *step) MR_MUST_USE;

#endif
