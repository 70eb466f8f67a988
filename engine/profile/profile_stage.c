#include "profile/profile_stage.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/size.h"
#include "base/stats.h"
#include "host/clock.h"
#include "host/group.h"
#include "host/sched_delay.h"
#include "profile/lone_stage.h"
#include "stage/stage_layout.h"
#include "weights/tied_sum.h"

#define MAX_REPEATS 200u
#define MOST_DELAY 0.02   /* largest part of a repeat that its thread may wait for its core */
#define COUNTED 8u         /* repeats in which the processor's events are counted */
#define LEARNING_RATE 1e-12 /* the weights do not change: every repeat computes with the same numbers */

typedef enum half { HALF_F, HALF_I, HALF_W, HALF_W_STEP /* the W that steps */, HALF_W_MERGED, N_HALVES } half;

/* One stage being measured, on its own thread. */
typedef struct mr_stage_bench {
	const mr_bench_series *series;
	uint16_t stage, worker;
	mr_profile *out;     /* NULL: it only keeps its worker busy */
	mr_bench_gate *gate; /* NULL: it measures alone */
	bool warm;           /* it has reported so to the gate */
	mr_group *group;
	mr_lone_stage l;
	bool steps_inside, steps_alone; /* which kinds of a step are measured */
	double *sample; /* [layers][N_HALVES][MAX_REPEATS] */
	double update[MAX_REPEATS], sum[MAX_REPEATS], norm[MAX_REPEATS];
	uint32_t repeats;
	uint64_t n_timed;     /* calls so far (delays) */
	double least_spread;  /* of the measurement that is kept; INFINITY: none is */
	mr_sched_delay delay; /* of this thread */
	mr_perf_events events; /* of its team; closed while times are measured */
	mr_status status;
	char text[1024];
} bench;

static uint32_t n_layers(const bench *b)
{
	return b->l.s->end - b->l.s->first;
}

/*
 * Layer @i of the stage as a stage of its own, on the same memory. A layer's call depends on its neighbours only
 * by where its tensors lie, which its step contains. The copies at the boundaries stay with the last layer.
 */
static mr_stage layer_of(const bench *b, uint32_t i)
{
	mr_stage one = *b->l.s;

	one.first += i;
	one.end = one.first + 1;
	one.step += i;
	one.split = true;
	if (i + 1 < n_layers(b)) {
		one.n_copy_out = 0;
		one.n_copy_grad = 0;
	}
	return one;
}

static mr_status timed(bench *b, uint32_t i, half h, double *seconds)
{
	mr_stage one = layer_of(b, i);
	uint64_t begin = mr_clock_ns();
	mr_status st = h == HALF_F   ? mr_stage_forward(&one, &b->l.io)
		       : h == HALF_I ? mr_stage_backward_input(&one, &b->l.io)
				     : mr_stage_backward_weight(&one, &b->l.io);

	mr_fault_delay(b->stage, b->n_timed++);
	*seconds = (double)(mr_clock_ns() - begin) * 1e-9;
	return st;
}

/* Beside its time, what the processor counted in a call of layer @i. */
static mr_status counted(bench *b, uint32_t i, half h, double *seconds)
{
	mr_layer_counted *to = &b->out->counted[b->l.s->first + i];
	int pass = h == HALF_F ? 0 : h == HALF_I ? 1 : 2;
	mr_perf_counts before, after;
	uint64_t begin;

	mr_perf_events_read(&b->events, &before);
	begin = mr_clock_ns();
	MR_TRY(timed(b, i, h, seconds));
	mr_perf_events_read(&b->events, &after);
	mr_perf_counts_add(&to->counts[pass], &before, &after);
	to->seconds[pass] += (double)(mr_clock_ns() - begin) * 1e-9; /* with one reading, as the counts */
	to->n[pass]++;
	return MR_OK;
}

/* A merged W, layer by layer: the micro-batches have the same numbers, in memory of their own. */
static mr_status pass_merged(bench *b, int64_t r)
{
	const mr_stage_sizes *z = mr_stage_size(b->l.s);

	for (uint32_t j = 1; j < b->l.span; j++) {
		memcpy((void *)b->l.room[j].in, b->l.io.in, z->in_bytes);
		memcpy(b->l.room[j].slot, b->l.io.slot, z->slot_bytes);
		memcpy(b->l.room[j].grad_out, b->l.io.grad_out, z->grad_out_bytes);
	}
	for (uint32_t i = n_layers(b); i-- > 0;) {
		mr_stage one = layer_of(b, i);
		uint64_t begin;

		for (uint32_t j = 0; j < b->l.span; j++) {
			mr_stage_io *io = &b->l.span_io[j];

			*io = b->l.io;
			io->in = j ? b->l.room[j].in : io->in;
			io->slot = j ? b->l.room[j].slot : io->slot;
			io->grad_out = j ? b->l.room[j].grad_out : io->grad_out;
		}
		begin = mr_clock_ns();
		MR_TRY(mr_stage_backward_weights(&one, b->l.span_io, b->l.span, b->l.span_call));
		if (r >= 0)
			b->sample[((size_t)i * N_HALVES + HALF_W_MERGED) * MAX_REPEATS + (size_t)r] =
				(double)(mr_clock_ns() - begin) * 1e-9;
	}
	return MR_OK;
}

/* One micro-batch through all layers; @w: HALF_W, or HALF_W_STEP with io.step set. For @r >= 0 its times are kept; of F
 * and I, those of passes with a W of the usual kind. */
static mr_status pass(bench *b, half w, int64_t r)
{
	uint32_t n = n_layers(b);
	bool usual = w == HALF_W || b->l.n_micro == 1;
	double seconds;

	memcpy(b->l.io.grad_out, b->l.grad_clean, b->l.grad_out_bytes);
	for (uint32_t k = 0; k < 3 * n; k++) {
		/* F0 F1 .. In Wn .. I1 W1 I0 W0 */
		uint32_t layer = k < n ? k : n - 1 - (k - n) / 2;
		half h = k < n ? HALF_F : (k - n) % 2 ? w : HALF_I;

		MR_TRY(b->events.fd ? counted(b, layer, h, &seconds) : timed(b, layer, h, &seconds));
		if (r >= 0 && (h == w || usual))
			b->sample[((size_t)layer * N_HALVES + h) * MAX_REPEATS + (size_t)r] = seconds;
	}
	return MR_OK;
}

/* The steps of tied parameters behind a pass; their time counts in that of the first layer's W. */
static mr_status step_tied(bench *b, int64_t r)
{
	uint64_t begin = mr_clock_ns();

	if (b->l.own.tied)
		MR_TRY(mr_tied_sum_step(&b->l.own, b->l.io.kc, LEARNING_RATE, 1, NULL));
	if (r >= 0)
		b->sample[(size_t)HALF_W_STEP * MAX_REPEATS + (size_t)r] += (double)(mr_clock_ns() - begin) * 1e-9;
	return MR_OK;
}

/* The last micro-batch of a sum, whose W step. */
static mr_status pass_with_step(bench *b, int64_t r)
{
	mr_status st;

	b->l.io.step = mr_weights_steps_inside(&b->l.own, LEARNING_RATE, 1);
	st = pass(b, HALF_W_STEP, r);
	b->l.io.step = NULL;
	if (st == MR_OK)
		st = step_tied(b, r);
	mr_weights_committed(&b->l.own);
	return st;
}

/* The sum that several pipes make of their gradients. Here weights are added in place of another gradient; they stay
 * small enough. */
static mr_status add_up(bench *b, int64_t r)
{
	const mr_stage_sizes *z = mr_stage_size(b->l.s);
	const mr_kernels *k = b->l.c->kernels;
	size_t bytes = z->weight_bytes < z->grad_bytes ? z->weight_bytes : z->grad_bytes;
	int64_t n = (int64_t)(bytes / mr_dtype_bytes(k->types.gradients));
	const void *weights = mr_weights_at(&b->l.own, 0, b->l.own.latest);
	uint64_t begin = mr_clock_ns();
	double norm = 0;

	for (size_t at = 0; bytes && at + bytes <= z->grad_bytes; at += bytes) /* narrower weights are added more than
										  once */
		MR_TRY(k->sum_gradients(b->l.io.kc, &(mr_sum_gradients_args){.n = n, .a = b->l.shard.grads + at,
									     .b = weights,
									     .y = b->l.shard.grads + at}));
	if (r >= 0)
		b->sum[r] = (double)(mr_clock_ns() - begin) * 1e-9;
	begin = mr_clock_ns();
	if (bytes)
		MR_TRY(k->sumsq(b->l.io.kc, &(mr_sumsq_args){.n = n, .x = b->l.shard.grads, .sum = &norm}));
	if (r >= 0)
		b->norm[r] = (double)(mr_clock_ns() - begin) * 1e-9;
	return isfinite(norm) ? MR_OK : mr_fail(MR_EDIVERGED, "the gradient of the initial weights is not finite");
}

/* One micro-batch of each kind that the run has, and one optimizer step; @r < 0: not kept. */
static mr_status repeat(bench *b, int64_t r)
{
	double loss = 0;
	uint64_t begin;

	b->l.io.loss = &loss;
	b->l.io.weights = mr_weights_at(&b->l.own, 0, b->l.own.latest);
	/* All gradients of a sum but the first are added to it; with a step inside, the last one is measured apart. */
	b->l.io.add_grads = b->l.n_micro > (b->l.inside ? 2 : 1);
	if (!b->l.inside || b->l.n_micro > 1)
		MR_TRY(pass(b, HALF_W, r));
	if (b->l.span > 1)
		MR_TRY(pass_merged(b, r));
	if (b->steps_inside) {
		b->l.io.add_grads = b->l.n_micro > 1;
		MR_TRY(pass_with_step(b, r));
	}
	if (!isfinite(loss))
		return mr_fail(MR_EDIVERGED, "the loss of the initial weights is not finite");
	MR_TRY(add_up(b, r));
	if (!b->steps_alone)
		return MR_OK;
	begin = mr_clock_ns();
	MR_TRY(mr_weights_step(&b->l.own, 0, b->l.io.kc, LEARNING_RATE, 1));
	mr_weights_committed(&b->l.own);
	if (r >= 0)
		b->update[r] = (double)(mr_clock_ns() - begin) * 1e-9;
	return MR_OK;
}

static double median_of(const bench *b, uint32_t layer, half h)
{
	return mr_median(&b->sample[((size_t)layer * N_HALVES + h) * MAX_REPEATS], b->repeats);
}

static double least_of(const bench *b, uint32_t layer, half h)
{
	const double *x = &b->sample[((size_t)layer * N_HALVES + h) * MAX_REPEATS];
	double least = x[0];

	for (uint32_t i = 1; i < b->repeats; i++)
		least = fmin(least, x[i]);
	return least;
}

/* Distance of the medians from the minima, of layer @i or, for n_layers(b), of all together. */
static double spread_of(const bench *b, uint32_t i)
{
	half w = b->l.inside && b->l.n_micro == 1 ? HALF_W_STEP : HALF_W;
	const half halves[] = {HALF_F, HALF_I, w};
	uint32_t first = i < n_layers(b) ? i : 0, end = i < n_layers(b) ? i + 1 : n_layers(b);
	double medians = 0, minima = 0;

	for (uint32_t k = first; k < end; k++)
		for (size_t h = 0; h < sizeof(halves) / sizeof(halves[0]); h++) {
			medians += median_of(b, k, halves[h]);
			minima += least_of(b, k, halves[h]);
		}
	return mr_profile_spread(medians, minima);
}

/* The time that a step adds to the backward pass that contains it, beyond the W recorded for its layers. */
static double step_inside_s(const bench *b)
{
	double more = 0;

	for (uint32_t i = 0; b->l.n_micro > 1 && i < n_layers(b); i++)
		if (b->l.s->step[i].node->ops->backward_weight)
			more += median_of(b, i, HALF_W_STEP) - median_of(b, i, HALF_W);
	return fmax(0, more);
}

static void keep(bench *b)
{
	half w = b->l.inside && b->l.n_micro == 1 ? HALF_W_STEP : HALF_W;

	for (uint32_t i = 0; i < n_layers(b); i++) {
		const mr_stage_step *st = &b->l.s->step[i];
		mr_layer_profile *p = &b->out->layer[b->l.s->first + i];
		bool back = !st->node->ops->loss;

		*p = (mr_layer_profile){.f = median_of(b, i, HALF_F), .flops_f = st->needs.flops_f,
			.spread = spread_of(b, i)};
		if (back && !st->quiet_i) {
			p->i = median_of(b, i, HALF_I);
			p->flops_i = mr_graph_wants_dx(b->l.c->graph, b->l.s->first + i, 0) ? st->needs.flops_i : 0;
		}
		if (back && st->node->ops->backward_weight) {
			p->w = median_of(b, i, w);
			p->flops_w = st->needs.flops_w;
			if (b->l.span > 1)
				p->g = fmin(p->w, fmax(0, (b->l.span * p->w - median_of(b, i, HALF_W_MERGED)) /
								  (b->l.span - 1)));
		}
	}
	b->out->spread[b->stage] = b->least_spread;
	b->out->sum_s[b->stage] = mr_median(b->sum, b->repeats);
	b->out->norm_s[b->stage] = mr_median(b->norm, b->repeats);
	b->out->update_s[b->stage] = b->steps_alone ? mr_median(b->update, b->repeats) : 0;
	b->out->inside_s[b->stage] = b->steps_inside ? step_inside_s(b) : (double)NAN;
}

/* Report to the others, and work on until all have reported. Relaxed: only the count itself is communicated. */
static mr_status wait_for_all(bench *b, _Atomic uint32_t *count)
{
	atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
	while (atomic_load_explicit(count, memory_order_relaxed) > 0)
		MR_TRY(repeat(b, -1));
	return MR_OK;
}

static mr_status set_up(bench *b)
{
	MR_TRY(mr_lone_stage_open(&b->l, b->series->c, b->stage, b->series->n_micro));
	b->steps_inside = b->l.inside || (b->l.n_micro > 1 && b->l.could_inside);
	b->steps_alone = !b->l.inside || b->l.n_micro > 1;
	b->sample = calloc((size_t)n_layers(b) * N_HALVES * MAX_REPEATS, sizeof(*b->sample));
	return b->sample ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the times of %u layers", n_layers(b));
}

/* What a measurement takes at least and at most. */
typedef struct effort {
	uint32_t warm_ups, least_repeats, most_left_out, tries;
} effort;

static const effort *effort_of(const bench *b)
{
	static const effort usual = {2, MR_PROFILE_MIN_REPEATS, 100, MR_PROFILE_TRIES};
	static const effort brief = {1, MR_PROFILE_FEW_REPEATS, 4, 1};

	return b->series->brief ? &brief : &usual;
}

/* Repeat for the requested time. A repeat in which the thread had to wait for its core is made again, unless most are
 * such. */
static mr_status measure_once(bench *b)
{
	uint64_t end = mr_clock_ns() + (uint64_t)(b->series->seconds * 1e9);
	const effort *e = effort_of(b);
	uint32_t left_out = 0;

	b->repeats = 0;
	while (b->repeats < e->least_repeats || (b->repeats < MAX_REPEATS && mr_clock_ns() < end)) {
		uint64_t begin = mr_clock_ns(), delay = mr_sched_delay_ns(&b->delay);

		MR_TRY(repeat(b, b->repeats));
		delay = mr_sched_delay_ns(&b->delay) - delay;
		if ((double)delay > MOST_DELAY * (double)(mr_clock_ns() - begin) && left_out < e->most_left_out)
			left_out++;
		else
			b->repeats++;
	}
	return MR_OK;
}

static mr_status measure(bench *b)
{
	b->least_spread = INFINITY;
	mr_sched_delay_open(&b->delay, NULL);
	MR_TRY(set_up(b));
	for (uint32_t i = 0; i < effort_of(b)->warm_ups; i++)
		MR_TRY(repeat(b, -1));
	b->l.io.packs = false; /* most micro-batches read what the first one of their version packed */
	b->warm = true;
	if (b->gate)
		MR_TRY(wait_for_all(b, &b->gate->warming));
	for (uint32_t k = 0; k < effort_of(b)->tries && b->least_spread > MR_PROFILE_CALM; k++) {
		double spread;

		MR_TRY(measure_once(b));
		spread = spread_of(b, n_layers(b));
		if (spread >= b->least_spread)
			continue;
		b->least_spread = spread;
		if (b->out)
			keep(b);
	}
	return MR_OK;
}

/* Repeats of their own: the readings between the layers would lengthen the times. */
static mr_status count(bench *b)
{
	mr_status st = MR_OK;

	mr_perf_events_open(&b->events, &mr_perf_kernel, b->series->c->place->worker[b->worker].n_threads);
	mr_perf_events_missing(&b->events, b->out->missing, sizeof(b->out->missing));
	for (uint32_t i = 0; i < COUNTED && st == MR_OK; i++)
		st = repeat(b, -1);
	mr_perf_events_close(&b->events);
	return st;
}

static void thread(void *arg)
{
	bench *b = arg;

	b->status = measure(b);
	if (b->status == MR_OK && b->out && !b->gate && !b->series->brief)
		b->status = count(b);
	if (b->gate && !b->warm) /* no other stage may wait for one that has failed */
		atomic_fetch_sub_explicit(&b->gate->warming, 1, memory_order_relaxed);
	if (b->gate && b->status == MR_OK)
		b->status = wait_for_all(b, &b->gate->measuring);
	else if (b->gate)
		atomic_fetch_sub_explicit(&b->gate->measuring, 1, memory_order_relaxed);
	if (b->status != MR_OK)
		snprintf(b->text, sizeof(b->text), "%s", mr_error_text());
	mr_sched_delay_close(&b->delay);
	mr_lone_stage_close(&b->l);
	free(b->sample);
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
	b->series = s;
	b->stage = stage;
	b->worker = w;
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
