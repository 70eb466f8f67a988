#include "run/profile_stage.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "base/stats.h"
#include "base/str.h"
#include "host/clock.h"
#include "host/group.h"
#include "run/stage_layout.h"

#define MAX_REPEATS 200u
#define WARM_UPS 2u
#define LEARNING_RATE 1e-12 /* the weights stay where they are: every repeat computes with the same numbers */
#define GRADIENT 1e-3       /* size of the made-up gradient that enters a stage */

typedef enum half { HALF_F, HALF_I, HALF_W, HALF_W_STEP /* the W that steps */, HALF_W_MERGED, N_HALVES } half;

/* One stage being measured, on its own thread. */
typedef struct mr_stage_bench {
	const mr_run_config *c;
	uint16_t stage;
	uint32_t n_micro; /* micro-batches a sum */
	bool inside;      /* the run steps in the last W of a sum */
	bool steps_inside, steps_alone; /* which kinds of a step are measured */
	double seconds;
	mr_profile *out;  /* NULL: it only keeps its worker busy */
	mr_bench_gate *gate;       /* NULL: it measures alone */
	bool warm;        /* it has told the gate so */
	mr_group *group;
	mr_stage *s, *owner; /* owner: the stage that stores a parameter tied from here; NULL: none */
	mr_block block;
	mr_share share; /* the block's */
	mr_region region;
	mr_stage_io io;
	size_t grad_out_bytes;
	void *grad_clean; /* what grad_out is refilled from: backward may overwrite it */
	void *tied;
	uint32_t span;          /* micro-batches of its largest W */
	mr_stage_io *room, *span_io; /* [span] where each of them lies, the first in io; what a call gets */
	mr_layer_call *span_call;
	double *sample; /* [layers][N_HALVES][MAX_REPEATS] */
	double update[MAX_REPEATS], sum[MAX_REPEATS], norm[MAX_REPEATS];
	uint32_t repeats;
	mr_status status;
	char text[1024];
} bench;

static uint32_t n_layers(const bench *b)
{
	return b->s->end - b->s->first;
}

static void *take(mr_arena *a, size_t bytes)
{
	return mr_arena_take(a, bytes, MR_CACHE_LINE);
}

/* As long as the arena only counts there is nothing to write to. */
static void layout_span(bench *b, mr_arena *a)
{
	const mr_stage_sizes *z = mr_stage_size(b->s);

	b->room = take(a, b->span * sizeof(*b->room));
	b->span_io = take(a, b->span * sizeof(*b->span_io));
	b->span_call = take(a, b->span * sizeof(*b->span_call));
	for (uint32_t j = 1; j < b->span; j++) {
		void *in = take(a, z->in_bytes), *slot = take(a, z->slot_bytes), *grad_out = take(a, z->out_bytes);

		if (in)
			b->room[j] = (mr_stage_io){.in = in, .slot = slot, .grad_out = grad_out};
	}
}

static void layout(bench *b, mr_arena *a)
{
	const mr_stage_sizes *z = mr_stage_size(b->s);

	mr_block_layout(&b->block, a, 0, b->c->optim);
	b->io.in = take(a, z->in_bytes);
	b->io.out = take(a, z->out_bytes);
	b->io.grad_out = take(a, z->out_bytes);
	b->io.grad_in = z->grad_in_bytes ? take(a, z->grad_in_bytes) : NULL;
	b->io.slot = take(a, z->slot_bytes);
	b->io.scratch = take(a, z->scratch_bytes);
	b->io.target = take(a, z->target_bytes);
	b->grad_out_bytes = z->out_bytes;
	b->grad_clean = take(a, z->out_bytes);
	b->tied = take(a, b->owner ? mr_stage_size(b->owner)->weight_bytes : 0);
	if (b->span > 1)
		layout_span(b, a);
}

static mr_status make_stages(bench *b)
{
	const mr_run_config *c = b->c;
	const uint32_t *first = c->partition->first;
	bool tied = c->plan && c->plan->contract.tied && b->stage > 0 && b->stage + 1 == c->partition->n_stages;

	if (tied)
		MR_TRY(mr_stage_create(c->graph, 0, first[1], c->samples, c->kernels, false, NULL, &b->owner));
	return mr_stage_create(c->graph, first[b->stage], first[b->stage + 1], c->samples, c->kernels, b->span > 1, b->owner,
			       &b->s);
}

/* May a plan of these (or sequential) carry out steps inside the backward pass? */
static bool could_step_inside(const mr_run_config *c)
{
	return !(c->clip > 0) && !mr_graph_ties(c->graph) && mr_optim_elementwise(c->optim);
}

/* Does the run carry out the stage's steps inside its backward pass? (sequential.c and exec_compute.c; of a tied model in
 * sequential they are measured apart) */
static bool steps_inside(const bench *b)
{
	const mr_plan *p = b->c->plan;

	if (!p)
		return could_step_inside(b->c);
	for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
		const mr_list *l = mr_plan_list(p, mr_plan_worker(p, 0, b->stage), (mr_section)sec);

		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].stage == b->stage && l->at[i].flags & MR_INSTR_UPDATE)
				return true;
	}
	return false;
}

static uint32_t largest_span(const bench *b)
{
	const mr_plan *p = b->c->plan;
	uint32_t most = 1;

	for (uint16_t w = 0; p && w < p->n_workers; w++)
		for (int sec = 0; sec < MR_N_SECTIONS; sec++) {
			const mr_list *l = mr_plan_list(p, w, (mr_section)sec);

			for (uint32_t i = 0; i < l->n; i++)
				if (l->at[i].stage == b->stage && l->at[i].op == MR_OP_W && l->at[i].span > most)
					most = l->at[i].span;
		}
	return most;
}

/* Normal numbers of the run's dtype. */
static void fill_normal(const bench *b, void *to, size_t bytes, double scale, uint32_t what)
{
	bool wide = b->c->kernels->dtype == MR_F64;

	for (size_t i = 0; i < bytes / (wide ? 8 : 4); i++) {
		double x = scale * mr_rng_normal(b->c->seed, MR_RNG_TEST, b->stage, what, i);

		if (wide)
			((double *)to)[i] = x;
		else
			((float *)to)[i] = (float)x;
	}
}

static void fill_data(const bench *b)
{
	const mr_dataset *d = b->c->data;
	size_t in = mr_shape_bytes(d->input, b->c->kernels->dtype),
	       target = mr_shape_bytes(d->target, b->c->kernels->dtype);
	void *spare = malloc(in > target ? in : target);
	bool begins = b->s->first == 0, ends = b->s->end == b->c->graph->n_nodes;

	for (int64_t i = 0; spare && i < b->c->samples; i++)
		d->ops->train(d, (uint64_t)i, begins ? (char *)b->io.in + (size_t)i * in : spare,
			      ends ? (char *)b->io.target + (size_t)i * target : spare);
	free(spare);
}

static mr_status set_up(bench *b)
{
	const mr_place_worker *place = &b->c->place->worker[b->c->plan ? mr_plan_worker(b->c->plan, 0, b->stage) : 0];
	char need[16], limit[16];
	mr_arena a;

	b->span = largest_span(b);
	MR_TRY(make_stages(b));
	b->inside = steps_inside(b);
	b->steps_inside = b->inside || (b->n_micro > 1 && could_step_inside(b->c));
	b->steps_alone = !b->inside || b->n_micro > 1;
	if (b->inside && b->n_micro == 1)
		mr_stage_share_grads(b->s); /* as the run has it */
	b->block.stage = b->s;
	b->block.k = b->c->kernels;
	b->block.cap = b->c->plan ? b->c->plan->n_versions[b->stage] : 1;
	b->block.share = &b->share;
	b->block.n_shares = 1;
	b->share.need = b->n_micro;
	mr_block_cut(&b->block, b->c->optim);
	mr_arena_init(&a, NULL, 0);
	layout(b, &a);
	if (b->c->memory_limit && a.used > b->c->memory_limit)
		return mr_fail(MR_ERESOURCE, "it needs %s of memory, and %s is the limit", mr_bytes_text(a.used, need),
			       mr_bytes_text(b->c->memory_limit, limit));
	MR_TRY(mr_region_map(&b->region, a.used, place->bindable ? place->node_os : MR_REGION_ANY_NODE));
	mr_arena_init(&a, b->region.base, b->region.bytes);
	layout(b, &a);
	mr_region_prefault(&b->region, 0, b->region.bytes);
	b->sample = calloc((size_t)n_layers(b) * N_HALVES * MAX_REPEATS, sizeof(*b->sample));
	if (!b->sample)
		return mr_fail(MR_ERESOURCE, "no memory for the times of %u layers", n_layers(b));
	mr_stage_init_weights(b->s, b->c->seed, mr_block_weights(&b->block, 0, 0));
	if (b->owner)
		mr_stage_init_weights(b->owner, b->c->seed, b->tied);
	if (b->s->first > 0)
		fill_normal(b, (void *)b->io.in, mr_stage_size(b->s)->in_bytes, 1, 0);
	fill_normal(b, b->grad_clean, b->grad_out_bytes, GRADIENT, 1);
	fill_data(b);
	b->io.grads = b->share.grads;
	b->io.tied_weights = b->tied;
	b->io.samples = b->c->samples;
	b->io.train = true;
	b->io.seed = b->c->seed;
	return b->c->kernels->ctx_create(place->n_threads, &b->io.kc);
}

static void tear_down(bench *b)
{
	b->c->kernels->ctx_destroy(b->io.kc);
	mr_region_unmap(&b->region);
	free(b->sample);
	mr_stage_destroy(b->s);
	mr_stage_destroy(b->owner);
}

/*
 * Layer @i of the stage as a stage of its own, on the same memory. Nothing of a layer's call depends on its neighbours
 * beyond where its tensors lie, and that is in its step. The copies at the boundaries stay with the last layer.
 */
static mr_stage layer_of(const bench *b, uint32_t i)
{
	mr_stage one = *b->s;

	one.first += i;
	one.end = one.first + 1;
	one.step += i;
	one.split = true;
	if (i + 1 < n_layers(b)) {
		one.copy_out.where = MR_AT_NOWHERE;
		one.copy_grad.where = MR_AT_NOWHERE;
	}
	return one;
}

static mr_status timed(bench *b, uint32_t i, half h, double *seconds)
{
	mr_stage one = layer_of(b, i);
	uint64_t begin = mr_clock_ns();
	mr_status st = h == HALF_F   ? mr_stage_forward(&one, &b->io)
		       : h == HALF_I ? mr_stage_backward_input(&one, &b->io)
				     : mr_stage_backward_weight(&one, &b->io);

	*seconds = (double)(mr_clock_ns() - begin) * 1e-9;
	return st;
}

/* A merged W, layer by layer: the micro-batches have the same numbers, in memory of their own. */
static mr_status pass_merged(bench *b, int64_t r)
{
	const mr_stage_sizes *z = mr_stage_size(b->s);

	for (uint32_t j = 1; j < b->span; j++) {
		memcpy((void *)b->room[j].in, b->io.in, z->in_bytes);
		memcpy(b->room[j].slot, b->io.slot, z->slot_bytes);
		memcpy(b->room[j].grad_out, b->io.grad_out, z->out_bytes);
	}
	for (uint32_t i = n_layers(b); i-- > 0;) {
		mr_stage one = layer_of(b, i);
		uint64_t begin;

		for (uint32_t j = 0; j < b->span; j++) {
			mr_stage_io *io = &b->span_io[j];

			*io = b->io;
			io->in = j ? b->room[j].in : io->in;
			io->slot = j ? b->room[j].slot : io->slot;
			io->grad_out = j ? b->room[j].grad_out : io->grad_out;
		}
		begin = mr_clock_ns();
		MR_TRY(mr_stage_backward_weights(&one, b->span_io, b->span, b->span_call));
		if (r >= 0)
			b->sample[((size_t)i * N_HALVES + HALF_W_MERGED) * MAX_REPEATS + (size_t)r] =
				(double)(mr_clock_ns() - begin) * 1e-9;
	}
	return MR_OK;
}

/* One micro-batch through all layers; @w: HALF_W, or HALF_W_STEP with io.step set. Keeps the times of @r >= 0, of F and I those
 * that go with a W of the usual kind. */
static mr_status pass(bench *b, half w, int64_t r)
{
	uint32_t n = n_layers(b);
	bool usual = w == HALF_W || b->n_micro == 1;
	double seconds;

	memcpy(b->io.grad_out, b->grad_clean, b->grad_out_bytes);
	for (uint32_t k = 0; k < 3 * n; k++) {
		/* F0 F1 .. In Wn .. I1 W1 I0 W0 */
		uint32_t layer = k < n ? k : n - 1 - (k - n) / 2;
		half h = k < n ? HALF_F : (k - n) % 2 ? w : HALF_I;

		MR_TRY(timed(b, layer, h, &seconds));
		if (r >= 0 && (h == w || usual))
			b->sample[((size_t)layer * N_HALVES + h) * MAX_REPEATS + (size_t)r] = seconds;
	}
	return MR_OK;
}

/* The last micro-batch of a sum, whose W step. */
static mr_status pass_with_step(bench *b, int64_t r)
{
	mr_status st;

	b->io.step = mr_block_steps(&b->block, 0, b->c->optim, LEARNING_RATE, 1);
	st = pass(b, HALF_W_STEP, r);
	b->io.step = NULL;
	mr_block_committed(&b->block);
	return st;
}

/* What several pipes do with their gradients. Here weights are added, for want of another gradient: they stay small enough. */
static mr_status add_up(bench *b, int64_t r)
{
	const mr_stage_sizes *z = mr_stage_size(b->s);
	size_t bytes = z->weight_bytes < z->grad_bytes ? z->weight_bytes : z->grad_bytes;
	uint64_t begin = mr_clock_ns();
	double norm;

	if (bytes)
		b->c->kernels->sum(b->io.kc, (int64_t)(bytes / mr_dtype_bytes(b->c->kernels->dtype)), b->share.grads,
				   mr_block_weights(&b->block, 0, b->block.latest), b->share.grads);
	if (r >= 0)
		b->sum[r] = (double)(mr_clock_ns() - begin) * 1e-9;
	begin = mr_clock_ns();
	norm = bytes ? b->c->kernels->sumsq(b->io.kc, (int64_t)(bytes / mr_dtype_bytes(b->c->kernels->dtype)), b->share.grads) : 0;
	if (r >= 0)
		b->norm[r] = (double)(mr_clock_ns() - begin) * 1e-9;
	return isfinite(norm) ? MR_OK : mr_fail(MR_EDIVERGED, "the gradient of the initial weights is not finite");
}

/* One micro-batch of each kind that the run has, and one optimizer step; @r < 0: not kept. */
static mr_status repeat(bench *b, int64_t r)
{
	double loss = 0;
	uint64_t begin;

	b->io.loss = &loss;
	b->io.weights = mr_block_weights(&b->block, 0, b->block.latest);
	/* All gradients of a sum but the first are added to it; with a step inside, the last one is measured apart. */
	b->io.add_grads = b->n_micro > (b->inside ? 2 : 1);
	if (!b->inside || b->n_micro > 1)
		MR_TRY(pass(b, HALF_W, r));
	if (b->span > 1)
		MR_TRY(pass_merged(b, r));
	if (b->steps_inside) {
		b->io.add_grads = b->n_micro > 1;
		MR_TRY(pass_with_step(b, r));
	}
	if (!isfinite(loss))
		return mr_fail(MR_EDIVERGED, "the loss of the initial weights is not finite");
	MR_TRY(add_up(b, r));
	if (!b->steps_alone)
		return MR_OK;
	begin = mr_clock_ns();
	MR_TRY(mr_block_step(&b->block, 0, b->io.kc, b->c->optim, LEARNING_RATE, 1));
	mr_block_committed(&b->block);
	if (r >= 0)
		b->update[r] = (double)(mr_clock_ns() - begin) * 1e-9;
	return MR_OK;
}

static double median_of(const bench *b, uint32_t layer, half h)
{
	return mr_median(&b->sample[((size_t)layer * N_HALVES + h) * MAX_REPEATS], b->repeats);
}

/* What the step adds to a backward pass that has it inside, beyond the W that is booked on its layers. */
static double step_inside_s(const bench *b)
{
	double more = 0;

	for (uint32_t i = 0; b->n_micro > 1 && i < n_layers(b); i++)
		if (b->s->step[i].node->ops->backward_weight)
			more += median_of(b, i, HALF_W_STEP) - median_of(b, i, HALF_W);
	return fmax(0, more);
}

static void keep(bench *b)
{
	half w = b->inside && b->n_micro == 1 ? HALF_W_STEP : HALF_W;

	for (uint32_t i = 0; i < n_layers(b); i++) {
		const mr_stage_step *st = &b->s->step[i];
		mr_layer_profile *p = &b->out->layer[b->s->first + i];
		bool back = !st->node->ops->loss;

		*p = (mr_layer_profile){.f = median_of(b, i, HALF_F), .flops_f = st->needs.flops_f};
		if (back && !st->quiet_i) {
			p->i = median_of(b, i, HALF_I);
			p->flops_i = mr_graph_wants_dx(b->c->graph, b->s->first + i, 0) ? st->needs.flops_i : 0;
		}
		if (back && st->node->ops->backward_weight) {
			p->w = median_of(b, i, w);
			p->flops_w = st->needs.flops_w;
			if (b->span > 1)
				p->g = fmin(p->w, fmax(0, (b->span * p->w - median_of(b, i, HALF_W_MERGED)) / (b->span - 1)));
		}
	}
	b->out->sum_s[b->stage] = mr_median(b->sum, b->repeats);
	b->out->norm_s[b->stage] = mr_median(b->norm, b->repeats);
	b->out->update_s[b->stage] = b->steps_alone ? mr_median(b->update, b->repeats) : 0;
	b->out->inside_s[b->stage] = b->steps_inside ? step_inside_s(b) : (double)NAN;
}

/* Tell the others, and keep them company until all have. Relaxed: nothing but the count itself is handed over. */
static mr_status wait_for_all(bench *b, _Atomic uint32_t *count)
{
	atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
	while (atomic_load_explicit(count, memory_order_relaxed) > 0)
		MR_TRY(repeat(b, -1));
	return MR_OK;
}

static mr_status measure(bench *b)
{
	uint64_t end;

	MR_TRY(set_up(b));
	for (uint32_t i = 0; i < WARM_UPS; i++)
		MR_TRY(repeat(b, -1));
	b->warm = true;
	if (b->gate)
		MR_TRY(wait_for_all(b, &b->gate->warming));
	end = mr_clock_ns() + (uint64_t)(b->seconds * 1e9);
	while (b->repeats < MR_PROFILE_MIN_REPEATS || (b->repeats < MAX_REPEATS && mr_clock_ns() < end)) {
		MR_TRY(repeat(b, b->repeats));
		b->repeats++;
	}
	if (b->out)
		keep(b);
	return MR_OK;
}

static void thread(void *arg)
{
	bench *b = arg;

	b->status = measure(b);
	if (b->gate && !b->warm) /* nobody must wait for one that has failed */
		atomic_fetch_sub_explicit(&b->gate->warming, 1, memory_order_relaxed);
	if (b->gate && b->status == MR_OK)
		b->status = wait_for_all(b, &b->gate->measuring);
	else if (b->gate)
		atomic_fetch_sub_explicit(&b->gate->measuring, 1, memory_order_relaxed);
	if (b->status != MR_OK)
		snprintf(b->text, sizeof(b->text), "%s", mr_error_text());
	tear_down(b);
}

mr_status mr_stage_bench_begin(const mr_bench_series *s, uint16_t w, uint16_t stage, mr_bench_gate *g, bool keeps,
			       mr_stage_bench **out)
{
	bench *b = aligned_alloc(MR_CACHE_LINE, mr_align_up(sizeof(*b), MR_CACHE_LINE));
	char name[16];
	mr_status st;

	if (!b)
		return mr_fail(MR_ERESOURCE, "no memory for a measurement");
	memset(b, 0, sizeof(*b));
	b->c = s->c;
	b->n_micro = s->n_micro;
	b->stage = stage;
	b->seconds = s->seconds;
	b->out = keeps ? s->out : NULL;
	b->gate = g;
	snprintf(name, sizeof(name), "mr-w%u", w);
	st = mr_group_start(&s->c->place->worker[w], name, thread, b, &b->group);
	if (st != MR_OK) {
		free(b);
		return st;
	}
	*out = b;
	return MR_OK;
}

mr_status mr_stage_bench_join(mr_stage_bench *b)
{
	mr_status st;

	mr_group_join(b->group);
	if (b->out && (b->out->repeats == 0 || b->repeats < b->out->repeats))
		b->out->repeats = b->repeats;
	st = b->status == MR_OK ? MR_OK : mr_fail(b->status, "stage %u: %s", b->stage, b->text);
	free(b);
	return st;
}
