#include "host/group.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#ifdef MR_OPENMP
#include <omp.h>
#endif

#include "check.h"
#include "host/memory.h"
#include "host/topo.h"

enum { MAX_MEMBERS = 8 };

/* What a team found out about itself in a region of its own, opened by the leader's function. */
typedef struct findings {
	uint32_t n_threads;
	bool ftz[MAX_MEMBERS];
	float tiny[MAX_MEMBERS];
	int cpu[MAX_MEMBERS], n_cpus[MAX_MEMBERS];
	bool signals_blocked[MAX_MEMBERS];
	char name[16];
} findings;

static void look(findings *f, int i)
{
	volatile float denormal = 1e-39f, two = 2.0f;
	cpu_set_t mask;
	sigset_t set;

	f->ftz[i] = mr_thread_flushes_denormals();
	f->tiny[i] = denormal * two;
	CPU_ZERO(&mask);
	sched_getaffinity(0, sizeof(mask), &mask);
	f->n_cpus[i] = CPU_COUNT(&mask);
	f->cpu[i] = sched_getcpu();
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	f->signals_blocked[i] = sigismember(&set, SIGINT) && sigismember(&set, SIGTERM) && sigismember(&set, SIGUSR1);
}

static void explore_team(void *arg)
{
	findings *f = arg;

	pthread_getname_np(pthread_self(), f->name, sizeof(f->name));
#ifdef MR_OPENMP
	if (omp_get_max_threads() > 1) {
#pragma omp parallel
		{
#pragma omp single
			f->n_threads = (uint32_t)omp_get_num_threads();
			look(f, omp_get_thread_num());
		}
		return;
	}
#endif
	f->n_threads = 1;
	look(f, 0);
}

static void run_worker(const mr_place_worker *w, findings *f, mr_thread_report *report)
{
	mr_group *g;

	memset(f, 0, sizeof(*f));
	MR_CHECK_OK(mr_group_start(w, "mr-w0", explore_team, f, &g));
	*report = *mr_group_report(g);
	mr_group_join(g);
}

/* Workers of one and two threads here: team complete, pinned where it should be, denormals gone, signals blocked. */
static void test_this_machine(void)
{
	mr_topo t;

	MR_CHECK_OK(mr_topo_detect(&t));
	for (uint32_t n = 1; n <= t.n_usable && n <= 2; n++) {
		mr_place_params p;
		mr_place place;

		mr_place_defaults(&p, n);
		p.max_threads = 2;
		MR_CHECK_OK(mr_place_init(&place, &t, &p));
		for (uint32_t w = 0; w < n; w++) {
			const mr_place_worker *worker = &place.worker[w];
			mr_thread_report report;
			findings f;

			run_worker(worker, &f, &report);
#ifdef MR_OPENMP
			CU_ASSERT_EQUAL(f.n_threads, worker->n_threads);
			CU_ASSERT_STRING_EQUAL(report.text, "");
#else
			CU_ASSERT_EQUAL(f.n_threads, 1);
#endif
			CU_ASSERT_STRING_EQUAL(f.name, "mr-w0");
			CU_ASSERT_EQUAL(report.n_threads, f.n_threads);
			CU_ASSERT_EQUAL(report.n_pinned, f.n_threads);
			CU_ASSERT_EQUAL(report.n_ftz, f.n_threads);
			for (uint32_t i = 0; i < f.n_threads; i++) {
				CU_ASSERT_TRUE(f.ftz[i]);
				CU_ASSERT_EQUAL(f.tiny[i], 0.0f);
				CU_ASSERT_EQUAL(f.n_cpus[i], 1);
				CU_ASSERT_EQUAL(f.cpu[i], (int)worker->cpu[i]);
				CU_ASSERT_TRUE(f.signals_blocked[i]);
			}
		}
		mr_place_fini(&place);
	}
	mr_topo_fini(&t);
}

/* A CPU that does not exist, and a machine that does not: warnings with a reason, and the function still runs. */
static void test_pin_failures(void)
{
	static const uint32_t cpu[] = {1000};
	mr_place_worker w = {.n_threads = 1, .cpu = cpu, .bindable = true};
	mr_thread_report report;
	findings f;

	run_worker(&w, &f, &report);
	CU_ASSERT_EQUAL(f.n_threads, 1);
	CU_ASSERT_EQUAL(report.n_pinned, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.text, "1000"));
	CU_ASSERT_PTR_NOT_NULL(strstr(report.text, "Invalid argument"));
	CU_ASSERT_EQUAL(report.n_ftz, 1);
	w.bindable = false;
	run_worker(&w, &f, &report);
	CU_ASSERT_EQUAL(report.n_pinned, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.text, "synthetic"));
	CU_ASSERT_TRUE(f.ftz[0]);
}

/* More members than CPUs, as when workers share cores: the team is still whole. */
static void test_crowded(void)
{
	mr_topo t;
	uint32_t cpu[4];
	mr_place_worker w = {.n_threads = 4, .cpu = cpu, .bindable = true, .shared = true};
	mr_thread_report report;
	findings f;

	MR_CHECK_OK(mr_topo_detect(&t));
	for (uint32_t i = 0; i < 4; i++)
		cpu[i] = t.core[i % t.n_usable].cpu;
	run_worker(&w, &f, &report);
#ifdef MR_OPENMP
	CU_ASSERT_EQUAL(report.n_threads, 4);
	CU_ASSERT_EQUAL(report.n_pinned, 4);
	CU_ASSERT_EQUAL(report.n_ftz, 4);
	CU_ASSERT_STRING_EQUAL(report.text, "");
#else
	CU_ASSERT_EQUAL(report.n_threads, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.text, "without OpenMP"));
#endif
	mr_topo_fini(&t);
}

typedef struct two_findings {
	mr_place_worker w;
	findings f;
	mr_thread_report report;
} two_findings;

static void *on_a_thread_of_mine(void *arg)
{
	two_findings *t = arg;

	mr_thread_setup(&t->w, &t->report);
	explore_team(&t->f);
	return NULL;
}

/* The same set-up for a thread that the caller made, as the replay does; twice in a row is fine. */
static void test_setup_of_own_thread(void)
{
	two_findings t = {0};
	pthread_t thread;
	uint32_t cpu;
	mr_topo topo;

	MR_CHECK_OK(mr_topo_detect(&topo));
	cpu = topo.core[topo.n_usable - 1].cpu;
	t.w = (mr_place_worker){.n_threads = 1, .cpu = &cpu, .bindable = true};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, on_a_thread_of_mine, &t), 0);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(t.report.n_pinned, 1);
	CU_ASSERT_EQUAL(t.f.cpu[0], (int)cpu);
	CU_ASSERT_TRUE(t.f.ftz[0]);
	mr_topo_fini(&topo);
	mr_group_join(NULL);
}

enum { SHARES = 1000, FEW_PAGES = 5 << 20 };

/* What a leader's team shared out. */
typedef struct shared_out {
	uint32_t times[SHARES];
	uint32_t few;
	mr_region region;
} shared_out;

static void count_one(void *arg, uint64_t i)
{
	((shared_out *)arg)->times[i]++;
}

static void count_few(void *arg, uint64_t i)
{
	((shared_out *)arg)->few += (uint32_t)i + 1;
}

static void share_out(void *arg)
{
	shared_out *s = arg;

	mr_team_each(SHARES, count_one, s);
	mr_team_each(0, count_few, s);
	mr_team_each(1, count_few, s);
	mr_team_prefault(&s->region);
}

/* Each share once, whatever the team; and of a region all pages are there, and keep what was in them. */
static void test_shares(void)
{
	static const uint32_t cpu[3] = {0};

	for (uint32_t n = 1; n <= 3; n++) {
		mr_place_worker w = {.n_threads = n, .cpu = cpu};
		shared_out s = {0};
		mr_group *g;
		uint64_t before;

		MR_CHECK_OK(mr_region_map(&s.region, FEW_PAGES, NULL));
		((char *)s.region.base)[FEW_PAGES - 1] = 7;
		before = mr_memory_resident_bytes();
		MR_CHECK_OK(mr_group_start(&w, "mr-w0", share_out, &s, &g));
		mr_group_join(g);
		for (int i = 0; i < SHARES; i++)
			CU_ASSERT_EQUAL(s.times[i], 1);
		CU_ASSERT_EQUAL(s.few, 1);
		CU_ASSERT_EQUAL(((char *)s.region.base)[FEW_PAGES - 1], 7);
		if (!MR_SANITIZED)
			CU_ASSERT(mr_memory_resident_bytes() >= before + (FEW_PAGES - (2 << 20)));
		mr_region_unmap(&s.region);
	}
}

void mr_suite_group(void); /* the runner declares it too */

void mr_suite_group(void)
{
	MR_SUITE("group");
	MR_TEST(test_this_machine);
	MR_TEST(test_pin_failures);
	MR_TEST(test_crowded);
	MR_TEST(test_setup_of_own_thread);
	MR_TEST(test_shares);
}
