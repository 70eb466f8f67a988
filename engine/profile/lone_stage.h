/*
 * lone_stage.h - one stage of a run that stands alone, to be measured: made as the run makes it, in memory of its own
 * laid out as the run's, with initial weights, the data's first micro-batch or normal numbers as its input, and a
 * made-up gradient.
 */
#ifndef MR_PROFILE_LONE_STAGE_H
#define MR_PROFILE_LONE_STAGE_H

#include "host/memory.h"
#include "weights/stage_weights.h"
#include "exec/run.h"
#include "stage/stage.h"

typedef struct mr_lone_stage {
	const mr_run_config *c;
	uint16_t stage;
	uint32_t n_micro;    /* micro-batches a sum */
	bool inside;         /* the run steps in the last W of a sum */
	bool could_inside;   /* a plan of these, or sequential, may carry out steps there */
	mr_stage *s, *owner; /* owner: the stage that stores a parameter tied from here; NULL: none */
	mr_stage_weights own;
	mr_shard shard;      /* of these weights */
	mr_region region;
	mr_stage_io io;      /* of one training micro-batch, but for loss, weights, add_grads and step */
	size_t grad_out_bytes;
	void *grad_clean;    /* what grad_out is refilled from: backward may overwrite it */
	void *tied;
	uint32_t span;       /* micro-batches of its largest W */
	mr_stage_io *room, *span_io; /* [span] where each of them lies, the first in io; what a call gets */
	mr_layer_call *span_call;
} mr_lone_stage;

/**
 * Stage @stage of a run of @c (borrowed), with @n_micro micro-batches a sum, on the thread that will use it. To be
 * closed whatever it returns. Errors: MR_ERESOURCE, MR_EDNN.
 */
mr_status mr_lone_stage_open(mr_lone_stage *x, const mr_run_config *c, uint16_t stage, uint32_t n_micro) MR_MUST_USE;

/** On the thread that opened it. */
void mr_lone_stage_close(mr_lone_stage *x);

#endif
