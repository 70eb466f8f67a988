/* checkpoint_draft.h - the content of one checkpoint of a session: its tensors and facts, as the store writes them. */
#ifndef MR_CHECKPOINT_CHECKPOINT_DRAFT_H
#define MR_CHECKPOINT_CHECKPOINT_DRAFT_H

#include "checkpoint/run_manifest.h"

/* The files, one for each list of a state (exec/state.h) that is not empty. */
#define MR_CHECKPOINT_FILES {"model.safetensors", "optimizer.safetensors", "inflight.safetensors"}

typedef struct mr_checkpoint_draft {
	mr_state state;
	mr_run_manifest facts;
	mr_saved_text metadata[2]; /* point into the session */
	mr_checkpoint_shard parts[3];
	mr_checkpoint_content content; /* points into the other members */
} mr_checkpoint_draft;

#endif
