#include "session/logits.h"

#include <stdlib.h>
#include <string.h>

#include "session/leader.h"
#include "session/lone_model.h"
#include "stage/stage.h"

struct mr_logits {
	const mr_session *s;
	mr_lone_model model;
	mr_lone_weights weights;
	mr_leader *leader;
};

mr_status mr_logits_create(const mr_session *s, const mr_state_list *model, int64_t samples, mr_logits **out)
{
	mr_logits *x = calloc(1, sizeof(*x));
	mr_status st;

	if (!x)
		return mr_fail(MR_ERESOURCE, "no memory for the model");
	x->s = s;
	st = mr_lone_model_init(&x->model, s, mr_session_model(s), samples);
	if (st == MR_OK)
		st = mr_lone_weights_init(&x->weights, s, &x->model, model);
	if (st == MR_OK)
		st = mr_leader_start(&s->place.worker[0], s->kernels, &x->leader);
	if (st != MR_OK) {
		mr_logits_destroy(x);
		return st;
	}
	mr_lone_model_use(&x->model, &x->weights, mr_leader_context(x->leader));
	*out = x;
	return MR_OK;
}

void mr_logits_destroy(mr_logits *x)
{
	if (!x)
		return;
	mr_leader_stop(x->leader);
	mr_lone_weights_fini(&x->weights);
	mr_lone_model_fini(&x->model);
	free(x);
}

mr_status mr_logits_of(mr_logits *x, const void *input, int64_t n, const void **out)
{
	memcpy(x->model.input, input, (size_t)n * x->model.input_bytes);
	x->model.io.samples = n;
	MR_TRY(mr_leader_run(x->leader, mr_lone_model_forward, &x->model));
	*out = x->model.logits;
	return MR_OK;
}

mr_status mr_logits_bytes(const mr_session *s, int64_t samples, uint64_t *bytes)
{
	const mr_graph *g = mr_session_model(s);
	const mr_stage_sizes *z;
	mr_stage *stage;

	MR_TRY(mr_stage_create(g, 0, g->n_nodes - 1, samples, s->kernels, false, NULL, &stage));
	z = mr_stage_size(stage);
	*bytes = z->in_bytes + z->out_bytes + z->slot_bytes + z->scratch_bytes;
	mr_stage_destroy(stage);
	return MR_OK;
}

mr_shape mr_logits_input(const mr_session *s)
{
	return mr_session_model(s)->input;
}

mr_shape mr_logits_output(const mr_session *s)
{
	const mr_graph *g = mr_session_model(s);

	return g->values[g->nodes[g->n_nodes - 1].in[0]].shape;
}
