#include "host/group.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/backtrace.h"
#include "host/pin.h"

#ifdef MR_OPENMP
#include <omp.h>
#endif
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { MXCSR_DAZ = 0x0040, MXCSR_FTZ = 0x8000, FPCR_FZ = 1 << 24, NAME_BYTES = 16 };

struct mr_group {
	pthread_t thread;
	sem_t ready; /* posted when the report is written */
	mr_place_worker worker;
	mr_thread_report report;
	void (*fn)(void *arg);
	void *arg;
	char name[NAME_BYTES];
};

/* The set-up of each member of a team, and its result; one slot a member. */
typedef struct member {
	int error;   /* errno of the pin, 0 = fine */
	bool pinned; /* read back from the kernel */
	bool ftz;
	bool there; /* the member exists: the team may be smaller than asked */
} member;

#if defined(__aarch64__)
/* The control register of floating point. */
static uint64_t fpcr(void)
{
	uint64_t x;

	__asm__ volatile("mrs %0, fpcr" : "=r"(x));
	return x;
}
#endif

static void flush_denormals(void)
{
#if defined(__x86_64__)
	_mm_setcsr(_mm_getcsr() | MXCSR_DAZ | MXCSR_FTZ);
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr() | FPCR_FZ));
#endif
}

bool mr_thread_flushes_denormals(void)
{
#if defined(__x86_64__)
	return (_mm_getcsr() & (MXCSR_DAZ | MXCSR_FTZ)) == (MXCSR_DAZ | MXCSR_FTZ);
#elif defined(__aarch64__)
	return fpcr() & FPCR_FZ;
#else
	return true;
#endif
}

static bool pinned_to(uint32_t cpu)
{
	enum { MAX_CPUS = 8192 }; /* the kernel's own limit on x86-64 */
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	bool is = false;

	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	if (!sched_getaffinity(0, size, set))
		is = CPU_COUNT_S(size, set) == 1 && CPU_ISSET_S(cpu, size, set);
	CPU_FREE(set);
	return is;
}

static void set_up_member(const mr_place_worker *w, uint32_t i, member *m)
{
	m->there = true;
	if (w->bindable)
		m->error = mr_pin(&w->cpu[i], 1);
	flush_denormals();
}

static void look_at_member(const mr_place_worker *w, uint32_t i, member *m)
{
	m->pinned = w->bindable && pinned_to(w->cpu[i]);
	m->ftz = mr_thread_flushes_denormals();
}

#if defined(MR_OPENMP) && defined(__clang__)
/* After a region of fewer threads LLVM's runtime hands the others to whichever team grows next, of another worker too,
 * with their pinning. In this mode they stay. The runtime reads it before its first region. */
static void keep_teams(void)
{
	kmp_set_defaults("KMP_HOT_TEAMS_MODE=1");
}
#endif

static void set_up_team(const mr_place_worker *w, member *m)
{
#ifdef MR_OPENMP
#ifdef __clang__
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	/* This runtime lets a thread that it meets for the first time use all cores, and threads of a region have the
	 * flags that their leader had before it. */
	pthread_once(&once, keep_teams);
	(void)omp_get_max_threads();
	flush_denormals();
#endif
	omp_set_dynamic(0);
	omp_set_num_threads((int)w->n_threads);
	if (w->n_threads > 1) {
		/* Two regions: later regions will find the settings that the second one finds. */
#pragma omp parallel
		set_up_member(w, (uint32_t)omp_get_thread_num(), &m[omp_get_thread_num()]);
#pragma omp parallel
		look_at_member(w, (uint32_t)omp_get_thread_num(), &m[omp_get_thread_num()]);
		return;
	}
#endif
	set_up_member(w, 0, &m[0]);
	look_at_member(w, 0, &m[0]);
}

static void summarize(const mr_place_worker *w, const member *m, mr_thread_report *report)
{
	for (uint32_t i = 0; i < w->n_threads; i++) {
		bool complain = report->text[0] == '\0';

		report->n_threads += m[i].there;
		report->n_pinned += m[i].pinned;
		report->n_ftz += m[i].ftz;
		if (!complain)
			continue;
		if (!m[i].there)
			snprintf(report->text, sizeof(report->text), "asked for %u threads, thread %u does not exist",
				 w->n_threads, i);
		else if (m[i].error)
			snprintf(report->text, sizeof(report->text), "thread %u not pinned to CPU %u: %s", i, w->cpu[i],
				 strerror(m[i].error));
		else if (w->bindable && !m[i].pinned)
			snprintf(report->text, sizeof(report->text),
				 "thread %u was pinned to CPU %u but did not stay there (is OMP_PROC_BIND set?)", i,
				 w->cpu[i]);
	}
	if (!w->bindable && !report->text[0])
		snprintf(report->text, sizeof(report->text), "not pinned: the machine is a synthetic one");
}

void mr_thread_setup(const mr_place_worker *w, mr_thread_report *report)
{
	member *m = calloc(w->n_threads, sizeof(*m));
	mr_place_worker one = *w;
	member spare = {0};
	int error = 0;

	*report = (mr_thread_report){0};
	if (!m) { /* no team then, but the leader still works */
		one.n_threads = 1;
		snprintf(report->text, sizeof(report->text), "no memory to set up %u threads", w->n_threads);
	}
#ifndef MR_OPENMP
	if (w->n_threads > 1) {
		one.n_threads = 1;
		snprintf(report->text, sizeof(report->text), "built without OpenMP: 1 thread instead of %u",
			 w->n_threads);
	}
#endif
	/* The whole set first: members that the runtime starts later inherit it. */
	if (one.bindable)
		error = mr_pin(one.cpu, one.n_threads);
	if (error)
		snprintf(report->text, sizeof(report->text), "CPUs %u..%u refused: %s", one.cpu[0],
			 one.cpu[one.n_threads - 1], strerror(error));
	set_up_team(&one, m ? m : &spare);
	summarize(&one, m ? m : &spare, report);
	free(m);
}

static void *run(void *arg)
{
	mr_group *g = arg;

	pthread_setname_np(pthread_self(), g->name);
	mr_thread_setup(&g->worker, &g->report);
	sem_post(&g->ready);
	g->fn(g->arg);
	return NULL;
}

mr_status mr_group_start(const mr_place_worker *w, const char *name, void (*fn)(void *arg), void *arg, mr_group **group)
{
	mr_group *g = calloc(1, sizeof(*g));
	sigset_t all, before;
	int error;

	*group = NULL;
	if (!g)
		return mr_fail(MR_ERESOURCE, "no memory to start thread %s", name);
	g->worker = *w;
	g->fn = fn;
	g->arg = arg;
	snprintf(g->name, sizeof(g->name), "%s", name);
	sem_init(&g->ready, 0, 0);
	/* Inherited by the leader and by its team: only the main thread handles signals. */
	sigfillset(&all);
	sigdelset(&all, MR_BACKTRACE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&g->thread, NULL, run, g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		sem_destroy(&g->ready);
		free(g);
		return mr_fail(MR_ERESOURCE, "cannot start thread %s: %s", name, strerror(error));
	}
	while (sem_wait(&g->ready)) /* EINTR */
		continue;
	*group = g;
	return MR_OK;
}

const mr_thread_report *mr_group_report(const mr_group *group)
{
	return &group->report;
}

void mr_group_warn(const mr_group *group)
{
	if (group->worker.bindable && group->report.text[0])
		mr_log(MR_LOG_WARN, "threads", "%s: %s", group->name, group->report.text);
}

void mr_team_each(uint64_t n, void (*fn)(void *arg, uint64_t i), void *arg)
{
#ifdef MR_OPENMP
	if (n > 1 && omp_get_max_threads() > 1) {
#pragma omp parallel for schedule(static)
		for (uint64_t i = 0; i < n; i++)
			fn(arg, i);
		return;
	}
#endif
	for (uint64_t i = 0; i < n; i++)
		fn(arg, i);
}

/* A region that the threads of a team touch: each one of the n parts. */
typedef struct touching {
	const mr_region *region;
	uint64_t n;
} touching;

static void touch_part(void *arg, uint64_t i)
{
	const touching *t = arg;
	uint64_t unit = (uint64_t)2 << 20; /* two threads share no page, also where pages are large */
	uint64_t units = (t->region->bytes + unit - 1) / unit, from = units * i / t->n, to = units * (i + 1) / t->n;

	mr_region_prefault(t->region, from * unit, (to - from) * unit);
}

void mr_team_prefault(const mr_region *r)
{
	touching t = {.region = r, .n = 1};

#ifdef MR_OPENMP
	t.n = (uint64_t)omp_get_max_threads();
#endif
	mr_team_each(t.n, touch_part, &t);
}

void mr_group_join(mr_group *group)
{
	if (!group)
		return;
	pthread_join(group->thread, NULL);
	sem_destroy(&group->ready);
	free(group);
}
