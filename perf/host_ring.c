/*
 * host_ring.c - what a hand-over costs on this machine: rings, events, sleeping and waking.
 *
 *	host_ring [SAMPLES]            default 9, at least 5
 *
 * Two pinned threads play ping-pong over two rings; half a round is one hand-over. Each sample is framed by two
 * cache-line probes; samples during which the placement changed are dropped, NEAR and FAR are reported apart
 * (host/probe.h). Output is CSV: nanoseconds, median and quartiles over samples.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "host/clock.h"
#include "host/event.h"
#include "host/group.h"
#include "host/pause.h"
#include "host/place.h"
#include "host/probe.h"
#include "host/ring.h"
#include "host/topo.h"

/* A sample is the median of batches short enough to fit between two time slices of a busy machine. */
enum { MAX_SAMPLES = 99, PROBE_US = 1000, N_BATCHES = 101 };

/* A ping-pong between two workers; `late` nanoseconds of work before each answer let the other side fall asleep. */
typedef struct duel {
	mr_ring ring[2];
	mr_parker parker[2];
	mr_waiter waiter[2];
	mr_stop stop;
	uint32_t rounds; /* per batch */
	uint64_t late;
	double ns[N_BATCHES]; /* one hand-over */
} duel;

typedef struct bench {
	mr_place place;
	uint32_t n_samples;
} bench;

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void be_late(uint64_t ns)
{
	uint64_t end = ns ? mr_clock_ns() + ns : 0; /* without work, not even a look at the clock */

	while (ns && mr_clock_ns() < end)
		continue;
}

/* Push @value, waiting for room; false: stopped. */
static bool push(mr_ring *r, uint32_t value, mr_waiter *w)
{
	while (!mr_ring_try_push(r, value))
		if (mr_waiter_step(w) != MR_OK)
			return false;
	mr_waiter_done(w);
	return true;
}

static bool pop(mr_ring *r, mr_waiter *w, uint32_t *value)
{
	while (!mr_ring_try_pop(r, value))
		if (mr_waiter_step(w) != MR_OK)
			return false;
	mr_waiter_done(w);
	return true;
}

static void serve(void *arg)
{
	duel *d = arg;
	uint32_t got;

	for (uint32_t batch = 0; batch < N_BATCHES; batch++) {
		uint64_t begin = mr_clock_ns();

		for (uint32_t i = 0; i < d->rounds; i++) {
			be_late(d->late);
			if (!push(&d->ring[0], i, &d->waiter[0]) || !pop(&d->ring[1], &d->waiter[0], &got))
				return;
		}
		d->ns[batch] = (double)(mr_clock_ns() - begin) / (2.0 * d->rounds) - (double)d->late;
	}
}

static void answer(void *arg)
{
	duel *d = arg;
	uint32_t got;

	for (uint32_t i = 0; i < d->rounds * N_BATCHES; i++) {
		if (!pop(&d->ring[0], &d->waiter[1], &got))
			return;
		be_late(d->late);
		if (!push(&d->ring[1], got, &d->waiter[1]))
			return;
	}
}

static mr_status fight(const bench *b, uint32_t rounds, uint32_t spin, uint64_t late, double *ns)
{
	static duel d;
	mr_group *g[2];

	memset(&d, 0, sizeof(d));
	d.rounds = rounds;
	d.late = late;
	for (uint32_t i = 0; i < 2; i++) {
		mr_parker_init(&d.parker[i]);
		mr_waiter_init(&d.waiter[i], &d.parker[i], &d.stop, spin);
	}
	/* As between workers (exec/links.h): no worker waits for room. */
	MR_TRY(mr_ring_init(&d.ring[0], MR_RING_NEAR, NULL, NULL, &d.parker[1]));
	MR_TRY(mr_ring_init(&d.ring[1], MR_RING_NEAR, NULL, NULL, &d.parker[0]));
	MR_TRY(mr_group_start(&b->place.worker[1], "mr-answer", answer, &d, &g[1]));
	if (mr_group_start(&b->place.worker[0], "mr-serve", serve, &d, &g[0]) != MR_OK) {
		mr_parker *all[2] = {&d.parker[0], &d.parker[1]};

		mr_stop_init(&d.stop, all, 2);
		mr_stop_raise(&d.stop);
		mr_group_join(g[1]);
		return MR_ERESOURCE;
	}
	mr_group_join(g[0]);
	mr_group_join(g[1]);
	qsort(d.ns, N_BATCHES, sizeof(d.ns[0]), by_value);
	*ns = d.ns[N_BATCHES / 2];
	return MR_OK;
}

static mr_status handover_hot(const bench *b, double *ns)
{
	return fight(b, 100, mr_pause_spins(1000000), 0, ns);
}

/* Every wait sleeps: what a wake-up costs. */
static mr_status handover_asleep(const bench *b, double *ns)
{
	return fight(b, 5, 0, 0, ns);
}

/* The other side works 10 us first: within the spin of a worker that owns its core, beyond that of a sharer. */
static mr_status handover_late_own(const bench *b, double *ns)
{
	return fight(b, 5, mr_pause_spins(MR_PAUSE_OWN_NS), 10000, ns);
}

static mr_status handover_late_shared(const bench *b, double *ns)
{
	return fight(b, 5, mr_pause_spins(MR_PAUSE_SHARED_NS), 10000, ns);
}

static mr_status ring_alone(const bench *b, double *ns)
{
	enum { N = 200000 };
	static mr_ring r;
	static mr_parker consumer;
	uint32_t got;
	uint64_t begin;

	(void)b;
	mr_parker_init(&consumer);
	MR_TRY(mr_ring_init(&r, MR_RING_NEAR, NULL, NULL, &consumer));
	begin = mr_clock_ns();
	for (uint32_t i = 0; i < N; i++)
		if (!mr_ring_try_push(&r, i) || !mr_ring_try_pop(&r, &got))
			return mr_fail(MR_EINVAL, "the ring lost a message");
	*ns = (double)(mr_clock_ns() - begin) / N;
	return MR_OK;
}

static mr_status event_alone(const bench *b, double *ns)
{
	enum { N = 200000 };
	static mr_parker parker[3];
	mr_parker *all[3] = {&parker[0], &parker[1], &parker[2]};
	static mr_event e;
	mr_waiter waiter;
	uint64_t begin;

	(void)b;
	for (uint32_t i = 0; i < 3; i++)
		mr_parker_init(&parker[i]);
	mr_waiter_init(&waiter, &parker[0], NULL, 100);
	mr_event_init(&e, 0, all, 3);
	begin = mr_clock_ns();
	for (uint32_t i = 1; i <= N; i++) {
		mr_event_publish(&e, i);
		MR_TRY(mr_event_wait(&e, i, &waiter));
	}
	*ns = (double)(mr_clock_ns() - begin) / N;
	return MR_OK;
}

static mr_status clock_alone(const bench *b, double *ns)
{
	enum { N = 200000 };
	uint64_t begin = mr_clock_ns(), end = begin;

	(void)b;
	for (uint32_t i = 0; i < N; i++)
		end = mr_clock_ns();
	*ns = (double)(end - begin) / N;
	return MR_OK;
}

static const struct {
	const char *name;
	mr_status (*run)(const bench *b, double *ns);
} rows[] = {
	{"ring hand-over one way, receiver spins", handover_hot},
	{"ring hand-over one way, receiver asleep", handover_asleep},
	{"ring hand-over after 10 us of work, spin of an owner", handover_late_own},
	{"ring hand-over after 10 us of work, spin of a sharer", handover_late_shared},
	{"ring push + pop, one thread", ring_alone},
	{"event publish + wait for it, 3 waiters awake, one thread", event_alone},
	{"clock", clock_alone},
};

static void print_row(const char *name, const char *placement, double *ns, uint32_t n)
{
	if (n == 0)
		return;
	qsort(ns, n, sizeof(*ns), by_value);
	printf("\"%s\",%s,%u,%.1f,%.1f,%.1f\n", name, placement, n, ns[n / 2], ns[n / 4], ns[n * 3 / 4]);
}

/* Samples of one row, framed by probes and sorted by placement. */
static mr_status measure(const bench *b, size_t row, double ns[2][MAX_SAMPLES], uint32_t n[2], double *link,
			 uint32_t *n_links, uint32_t *n_mixed)
{
	uint32_t cpu[2] = {b->place.worker[0].cpu[0], b->place.worker[1].cpu[0]};

	n[0] = n[1] = 0;
	for (uint32_t i = 0; i < b->n_samples; i++) {
		mr_probe_pingpong before, after;
		double sample;

		MR_TRY(mr_probe_pair(cpu[0], cpu[1], PROBE_US, &before));
		MR_TRY(rows[row].run(b, &sample));
		MR_TRY(mr_probe_pair(cpu[0], cpu[1], PROBE_US, &after));
		link[(*n_links)++] = after.one_way_ns;
		if (before.distance != after.distance)
			(*n_mixed)++;
		else
			ns[before.distance][n[before.distance]++] = sample;
	}
	return MR_OK;
}

static mr_status run(bench *b)
{
	enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };
	static double ns[2][MAX_SAMPLES], link[N_ROWS * MAX_SAMPLES];
	uint32_t n[2], n_links = 0, n_mixed = 0;
	const char *isa;
	double peak = mr_probe_peak_gflops(&isa);

	printf("quantity,placement,samples,median_ns,low_ns,high_ns\n");
	for (size_t i = 0; i < N_ROWS; i++) {
		MR_TRY(measure(b, i, ns, n, link, &n_links, &n_mixed));
		print_row(rows[i].name, mr_probe_name(MR_PROBE_NEAR), ns[MR_PROBE_NEAR], n[MR_PROBE_NEAR]);
		print_row(rows[i].name, mr_probe_name(MR_PROBE_FAR), ns[MR_PROBE_FAR], n[MR_PROBE_FAR]);
	}
	print_row("cache line one way", "all", link, n_links);
	printf("# %u samples dropped: the placement changed while they ran\n", n_mixed);
	printf("# peak of one core: %.1f GFLOP/s f32 (%s)\n", peak, isa);
	return MR_OK;
}

int main(int argc, char **argv)
{
	bench b = {.n_samples = argc > 1 ? (uint32_t)atoi(argv[1]) : 9};
	mr_place_params params;
	mr_status status;
	char text[400];
	mr_topo topo;

	if (b.n_samples < 5 || b.n_samples > MAX_SAMPLES) {
		fprintf(stderr, "host_ring: samples must be within 5..%d\n", MAX_SAMPLES);
		return mr_status_exit_code(MR_EUSAGE);
	}
	mr_place_defaults(&params, 2);
	params.max_threads = 1;
	status = mr_topo_detect(&topo);
	if (status == MR_OK && topo.n_usable < 2)
		status = mr_fail(MR_ERESOURCE, "needs two cores, this process may use one");
	if (status == MR_OK)
		status = mr_place_init(&b.place, &topo, &params);
	if (status == MR_OK) {
		printf("# %s\n", mr_topo_print(&topo, text, sizeof(text)));
		status = run(&b);
	}
	if (status != MR_OK)
		fprintf(stderr, "host_ring: %s\n", mr_error_text());
	mr_place_fini(&b.place);
	mr_topo_fini(&topo);
	return mr_status_exit_code(status);
}
