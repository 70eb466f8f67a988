#include "perf/theory/aged_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/group.h"

typedef struct run {
	const mr_aged_config *c;
	void *const *final;
	mr_flights *f;
	mr_histories blocks;
	uint32_t *read; /* [n_stages] */
	mr_status status;
	char text[1024];
} run;

static mr_status set_up(run *r)
{
	const mr_aged_config *c = r->c;
	const mr_aged *a = c->steps;
	uint32_t *cap = calloc(a->n_stages, sizeof(*cap));
	mr_status st;

	r->read = calloc(a->n_stages, sizeof(*r->read));
	if (!cap || !r->read) {
		free(cap);
		return mr_fail(MR_ERESOURCE, "no memory for %u blocks", a->n_stages);
	}
	for (uint16_t s = 0; s < a->n_stages; s++)
		cap[s] = mr_aged_cap(a, s) + 1; /* one more: a step leaves the versions it read to its observer */
	st = mr_flights_create(&(mr_flights_config){.graph = c->graph,
						    .partition = c->partition,
						    .kernels = c->kernels,
						    .data = c->data,
						    .samples = c->samples,
						    .seed = c->seed,
						    .n_flights = 1},
			       &r->f);
	if (st == MR_OK)
		st = mr_histories_create(mr_flights_stages(r->f), a->n_stages, cap, c->kernels, c->optim, c->seed,
					 &r->blocks);
	free(cap);
	return st;
}

static mr_status one_step(run *r, uint32_t k, double *loss)
{
	const mr_aged_config *c = r->c;
	const mr_aged *a = c->steps;
	uint16_t active = a->stage[k], last = (uint16_t)(a->n_stages - 1);
	mr_history *b = r->blocks.at;

	mr_flights_load(r->f, 0, k, a->batch[k]);
	for (uint16_t s = 0; s <= last; s++) {
		r->read[s] = mr_aged_version(a, k, s);
		MR_TRY(mr_flights_forward(r->f, 0, s, mr_history_weights(&b[s], r->read[s]), s == last ? loss : NULL));
	}
	if (!isfinite(*loss))
		return mr_fail(MR_EDIVERGED, "the loss of step %u is %s", k,
			       isnan(*loss) ? "not a number" : "infinite");
	for (uint16_t s = last;; s--) {
		MR_TRY(mr_flights_backward(r->f, 0, s, mr_history_weights(&b[s], r->read[s]),
					   s == active ? b[s].grads : NULL));
		if (s == active)
			break;
	}
	return mr_history_commit(&b[active], c->kernels, mr_flights_kctx(r->f), c->optim, mr_lr_at(c->lr, k + 1),
				 k + 1);
}

static mr_status go(run *r)
{
	const mr_aged_config *c = r->c;

	MR_TRY(set_up(r));
	for (uint32_t k = 0; k < c->steps->n_steps; k++) {
		mr_aged_event e = {.k = k, .stage = c->steps->stage[k], .read = r->read, .model = &r->blocks};

		MR_TRY(one_step(r, k, &e.loss));
		if (c->observer && !c->observer(c->arg, &e))
			break;
	}
	for (uint16_t s = 0; s < c->steps->n_stages && r->final; s++) {
		const mr_history *b = &r->blocks.at[s];

		memcpy(r->final[s], mr_history_weights(b, b->latest), mr_stage_size(b->stage)->weight_bytes);
	}
	return MR_OK;
}

static void thread(void *arg)
{
	run *r = arg;

	r->status = go(r);
	if (r->status != MR_OK)
		memcpy(r->text, mr_error_text(), sizeof(r->text) - 1);
	mr_histories_destroy(&r->blocks);
	mr_flights_destroy(r->f);
	free(r->read);
}

mr_status mr_aged_run(const mr_aged_config *c, void *const *final)
{
	run r = {.c = c, .final = final};
	mr_group *g;

	if (c->partition->n_stages != c->steps->n_stages)
		return mr_fail(MR_ECONFIG, "the steps update %u blocks, and the model is cut into %u",
			       c->steps->n_stages, c->partition->n_stages);
	MR_TRY(mr_group_start(c->place, "mr-w0", thread, &r, &g));
	mr_group_join(g);
	return r.status == MR_OK ? MR_OK : mr_fail(r.status, "%s", r.text);
}
