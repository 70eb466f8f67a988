#include "stage/stage_calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "stage/stage_layout.h"

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Room for the largest of the tensors' places: nobody computes, so that all of them may be one. */
static size_t room_for(const mr_stage *s)
{
	const mr_stage_sizes *z = &s->size;
	size_t n = larger(larger(z->in_bytes, z->out_bytes), larger(z->grad_in_bytes, z->grad_out_bytes));

	n = larger(n, larger(larger(z->slot_bytes, z->scratch_bytes), larger(z->weight_bytes, z->grad_bytes)));
	n = larger(n, z->target_bytes);
	return s->tied_owner ? larger(n, s->tied_owner->size.weight_bytes) : n;
}

static mr_status record(mr_stage_calls *c, const mr_stage *s, void *room, mr_step *step)
{
	mr_stage quiet = *s;
	double loss = 0;
	mr_stage_io io = {
		.kc = mr_recorder_context(c->recorder),
		.in = room,
		.out = room,
		.grad_out = room,
		.grad_in = room,
		.slot = room,
		.scratch = room,
		.weights = room,
		.tied_weights = room,
		.grads = room,
		.step = step,
		.target = room,
		.loss = &loss,
		.samples = s->samples,
		.train = true,
	};

	quiet.k = mr_recorder_kernels(c->recorder);
	quiet.n_copy_out = quiet.n_copy_grad = 0;
	for (uint32_t p = 0; step && p < s->end_param - s->first_param; p++)
		step[p] = (mr_step){.src = room, .dst = room, .m = room, .v = room};
	MR_TRY(mr_stage_forward(&quiet, &io));
	MR_TRY(mr_recorder_calls(c->recorder, &c->call, &c->n_forward));
	if (s->split) {
		MR_TRY(mr_stage_backward_input(&quiet, &io));
		MR_TRY(mr_stage_backward_weight(&quiet, &io));
	} else {
		MR_TRY(mr_stage_backward(&quiet, &io));
	}
	return mr_recorder_calls(c->recorder, &c->call, &c->n);
}

mr_status mr_stage_calls_init(mr_stage_calls *c, const mr_stage *s, uint32_t n_threads, bool steps)
{
	uint32_t n_params = s->end_param - s->first_param;
	mr_step *step = steps ? calloc(n_params + 1, sizeof(*step)) : NULL;
	void *room = calloc(1, room_for(s) + 1);
	mr_status st = MR_OK;

	*c = (mr_stage_calls){0};
	if (steps && !step)
		st = mr_fail(MR_ERESOURCE, "no memory to look at a stage's kernels");
	if (st == MR_OK && room)
		st = mr_recorder_create(s->k, n_threads, &c->recorder);
	if (st == MR_OK && room)
		st = record(c, s, room, step);
	free(room);
	free(step);
	return st;
}

void mr_stage_calls_fini(mr_stage_calls *c)
{
	mr_recorder_destroy(c->recorder);
	*c = (mr_stage_calls){0};
}

const char *mr_stage_calls_text(const mr_stage_calls *c, char text[64])
{
	size_t n[MR_N_KERNEL_BY] = {0};
	int len = 0;

	for (size_t i = 0; i < c->n; i++)
		n[c->call[i].by]++;
	snprintf(text, 64, c->recorder ? "none" : "unknown");
	for (int by = 0; by < MR_N_KERNEL_BY; by++)
		if (n[by])
			len += snprintf(text + len, 64 - (size_t)len, "%s%s %zu", len ? ", " : "",
					mr_kernel_by_name((mr_kernel_by)by), n[by]);
	return text;
}
