/*
 * stage_calls.h - the kernel operations that a stage calls for one micro-batch, and the backend that executes each.
 */
#ifndef MR_STAGE_STAGE_CALLS_H
#define MR_STAGE_STAGE_CALLS_H

#include "nn/recorder.h"
#include "stage/stage.h"

typedef struct mr_stage_calls {
	mr_recorder *recorder;   /* owns @call */
	const mr_recorded *call; /* [n] F's, then those of the backward pass */
	size_t n, n_forward;
} mr_stage_calls;

/**
 * Record the calls of a micro-batch that completes its sum, by a worker of @n_threads; @steps: the steps are inside
 * (mr_stage_io). No arithmetic is done and no tensor looked at, so a stage may be larger than this machine's memory;
 * the steps of a table's rows, which follow from its data, are not known. The caller calls fini, also after an error.
 * Errors: MR_ERESOURCE.
 */
mr_status mr_stage_calls_init(mr_stage_calls *c, const mr_stage *s, uint32_t n_threads, bool steps) MR_MUST_USE;
void mr_stage_calls_fini(mr_stage_calls *c);

/** The number of calls that each backend executes: "fused 12, onednn 3"; "none". Returns @text. */
const char *mr_stage_calls_text(const mr_stage_calls *c, char text[64]);

#endif
