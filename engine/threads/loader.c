#include "threads/loader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "threads/loader_crew.h"
#include "exec/run_plan.h"
#include "host/backtrace.h"
#include "host/pin.h"

/* One ring: it carries the samples of the F of one stage in one pipe, in the order of its list. */
typedef struct feed {
	mr_link *link;
	bool is_input;          /* else targets */
	bool alike;             /* targets: in the order of the inputs */
	struct feed *input;     /* targets: the inputs of the same pipe; NULL: another rank's */
	uint8_t pipe;
	uint32_t *micro;        /* [n_once + n_body] of the prologue, then of the body as offsets */
	uint32_t n_once, n_body;
	uint64_t next;          /* place in that order */
	mr_feed_place place;    /* of `next`, where the order is not the lists' */
} feed;

/* A thread that feeds the pipes that begin on one node. */
typedef struct lane {
	mr_run *run;
	mr_links *links;
	feed *feed;             /* [n_feeds] two a pipe: inputs, targets */
	uint32_t n_feeds;
	uint64_t end;           /* micro-batches from this number on are not loaded */
	mr_parker *parker;
	mr_waiter waiter;
	pthread_t thread;
	bool started;
	uint32_t *cpu;          /* [n_cpus] where its threads run; n_cpus 0: where they may */
	uint32_t n_cpus;
	mr_crew *crew;          /* NULL: the lane's thread makes all samples */
	uint8_t *spare_input, *spare_target; /* one sample each; NULL: the source makes halves */
} lane;

struct mr_loader {
	mr_run *run;
	uint32_t n_lanes;
	lane lane[];
};

/* Put the minibatches of the F of @stage in @pipe that stand in @section into @micro, unless that is NULL; returns
 * their number. */
static uint32_t list_micro(const mr_plan *p, mr_section section, uint8_t pipe, uint16_t stage, uint32_t *micro)
{
	const mr_list *l = mr_plan_list(p, mr_plan_worker(p, pipe, stage), section);
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		const mr_instr *in = &l->at[i];

		if (in->op != MR_OP_F || in->stage != stage || in->pipe != pipe)
			continue;
		if (micro)
			micro[n] = p->contract.coverage == MR_COVER_BLOCK ? (uint32_t)in->target : in->micro;
		n++;
	}
	return n;
}

static mr_status open_feed(lane *l, uint8_t pipe, bool is_input, feed *f)
{
	const mr_plan *p = l->links->plan;
	uint16_t stage = is_input ? 0 : (uint16_t)(p->n_stages - 1);
	mr_links_stage *st = mr_links_at(l->links, pipe, stage);

	f->link = is_input ? &st->in : &st->target;
	f->is_input = is_input;
	f->pipe = pipe;
	f->n_once = list_micro(p, MR_PROLOGUE, pipe, stage, NULL);
	f->n_body = list_micro(p, MR_BODY, pipe, stage, NULL);
	f->micro = calloc(f->n_once + f->n_body + 1u, sizeof(*f->micro));
	if (!f->micro)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	list_micro(p, MR_PROLOGUE, pipe, stage, f->micro);
	list_micro(p, MR_BODY, pipe, stage, f->micro + f->n_once);
	return MR_OK;
}

/* The micro-batch at place @k of the order of @f, which does not end there. */
static uint64_t micro_at(const lane *l, const feed *f, uint64_t k)
{
	if (k < f->n_once)
		return f->micro[k];
	k -= f->n_once;
	return f->micro[f->n_once + k % f->n_body] + k / f->n_body * l->links->plan->n_micro;
}

/* Do both feeds of a pipe have the same order? From the later body on it repeats. */
static bool are_alike(const lane *l, const feed *a, const feed *b)
{
	uint32_t most = a->n_once > b->n_once ? a->n_once : b->n_once;

	if (l->links->train && l->run->hooks.instead.sample)
		return true; /* that of the steps */
	if (a->n_body != b->n_body || (!a->n_body && a->n_once != b->n_once))
		return false;
	for (uint32_t k = 0; k < (a->n_body ? most + a->n_body : most); k++)
		if (micro_at(l, a, k) != micro_at(l, b, k))
			return false;
	return true;
}

/* Sample @i of micro-batch @m for feed @f, into its buffer @to; its target into @half, unless that is NULL. */
static void decode(const lane *l, const feed *f, uint64_t m, int64_t i, uint8_t *to, uint8_t *half)
{
	const mr_dataset *d = l->run->c.data;
	const mr_types *types = &l->run->c.kernels->types;
	size_t input_bytes = mr_shape_bytes(d->input, types->activations);
	size_t target_bytes = mr_shape_bytes(d->target, types->compute);
	uint64_t sample = m * (uint64_t)l->links->samples + (uint64_t)i;
	void *input = f->is_input ? to + (size_t)i * input_bytes : l->spare_input;
	void *target = f->is_input ? l->spare_target : to + (size_t)i * target_bytes;

	if (half)
		target = half + (size_t)i * target_bytes;
	if (!l->links->train)
		d->ops->valid(d, sample, input, target);
	else if (l->run->hooks.instead.make_sample)
		l->run->hooks.instead.make_sample(l->run, f->pipe, m, i, input, target);
	else
		d->ops->train(d, sample, input, target);
}

/* A source that takes long makes halves: no two threads write into one spare. */
static void make_sample(void *arg, const mr_crew_batch *b, int64_t i)
{
	const lane *l = arg;
	const feed *f = &l->feed[b->feed];

	decode(l, f, b->micro, i, mr_link_out(f->link, b->buffer), NULL);
}

static mr_status create_spare(lane *l)
{
	const mr_dataset *d = l->run->c.data;
	mr_dtype t = l->run->c.kernels->types.activations, target_type = l->run->c.kernels->types.compute;

	if (d->ops->halves)
		return MR_OK;
	l->spare_input = calloc(1, mr_shape_bytes(d->input, t));
	l->spare_target = calloc(1, mr_shape_bytes(d->target, target_type));
	return l->spare_input && l->spare_target ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the loader");
}

/* The part of the @all threads that make samples that lane @i of @n has: one at least. */
static uint32_t threads_of(uint32_t all, uint32_t i, uint32_t n)
{
	uint32_t share = all * (i + 1) / n - all * i / n;

	return share ? share : 1;
}

/* Off the stages' cores, if there are others. */
static mr_status choose_cpus(lane *l, uint8_t pipe)
{
	const mr_place *place = l->run->c.place;

	if (!place->bindable || !place->n_cores_idle)
		return MR_OK;
	l->cpu = calloc(place->n_cores_idle, sizeof(*l->cpu));
	if (!l->cpu)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	l->n_cpus = mr_place_idle(place, &place->worker[mr_plan_worker(l->run->c.plan, pipe, 0)].memory, l->cpu);
	return MR_OK;
}

static mr_status create_lane(lane *l, uint32_t i)
{
	uint32_t n_buffers = 0, n = threads_of(mr_run_loaders(&l->run->c), i, l->run->n_lanes);

	MR_TRY(create_spare(l));
	l->feed = calloc(2u * l->links->plan->n_pipes, sizeof(*l->feed));
	if (!l->feed)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	for (unsigned p = 0; p < l->links->plan->n_pipes; p++) {
		if (l->run->lane_of[p] != i)
			continue;
		if (!l->n_feeds)
			MR_TRY(choose_cpus(l, (uint8_t)p));
		for (int half = 0; half < 2; half++) {
			feed *f = &l->feed[l->n_feeds];
			uint16_t stage = half ? (uint16_t)(l->run->n_stages - 1) : 0;

			if (!mr_run_is_here(&l->run->c, mr_plan_worker(l->links->plan, (uint8_t)p, stage)))
				continue;
			l->n_feeds++;
			MR_TRY(open_feed(l, (uint8_t)p, half == 0, f));
			f->input = half && l->n_feeds > 1 && f[-1].is_input && f[-1].pipe == p ? f - 1 : NULL;
			f->alike = f->input && are_alike(l, f->input, f);
			n_buffers += f->link->n;
		}
	}
	if (n < 2 || !l->n_feeds)
		return MR_OK;
	MR_TRY(mr_crew_create(n - 1, n_buffers, make_sample, l, &l->crew));
	mr_crew_restrict(l->crew, l->cpu, l->n_cpus);
	return MR_OK;
}

mr_status mr_loader_create(mr_run *run, mr_links *links, mr_loader **out)
{
	mr_loader *l = calloc(1, sizeof(*l) + run->n_lanes * sizeof(l->lane[0]));
	mr_status st = MR_OK;

	if (!l)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	l->run = run;
	l->n_lanes = run->n_lanes;
	for (uint32_t i = 0; i < l->n_lanes; i++)
		l->lane[i] = (lane){.run = run,
				    .links = links,
				    .end = UINT64_MAX,
				    .parker = &run->loader_parker[(links->train ? 0 : run->n_lanes) + i]};
	for (uint32_t i = 0; st == MR_OK && i < l->n_lanes; i++)
		st = create_lane(&l->lane[i], i);
	if (st != MR_OK) {
		mr_loader_destroy(l);
		return st;
	}
	*out = l;
	return MR_OK;
}

static void leave_place(lane *l, feed *f)
{
	if (l->run->hooks.instead.leave_sample)
		l->run->hooks.instead.leave_sample(l->run, &f->place);
}

static void destroy_lane(lane *l)
{
	for (uint32_t i = 0; i < l->n_feeds; i++) {
		leave_place(l, &l->feed[i]);
		free(l->feed[i].micro);
	}
	free(l->feed);
	mr_crew_destroy(l->crew);
	free(l->cpu);
	free(l->spare_input);
	free(l->spare_target);
}

void mr_loader_destroy(mr_loader *l)
{
	for (uint32_t i = 0; l && i < l->n_lanes; i++)
		destroy_lane(&l->lane[i]);
	free(l);
}

static void seek(lane *l, uint64_t step, uint64_t end)
{
	uint16_t last = (uint16_t)(l->run->n_stages - 1);

	for (uint32_t i = 0; i < l->n_feeds; i++) {
		feed *f = &l->feed[i];
		mr_links_stage *st = mr_links_at(l->links, f->pipe, 0);

		leave_place(l, f);
		f->next = step ? mr_run_done(l->run, f->pipe, f->is_input ? 0 : last, true) : 0;
		if (st->n_halves)
			memset(st->half_of, 0, st->n_halves * sizeof(*st->half_of));
	}
	l->end = end;
}

void mr_loader_seek(mr_loader *l, uint64_t step, uint64_t end)
{
	for (uint32_t i = 0; i < l->n_lanes; i++)
		seek(&l->lane[i], step, end);
}

static bool next_step(lane *l, feed *f, uint64_t *micro)
{
	uint16_t stage = f->is_input ? 0 : (uint16_t)(l->run->n_stages - 1);
	mr_status st;

	if (f->next >= mr_run_last_step(l->links->plan))
		return false;
	st = l->run->hooks.instead.sample(l->run, stage, f->next, &f->place, micro);
	if (st != MR_OK)
		mr_run_fail(l->run, st);
	return st == MR_OK;
}

/* The micro-batch at place f->next of the order; false: there is none. */
static bool next_micro(lane *l, feed *f, uint64_t *micro)
{
	if (l->links->train && l->run->hooks.instead.sample)
		return next_step(l, f, micro);
	if (f->next >= f->n_once && !f->n_body)
		return false;
	*micro = micro_at(l, f, f->next);
	return *micro < l->end; /* with an end, the list is ascending */
}

static bool take_any(mr_link *h, uint32_t *buffer)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (mr_link_take(h, i)) {
			*buffer = i;
			return true;
		}
	return false;
}

/*
 * A source that makes no halves makes the targets with the inputs: they wait in the memory of the first stage. So
 * targets wait for their inputs, where both have the same order: the last stage needs none before the first has had the
 * input. Those whose inputs have passed without room for them, or before the run began here, are made alone.
 */
static uint8_t *half_of(const lane *l, const feed *f, uint64_t m, bool *there)
{
	const mr_links_stage *st = mr_links_at(l->links, f->pipe, 0);

	*there = st->n_halves && st->half_of[m % st->n_halves] == m + 1;
	return st->n_halves ? st->half + m % st->n_halves * st->half_bytes : NULL;
}

/* Will the targets at the next place of @f come with an input that is still to be made? */
static bool comes(lane *l, feed *f)
{
	uint64_t micro;

	return !l->run->c.data->ops->halves && f->alike && f->next >= f->input->next &&
	       next_micro(l, f->input, &micro);
}

/* The next micro-batch of @f, with a buffer for it; false: one of them is missing. */
static bool begin(lane *l, feed *f, uint64_t *micro, uint32_t *buffer)
{
	if (!next_micro(l, f, micro) || (!f->is_input && comes(l, f)) || !take_any(f->link, buffer))
		return false;
	f->next++;
	return true;
}

static void hand_over(lane *l, feed *f, uint32_t buffer)
{
	if (mr_dataset_check(l->run->c.data) != MR_OK)
		mr_run_fail(l->run, MR_EDATA);
	mr_link_put(f->link, buffer);
}

static bool pump(lane *l, feed *f)
{
	mr_links_stage *st = mr_links_at(l->links, f->pipe, 0);
	uint8_t *half, *to;
	uint32_t buffer;
	uint64_t micro;
	bool there;
	int64_t n;

	if (!begin(l, f, &micro, &buffer))
		return false;
	to = mr_link_out(f->link, buffer);
	half = half_of(l, f, micro, &there);
	n = mr_links_samples(l->links, micro);
	if (!f->is_input && there)
		memcpy(to, half, (size_t)n * mr_shape_bytes(l->run->c.data->target, l->run->c.kernels->types.compute));
	else
		for (int64_t i = 0; i < n; i++)
			decode(l, f, micro, i, to, f->is_input ? half : NULL);
	if (f->is_input && half)
		st->half_of[micro % st->n_halves] = micro + 1;
	hand_over(l, f, buffer);
	return true;
}

static bool pump_all(lane *l)
{
	bool some = false;

	for (uint32_t i = 0; i < l->n_feeds; i++)
		some = pump(l, &l->feed[i]) || some;
	return some;
}

bool mr_loader_pump(mr_loader *l)
{
	bool some = false;

	for (uint32_t i = 0; i < l->n_lanes; i++)
		some = pump_all(&l->lane[i]) || some;
	return some;
}

/* --- with a crew --- */

/* Post what there are buffers for, hand on what is done, and make a sample; false: there was nothing to do. */
static bool pump_with_crew(lane *l)
{
	mr_crew_batch b;
	bool some = false;

	for (uint32_t i = 0; i < l->n_feeds; i++) {
		b = (mr_crew_batch){.feed = i};
		if (!begin(l, &l->feed[i], &b.micro, &b.buffer))
			continue;
		b.n = mr_links_samples(l->links, b.micro);
		mr_crew_post(l->crew, b);
		some = true;
	}
	while (mr_crew_take(l->crew, &b)) {
		hand_over(l, &l->feed[b.feed], b.buffer);
		some = true;
	}
	/* What was posted first, so that no other thread waits while this one decodes. */
	return some || mr_crew_work(l->crew);
}

/* What has been begun is finished: a loader may go on where it stopped. */
static void finish_crew(lane *l)
{
	mr_crew_batch b;

	while (mr_crew_wait(l->crew, &b))
		hand_over(l, &l->feed[b.feed], b.buffer);
}

static bool finished(lane *l)
{
	uint64_t micro;

	for (uint32_t i = 0; i < l->n_feeds; i++)
		if (next_micro(l, &l->feed[i], &micro))
			return false;
	return true;
}

static void *loop(void *arg)
{
	lane *l = arg;

	if (l->n_cpus)
		(void)mr_pin(l->cpu, l->n_cpus); /* where it is refused it runs where it may */
	while (!finished(l) && !mr_stop_raised(&l->run->stop)) {
		if (l->crew ? pump_with_crew(l) : pump_all(l)) {
			mr_waiter_done(&l->waiter);
			continue;
		}
		if (mr_waiter_step(&l->waiter) != MR_OK)
			break;
	}
	if (l->crew)
		finish_crew(l);
	return NULL;
}

static mr_status start(lane *l)
{
	sigset_t all, before;
	int err;

	if (!l->n_feeds)
		return MR_OK;
	if (l->crew)
		MR_TRY(mr_crew_start(l->crew, l->parker));
	mr_waiter_init(&l->waiter, l->parker, &l->run->stop, 0);
	sigfillset(&all);
	sigdelset(&all, MR_BACKTRACE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&l->thread, NULL, loop, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err && l->crew)
		mr_crew_stop(l->crew);
	if (err)
		return mr_fail(MR_ERESOURCE, "cannot start the loader thread: %s", strerror(err));
	pthread_setname_np(l->thread, "mr-loader");
	l->started = true;
	return MR_OK;
}

mr_status mr_loader_start(mr_loader *l)
{
	for (uint32_t i = 0; i < l->n_lanes; i++)
		MR_TRY(start(&l->lane[i]));
	return MR_OK;
}

void mr_loader_join(mr_loader *l)
{
	for (uint32_t i = 0; l && i < l->n_lanes; i++) {
		if (!l->lane[i].started)
			continue;
		pthread_join(l->lane[i].thread, NULL);
		if (l->lane[i].crew)
			mr_crew_stop(l->lane[i].crew);
		l->lane[i].started = false;
	}
}
