#include "perf/steps/peak.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "host/probe.h"

typedef struct core {
	uint32_t cpu;
	double (*probe)(const char **isa);
	double gflops;
	const char *isa;
} core;

static void *probe(void *arg)
{
	core *c = arg;

	c->gflops = c->probe(&c->isa);
	return NULL;
}

static int start(core *c, pthread_t *thread)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET(c->cpu, &set);
	pthread_attr_init(&attr);
	err = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!err)
		err = pthread_create(thread, &attr, probe, c);
	pthread_attr_destroy(&attr);
	return err;
}

/* Sum over the first @n cores, all at once. */
static mr_status together(const mr_topo *t, int n, mr_bench_precision precision, double *sum, const char **isa)
{
	core c[MR_PEAK_CORES];
	pthread_t thread[MR_PEAK_CORES];
	int started = 0;

	*sum = 0;
	for (; started < n; started++) {
		c[started] = (core){.cpu = t->core[started].cpu,
				    .probe = precision == MR_BENCH_BF16 ? mr_probe_peak_bf16_gflops
								      : mr_probe_peak_gflops};
		if (start(&c[started], &thread[started]))
			break;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(thread[i], NULL);
		*sum += c[i].gflops;
		*isa = c[i].isa;
	}
	return started == n ? MR_OK : mr_fail(MR_ERESOURCE, "no thread could be started on CPU %u", c[started].cpu);
}

static void keep_best(double *best, double now)
{
	*best = now > *best ? now : *best;
}

mr_status mr_peak_measure(const mr_topo *t, mr_peak *p)
{
	int n = t->n_usable < MR_PEAK_CORES ? (int)t->n_usable : MR_PEAK_CORES;

	for (int k = 0; k < MR_N_BENCH_PRECISIONS; k++) {
		mr_peak_best *best = &p->of[k];
		double one, all;

		MR_TRY(together(t, 1, (mr_bench_precision)k, &one, &best->isa));
		MR_TRY(together(t, n, (mr_bench_precision)k, &all, &best->isa));
		keep_best(&best->one, one);
		keep_best(&best->all, all);
	}
	p->cores = n;
	return MR_OK;
}

double mr_peak_share(const mr_peak *p, mr_bench_precision precision, double gflops)
{
	double peak = p->of[precision].all;

	return peak > 0 && gflops <= peak ? gflops / peak : (double)NAN;
}
