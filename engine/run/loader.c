#include "run/loader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct mr_loader {
	mr_run *run;
	mr_lane *lane;
	uint64_t input, target, end; /* micro-batches */
	mr_waiter waiter;
	pthread_t thread;
	bool started;
	uint8_t *spare_input, *spare_target; /* one sample each */
};

mr_status mr_loader_create(mr_run *run, mr_lane *lane, mr_loader **out)
{
	const mr_dataset *d = run->c.data;
	mr_dtype t = run->c.kernels->dtype;
	mr_loader *l = calloc(1, sizeof(*l));

	if (!l)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	*l = (mr_loader){.run = run, .lane = lane, .end = UINT64_MAX};
	l->spare_input = calloc(1, mr_shape_bytes(d->input, t));
	l->spare_target = calloc(1, mr_shape_bytes(d->target, t));
	if (!l->spare_input || !l->spare_target) {
		mr_loader_destroy(l);
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	}
	*out = l;
	return MR_OK;
}

void mr_loader_destroy(mr_loader *l)
{
	if (!l)
		return;
	free(l->spare_input);
	free(l->spare_target);
	free(l);
}

void mr_loader_seek(mr_loader *l, uint64_t input, uint64_t target, uint64_t end)
{
	l->input = input;
	l->target = target;
	l->end = end;
}

static void decode(mr_loader *l, uint64_t m, uint8_t *input, uint8_t *target)
{
	const mr_dataset *d = l->run->c.data;
	mr_dtype t = l->run->c.kernels->dtype;
	uint64_t first = m * (uint64_t)l->lane->samples;
	int64_t n = mr_lane_samples(l->lane, m);

	for (int64_t i = 0; i < n; i++) {
		void *in = input ? input + (size_t)i * mr_shape_bytes(d->input, t) : l->spare_input;
		void *tg = target ? target + (size_t)i * mr_shape_bytes(d->target, t) : l->spare_target;

		if (l->lane->train)
			d->ops->train(d, first + (uint64_t)i, in, tg);
		else
			d->ops->valid(d, first + (uint64_t)i, in, tg);
	}
}

static bool take_any(mr_hop *h, uint32_t *buffer)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (mr_hop_take(h, i)) {
			*buffer = i;
			return true;
		}
	return false;
}

static bool feed(mr_loader *l, mr_hop *h, uint64_t *next, bool is_input)
{
	uint32_t buffer;

	if (*next >= l->end || !take_any(h, &buffer))
		return false;
	decode(l, *next, is_input ? mr_hop_buffer(h, buffer) : NULL, is_input ? NULL : mr_hop_buffer(h, buffer));
	mr_hop_put(h, buffer);
	(*next)++;
	return true;
}

bool mr_loader_pump(mr_loader *l)
{
	uint16_t last = (uint16_t)(l->run->n_stages - 1);
	bool some = feed(l, &l->lane->st[0].in, &l->input, true);

	return feed(l, &l->lane->st[last].target, &l->target, false) || some;
}

static void *loop(void *arg)
{
	mr_loader *l = arg;

	while (l->input < l->end || l->target < l->end) {
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

	mr_waiter_init(&l->waiter, &l->run->loader_parker[l->lane->train ? 0 : 1], &l->run->stop, 0);
	sigfillset(&all);
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
