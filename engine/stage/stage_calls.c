#include "stage/stage_calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "stage/stage_layout.h"

/* An address that no program has: a recorder looks at no tensor. */
#define NOWHERE ((char *)((uintptr_t)1 << 62))

static mr_status record(mr_stage_calls *c, const mr_stage *s, mr_step *step)
{
	mr_stage quiet = *s;
	double loss = 0;
	mr_stage_io io = {
		.kc = mr_recorder_context(c->recorder),
		.in = NOWHERE,
		.out = NOWHERE,
		.grad_out = NOWHERE,
		.grad_in = NOWHERE,
		.slot = NOWHERE,
		.scratch = NOWHERE,
		.weights = NOWHERE,
		.tied_weights = NOWHERE,
		.grads = NOWHERE,
		.target = NOWHERE,
		.step = step,
		.loss = &loss,
		.samples = s->samples,
		.train = true,
	};

	quiet.k = mr_recorder_kernels(c->recorder);
	quiet.recorded = true;
	quiet.table = NULL; /* which looks at tokens */
	quiet.n_copy_out = quiet.n_copy_grad = 0;
	for (uint32_t p = 0; step && p < s->end_param - s->first_param; p++)
		step[p] = (mr_step){.src = NOWHERE, .dst = NOWHERE, .m = NOWHERE, .v = NOWHERE};
	MR_TRY(mr_stage_forward(&quiet, &io));
	mr_recorder_calls(c->recorder, &c->call, &c->n_forward);
	if (s->split || s->frozen)
		MR_TRY(mr_stage_backward_input(&quiet, &io));
	if (s->split && !s->frozen)
		MR_TRY(mr_stage_backward_weight(&quiet, &io));
	else if (!s->frozen)
		MR_TRY(mr_stage_backward(&quiet, &io));
	mr_recorder_calls(c->recorder, &c->call, &c->n);
	return MR_OK;
}

mr_status mr_stage_calls_init(mr_stage_calls *c, const mr_stage *s, uint32_t n_threads, bool steps)
{
	uint32_t n_params = s->end_param - s->first_param;
	mr_step *step = steps ? calloc(n_params + 1, sizeof(*step)) : NULL;
	mr_status st;

	*c = (mr_stage_calls){0};
	st = steps && !step ? mr_fail(MR_ERESOURCE, "no memory to look at a stage's kernels")
			    : mr_recorder_create(s->k, n_threads, &c->recorder);
	if (st == MR_OK)
		st = record(c, s, step);
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
	snprintf(text, 64, "none");
	for (int by = 0; by < MR_N_KERNEL_BY; by++)
		if (n[by])
			len += snprintf(text + len, 64 - (size_t)len, "%s%s %zu", len ? ", " : "",
					mr_kernel_by_name((mr_kernel_by)by), n[by]);
	return text;
}
