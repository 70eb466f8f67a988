/*
 * lone_stage.h - one stage of a run by itself, for measurements: it is made as in the run, in memory of its own
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
	bool could_inside;   /* a plan of these stages may carry out steps there */
	mr_stage *s, *owner; /* owner: the stage that stores a parameter tied from here; NULL: none */
	mr_stage_weights own;
	mr_shard shard;      /* of these weights */
	mr_region region;
	mr_stage_io io;      /* of one training micro-batch, without loss, weights, add_grads and step; its F packs
	                        panels if the run keeps some */
	size_t grad_out_bytes;
	void *grad_clean;    /* a copy of grad_out, which backward may overwrite */
	void *tied;
	uint32_t span;       /* micro-batches of its largest W */
	mr_stage_io *room, *span_io; /* [span] the memory of each micro-batch, the first in io; what a call gets */
	mr_layer_call *span_call;
} mr_lone_stage;

/**
 * Make stage @stage of a run of @c (borrowed), with @n_micro micro-batches a sum, on the thread that will use it. Close
 * it even after an error. Errors: MR_ERESOURCE, MR_EDNN.
 */
mr_status mr_lone_stage_open(mr_lone_stage *x, const mr_run_config *c, uint16_t stage, uint32_t n_micro) MR_MUST_USE;

/** Call it on the thread that opened @x. */
void mr_lone_stage_close(mr_lone_stage *x);

#endif
