#include "host/bandwidth.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/str.h"
#include "host/clock.h"
#include "host/foreign_load.h"
#include "host/memory.h"
#include "host/pin.h"

#define USUAL_L2 ((uint64_t)1 << 20)
#define USUAL_LAST ((uint64_t)32 << 20)
#define LEAST_BYTES ((uint64_t)4 << 10)

enum { RUNS = 3, RUN_NS = 4000000, LINE = 64, UNROLL = 8 };

typedef enum loop { READ, TRIAD, N_LOOPS } loop;

/* --- the loops ---------------------------------------------------------------------------------------------------- */

/* A cache line; the compiler takes as many registers for it as the instruction set needs. */
typedef float line __attribute__((vector_size(LINE)));

#define LOOP static inline __attribute__((always_inline, no_sanitize("address", "undefined", "thread")))

/* Several sums, so that their latency limits nothing. @n is a multiple of UNROLL. */
LOOP float read_lines(const line *x, size_t n)
{
	line sum[UNROLL] = {{0}}, all = {0};
	float one = 0;

	for (size_t i = 0; i < n; i += UNROLL)
		for (int k = 0; k < UNROLL; k++)
			sum[k] += x[i + (size_t)k];
	for (int k = 0; k < UNROLL; k++)
		all += sum[k];
	for (size_t k = 0; k < LINE / sizeof(float); k++)
		one += all[k];
	return one;
}

LOOP void triad_lines(line *a, const line *b, const line *c, size_t n)
{
	for (size_t i = 0; i < n; i += UNROLL)
		for (int k = 0; k < UNROLL; k++)
			a[i + (size_t)k] = b[i + (size_t)k] + 0.5f * c[i + (size_t)k];
}

#define FOR_ISA(suffix, attribute)                                                                                     \
	attribute static float read_##suffix(const line *x, size_t n)                                                  \
	{                                                                                                              \
		return read_lines(x, n);                                                                               \
	}                                                                                                              \
	attribute static void triad_##suffix(line *a, const line *b, const line *c, size_t n)                          \
	{                                                                                                              \
		triad_lines(a, b, c, n);                                                                               \
	}

FOR_ISA(plain, )
#if defined(__x86_64__)
FOR_ISA(avx2, __attribute__((target("avx2,fma"))))
FOR_ISA(avx512, __attribute__((target("avx512f"))))
#endif

typedef struct loops {
	float (*read)(const line *x, size_t n);
	void (*triad)(line *a, const line *b, const line *c, size_t n);
} loops;

static loops loops_of_cpu(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return (loops){read_avx512, triad_avx512};
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return (loops){read_avx2, triad_avx2};
#endif
	return (loops){read_plain, triad_plain};
}

/* --- several cores ------------------------------------------------------------------------------------------------ */

/* The threads write `ready` and `error`, and each its own core's rates; all are read after the join. */
typedef struct bench {
	uint32_t n;              /* threads that were started, or will be */
	_Alignas(64) _Atomic uint32_t ready; /* passes of the meeting point */
	_Alignas(64) _Atomic uint32_t error; /* errno of the first pin that failed */
	_Alignas(64) _Atomic bool quit;      /* a thread is missing: nobody measures */
	_Alignas(64) uint64_t bytes;
	loops loops;
} bench;

typedef struct core {
	bench *b;
	uint32_t cpu;
	mr_region memory;
	double rate[N_LOOPS][RUNS];
	volatile float sum;
	pthread_t thread;
} core;

/* Wait until all threads have been here @times times; false: the measurement is given up. */
static bool meet(bench *b, uint32_t times)
{
	atomic_fetch_add_explicit(&b->ready, 1, memory_order_acq_rel);
	while (atomic_load_explicit(&b->ready, memory_order_acquire) < times * b->n) {
		if (atomic_load_explicit(&b->quit, memory_order_relaxed))
			return false;
		sched_yield(); /* where CPUs are shared, another thread may have to come here first */
	}
	return !atomic_load_explicit(&b->quit, memory_order_relaxed);
}

/* Bytes that count. */
static uint64_t pass(core *c, loop l)
{
	uint64_t lines = c->b->bytes / LINE / UNROLL * UNROLL, third = c->b->bytes / 3 / LINE / UNROLL * UNROLL;
	line *x = c->memory.base;

	if (l == READ) {
		c->sum = c->b->loops.read(x, lines);
		return lines * LINE;
	}
	c->b->loops.triad(x, x + third, x + 2 * third, third);
	return 3 * third * LINE;
}

/* Bytes a second. */
static double repeat(core *c, loop l)
{
	uint64_t begin = mr_clock_ns(), now = begin, bytes = 0, enough = mr_fault_hurry(RUN_NS);

	do {
		bytes += pass(c, l);
		now = mr_clock_ns();
	} while (now - begin < enough);
	return (double)bytes / (double)(now - begin) * 1e9;
}

static void *work(void *arg)
{
	core *c = arg;
	uint32_t times = 0;
	int error = mr_pin(&c->cpu, 1);

	if (error) {
		atomic_store_explicit(&c->b->error, (uint32_t)error, memory_order_relaxed);
		atomic_store_explicit(&c->b->quit, true, memory_order_relaxed);
		return NULL;
	}
	mr_region_prefault(&c->memory, 0, c->b->bytes);
	(void)pass(c, READ); /* what fits into a cache is there from now on */
	for (int run = 0; run < RUNS; run++)
		for (loop l = READ; l < N_LOOPS; l++) {
			if (!meet(c->b, ++times))
				return NULL;
			c->rate[l][run] = repeat(c, l);
		}
	return NULL;
}

/* The best run of the sum over the cores. */
static double best(const core *c, uint32_t n, loop l)
{
	double most = 0;

	for (int run = 0; run < RUNS; run++) {
		double sum = 0;

		for (uint32_t i = 0; i < n; i++)
			sum += c[i].rate[l][run];
		most = sum > most ? sum : most;
	}
	return most;
}

/* How far the worst run of any loop fell short of the best one. */
static double spread(const core *c, uint32_t n)
{
	double most = 0;

	for (loop l = READ; l < N_LOOPS; l++)
		for (int run = 0; run < RUNS; run++) {
			double sum = 0, all = best(c, n, l);

			for (uint32_t i = 0; i < n; i++)
				sum += c[i].rate[l][run];
			if (all > 0 && 1 - sum / all > most)
				most = 1 - sum / all;
		}
	return most;
}

static mr_status run_cores(bench *b, core *c)
{
	uint32_t started = 0;
	int error = 0;

	for (; !error && started < b->n; started += error ? 0 : 1)
		error = pthread_create(&c[started].thread, NULL, work, &c[started]);
	if (error)
		atomic_store_explicit(&b->quit, true, memory_order_relaxed);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(c[i].thread, NULL);
	if (error)
		return mr_fail(MR_ERESOURCE, "cannot start a thread that measures bandwidth: %s", strerror(error));
	error = (int)atomic_load_explicit(&b->error, memory_order_relaxed);
	return error ? mr_fail(MR_ERESOURCE, "cannot pin a thread that measures bandwidth: %s", strerror(error))
		     : MR_OK;
}

mr_status mr_bandwidth_measure(const uint32_t *cpu, uint32_t n, uint64_t bytes, const uint32_t *node,
			       mr_bandwidth_rates *out)
{
	bench b = {.n = n, .bytes = bytes, .loops = loops_of_cpu()};
	mr_status st = MR_OK;
	core *c;

	if (!n || bytes < LEAST_BYTES)
		return mr_fail(MR_EINVAL, "bandwidth is measured on 1 CPU and %llu bytes at least, not on %u and %llu",
			       (unsigned long long)LEAST_BYTES, n, (unsigned long long)bytes);
	c = calloc(n, sizeof(*c));
	if (!c)
		return mr_fail(MR_ERESOURCE, "no memory to measure bandwidth");
	for (uint32_t i = 0; st == MR_OK && i < n; i++) {
		mr_node_list on = mr_node_list_of(node ? node[i] : 0);

		c[i].b = &b;
		c[i].cpu = cpu[i];
		st = mr_region_map(&c[i].memory, bytes, node ? &on : NULL);
	}
	if (st == MR_OK)
		st = run_cores(&b, c);
	if (st == MR_OK)
		*out = (mr_bandwidth_rates){best(c, n, READ), best(c, n, TRIAD), spread(c, n)};
	for (uint32_t i = 0; i < n; i++)
		mr_region_unmap(&c[i].memory);
	free(c);
	return st;
}

/* --- the levels of a machine -------------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The working set of a core, where @busy cores of its L3 are busy. L3 is measured where it holds more than L2 does. */
static uint64_t bytes_at(const mr_topo *t, mr_bandwidth_level level, uint64_t busy)
{
	uint64_t l2 = t->l2_bytes ? t->l2_bytes : USUAL_L2, l3 = t->l3[0].bytes;
	uint64_t share = mr_fault_hurry(l3 / 2 / busy);

	switch (level) {
	case MR_BANDWIDTH_L2: return t->l2_bytes / 2;
	case MR_BANDWIDTH_L3: return share > l2 ? share : l3 > 2 * l2 * busy ? 2 * l2 : 0;
	default: return most(mr_fault_hurry(4 * (l3 ? l3 : USUAL_LAST) / busy), 4 * l2);
	}
}

static mr_status measure_level(const mr_topo *t, const uint32_t *cpu, mr_bandwidth_level level, mr_bandwidth_at *at)
{
	uint64_t room = t->memory_available_bytes / 8;
	uint32_t busy = t->l3[0].n_cores < t->n_usable ? t->l3[0].n_cores : t->n_usable;

	at->one_bytes = least(bytes_at(t, level, 1), room);
	at->all_bytes = least(bytes_at(t, level, busy), room / t->n_usable);
	if (at->one_bytes >= LEAST_BYTES)
		MR_TRY(mr_bandwidth_measure(cpu, 1, at->one_bytes, NULL, &at->one));
	if (at->all_bytes >= LEAST_BYTES)
		MR_TRY(mr_bandwidth_measure(cpu, t->n_usable, at->all_bytes, NULL, &at->all));
	return MR_OK;
}

mr_status mr_bandwidth_of(const mr_topo *t, mr_bandwidth *out)
{
	mr_foreign_load then, now;
	mr_status st = MR_OK;
	uint32_t *cpu;

	if (t->synthetic)
		return mr_fail(MR_EINVAL, "the bandwidth of a machine that is not here cannot be measured");
	cpu = malloc(t->n_usable * sizeof(*cpu));
	if (!cpu)
		return mr_fail(MR_ERESOURCE, "no memory to measure bandwidth");
	for (uint32_t i = 0; i < t->n_usable; i++)
		cpu[i] = t->core[i].cpu;
	then = mr_foreign_load_now();
	*out = (mr_bandwidth){.n_cores = t->n_usable};
	for (int level = 0; st == MR_OK && level < MR_N_BANDWIDTH_LEVELS; level++)
		st = measure_level(t, cpu, (mr_bandwidth_level)level, &out->at[level]);
	now = mr_foreign_load_now();
	out->foreign = mr_foreign_load_between(&then, &now);
	free(cpu);
	return st;
}

static double most_spread(const mr_bandwidth *b)
{
	double most = 0;

	for (int level = 0; level < MR_N_BANDWIDTH_LEVELS; level++) {
		most = b->at[level].one.spread > most ? b->at[level].one.spread : most;
		most = b->at[level].all.spread > most ? b->at[level].all.spread : most;
	}
	return most;
}

bool mr_bandwidth_disturbed(const mr_bandwidth *b)
{
	return b->foreign > MR_BANDWIDTH_FOREIGN || most_spread(b) > MR_BANDWIDTH_SPREAD;
}

const char *mr_bandwidth_disturbance(const mr_bandwidth *b, char text[160])
{
	snprintf(text, 160, "other programs took %.0f %% of the processors' time, and runs differed by %.0f %%",
		 100 * b->foreign, 100 * most_spread(b));
	return text;
}

void mr_bandwidth_print(const mr_bandwidth *b, FILE *out)
{
	static const char *const names[MR_N_BANDWIDTH_LEVELS] = {"L2", "L3", "memory"};
	char one[16], all[16];

	fprintf(out, "bandwidth, GB/s   read: 1 core   %3u at once   triad: 1 core   %3u at once   bytes of a core\n",
		b->n_cores, b->n_cores);
	for (int level = 0; level < MR_N_BANDWIDTH_LEVELS; level++) {
		const mr_bandwidth_at *at = &b->at[level];

		if (at->one.read > 0 && at->all.read > 0)
			fprintf(out, "%-17s %12.1f   %11.1f   %13.1f   %11.1f   %s, %s\n", names[level],
				at->one.read * 1e-9, at->all.read * 1e-9, at->one.triad * 1e-9, at->all.triad * 1e-9,
				mr_bytes_text(at->one_bytes, one), mr_bytes_text(at->all_bytes, all));
	}
}
