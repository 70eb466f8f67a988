#include "stage/stage_calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mapping.h"
#include "base/size.h"
#include "stage/stage_layout.h"

/* A stage's tensors in one block of memory, each in a place of its own, since layers with loops of their own write
 * them.
 */
typedef struct rooms {
	char *base;
	size_t at;
} rooms;

static void *take(rooms *r, size_t bytes)
{
	void *place = r->base ? r->base + r->at : NULL;

	r->at += mr_align_up(bytes + 1, MR_CACHE_LINE);
	return place;
}

/* Lay out the memory of @io; with r->base NULL only count it. Returns the place for all weights and states. */
static void *lay_out(const mr_stage *s, rooms *r, mr_stage_io *io)
{
	const mr_stage_sizes *z = &s->size;
	void *weights = take(r, z->weight_bytes);

	io->in = take(r, z->in_bytes);
	io->out = take(r, z->out_bytes);
	io->grad_out = take(r, z->grad_out_bytes);
	io->grad_in = take(r, z->grad_in_bytes);
	io->slot = take(r, z->slot_bytes);
	io->scratch = take(r, z->scratch_bytes);
	io->weights = weights;
	io->tied_weights = s->tied_owner ? take(r, s->tied_owner->size.weight_bytes) : weights;
	io->grads = take(r, z->grad_bytes);
	io->target = take(r, z->target_bytes);
	return weights;
}

static mr_status record(mr_stage_calls *c, const mr_stage *s, rooms *r, mr_step *step)
{
	mr_stage quiet = *s;
	double loss = 0;
	mr_stage_io io = {
		.kc = mr_recorder_context(c->recorder),
		.step = step,
		.loss = &loss,
		.samples = s->samples,
		.train = true,
	};
	void *weights = lay_out(s, r, &io);

	quiet.k = mr_recorder_kernels(c->recorder);
	quiet.recorded = true;
	quiet.n_copy_out = quiet.n_copy_grad = 0;
	for (uint32_t p = 0; step && p < s->end_param - s->first_param; p++)
		step[p] = (mr_step){.src = weights, .dst = weights, .m = weights, .v = weights};
	MR_TRY(mr_stage_forward(&quiet, &io));
	mr_recorder_calls(c->recorder, &c->call, &c->n_forward);
	if (s->split) {
		MR_TRY(mr_stage_backward_input(&quiet, &io));
		MR_TRY(mr_stage_backward_weight(&quiet, &io));
	} else {
		MR_TRY(mr_stage_backward(&quiet, &io));
	}
	mr_recorder_calls(c->recorder, &c->call, &c->n);
	return MR_OK;
}

mr_status mr_stage_calls_init(mr_stage_calls *c, const mr_stage *s, uint32_t n_threads, bool steps)
{
	uint32_t n_params = s->end_param - s->first_param;
	mr_step *step = steps ? calloc(n_params + 1, sizeof(*step)) : NULL;
	mr_status st = MR_OK;
	mr_stage_io none;
	rooms r = {0};
	size_t bytes;

	lay_out(s, &r, &none);
	bytes = r.at + 1;
	r.base = mr_mapping_take(bytes);
	r.at = 0;
	*c = (mr_stage_calls){0};
	if (steps && !step)
		st = mr_fail(MR_ERESOURCE, "no memory to look at a stage's kernels");
	if (st == MR_OK && r.base)
		st = mr_recorder_create(s->k, n_threads, &c->recorder);
	if (st == MR_OK && r.base)
		st = record(c, s, &r, step);
	mr_mapping_give(r.base, bytes);
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
