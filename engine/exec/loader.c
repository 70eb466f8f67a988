#include "exec/loader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

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
	uint8_t *spare_input, *spare_target; /* one sample each */
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

static mr_status create(mr_loader *l)
{
	const mr_dataset *d = l->run->c.data;
	mr_dtype t = l->run->c.kernels->types.activations, target_type = l->run->c.kernels->types.compute;

	l->n_feeds = 2u * l->links->plan->n_pipes;
	l->feed = calloc(l->n_feeds, sizeof(*l->feed));
	l->spare_input = calloc(1, mr_shape_bytes(d->input, t));
	l->spare_target = calloc(1, mr_shape_bytes(d->target, target_type));
	if (!l->feed || !l->spare_input || !l->spare_target)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	for (uint32_t i = 0; i < l->n_feeds; i++)
		MR_TRY(open_feed(l, (uint8_t)(i / 2), i % 2 == 0, &l->feed[i]));
	return MR_OK;
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

static void decode(mr_loader *l, uint64_t m, uint8_t *input, uint8_t *target)
{
	const mr_dataset *d = l->run->c.data;
	mr_dtype t = l->run->c.kernels->types.activations;
	size_t each = mr_shape_bytes(d->target, l->run->c.kernels->types.compute);
	uint64_t first = m * (uint64_t)l->links->samples;
	int64_t n = mr_links_samples(l->links, m);

	for (int64_t i = 0; i < n; i++) {
		void *in = input ? input + (size_t)i * mr_shape_bytes(d->input, t) : l->spare_input;
		void *tg = target ? target + (size_t)i * each : l->spare_target;

		if (l->links->train)
			d->ops->train(d, first + (uint64_t)i, in, tg);
		else
			d->ops->valid(d, first + (uint64_t)i, in, tg);
	}
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

static bool pump(mr_loader *l, feed *f)
{
	uint32_t buffer;
	uint64_t micro;
	void *to;

	if (!next_micro(l, f, &micro) || !take_any(f->link, &buffer))
		return false;
	to = mr_link_out(f->link, buffer);
	decode(l, micro, f->is_input ? to : NULL, f->is_input ? NULL : to);
	if (mr_dataset_check(l->run->c.data) != MR_OK)
		mr_run_fail(l->run, MR_EDATA);
	mr_link_put(f->link, buffer);
	f->next++;
	return true;
}

bool mr_loader_pump(mr_loader *l)
{
	bool some = false;

	for (uint32_t i = 0; i < l->n_feeds; i++)
		some = pump(l, &l->feed[i]) || some;
	return some;
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

	while (!finished(l)) {
		if (mr_stop_raised(&l->run->stop))
			return NULL;
		if (mr_loader_pump(l)) {
			mr_waiter_done(&l->waiter);
			continue;
		}
		if (mr_waiter_step(&l->waiter) != MR_OK)
			return NULL;
	}
	return NULL;
}

mr_status mr_loader_start(mr_loader *l)
{
	sigset_t all, before;
	int err;

	mr_waiter_init(&l->waiter, &l->run->loader_parker[l->links->train ? 0 : 1], &l->run->stop, 0);
	sigfillset(&all);
	sigdelset(&all, MR_BACKTRACE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&l->thread, NULL, loop, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return mr_fail(MR_ERESOURCE, "cannot start the loader thread: %s", strerror(err));
	pthread_setname_np(l->thread, "mr-loader");
	l->started = true;
	return MR_OK;
}

void mr_loader_join(mr_loader *l)
{
	if (l && l->started)
		pthread_join(l->thread, NULL);
	if (l)
		l->started = false;
}
