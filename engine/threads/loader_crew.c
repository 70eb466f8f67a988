#include "threads/loader_crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "host/backtrace.h"
#include "host/pin.h"

struct mr_crew {
	const uint32_t *cpu; /* [n_cpus] that the threads may use; n_cpus 0: any */
	uint32_t n_cpus;
	mr_crew_make *make;
	void *arg;
	pthread_t *thread; /* [n_threads] */
	uint32_t n_threads, n_started, most;
	mr_parker *loader;
	pthread_mutex_t lock; /* protects all members below */
	pthread_cond_t posted, done;
	mr_crew_batch *batch; /* [most] a ring */
	uint64_t first; /* number of the oldest micro-batch under way */
	uint64_t open;  /* number of the oldest one with samples left to take */
	uint64_t end;   /* number after the newest */
	bool ends;
};

static mr_crew_batch *at(mr_crew *c, uint64_t i)
{
	return &c->batch[i % c->most];
}

mr_status mr_crew_create(uint32_t n_threads, uint32_t most, mr_crew_make *make, void *arg, mr_crew **out)
{
	mr_crew *c = calloc(1, sizeof(*c));

	if (!c)
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->posted, NULL);
	pthread_cond_init(&c->done, NULL);
	c->make = make;
	c->arg = arg;
	c->n_threads = n_threads;
	c->most = most;
	c->thread = calloc(n_threads, sizeof(*c->thread));
	c->batch = calloc(most, sizeof(*c->batch));
	if (!c->thread || !c->batch) {
		mr_crew_destroy(c);
		return mr_fail(MR_ERESOURCE, "no memory for the loader");
	}
	*out = c;
	return MR_OK;
}

void mr_crew_destroy(mr_crew *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->posted);
	pthread_cond_destroy(&c->done);
	free(c->thread);
	free(c->batch);
	free(c);
}

/* Make a sample of the oldest micro-batch that has one left to take. The caller holds the lock, which is released while
 * the sample is made. False: no sample is left. *@whole: the micro-batch is complete with this sample. */
static bool make_one(mr_crew *c, bool *whole)
{
	mr_crew_batch *b;
	int64_t i;

	if (c->open == c->end)
		return false;
	b = at(c, c->open);
	i = b->n_taken++;
	if (b->n_taken == b->n)
		c->open++;
	pthread_mutex_unlock(&c->lock);
	c->make(c->arg, b, i); /* b remains valid: it is under way until it is done */
	pthread_mutex_lock(&c->lock);
	*whole = ++b->n_done == b->n;
	return true;
}

static void *run(void *arg)
{
	mr_crew *c = arg;
	bool whole;

	if (c->n_cpus)
		(void)mr_pin(c->cpu, c->n_cpus); /* where it is refused they run where they may */
	pthread_mutex_lock(&c->lock);
	while (!c->ends) {
		if (!make_one(c, &whole)) {
			pthread_cond_wait(&c->posted, &c->lock);
			continue;
		}
		if (!whole)
			continue;
		pthread_cond_signal(&c->done);
		pthread_mutex_unlock(&c->lock);
		mr_parker_wake(c->loader); /* it checks under the lock, so it cannot miss this sample */
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

void mr_crew_restrict(mr_crew *c, const uint32_t *cpu, uint32_t n)
{
	c->cpu = cpu;
	c->n_cpus = n;
}

mr_status mr_crew_start(mr_crew *c, mr_parker *loader)
{
	sigset_t all, before;
	int err = 0;

	c->loader = loader;
	c->ends = false;
	sigfillset(&all);
	sigdelset(&all, MR_BACKTRACE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (c->n_started = 0; c->n_started < c->n_threads; c->n_started++) {
		err = pthread_create(&c->thread[c->n_started], NULL, run, c);
		if (err)
			break;
		pthread_setname_np(c->thread[c->n_started], "mr-samples");
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		return MR_OK;
	mr_crew_stop(c);
	return mr_fail(MR_ERESOURCE, "cannot start a thread of the loader: %s", strerror(err));
}

void mr_crew_stop(mr_crew *c)
{
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	pthread_cond_broadcast(&c->posted);
	pthread_mutex_unlock(&c->lock);
	for (uint32_t i = 0; i < c->n_started; i++)
		pthread_join(c->thread[i], NULL);
	c->n_started = 0;
}

void mr_crew_post(mr_crew *c, mr_crew_batch b)
{
	pthread_mutex_lock(&c->lock);
	*at(c, c->end++) = b;
	pthread_cond_broadcast(&c->posted);
	pthread_mutex_unlock(&c->lock);
}

bool mr_crew_work(mr_crew *c)
{
	bool some, whole;

	pthread_mutex_lock(&c->lock);
	some = make_one(c, &whole);
	pthread_mutex_unlock(&c->lock);
	return some;
}

static bool take_first(mr_crew *c, mr_crew_batch *out)
{
	*out = *at(c, c->first);
	if (c->first == c->end || out->n_done < out->n)
		return false;
	c->first++;
	return true;
}

bool mr_crew_take(mr_crew *c, mr_crew_batch *out)
{
	bool some;

	pthread_mutex_lock(&c->lock);
	some = take_first(c, out);
	pthread_mutex_unlock(&c->lock);
	return some;
}

bool mr_crew_wait(mr_crew *c, mr_crew_batch *out)
{
	bool some;

	while (mr_crew_work(c))
		;
	pthread_mutex_lock(&c->lock);
	while (!(some = take_first(c, out)) && c->first != c->end)
		pthread_cond_wait(&c->done, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return some;
}
