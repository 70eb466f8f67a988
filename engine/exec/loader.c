#include "exec/loader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "exec/loader_crew.h"
#include "host/backtrace.h"
#include "ir/endless.h"

/* One ring: it carries the samples of the F of one stage in one pipe, in the order of its list. */
typedef struct feed {
	mr_link *link;
	bool is_input;          /* else targets */
	uint32_t *micro;        /* [n_once + n_body] of the prologue, then of the body as offsets */
	uint32_t n_once, n_body;
	uint64_t next;          /* place in that order */
	const mr_plan *window;  /* of an endless plan: the window of that place, once it has been looked up */
	uint64_t n;             /* the window's number */
	uint32_t at;            /* place of the F of micro-batch `next` in its list, or of the search for it */
} feed;

struct mr_loader {
	mr_run *run;
	mr_links *links;
	feed *feed;             /* [n_feeds] two a pipe */
	uint32_t n_feeds;
	uint64_t end;           /* micro-batches from this number on are not loaded */
	mr_waiter waiter;
	pthread_t thread;
	bool started;
	mr_crew *crew;          /* NULL: the loader's thread makes all samples */
	uint8_t *spare_input, *spare_target; /* one sample each; NULL: the source makes halves */
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

static mr_status open_feed(mr_loader *l, uint8_t pipe, bool is_input, feed *f)
{
	const mr_plan *p = l->links->plan;
	uint16_t stage = is_input ? 0 : (uint16_t)(p->n_stages - 1);
	mr_links_stage *st = mr_links_at(l->links, pipe, stage);

	f->link = is_input ? &st->in : &st->target;
	f->is_input = is_input;
	f->n_once = list_micro(p, MR_PROLOGUE, pipe, stage, NULL);
	f->n_body = list_micro(p, MR_BODY, pipe, stage, NULL);
	f->micro = calloc(f->n_once + f->n_body + 1u, sizeof(*f->micro));
	if (!f->micro)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	list_micro(p, MR_PROLOGUE, pipe, stage, f->micro);
	list_micro(p, MR_BODY, pipe, stage, f->micro + f->n_once);
	return MR_OK;
}

/* Sample @i of micro-batch @m for feed @f, into its buffer @to. */
static void decode(const mr_loader *l, const feed *f, uint64_t m, int64_t i, uint8_t *to)
{
	const mr_dataset *d = l->run->c.data;
	const mr_types *types = &l->run->c.kernels->types;
	size_t each = f->is_input ? mr_shape_bytes(d->input, types->activations)
				  : mr_shape_bytes(d->target, types->compute);
	uint64_t sample = m * (uint64_t)l->links->samples + (uint64_t)i;
	void *at = to + (size_t)i * each;
	void *input = f->is_input ? at : l->spare_input, *target = f->is_input ? l->spare_target : at;

	if (l->links->train)
		d->ops->train(d, sample, input, target);
	else
		d->ops->valid(d, sample, input, target);
}

/* A source that takes long makes halves: no two threads write into one spare. */
static void make_sample(void *arg, const mr_crew_batch *b, int64_t i)
{
	const mr_loader *l = arg;
	const feed *f = &l->feed[b->feed];

	decode(l, f, b->micro, i, mr_link_out(f->link, b->buffer));
}

static mr_status create_spare(mr_loader *l)
{
	const mr_dataset *d = l->run->c.data;
	mr_dtype t = l->run->c.kernels->types.activations, target_type = l->run->c.kernels->types.compute;

	if (d->ops->halves)
		return MR_OK;
	l->spare_input = calloc(1, mr_shape_bytes(d->input, t));
	l->spare_target = calloc(1, mr_shape_bytes(d->target, target_type));
	return l->spare_input && l->spare_target ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the loader");
}

static mr_status create(mr_loader *l)
{
	uint32_t n_buffers = 0, n = mr_run_loaders(&l->run->c);

	MR_TRY(create_spare(l));
	l->n_feeds = 2u * l->links->plan->n_pipes;
	l->feed = calloc(l->n_feeds, sizeof(*l->feed));
	if (!l->feed)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	for (uint32_t i = 0; i < l->n_feeds; i++) {
		MR_TRY(open_feed(l, (uint8_t)(i / 2), i % 2 == 0, &l->feed[i]));
		n_buffers += l->feed[i].link->n;
	}
	return n > 1 ? mr_crew_create(n - 1, n_buffers, make_sample, l, &l->crew) : MR_OK;
}

mr_status mr_loader_create(mr_run *run, mr_links *links, mr_loader **out)
{
	mr_loader *l = calloc(1, sizeof(*l));
	mr_status st;

	if (!l)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	*l = (mr_loader){.run = run, .links = links, .end = UINT64_MAX};
	st = create(l);
	if (st != MR_OK) {
		mr_loader_destroy(l);
		return st;
	}
	*out = l;
	return MR_OK;
}

void mr_loader_destroy(mr_loader *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; l->feed && i < l->n_feeds; i++) {
		mr_windows_give_back(l->run->windows, l->feed[i].window);
		free(l->feed[i].micro);
	}
	free(l->feed);
	mr_crew_destroy(l->crew);
	free(l->spare_input);
	free(l->spare_target);
	free(l);
}

void mr_loader_seek(mr_loader *l, uint64_t step, uint64_t end)
{
	uint16_t last = (uint16_t)(l->run->n_stages - 1);

	for (uint32_t i = 0; i < l->n_feeds; i++) {
		feed *f = &l->feed[i];

		mr_windows_give_back(l->run->windows, f->window);
		f->window = NULL;
		f->next = step ? mr_run_done(l->run, (uint8_t)(i / 2), f->is_input ? 0 : last, true) : 0;
	}
	l->end = end;
}

/* The minibatch of step f->next: the F are fed in the order of the steps, which is that of the list. */
static mr_status find_step(mr_loader *l, feed *f, uint64_t *micro)
{
	uint16_t stage = f->is_input ? 0 : (uint16_t)(l->run->n_stages - 1);
	const mr_list *list = f->window ? mr_plan_list(f->window, stage, MR_BODY) : NULL;
	uint64_t n;

	while (list && f->at < list->n &&
	       (list->at[f->at].op != MR_OP_F || mr_instr_micro(f->window, &list->at[f->at], f->n) != f->next))
		f->at++;
	if (!list || f->at == list->n) {
		const mr_plan *old = f->window;

		f->window = NULL;
		n = f->n;
		mr_windows_give_back(l->run->windows, old);
		MR_TRY(mr_windows_forward(l->run->windows, stage, f->next, &f->window, &n, &f->at));
		f->n = n;
		list = mr_plan_list(f->window, stage, MR_BODY);
	}
	*micro = (uint32_t)list->at[f->at].target;
	return MR_OK;
}

static bool next_step(mr_loader *l, feed *f, uint64_t *micro)
{
	mr_status st;

	if (f->next >= l->links->plan->endless->n_steps)
		return false;
	st = find_step(l, f, micro);
	if (st != MR_OK)
		mr_run_fail(l->run, st);
	return st == MR_OK;
}

/* The micro-batch at place f->next of the order; false: there is none. */
static bool next_micro(mr_loader *l, feed *f, uint64_t *micro)
{
	uint64_t k = f->next - f->n_once;

	if (l->links->train && l->run->windows)
		return next_step(l, f, micro);
	if (f->next >= f->n_once && !f->n_body)
		return false;
	*micro = f->next < f->n_once ? f->micro[f->next]
				     : f->micro[f->n_once + k % f->n_body] + k / f->n_body * l->links->plan->n_micro;
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

/* The next micro-batch of @f, with a buffer for it; false: one of them is missing. */
static bool begin(mr_loader *l, feed *f, uint64_t *micro, uint32_t *buffer)
{
	if (!next_micro(l, f, micro) || !take_any(f->link, buffer))
		return false;
	f->next++;
	return true;
}

static void hand_over(mr_loader *l, feed *f, uint32_t buffer)
{
	if (mr_dataset_check(l->run->c.data) != MR_OK)
		mr_run_fail(l->run, MR_EDATA);
	mr_link_put(f->link, buffer);
}

static bool pump(mr_loader *l, feed *f)
{
	uint32_t buffer;
	uint64_t micro;
	int64_t n;

	if (!begin(l, f, &micro, &buffer))
		return false;
	n = mr_links_samples(l->links, micro);
	for (int64_t i = 0; i < n; i++)
		decode(l, f, micro, i, mr_link_out(f->link, buffer));
	hand_over(l, f, buffer);
	return true;
}

bool mr_loader_pump(mr_loader *l)
{
	bool some = false;

	for (uint32_t i = 0; i < l->n_feeds; i++)
		some = pump(l, &l->feed[i]) || some;
	return some;
}

/* --- with a crew --- */

/* Post what there are buffers for, hand on what is done, and make a sample; false: there was nothing to do. */
static bool pump_with_crew(mr_loader *l)
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
static void finish_crew(mr_loader *l)
{
	mr_crew_batch b;

	while (mr_crew_wait(l->crew, &b))
		hand_over(l, &l->feed[b.feed], b.buffer);
}

static bool finished(mr_loader *l)
{
	uint64_t micro;

	for (uint32_t i = 0; i < l->n_feeds; i++)
		if (next_micro(l, &l->feed[i], &micro))
			return false;
	return true;
}

static void *loop(void *arg)
{
	mr_loader *l = arg;

	while (!finished(l) && !mr_stop_raised(&l->run->stop)) {
		if (l->crew ? pump_with_crew(l) : mr_loader_pump(l)) {
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

mr_status mr_loader_start(mr_loader *l)
{
	sigset_t all, before;
	int err;

	mr_parker *parker = &l->run->loader_parker[l->links->train ? 0 : 1];

	if (l->crew)
		MR_TRY(mr_crew_start(l->crew, parker));
	mr_waiter_init(&l->waiter, parker, &l->run->stop, 0);
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

void mr_loader_join(mr_loader *l)
{
	if (!l || !l->started)
		return;
	pthread_join(l->thread, NULL);
	if (l->crew)
		mr_crew_stop(l->crew);
	l->started = false;
}
