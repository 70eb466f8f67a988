#include "perf/theory/flight.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/size.h"

typedef struct flight {
	uint64_t micro;
	uint8_t **in, **grad, **slot; /* [n_stages] into the region: activation that enters, gradient of the output,
	                                 saved activations */
	uint8_t *target;
} flight;

struct mr_flights {
	mr_flights_config c;
	uint16_t n_stages;
	mr_stage **stage;
	flight *at;        /* [n_flights] */
	uint8_t **tables;  /* [n_flights][3][n_stages], behind the flights' pointers */
	uint8_t *scratch, *unread; /* unread: place for the gradient of the model's input, which nothing reads */
	mr_kctx *kc;
	mr_region region;
};

static void layout(mr_flights *f, mr_arena *a)
{
	size_t scratch = 0, unread = 0;

	for (uint32_t i = 0; i < f->c.n_flights; i++)
		for (uint16_t s = 0; s < f->n_stages; s++) {
			const mr_stage_sizes *z = mr_stage_size(f->stage[s]);

			f->at[i].in[s] = mr_arena_take(a, z->in_bytes, MR_CACHE_LINE);
			f->at[i].grad[s] = mr_arena_take(a, z->grad_out_bytes, MR_CACHE_LINE);
			f->at[i].slot[s] = mr_arena_take(a, z->slot_bytes, MR_CACHE_LINE);
			if (z->target_bytes)
				f->at[i].target = mr_arena_take(a, z->target_bytes, MR_CACHE_LINE);
			scratch = z->scratch_bytes > scratch ? z->scratch_bytes : scratch;
			unread = s == 0 ? z->grad_in_bytes : unread;
		}
	f->scratch = mr_arena_take(a, scratch, MR_CACHE_LINE);
	f->unread = mr_arena_take(a, unread, MR_CACHE_LINE);
}

static mr_status make_tables(mr_flights *f)
{
	size_t rows = 3 * (size_t)f->c.n_flights;

	f->stage = calloc(f->n_stages, sizeof(mr_stage *));
	f->at = calloc(f->c.n_flights, sizeof(*f->at));
	f->tables = calloc(rows * f->n_stages, sizeof(uint8_t *));
	if (!f->stage || !f->at || !f->tables)
		return mr_fail(MR_ERESOURCE, "no memory for %u micro-batches under way", f->c.n_flights);
	for (uint32_t i = 0; i < f->c.n_flights; i++) {
		uint8_t **row = f->tables + 3 * (size_t)i * f->n_stages;

		f->at[i] = (flight){.in = row, .grad = row + f->n_stages, .slot = row + 2 * (size_t)f->n_stages};
	}
	return MR_OK;
}

static mr_status build(mr_flights *f)
{
	const mr_flights_config *c = &f->c;
	mr_arena a;

	if (mr_graph_ties(c->graph))
		return mr_fail(MR_ECONFIG, "tied parameters are in two stages at once, and each stage steps alone "
					   "here: set model.tied = false");
	MR_TRY(make_tables(f));
	for (uint16_t s = 0; s < f->n_stages; s++)
		MR_TRY(mr_stage_create(c->graph, c->partition->first[s], c->partition->first[s + 1], c->samples,
				       c->kernels, true, NULL, &f->stage[s]));
	mr_arena_init(&a, NULL, 0);
	layout(f, &a);
	MR_TRY(mr_region_map(&f->region, mr_align_up(a.used, MR_CACHE_LINE), NULL));
	mr_arena_init(&a, f->region.base, f->region.bytes);
	layout(f, &a);
	return c->kernels->ctx_create(c->kernels, 1, &f->kc);
}

mr_status mr_flights_create(const mr_flights_config *c, mr_flights **out)
{
	mr_flights *f = calloc(1, sizeof(*f));
	mr_status st;

	*out = NULL;
	if (!f)
		return mr_fail(MR_ERESOURCE, "no memory for micro-batches under way");
	f->c = *c;
	f->n_stages = c->partition->n_stages;
	st = build(f);
	if (st != MR_OK) {
		mr_flights_destroy(f);
		return st;
	}
	*out = f;
	return MR_OK;
}

void mr_flights_destroy(mr_flights *f)
{
	if (!f)
		return;
	for (uint16_t s = 0; s < f->n_stages && f->stage; s++)
		mr_stage_destroy(f->stage[s]);
	f->c.kernels->ctx_destroy(f->kc);
	mr_region_unmap(&f->region);
	free(f->stage);
	free(f->at);
	free(f->tables);
	free(f);
}

mr_stage *const *mr_flights_stages(const mr_flights *f)
{
	return f->stage;
}

mr_kctx *mr_flights_kctx(mr_flights *f)
{
	return f->kc;
}

void mr_flights_load(mr_flights *f, uint32_t i, uint64_t micro, uint64_t batch)
{
	const mr_dataset *d = f->c.data;
	mr_dtype t = f->c.kernels->types.activations, target = f->c.kernels->types.compute;
	uint64_t first = batch * (uint64_t)f->c.samples;
	flight *fl = &f->at[i];

	fl->micro = micro;
	for (uint64_t j = 0; j < (uint64_t)f->c.samples; j++)
		d->ops->train(d, first + j, fl->in[0] + j * mr_shape_bytes(d->input, t),
			      fl->target + j * mr_shape_bytes(d->target, target));
}

static mr_stage_io make_io(mr_flights *f, flight *fl, uint16_t s, const void *weights)
{
	bool last = s + 1 == f->n_stages;

	return (mr_stage_io){
		.kc = f->kc,
		.in = fl->in[s],
		.out = last ? NULL : fl->in[s + 1],
		.grad_out = last ? NULL : fl->grad[s],
		.grad_in = s ? fl->grad[s - 1] : f->unread,
		.slot = fl->slot[s],
		.scratch = f->scratch,
		.weights = weights,
		.target = last ? fl->target : NULL,
		.samples = f->c.samples,
		.train = true,
		.seed = f->c.seed,
		.first_sample = fl->micro * (uint64_t)f->c.samples,
	};
}

mr_status mr_flights_forward(mr_flights *f, uint32_t i, uint16_t stage, const void *weights, double *loss)
{
	mr_stage_io io = make_io(f, &f->at[i], stage, weights);
	double ignored = 0;

	io.loss = loss ? loss : &ignored;
	MR_TRY(mr_dataset_check(f->c.data));
	return mr_stage_forward(f->stage[stage], &io);
}

mr_status mr_flights_backward(mr_flights *f, uint32_t i, uint16_t stage, const void *weights, void *grads)
{
	mr_stage_io io = make_io(f, &f->at[i], stage, weights);

	io.grads = grads;
	MR_TRY(mr_stage_backward_input(f->stage[stage], &io));
	return grads ? mr_stage_backward_weight(f->stage[stage], &io) : MR_OK;
}
