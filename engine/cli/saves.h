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

/** Save the session's state at @step; @best marks it. *@name (may be NULL): folder name, the caller frees it. Errors: MR_ERESOURCE,
 * MR_EIO, after which the run may go on; MR_EDIVERGED: the weights are not finite, and nothing was saved. */
mr_status mr_saves_put(mr_session *s, const char *dir, uint64_t step, bool best, double val_loss, char **name) MR_MUST_USE;

/** Is there room for three of this session's checkpoints at @dir (two kept and one being written)? MR_ERESOURCE with numbers. */
mr_status mr_saves_preflight(mr_session *s, const char *dir) MR_MUST_USE;

/**
 * Load the newest valid checkpoint of @dir into the started session. *@step is where it stands; *@best the lowest validation
 * loss so far, or NAN. Errors: MR_ECKPT, naming what does not fit.
 */
mr_status mr_saves_resume(mr_session *s, const char *dir, uint64_t *step, double *best) MR_MUST_USE;

/** Load only the weights of checkpoint @path (a folder of checkpoints, or one of them) into @model. For eval and sample. */
mr_status mr_saves_load_model(const char *path, const mr_state_list *model, uint64_t *step) MR_MUST_USE;

#endif
