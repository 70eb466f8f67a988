/*
 * lone_model.h - all layers of a model but the loss as one stage, for some samples at a time, with its memory; and a
 * copy of a model's weights for such stages. The memory is that of worker 0 of the session, whose leader makes the
 * calls.
 */
#ifndef MR_SESSION_LONE_MODEL_H
#define MR_SESSION_LONE_MODEL_H

#include "session/session.h"

typedef struct mr_lone_model {
	const mr_graph *graph;
	mr_stage *stage;
	mr_stage_io io;
	mr_region region;
	void *input;
	size_t input_bytes;
	const void *logits; /* what enters the loss, after a forward pass */
} mr_lone_model;

/** Of @g, which is the graph of @s or has the same layers for other samples, for up to @samples at once (io.samples).
 * Borrows both. The caller calls fini, also after an error. Errors: MR_ERESOURCE, MR_EINVAL. */
mr_status mr_lone_model_init(mr_lone_model *m, const mr_session *s, const mr_graph *g, int64_t samples) MR_MUST_USE;
void mr_lone_model_fini(mr_lone_model *m);

typedef struct mr_lone_weights {
	mr_region region;
	void *weights, *layer_state;
} mr_lone_weights;

/**
 * Copy the weights and states in @model (exec/state.h) to where the stage of @m has them. A matrix whose dimensions are
 * in the other order in the graph of @m than in that of @s is transposed. The caller calls fini, also after an error.
 * Errors: MR_EINVAL when they are those of another model; MR_ERESOURCE.
 */
mr_status mr_lone_weights_init(mr_lone_weights *w, const mr_session *s, const mr_lone_model *m,
			       const mr_state_list *model) MR_MUST_USE;
void mr_lone_weights_fini(mr_lone_weights *w);

/** Let @m read @w, by the kernels' context @kc. */
void mr_lone_model_use(mr_lone_model *m, const mr_lone_weights *w, mr_kctx *kc);

/** A forward pass of *(mr_lone_model *)@m: a job of a leader. Errors: MR_EDNN, MR_ERESOURCE. */
mr_status mr_lone_model_forward(void *m) MR_MUST_USE;

#endif
