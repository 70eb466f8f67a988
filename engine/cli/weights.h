/*
 * weights.h - loads the weights of the checkpoint that a command names (checkpoint/inspect.h). For commands that use a
 * trained model without training.
 */
#ifndef MR_CLI_WEIGHTS_H
#define MR_CLI_WEIGHTS_H

#include "cli/args.h"
#include "session/session.h"

/** The --checkpoint option of a command. */
#define MR_CHECKPOINT_OPTION \
	{ \
		"checkpoint", MR_OPT_STRING, "", 0, 0, NULL, NULL, \
			"a checkpoint, a folder of checkpoints or the folder of a run; best, or a name such as " \
			"step-00000100: in run.dir; empty: the best there, or the newest where none was evaluated" \
	}, \
	{ \
		"last", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "the newest checkpoint, not the best one" \
	}

/** Find the checkpoint that the command names (--checkpoint of @args, else run.dir); the caller frees *@path. Errors:
 * MR_ECKPT, MR_EUSAGE. */
mr_status mr_weights_find(const mr_job *job, const mr_args *args, char **path) MR_MUST_USE;

/**
 * Fill @model with the weights of the checkpoint that the command names (--checkpoint of @args, else run.dir), all
 * checksums verified; *@step is its step. Warns on standard error when it was trained on other data. Errors: MR_ECKPT,
 * naming the checkpoint and what is missing, damaged or of another model.
 */
mr_status mr_weights_load(const mr_session *s, const mr_args *args, const mr_state_list *model,
			  uint64_t *step) MR_MUST_USE;

/**
 * The characters of the trained model that the command names (data/dataset.h), for the caller to free; *@out is NULL
 * if the checkpoint is of another kind of data (*@known), or of a build that did not store them. Errors: MR_ECKPT.
 */
mr_status mr_weights_alphabet(const mr_job *job, const mr_args *args, char **out, bool *known) MR_MUST_USE;

#endif
