#include "profile/lone_stage.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/size.h"
#include "base/str.h"
#include "exec/run_plan.h"
#include "nn/element.h"
#include "stage/stage_layout.h"
#include "weights/tied_sum.h"

#define GRADIENT 1e-3 /* size of the made-up gradient that enters a stage */

static void *take(mr_arena *a, size_t bytes)
{
	return mr_arena_take(a, bytes, MR_CACHE_LINE);
}

/* While the arena only counts there is no memory to write to. */
static void layout_span(mr_lone_stage *x, mr_arena *a)
{
	const mr_stage_sizes *z = mr_stage_size(x->s);

	x->room = take(a, x->span * sizeof(*x->room));
	x->span_io = take(a, x->span * sizeof(*x->span_io));
	x->span_call = take(a, x->span * sizeof(*x->span_call));
	for (uint32_t j = 1; j < x->span; j++) {
		void *in = take(a, z->in_bytes), *slot = take(a, z->slot_bytes), *grad_out = take(a, z->grad_out_bytes);

		if (in)
			x->room[j] = (mr_stage_io){.in = in, .slot = slot, .grad_out = grad_out};
	}
}

static void layout(mr_lone_stage *x, mr_arena *a)
{
	const mr_stage_sizes *z = mr_stage_size(x->s);

	mr_weights_layout(&x->own, a, 0);
	x->io.in = take(a, z->in_bytes);
	x->io.out = take(a, z->out_bytes);
	x->io.grad_out = take(a, z->grad_out_bytes);
	x->io.grad_in = z->grad_in_bytes ? take(a, z->grad_in_bytes) : NULL;
	x->io.slot = take(a, z->slot_bytes);
	x->io.scratch = take(a, z->scratch_bytes);
	x->io.target = take(a, z->target_bytes);
	x->io.panels = mr_run_keeps_panels(x->c) && z->panel_bytes ? take(a, z->panel_bytes) : NULL;
	x->io.packs = true;
	x->grad_out_bytes = z->grad_out_bytes;
	x->grad_clean = take(a, z->grad_out_bytes);
	x->tied = take(a, x->owner ? mr_stage_size(x->owner)->weight_bytes : 0);
	if (x->span > 1)
		layout_span(x, a);
}

static mr_status make_stages(mr_lone_stage *x)
{
	const mr_run_config *c = x->c;
	const uint32_t *first = c->partition->first;
	bool tied = c->plan->contract.tied && x->stage > 0 && x->stage + 1 == c->partition->n_stages;

	if (tied)
		MR_TRY(mr_stage_create(c->graph, 0, first[1], c->samples, c->kernels, false, NULL, &x->owner));
	return mr_stage_create(c->graph, first[x->stage], first[x->stage + 1], c->samples, c->kernels, x->span > 1,
			       x->owner, &x->s);
}

/* May a plan of these stages carry out steps inside the backward pass? */
static bool could_step_inside(const mr_run_config *c)
{
	return !(c->clip > 0) && !c->plan->contract.tied && mr_optim_elementwise(c->optim);
}

/* Does the run carry out the stage's steps inside its backward pass? (exec_compute.c) */
static bool steps_inside(const mr_lone_stage *x)
{
	const mr_plan *p = x->c->plan;

	for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
		const mr_list *l = mr_plan_list(p, mr_plan_worker(p, 0, x->stage), (mr_section)sec);

		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].stage == x->stage && l->at[i].flags & MR_INSTR_UPDATE)
				return true;
	}
	return false;
}

static uint32_t largest_span(const mr_lone_stage *x)
{
	const mr_plan *p = x->c->plan;
	uint32_t most = 1;

	for (uint16_t w = 0; w < p->n_workers; w++)
		for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
			const mr_list *l = mr_plan_list(p, w, (mr_section)sec);

			for (uint32_t i = 0; i < l->n; i++)
				if (l->at[i].stage == x->stage && l->at[i].op == MR_OP_W && l->at[i].span > most)
					most = l->at[i].span;
		}
	return most;
}

/* Normal numbers as activations. */
static void fill_normal(const mr_lone_stage *x, void *to, size_t bytes, double scale, uint32_t what)
{
	mr_dtype t = x->c->kernels->types.activations;
	int64_t n = (int64_t)(bytes / mr_dtype_bytes(t));

	for (int64_t i = 0; i < n; i++)
		mr_element_put(t, to, i, scale * mr_rng_normal(x->c->seed, MR_RNG_TEST, x->stage, what, (uint64_t)i));
}

/* Tokens that a stage before makes of the model's @input: layers behind use them as indices. Others are 0. */
static mr_status fill_tokens(const mr_lone_stage *x, const mr_boundary_part *part, const void *input)
{
	const mr_graph *g = x->c->graph;
	const mr_value *value = &g->values[part->value];
	void *to = (char *)(uintptr_t)x->io.in + part->at;
	const mr_node *maker;
	mr_layer_call call;

	if (part->value == 0 || !value->shape.tokens)
		return MR_OK;
	maker = &g->nodes[value->producer];
	memset(to, 0, (size_t)x->c->samples * mr_shape_bytes(value->shape, MR_I32));
	if (maker->in[0] != 0 || maker->n_in != 1 || maker->n_out != 1 || maker->n_params)
		return MR_OK;
	call = (mr_layer_call){
		.k = x->c->kernels,
		.cfg = &maker->cfg,
		.in = maker->in_shape,
		.out = maker->out_shape,
		.samples = x->c->samples,
		.x = {input},
		.y = {to},
	};
	return maker->ops->forward(&call);
}

static mr_status fill_data(const mr_lone_stage *x)
{
	const mr_dataset *d = x->c->data;
	size_t in = mr_shape_bytes(d->input, x->c->kernels->types.activations),
	       target = mr_shape_bytes(d->target, x->c->kernels->types.compute), samples = (size_t)x->c->samples;
	char *inputs = malloc(samples * in), *targets = malloc(samples * target);
	mr_status st = inputs && targets ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %zu samples", samples);

	for (size_t i = 0; st == MR_OK && i < samples; i++)
		d->ops->train(d, i, inputs + i * in, targets + i * target);
	if (st == MR_OK && x->s->in.part[0].value == 0)
		memcpy((void *)(uintptr_t)x->io.in, inputs, samples * in);
	if (st == MR_OK && x->s->end == x->c->graph->n_nodes)
		memcpy((void *)(uintptr_t)x->io.target, targets, samples * target);
	for (uint32_t i = 0; st == MR_OK && i < x->s->in.n; i++)
		st = fill_tokens(x, &x->s->in.part[i], inputs);
	free(inputs);
	free(targets);
	return st;
}

static mr_status make_memory(mr_lone_stage *x, const mr_place_worker *place)
{
	char need[16], limit[16];
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	layout(x, &a);
	if (x->c->memory_limit && a.used > x->c->memory_limit)
		return mr_fail(MR_ERESOURCE, "it needs %s of memory, and %s is the limit", mr_bytes_text(a.used, need),
			       mr_bytes_text(x->c->memory_limit, limit));
	MR_TRY(mr_region_map(&x->region, a.used, place->bindable ? &place->memory : NULL));
	mr_arena_init(&a, x->region.base, x->region.bytes);
	layout(x, &a);
	mr_region_prefault(&x->region, 0, x->region.bytes);
	return MR_OK;
}

static mr_status fill(mr_lone_stage *x)
{
	mr_stage_init_weights(x->s, x->c->seed, mr_weights_at(&x->own, 0, 0), x->own.rest);
	if (x->owner)
		mr_stage_init_weights(x->owner, x->c->seed, x->tied, NULL);
	if (x->s->first > 0)
		fill_normal(x, (void *)x->io.in, mr_stage_size(x->s)->in_bytes, 1, 0);
	fill_normal(x, x->grad_clean, x->grad_out_bytes, GRADIENT, 1);
	MR_TRY(fill_data(x));
	x->io.grads = x->shard.grads;
	x->io.tied_weights = x->tied;
	x->io.samples = x->c->samples;
	x->io.train = true;
	x->io.seed = x->c->seed;
	return MR_OK;
}

mr_status mr_lone_stage_open(mr_lone_stage *x, const mr_run_config *c, uint16_t stage, uint32_t n_micro)
{
	const mr_place_worker *place = &c->place->worker[mr_plan_worker(c->plan, 0, stage)];

	*x = (mr_lone_stage){.c = c, .stage = stage, .n_micro = n_micro};
	x->span = largest_span(x);
	MR_TRY(make_stages(x));
	x->inside = steps_inside(x);
	x->could_inside = could_step_inside(c);
	if (n_micro == 1)
		MR_TRY(mr_run_share_grads(c, stage, false, x->s));
	x->own.stage = x->s;
	x->own.k = c->kernels;
	x->own.optim = *c->optim;
	x->own.cap = c->plan->n_versions[stage];
	x->own.shard = &x->shard;
	x->own.n_shards = 1;
	if (!c->plan->contract.tied)
		MR_TRY(mr_tied_sum_open(&x->own, NULL));
	x->shard.need = n_micro;
	x->shard.block = (int64_t)MR_WEIGHTS_PIECE * place->n_threads;
	mr_weights_cut(&x->own);
	MR_TRY(make_memory(x, place));
	MR_TRY(fill(x));
	return c->kernels->ctx_create(c->kernels, place->n_threads, &x->io.kc);
}

void mr_lone_stage_close(mr_lone_stage *x)
{
	if (x->c)
		x->c->kernels->ctx_destroy(x->io.kc);
	free(x->own.tied); /* it has no links */
	mr_region_unmap(&x->region);
	mr_stage_destroy(x->s);
	mr_stage_destroy(x->owner);
}
