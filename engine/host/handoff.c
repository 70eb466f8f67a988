#include "host/handoff.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "host/clock.h"
#include "host/pin.h"

#define LEAST_BYTES ((size_t)4 << 10)
#define MOST_BYTES ((size_t)256 << 10)
#define LINE 64

enum { ROUNDS = 101, WARM = 5 };

typedef struct traveller {
	uint32_t cpu[2];
	uint64_t *buffer;
	size_t n; /* words */
	double read_s[ROUNDS], write_s[ROUNDS];
	int error; /* errno of a pin that failed */
	volatile uint64_t sum;
} traveller;

static double seconds_since(uint64_t begin)
{
	return (double)(mr_clock_ns() - begin) * 1e-9;
}

static double write_once(traveller *t, uint64_t value)
{
	uint64_t begin = mr_clock_ns();

	for (size_t i = 0; i < t->n; i++)
		((volatile uint64_t *)t->buffer)[i] = value + i;
	return seconds_since(begin);
}

static double read_once(traveller *t)
{
	uint64_t begin = mr_clock_ns(), sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += ((volatile uint64_t *)t->buffer)[i];
	t->sum = sum;
	return seconds_since(begin);
}

static void *travel(void *arg)
{
	traveller *t = arg;

	for (int i = -WARM; i < ROUNDS; i++) {
		double far, own;

		t->error = mr_pin(&t->cpu[0], 1);
		if (t->error)
			return NULL;
		far = write_once(t, (uint64_t)i);
		own = write_once(t, (uint64_t)i + 1);
		if (i >= 0)
			t->write_s[i] = far - own;
		t->error = mr_pin(&t->cpu[1], 1);
		if (t->error)
			return NULL;
		far = read_once(t);
		own = read_once(t);
		if (i >= 0)
			t->read_s[i] = far - own;
	}
	return NULL;
}

static double each_byte(double *seconds, size_t bytes)
{
	double m = mr_median(seconds, ROUNDS) / (double)bytes;

	return m > 0 ? m : 0;
}

static mr_status run(traveller *t)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, travel, t);

	if (error)
		return mr_fail(MR_ERESOURCE, "cannot start a thread that measures hand-overs: %s", strerror(error));
	pthread_join(thread, NULL);
	if (t->error)
		return mr_fail(MR_ERESOURCE, "cannot pin a thread to CPUs %u and %u: %s", t->cpu[0], t->cpu[1],
			       strerror(t->error));
	return MR_OK;
}

mr_status mr_handoff_measure(uint32_t a, uint32_t b, size_t bytes, mr_handoff *out)
{
	traveller *t;
	mr_status st;

	if (a == b)
		return mr_fail(MR_EINVAL, "a hand-over needs two CPUs, got CPU %u twice", a);
	bytes = bytes < LEAST_BYTES ? LEAST_BYTES : bytes > MOST_BYTES ? MOST_BYTES : bytes / LINE * LINE;
	t = calloc(1, sizeof(*t));
	if (t)
		t->buffer = aligned_alloc(LINE, bytes);
	if (!t || !t->buffer) {
		free(t);
		return mr_fail(MR_ERESOURCE, "no memory to measure hand-overs");
	}
	memset(t->buffer, 0, bytes);
	t->n = bytes / sizeof(*t->buffer);
	t->cpu[0] = a;
	t->cpu[1] = b;
	st = run(t);
	if (st == MR_OK)
		*out = (mr_handoff){each_byte(t->read_s, bytes), each_byte(t->write_s, bytes)};
	free(t->buffer);
	free(t);
	return st;
}
