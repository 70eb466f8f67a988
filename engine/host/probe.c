#include "host/probe.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "host/clock.h"
#include "host/pin.h"

enum { MAX_BATCHES = 256, ROUNDS = 200, LOOKS = 4096, GIVE_UP_NS = 500000000 };

typedef struct pingpong {
	_Alignas(64) _Atomic uint32_t ball; /* odd: b has it, even: a has it */
	_Alignas(64) _Atomic uint32_t quit;
	_Alignas(64) _Atomic uint32_t error; /* errno of the first pin that failed */
	uint32_t cpu[2];
	uint64_t budget_ns, until_ns; /* of all batches; when to give up, by mr_clock_ns */
	double ns[MAX_BATCHES]; /* one way, per batch */
	uint32_t n;
} pingpong;

/* Spin until the ball is @want; false when a side has given up, since other programs leave the two no time together. */
static bool await(pingpong *p, uint32_t want)
{
	uint32_t looks = 0;

	while (atomic_load_explicit(&p->ball, memory_order_acquire) != want) {
		if (++looks % LOOKS == 0 && mr_clock_ns() > p->until_ns)
			atomic_store_explicit(&p->quit, 1, memory_order_relaxed);
		if (atomic_load_explicit(&p->quit, memory_order_relaxed))
			return false;
	}
	return true;
}

/* Both sides: pin themselves, and give up together if one cannot. */
static bool take_place(pingpong *p, int side)
{
	int error = mr_pin(&p->cpu[side], 1);

	if (!error)
		return true;
	atomic_store_explicit(&p->error, (uint32_t)error, memory_order_relaxed);
	atomic_store_explicit(&p->quit, 1, memory_order_relaxed);
	return false;
}

static void *answer(void *arg)
{
	pingpong *p = arg;

	if (!take_place(p, 1))
		return NULL;
	for (uint32_t ball = 1; await(p, ball); ball += 2)
		atomic_store_explicit(&p->ball, ball + 1, memory_order_release);
	return NULL;
}

static void *serve(void *arg)
{
	pingpong *p = arg;
	uint64_t begin, end;
	uint32_t ball = 0;

	if (!take_place(p, 0))
		return NULL;
	begin = mr_clock_ns();
	/* The first batch warms up and is dropped. */
	for (uint32_t batch = 0; batch <= MAX_BATCHES; batch++) {
		uint64_t t = mr_clock_ns();

		for (int i = 0; i < ROUNDS; i++, ball += 2) {
			atomic_store_explicit(&p->ball, ball + 1, memory_order_release);
			if (!await(p, ball + 2))
				return NULL;
		}
		end = mr_clock_ns();
		if (batch)
			p->ns[p->n++] = (double)(end - t) / (2.0 * ROUNDS);
		if (batch && end - begin > p->budget_ns)
			break;
	}
	atomic_store_explicit(&p->quit, 1, memory_order_relaxed);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

mr_status mr_probe_pair(uint32_t a, uint32_t b, uint32_t budget_us, mr_probe_pingpong *result)
{
	pingpong p = {.cpu = {a, b},
		      .budget_ns = mr_fault_hurry((uint64_t)budget_us * 1000),
		      .until_ns = mr_clock_ns() + mr_fault_hurry(GIVE_UP_NS)};
	pthread_t thread[2];
	int error;

	if (a == b)
		return mr_fail(MR_EINVAL, "a ping-pong needs two CPUs, got CPU %u twice", a);
	error = pthread_create(&thread[1], NULL, answer, &p);
	if (error)
		return mr_fail(MR_ERESOURCE, "cannot start a ping-pong thread: %s", strerror(error));
	error = pthread_create(&thread[0], NULL, serve, &p);
	if (error)
		atomic_store_explicit(&p.quit, 1, memory_order_relaxed);
	else
		pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	if (error)
		return mr_fail(MR_ERESOURCE, "cannot start a ping-pong thread: %s", strerror(error));
	error = (int)atomic_load_explicit(&p.error, memory_order_relaxed);
	if (error)
		return mr_fail(MR_ERESOURCE, "cannot pin a ping-pong to CPUs %u and %u: %s", a, b, strerror(error));
	if (!p.n) {
		*result = (mr_probe_pingpong){NAN, MR_PROBE_FAR};
		return MR_OK;
	}
	qsort(p.ns, p.n, sizeof(p.ns[0]), by_value);
	result->one_way_ns = p.ns[p.n / 2];
	result->distance = result->one_way_ns < MR_PROBE_FAR_NS ? MR_PROBE_NEAR : MR_PROBE_FAR;
	return MR_OK;
}

const char *mr_probe_name(mr_probe_distance d)
{
	return d == MR_PROBE_NEAR ? "NEAR" : "FAR";
}
