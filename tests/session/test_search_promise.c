/*
 * test_search_promise.c - for the costs and the bytes given, search is never worse than a system with one pipe that
 * flushes, whatever its chunks: by the step that plan predicts, over random costs, workers and micro-batches, and with
 * limits of memory that are what these systems need.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "check.h"
#include "job/job_help.h"
#include "session/memory_plan.h"
#include "session/session_forecast.h"

#define N_CASES 32
#define MOST_LIMITS 4u
#define MODEL                                                                                                    \
	"model.name=mlp model.hidden=[12,8,16,8,12,8,16] data.name=synthetic data.features=8 data.classes=4 "    \
	"data.samples=100 optimizer.name=momentum system.name=%s %s train.steps=2 train.batch=24 "               \
	"train.microbatches=%u optimizer.lr=0.01 train.clip=%g machine.workers=%u machine.threads=1 "                \
	"machine.memory_limit=%llu costs=%s backend=reference precision=f64"

/* Systems with one pipe that flush, at any number of chunks. */
static const struct {
	const char *name, *options;
} named[] = {
	{"naive", ""},
	{"gpipe", ""},
	{"1f1b", ""},
	{"dapple", ""},
	{"zb_h1", ""},
	{"zb_h2", ""},
	{"zb_auto", ""},
	{"zb_v", ""},
	{"1f1b_v", ""},
	{"v_half", ""},
	{"v_min", ""},
	{"dualpipe_v", ""},
	{"hanayo", ""},
	{"interleaved", "system.chunks=1"},
	{"interleaved", "system.chunks=2"},
	{"interleaved", "system.chunks=3"},
	{"interleaved", "system.chunks=4"},
	{"looped_bfs", "system.chunks=1"},
	{"looped_bfs", "system.chunks=2"},
	{"looped_bfs", "system.chunks=3"},
	{"looped_bfs", "system.chunks=4"},
	{"interleaved_zb", "system.chunks=1"},
	{"interleaved_zb", "system.chunks=2"},
	{"interleaved_zb", "system.chunks=3"},
	{"interleaved_zb", "system.chunks=4"},
};

#define N_NAMED (sizeof(named) / sizeof(named[0]))

typedef struct one_case {
	char costs[300];
	uint32_t n_micro, n_workers;
	double clip;
	mr_job job;
	mr_session base; /* of 1f1b: the others are opened beside it */
} one_case;

/* Of one system: INFINITY where it cannot run. */
typedef struct figures {
	double step;
	uint64_t bytes, total; /* of the workers and of the process */
} figures;

static mr_status load(const one_case *c, const char *system, const char *options, uint64_t limit, mr_job *out)
{
	static const char *const machine[] = {"machine.topology=core:4 pu:1"};
	char text[1600];

	snprintf(text, sizeof(text), MODEL, system, options, c->n_micro, c->clip, c->n_workers,
		 (unsigned long long)limit, c->costs);
	return mr_test_job(out, text, machine, 1);
}

/* With at most @limit bytes of the process and @workers_limit of the workers; 0: none. What does not fit cannot run. */
static figures look(one_case *c, const char *system, const char *options, uint64_t limit, uint64_t workers_limit)
{
	figures out = {.step = INFINITY};
	mr_memory_plan m;
	mr_session s;
	mr_forecast f;
	mr_job job;

	c->base.workers_limit = workers_limit;
	if (load(c, system, options, limit, &job) != MR_OK)
		return out;
	if (mr_session_open_beside(&job, &c->base, &s) == MR_OK) {
		MR_CHECK_OK(mr_session_forecast(&s, &f));
		MR_CHECK_OK(mr_memory_plan_of(&s, 0, &m));
		CU_ASSERT_EQUAL(m.bytes[MR_MEMORY_WORKERS], f.bytes);
		out = (figures){.step = f.step_s, .bytes = f.bytes, .total = m.total};
		if (mr_session_forecast_fits(&s, &f) != MR_OK)
			out.step = INFINITY;
		/* What fits is what mr_session_open lets through, as long as the workers have no limit of their own. */
		CU_ASSERT(workers_limit || (mr_memory_plan_fits(&m, &s) == MR_OK) == (out.step < INFINITY));
		mr_forecast_fini(&f);
		mr_session_close(&s);
	}
	mr_job_fini(&job);
	return out;
}

static double draw(unsigned k, unsigned what, double least, double most)
{
	return least * pow(most / least, mr_rng_uniform(7, MR_RNG_TEST, k, what, 0));
}

/* Costs that no machine has: anything from 1 to 20 for each half of each layer, in some cases one half ten times the
 * others, W that cost less together, and now and then a dear hand-over or memory far away. */
static void write_costs(unsigned k, one_case *c)
{
	mr_session s;
	mr_workload of;
	mr_costs costs;
	mr_job job;
	double dear[4];

	c->costs[0] = 0;
	MR_CHECK_OK(load(c, "1f1b", "", 0, &job));
	MR_CHECK_OK(mr_session_survey(&job, &s));
	of = mr_session_workload(&s);
	MR_CHECK_OK(mr_costs_alloc(&of, &costs));
	for (unsigned i = 0; i < 4; i++)
		dear[i] = k % 2 ? draw(k, 2000 + i, 0.1, 10) : 1;
	for (uint32_t i = 0; i < s.graph->n_nodes; i++) {
		mr_stage_cost *l = &costs.layer[i];

		*l = (mr_stage_cost){.f = dear[0] * draw(k, 4 * i, 1e-6, 2e-5),
				     .i = dear[1] * draw(k, 4 * i + 1, 1e-6, 2e-5),
				     .w = dear[2] * draw(k, 4 * i + 2, 1e-6, 2e-5),
				     .u = dear[3] * draw(k, 4 * i + 3, 1e-7, 1e-5)};
		l->g = k % 5 < 2 ? l->w * mr_rng_uniform(7, MR_RNG_TEST, k, 3000 + i, 0) : 0;
	}
	costs.hop_s = k % 3 ? 0 : draw(k, 1000, 1e-7, 2e-5);
	costs.remote.read_s = k % 4 ? 0 : 1e-8;
	snprintf(c->costs, sizeof(c->costs), "/tmp/mr-promise-%d.csv", (int)getpid());
	MR_CHECK_OK(mr_costs_write(c->costs, &of, &costs));
	mr_costs_fini(&costs);
	mr_session_close(&s);
	mr_job_fini(&job);
}

static void open_case(unsigned k, one_case *c)
{
	*c = (one_case){.n_micro = k % 2 ? 8 : 4, .n_workers = 2 + k % 3, .clip = k % 5 ? 0 : 1};
	write_costs(k, c);
	MR_CHECK_OK(load(c, "1f1b", "", 0, &c->job));
	MR_CHECK_OK(mr_session_survey(&c->job, &c->base));
	c->base.program_bytes = (uint64_t)9 << 20; /* any: what is resident grows with the test */
}

static void close_case(one_case *c)
{
	mr_session_close(&c->base);
	mr_job_fini(&c->job);
	unlink(c->costs);
}

static int by_number(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/* The different needs of @at, ascending; their number. */
static unsigned needs_of(const figures *at, bool process, uint64_t *need)
{
	unsigned n = 0, kept = 0;

	for (size_t i = 0; i < N_NAMED; i++)
		if (at[i].step < INFINITY)
			need[n++] = process ? at[i].total : at[i].bytes;
	qsort(need, n, sizeof(*need), by_number);
	for (unsigned i = 0; i < n; i++)
		if (!i || need[i] != need[kept - 1])
			need[kept++] = need[i];
	return kept;
}

/* Is search as good as the best of @at that fits into @limit bytes (0: none) of the process or of the workers? Better:
 * true. */
static bool keeps(unsigned k, one_case *c, const figures *at, bool process, uint64_t limit)
{
	double search = look(c, "search", "system.tries=20", process ? limit : 0, process ? 0 : limit).step,
	       best = INFINITY;
	const char *name = "";

	for (size_t i = 0; i < N_NAMED; i++)
		if (at[i].step < best && (!limit || (process ? at[i].total : at[i].bytes) <= limit)) {
			best = at[i].step;
			name = named[i].name;
		}
	CU_ASSERT(best < INFINITY);
	if (!(search <= best * (1 + 1e-9)))
		printf("case %u, %llu bytes of the %s: search %g, %s %g\n", k, (unsigned long long)limit,
		       process ? "process" : "workers", search, name, best);
	CU_ASSERT(search <= best * (1 + 1e-9));
	return search < best * (1 - 1e-9);
}

static void search_keeps_its_promise(void)
{
	unsigned better = 0, limited = 0;

	for (unsigned k = 0; k < N_CASES; k++) {
		bool process = k / 2 % 2;
		uint64_t need[N_NAMED];
		figures at[N_NAMED];
		unsigned n, n_limits;
		one_case c;

		open_case(k, &c);
		for (size_t i = 0; i < N_NAMED; i++)
			at[i] = look(&c, named[i].name, named[i].options, 0, 0);
		better += keeps(k, &c, at, process, 0);
		n = needs_of(at, process, need);
		n_limits = n - 1 < MOST_LIMITS ? n - 1 : MOST_LIMITS;
		for (unsigned i = 0; i < n_limits; i++, limited++) /* the least, and others evenly over the rest */
			keeps(k, &c, at, process, need[i * (n - 1) / n_limits]);
		close_case(&c);
	}
	CU_ASSERT(better >= N_CASES / 4);
	CU_ASSERT(limited >= 3 * N_CASES);
}

/* Figures of @system in a process of at most @limit bytes (0: any number), which opens. */
static figures open_in(const char *system, uint64_t limit)
{
	static const char base[] = "model.name=mlp model.hidden=[256,256,256,256,256,256,256] data.name=synthetic "
				   "train.gradients=each " /* the promise is about plans without */
				   "data.features=16 data.classes=4 data.samples=1100 optimizer.name=sgd "
				   "train.steps=2 train.batch=1024 train.microbatches=8 optimizer.lr=0.01 "
				   "machine.workers=2 machine.threads=1 backend=reference precision=f64";
	char sets[200];
	mr_memory_plan m;
	mr_forecast f;
	mr_session s;
	figures out;
	mr_job job;

	snprintf(sets, sizeof(sets), "system.name=%s machine.memory_limit=%llu", system, (unsigned long long)limit);
	mr_test_job_of(&job, base, sets);
	MR_CHECK_OK(mr_session_survey(&job, &s));
	MR_CHECK_OK(mr_memory_plan_of(&s, 0, &m));
	MR_CHECK_OK(mr_session_forecast(&s, &f));
	out = (figures){.step = f.step_s, .bytes = f.bytes, .total = m.total};
	mr_forecast_fini(&f);
	mr_session_close(&s);
	MR_CHECK_OK(mr_session_open(&job, &s));
	mr_session_close(&s);
	mr_job_fini(&job);
	return out;
}

/*
 * The limit is that of the process, which has more than its workers: search must leave room for the rest, or the
 * session that it searches for is refused.
 */
static void leaves_room_for_the_process(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return; /* the sanitizer's own memory is many times that of the program, and comes and goes */
#endif
	figures any = open_in("search", 0), small = open_in("1f1b", 0), limited;
	/* less than the best needs; the workers alone would fit */
	uint64_t limit = any.total - (any.bytes - small.bytes) / 4;

	CU_ASSERT(any.step < small.step);
	CU_ASSERT_FATAL(any.bytes > small.bytes + ((uint64_t)4 << 20) && any.bytes < limit);
	limited = open_in("search", limit);
	CU_ASSERT(limited.total <= limit && limited.bytes < any.bytes);
	CU_ASSERT(limited.step >= any.step && limited.step <= small.step);
}

void mr_suite_search_promise(void); /* the runner declares it too */

void mr_suite_search_promise(void)
{
	MR_SUITE("search_promise");
	MR_TEST(search_keeps_its_promise);
	MR_TEST(leaves_room_for_the_process);
}
