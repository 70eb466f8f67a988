#include "perf/theory/unit_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/group.h"
#include "nn/element.h"

typedef struct run {
	const mr_unit_config *c;
	mr_flights *f;
	uint32_t n_flights;
	mr_histories *replica;    /* [n_replicas] */
	uint64_t *read;        /* [n_flights][n_stages] */
	void *mean;            /* of one stage */
	int16_t *mean_rest;    /* of its masters; NULL: the weights are their masters */
	uint32_t n_losses, n_done;
	size_t n_noise;        /* numbers of the noise used so far */
	double loss;
	mr_status status;
	char text[1024];
} run;

/* The most micro-batches between their F and their B: at @stage, or anywhere. */
static uint32_t most_in_flight(const mr_unit_time *u, uint16_t stage)
{
	uint32_t now = 0, most = 0;

	for (uint32_t i = 0; i < u->n; i++) {
		if (u->at[i].stage != stage)
			continue;
		now += u->at[i].backward ? -1u : 1u;
		most = now > most ? now : most;
	}
	return most;
}

static mr_status allocate(run *r)
{
	const mr_unit_time *u = r->c->timeline;
	size_t largest = 1;

	r->n_flights = most_in_flight(u, 0);
	for (uint16_t s = 0; s < u->n_stages; s++) {
		size_t bytes = mr_stage_size(mr_flights_stages(r->f)[s])->weight_bytes;

		largest = bytes > largest ? bytes : largest;
	}
	r->replica = calloc(u->n_replicas, sizeof(*r->replica));
	r->read = calloc((size_t)r->n_flights * u->n_stages, sizeof(*r->read));
	r->mean = malloc(largest);
	if (mr_types_rest_bytes(&r->c->kernels->types))
		r->mean_rest = malloc(largest); /* a rest is as large as a weight */
	if (!r->replica || !r->read || !r->mean || (mr_types_rest_bytes(&r->c->kernels->types) && !r->mean_rest))
		return mr_fail(MR_ERESOURCE, "no memory for %u replicas", u->n_replicas);
	return MR_OK;
}

static mr_status set_up(run *r)
{
	const mr_unit_config *c = r->c;
	const mr_unit_time *u = c->timeline;
	uint32_t *cap = calloc(u->n_stages, sizeof(*cap));
	mr_status st;

	if (!cap)
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", u->n_stages);
	for (uint16_t s = 0; s < u->n_stages; s++)
		cap[s] = u->n_replicas == 1 ? most_in_flight(u, s) : 1;
	st = mr_flights_create(&(mr_flights_config){.graph = c->graph, .partition = c->partition, .kernels = c->kernels,
						    .data = c->data, .samples = c->samples, .seed = c->seed,
						    .n_flights = most_in_flight(u, 0)},
			       &r->f);
	if (st == MR_OK)
		st = allocate(r);
	for (uint16_t i = 0; i < u->n_replicas && st == MR_OK; i++)
		st = mr_histories_create(mr_flights_stages(r->f), u->n_stages, cap, c->kernels, c->optim, c->seed,
					 &r->replica[i]);
	free(cap);
	return st;
}

static mr_history *block_of(run *r, uint32_t micro, uint16_t stage)
{
	return &r->replica[micro % r->c->timeline->n_replicas].at[stage];
}

static mr_status forward(run *r, const mr_unit_op *o)
{
	const mr_unit_time *u = r->c->timeline;
	uint32_t flight = o->micro % r->n_flights;
	mr_history *b = block_of(r, o->micro, o->stage);
	bool last = o->stage + 1 == u->n_stages;

	if (o->stage == 0)
		mr_flights_load(r->f, flight, o->micro, o->micro);
	r->read[(size_t)flight * u->n_stages + o->stage] = b->latest;
	MR_TRY(mr_flights_forward(r->f, flight, o->stage, mr_history_weights(b, b->latest), last ? &r->loss : NULL));
	if (!last)
		return MR_OK;
	r->n_losses++;
	return isfinite(r->loss) ? MR_OK : mr_fail(MR_EDIVERGED, "the loss of micro-batch %u is not finite", o->micro);
}

/* Add the noise of the next operation to the gradients of @b. */
static mr_status disturb(run *r, mr_history *b)
{
	const mr_graph *g = r->c->graph;
	mr_dtype t = r->c->kernels->types.gradients;
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		void *grad = b->grads + mr_stage_grad_at(b->stage, p);

		if ((size_t)g->params[p].n > r->c->n_noise - r->n_noise)
			return mr_fail(MR_EDATA, "the recorded noise ends after %zu numbers", r->c->n_noise);
		for (int64_t i = 0; i < g->params[p].n; i++)
			mr_element_put(t, grad, i, mr_element(t, grad, i) + r->c->noise[r->n_noise++]);
	}
	return MR_OK;
}

static mr_status backward(run *r, const mr_unit_op *o)
{
	const mr_unit_config *c = r->c;
	uint32_t flight = o->micro % r->n_flights;
	mr_history *b = block_of(r, o->micro, o->stage);
	uint64_t read = r->read[(size_t)flight * c->timeline->n_stages + o->stage];

	MR_TRY(mr_flights_backward(r->f, flight, o->stage, mr_history_weights(b, read), b->grads));
	if (c->noise)
		MR_TRY(disturb(r, b));
	MR_TRY(mr_history_commit(b, c->kernels, mr_flights_kctx(r->f), c->optim, mr_lr_at(c->lr, b->latest + 1),
				 b->latest + 1));
	r->n_done += o->stage == 0;
	return MR_OK;
}

/* The mean of the masters of all replicas, summed in ascending order. */
void mr_unit_mean(const mr_histories *model, uint16_t n_replicas, uint16_t stage, const mr_types *types, void *weights,
		  int16_t *rest)
{
	mr_dtype t = types->weights;
	int64_t n = (int64_t)(mr_stage_size(model->at[stage].stage)->weight_bytes / mr_dtype_bytes(t));

	for (int64_t i = 0; i < n; i++) {
		double sum = 0;

		for (uint16_t r = 0; r < n_replicas; r++) {
			const mr_history *h = &model[r].at[stage];

			sum += mr_element_master(t, mr_history_latest(h), h->rest, i);
		}
		mr_element_put_master(t, weights, rest, i, sum / n_replicas);
	}
}

static void average(run *r)
{
	const mr_unit_time *u = r->c->timeline;

	for (uint16_t s = 0; s < u->n_stages; s++) {
		mr_unit_mean(r->replica, u->n_replicas, s, &r->c->kernels->types, r->mean, r->mean_rest);
		for (uint16_t i = 0; i < u->n_replicas; i++) {
			mr_history *b = &r->replica[i].at[s];
			const mr_stage_sizes *z = mr_stage_size(b->stage);

			memcpy(mr_history_weights(b, b->latest), r->mean, z->weight_bytes);
			if (b->rest)
				memcpy(b->rest, r->mean_rest, z->rest_bytes);
		}
	}
}

static bool tell(run *r, mr_unit_event e)
{
	if (!r->c->observer)
		return true;
	e.model = r->replica;
	return r->c->observer(r->c->arg, &e);
}

/* All operations of the time step that begins at op *@i. */
static mr_status step(run *r, uint32_t *i, bool *on)
{
	const mr_unit_time *u = r->c->timeline;
	uint32_t time = u->at[*i].time, before = r->n_done;

	for (; *i < u->n && u->at[*i].time == time && *on; ++*i) {
		const mr_unit_op *o = &u->at[*i];

		MR_TRY(o->backward ? backward(r, o) : forward(r, o));
		if (o->backward)
			*on = tell(
				r,
				(mr_unit_event){
					.kind = MR_UNIT_UPDATE,
					.time = time,
					.stage = o->stage,
					.micro = o->micro,
					.replica = (uint16_t)(o->micro % u->n_replicas),
					.read = r->read[(size_t)(o->micro % r->n_flights) * u->n_stages + o->stage]});
	}
	if (u->round && r->n_done > before && r->n_done % u->round == 0)
		average(r);
	*on = *on && tell(r, (mr_unit_event){.kind = MR_UNIT_STEP, .time = time, .n_losses = r->n_losses,
		.loss = r->loss});
	return MR_OK;
}

static mr_status go(run *r)
{
	bool on = true;

	MR_TRY(set_up(r));
	for (uint32_t i = 0; i < r->c->timeline->n && on;)
		MR_TRY(step(r, &i, &on));
	return MR_OK;
}

static void thread(void *arg)
{
	run *r = arg;

	r->status = go(r);
	if (r->status != MR_OK)
		memcpy(r->text, mr_error_text(), sizeof(r->text) - 1);
	for (uint16_t i = 0; r->replica && i < r->c->timeline->n_replicas; i++)
		mr_histories_destroy(&r->replica[i]);
	mr_flights_destroy(r->f);
	free(r->replica);
	free(r->read);
	free(r->mean);
	free(r->mean_rest);
}

mr_status mr_unit_run(const mr_unit_config *c)
{
	run r = {.c = c};
	mr_group *g;

	if (c->partition->n_stages != c->timeline->n_stages)
		return mr_fail(MR_ECONFIG, "the timeline has %u stages, and the model is cut into %u",
			       c->timeline->n_stages, c->partition->n_stages);
	MR_TRY(mr_group_start(c->place, "mr-w0", thread, &r, &g));
	mr_group_join(g);
	return r.status == MR_OK ? MR_OK : mr_fail(r.status, "%s", r.text);
}
