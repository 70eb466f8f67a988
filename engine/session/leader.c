#include "session/leader.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/group.h"

struct mr_leader {
	mr_group *group;
	sem_t begun, ended;
	mr_status (*job)(void *arg); /* NULL: the last one was */
	void *arg;
	const mr_kernels *kernels;
	uint32_t n_threads;
	mr_kctx *kc;
	mr_status status;
	char text[1024];
};

static void wait_for(sem_t *s)
{
	while (sem_wait(s)) /* EINTR */
		continue;
}

static void serve(void *arg)
{
	mr_leader *l = arg;

	for (wait_for(&l->begun); l->job; wait_for(&l->begun)) {
		l->status = l->job(l->arg);
		if (l->status != MR_OK)
			snprintf(l->text, sizeof(l->text), "%s", mr_error_text());
		sem_post(&l->ended);
	}
}

static void release(mr_leader *l)
{
	sem_destroy(&l->begun);
	sem_destroy(&l->ended);
	free(l);
}

static mr_status make_context(void *arg)
{
	mr_leader *l = arg;

	return l->kernels->ctx_create(l->kernels, l->n_threads, &l->kc);
}

static mr_status drop_context(void *arg)
{
	mr_leader *l = arg;

	l->kernels->ctx_destroy(l->kc);
	return MR_OK;
}

mr_status mr_leader_start(const mr_place_worker *w, const mr_kernels *k, mr_leader **out)
{
	mr_leader *l = calloc(1, sizeof(*l));
	mr_status st;

	*out = NULL;
	if (!l)
		return mr_fail(MR_ERESOURCE, "no memory for a thread");
	sem_init(&l->begun, 0, 0);
	sem_init(&l->ended, 0, 0);
	l->kernels = k;
	l->n_threads = w->n_threads;
	st = mr_group_start(w, "mr-w0", serve, l, &l->group);
	if (st != MR_OK) {
		release(l);
		return st;
	}
	st = mr_leader_run(l, make_context, l);
	if (st != MR_OK)
		mr_leader_stop(l);
	else
		*out = l;
	return st;
}

mr_kctx *mr_leader_context(const mr_leader *l)
{
	return l->kc;
}

mr_status mr_leader_run(mr_leader *l, mr_status (*job)(void *arg), void *arg)
{
	l->job = job;
	l->arg = arg;
	sem_post(&l->begun);
	wait_for(&l->ended);
	return l->status == MR_OK ? MR_OK : mr_fail(l->status, "%s", l->text);
}

void mr_leader_stop(mr_leader *l)
{
	if (!l)
		return;
	if (l->kc)
		(void)!mr_leader_run(l, drop_context, l);
	l->job = NULL;
	sem_post(&l->begun);
	mr_group_join(l->group);
	release(l);
}
