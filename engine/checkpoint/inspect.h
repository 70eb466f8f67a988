/*
 * inspect.h - finds a checkpoint, and describes it as JSON.
 *
 * PATH may be one checkpoint (a folder with MANIFEST.json), a folder of checkpoints, or the folder of a run; of several
 * checkpoints it means the one named by LATEST, or the newest undamaged one.
 */
#ifndef MR_CHECKPOINT_INSPECT_H
#define MR_CHECKPOINT_INSPECT_H

#include <stdio.h>

#include "store/checkpoint_io.h"

/** The one checkpoint that @path names; the caller frees *@out. A checkpoint named directly is not verified. Errors:
 * MR_ECKPT. */
mr_status mr_inspect_find(const char *path, char **out) MR_MUST_USE;

/** The same, but of the folder of a run its best checkpoint, if one is marked so (the lowest loss of an evaluation).
 * Errors: also MR_ECKPT when the one that is marked is damaged. */
mr_status mr_inspect_find_best(const char *path, char **out) MR_MUST_USE;

/**
 * Write what @ck, which was opened from @path, holds to @file as one JSON object: "checkpoint", "step", "facts" (an
 * object of texts), and "files", each with "name", "bytes" and "tensors", each with "name", "type", "shape" and
 * "bytes". Errors: MR_ECKPT, MR_EIO, MR_ERESOURCE.
 */
mr_status mr_inspect_put(const mr_checkpoint *ck, const char *path, FILE *file) MR_MUST_USE;

#endif
