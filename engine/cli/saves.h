/*
 * saves.h - the checkpoints of a run: what goes into one, and how a session takes up where one ends.
 *
 *	<run.dir>/checkpoints/step-00001000/model.safetensors       weights, by parameter name
 *	                                    optimizer.safetensors   optimizer state
 *	                                    inflight.safetensors    older versions and activations under way (asynchronous systems)
 *	                                    MANIFEST.json           facts and checksums
 *	                     LATEST, BEST
 *
 * A checkpoint is resumed bitwise, so it must meet the same model, data, plan and arithmetic; the manifest's facts tell.
 */
#ifndef MR_CLI_SAVES_H
#define MR_CLI_SAVES_H

#include "cli/session.h"

/* How large the weights were when they were last known to be good. */
typedef struct mr_saves_scale {
	double size;   /* root of the mean square */
	uint64_t step;
} mr_saves_scale;

/** Measure the session's weights, which stand at @step. Errors: MR_EDIVERGED when they are not finite, MR_ERESOURCE. */
mr_status mr_saves_measure(mr_session *s, uint64_t step, mr_saves_scale *out) MR_MUST_USE;

/**
 * Save the session's state at @step; @best marks it. *@last is of the last checkpoint, or of the start, and becomes that of
 * this one.
 * Errors: MR_ERESOURCE, MR_EIO, after which the run may go on; MR_EDIVERGED: the weights are not finite, or (unless @best)
 * have grown by a thousand times what they were, or by 1000, a step since the last checkpoint, and nothing was saved.
 */
mr_status mr_saves_put(mr_session *s, const char *dir, uint64_t step, bool best, double val_loss,
		       mr_saves_scale *last) MR_MUST_USE;

/** The step of the best checkpoint of @dir; false when none is marked. */
bool mr_saves_best(const char *dir, uint64_t *step);

/** Is there room for three of this session's checkpoints at @dir (two kept and one being written)? MR_ERESOURCE with numbers. */
mr_status mr_saves_preflight(mr_session *s, const char *dir) MR_MUST_USE;

/** Path of the checkpoint of @dir called @name ("best": the one marked so), verified; the caller frees it. Errors: MR_ECKPT;
 * MR_EUSAGE for what is no name. */
mr_status mr_saves_find(const char *dir, const char *name, char **path) MR_MUST_USE;

/**
 * Load the newest valid checkpoint of @dir into the started session, or the one called @from ("best": the one marked so;
 * "": the newest). *@step is where it stands; *@best the lowest validation
 * loss so far, or NAN. Errors: MR_ECKPT, naming what does not fit; MR_EUSAGE for a @from that is no name.
 */
mr_status mr_saves_resume(mr_session *s, const char *dir, const char *from, uint64_t *step, double *best) MR_MUST_USE;

/** Load only the weights of checkpoint @path (a folder of checkpoints, or one of them) into @model. For eval and sample. */
mr_status mr_saves_load_model(const char *path, const mr_state_list *model, uint64_t *step) MR_MUST_USE;

#endif
