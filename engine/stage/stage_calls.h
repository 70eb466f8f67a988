/*
 * stage_calls.h - which operations of the kernels a stage calls for one micro-batch, and what executes each.
 */
#ifndef MR_STAGE_STAGE_CALLS_H
#define MR_STAGE_STAGE_CALLS_H

#include "nn/recorder.h"
#include "stage/stage.h"

typedef struct mr_stage_calls {
	mr_recorder *recorder;   /* owns @call; NULL: nothing is known */
	const mr_recorded *call; /* [n] F's, then those of the backward pass */
	size_t n, n_forward;
} mr_stage_calls;

/**
 * Those of a micro-batch that completes its sum, by a worker of @n_threads; @steps: the steps are inside (mr_stage_io).
 * Layers that compute by loops of their own call nothing. Nothing is computed, so no memory is touched but what such
 * layers write; of a stage larger than the memory of this machine nothing is said. The caller calls fini, also after an
 * error. Errors: MR_ERESOURCE.
 */
mr_status mr_stage_calls_init(mr_stage_calls *c, const mr_stage *s, uint32_t n_threads, bool steps) MR_MUST_USE;
void mr_stage_calls_fini(mr_stage_calls *c);

/** How many calls each executes: "fused 12, onednn 3"; "none"; "unknown". Returns @text. */
const char *mr_stage_calls_text(const mr_stage_calls *c, char text[64]);

#endif
