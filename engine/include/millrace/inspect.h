/* millrace/inspect.h - what a checkpoint holds, without the job that made it. */
#ifndef MILLRACE_INSPECT_H
#define MILLRACE_INSPECT_H

#include "millrace/status.h"

/**
 * Verify every checksum of a checkpoint and describe it as JSON, as `millrace inspect --json` does: its step, the facts
 * that it notes of its training, and name, type, shape and bytes of each tensor of each of its files, which are in the
 * format safetensors. @path is one checkpoint, a folder of checkpoints or the folder of a run (then the newest whole
 * one). The caller frees *@json with free(). Any thread. Errors: MR_ECKPT: there is none, or it is damaged; MR_EIO,
 * MR_EINVAL, MR_ERESOURCE.
 */
MR_API mr_status mr_inspect(const char *path, char **json) MR_MUST_USE;

#endif
