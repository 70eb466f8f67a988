/*
 * test_edges.c - what the engine does obeys the plan, in time: every worker goes through its list, with the versions
 * that stand there, and nothing begins before what it has to wait for has begun.
 *
 * Bits cannot show all of it: a barrier that is not kept changes no number, only when the number is made. So runs are
 * traced under random delays, and compared with the unrolled plan. (A source may appear to end late: it signals the
 * other workers before it reads the clock.) Not tested here: orders that are made while running, which are compared
 * with their records, and steps that are taken back.
 */
#include <string.h>

#include "check.h"
#include "ir/unroll.h"
#include "rig.h"
#include "exec/run.h"
#include "schedules/registry.h"

#define NEVER UINT64_MAX

#ifdef __SANITIZE_THREAD__
#define RUNS 1 /* each takes twenty times as long */
#else
#define RUNS 4
#endif

typedef struct course {
	const char *what;
	const mr_run *run;
	mr_unroll *g;
	uint32_t *order;
	uint64_t *begin; /* [n_all] of instances as recorded; of joins when the last of their sources began; NEVER */
	uint64_t n_edges, n_bad;
} course;

static bool is_made_by(uint8_t op)
{
	return op == MR_OP_U || op == MR_OP_AR || op == MR_OP_N || op == MR_OP_AVG;
}

static bool is_recorded_as(const mr_unroll *g, uint32_t node, const mr_trace_rec *r)
{
	const mr_instr *in = g->at[node].in;

	return r->op == in->op && r->stage == in->stage && r->pipe == in->pipe &&
	       r->micro == mr_unroll_micro(g, node) &&
	       r->version == (is_made_by(in->op) ? mr_unroll_target(g, node) : mr_unroll_read(g, node));
}

static void blame(course *c, uint32_t node, uint32_t from)
{
	char a[MR_NODE_TEXT], b[MR_NODE_TEXT];

	if (c->n_bad++ < 3)
		printf("\n    %s: %s%s%s", c->what, mr_unroll_name(c->g, node, a),
		       from == MR_NO_NODE ? " is not what was done" : " began before ",
		       from == MR_NO_NODE     ? ""
		       : from < c->g->n_nodes ? mr_unroll_name(c->g, from, b)
					      : "all that it needs of the other stages");
}

/* The sums that a run reports are those of its records. */
static void add_up(const mr_worker *wk)
{
	mr_worker_stats sum = {0};

	for (uint32_t i = 0; i < wk->n_trace; i++) {
		const mr_trace_rec *r = &wk->trace[i];

		sum.busy_ns[r->op] += r->end_ns - r->begin_ns - r->lost_ns;
		sum.lost_ns += r->lost_ns;
		sum.count[r->op]++;
		for (int k = 0; k < MR_N_WAITS; k++)
			sum.wait_ns[k] += r->wait_ns[k];
	}
	sum.lost_before_ns = wk->stats.lost_before_ns; /* of no record */
	CU_ASSERT(!memcmp(&sum, &wk->stats, sizeof(sum)));
}

static uint64_t all_waited; /* ns, of all runs so far: in one of them every worker may come late enough */

static void read_traces(course *c)
{
	for (uint32_t i = 0; i < c->g->n_all; i++)
		c->begin[i] = NEVER;
	for (uint16_t w = 0; w < c->run->n_workers; w++) {
		const mr_worker *wk = &c->run->worker[w];

		CU_ASSERT_FATAL(wk->n_trace > 0 && wk->n_trace < MR_TRACE_RING &&
				wk->n_trace <= c->g->first[w + 1] - c->g->first[w]);
		for (uint32_t i = 0; i < wk->n_trace; i++) {
			uint32_t node = c->g->first[w] + i;

			if (!is_recorded_as(c->g, node, &wk->trace[i]))
				blame(c, node, MR_NO_NODE);
			c->begin[node] = wk->trace[i].begin_ns;
		}
		add_up(wk);
		for (int k = 0; k < MR_N_WAITS; k++)
			all_waited += wk->stats.wait_ns[k];
	}
}

static void wait_for(course *c, uint32_t node, uint32_t from)
{
	c->n_edges++;
	if (node >= c->g->n_nodes)
		c->begin[node] =
			c->begin[node] == NEVER || c->begin[from] > c->begin[node] ? c->begin[from] : c->begin[node];
	else if (c->begin[node] != NEVER && c->begin[from] > c->begin[node])
		blame(c, node, from);
}

/* A join begins with the last of its sources, and never while one of them has not. */
static void check_edges(course *c)
{
	const mr_unroll *g = c->g;

	for (uint32_t k = 0; k < g->n_all; k++) {
		uint32_t node = c->order[k];

		for (uint32_t e = g->edge_first[node]; e < g->edge_first[node + 1]; e++)
			wait_for(c, node, g->edge[e]);
		if (node < g->n_nodes && g->storage[node] != MR_NO_NODE)
			wait_for(c, node, g->storage[node]);
	}
}

static void check_run(const char *what, const mr_run *run)
{
	course c = {.what = what, .run = run};
	uint64_t most = 0;

	for (uint16_t w = 0; w < run->n_workers; w++)
		most = run->worker[w].train.n > most ? run->worker[w].train.n : most;
	MR_CHECK_OK(mr_unroll_create(run->c.plan, (uint32_t)most + 1, NULL, &c.g));
	c.order = calloc(c.g->n_all, sizeof(*c.order));
	c.begin = calloc(c.g->n_all, sizeof(*c.begin));
	CU_ASSERT_FATAL(c.order && c.begin);
	MR_CHECK_OK(mr_unroll_order(c.g, c.order));
	read_traces(&c);
	check_edges(&c);
	CU_ASSERT(c.n_edges > c.g->n_nodes || run->n_workers == 1);
	CU_ASSERT_EQUAL(c.n_bad, 0);
	free(c.begin);
	free(c.order);
	mr_unroll_destroy(c.g);
}

/* Some runs of at least @steps steps; false: the system does not take this. */
static bool obeys(bool gpt, const char *sets, unsigned workers, uint64_t steps)
{
	mr_session_opts opts = {.trace = true};
	mr_status st;
	rig r;

	rig_init(&r);
	if (gpt)
		rig_gpt(&r);
	rig_sets(&r, sets);
	rig_set(&r, "machine.workers=%u", workers);
	st = rig_try_open(&r);
	if (st == MR_OK && r.s.plan && !r.s.plan->contract.racing && r.s.plan->contract.flush != MR_FLUSH_VALIDATED) {
		uint64_t each = mr_plan_stride(r.s.plan);

		for (uint64_t seed = 1; seed <= RUNS; seed++) {
			rig_delays(300, seed);
			MR_CHECK_OK(mr_session_start(&r.s, &opts));
			rig_run(&r, (steps + each - 1) / each * each, NULL);
			rig_delays(0, 0);
			check_run(sets, mr_executor_run_of(&r.s.executor));
			mr_executor_fini(&r.s.executor);
		}
	}
	rig_fini(&r);
	return st == MR_OK;
}

#define MLP "model.depth=11 model.width=4 precision=f32 train.batch=8"

static void every_system(void)
{
	unsigned n = 0;

	for (size_t i = 0; mr_schedule_at(i); i++) {
		const mr_sched_ops *ops = mr_schedule_at(i);
		char sets[200];
		bool taken = false;

		for (unsigned workers = 3; workers <= 4 && !taken; workers++) {
			snprintf(sets, sizeof(sets), MLP " train.steps=1200 system.name=%s%s%s", ops->name,
				 ops->asynchronous && !ops->accumulates ? " train.microbatches=1"
									: " train.microbatches=4",
				 i % 2 ? " train.clip=0.1" : "");
			taken = obeys(false, sets, workers, 3);
		}
		if (!taken)
			printf("\n    %s: %s", ops->name, mr_error_text());
		CU_ASSERT(taken);
		n++;
	}
	CU_ASSERT(n >= 30);
	CU_ASSERT(all_waited > 0);
}

static void barriers(void)
{
	CU_ASSERT(obeys(false, MLP " system.name=gpipe train.microbatches=2 train.clip=0.1", 4, 8));
	CU_ASSERT(obeys(false, MLP " system.name=1f1b train.microbatches=2", 4, 8));
	CU_ASSERT(obeys(true, "model.tied=true train.batch=4 train.microbatches=2 system.name=1f1b train.clip=0.1", 2,
			6));
}

static void pipedream(void)
{
	CU_ASSERT(obeys(false, MLP " system.name=pipedream train.microbatches=1", 4, 24));
	CU_ASSERT(obeys(false, MLP " system.name=pipedream system.vertical_sync=true train.microbatches=1", 3, 24));
	CU_ASSERT(obeys(false, MLP " system.name=pipedream system.replicas=[2,1] train.microbatches=2 train.clip=0.1",
			3, 12));
}

void mr_suite_edges(void); /* the runner declares it too */

void mr_suite_edges(void)
{
	MR_SUITE("edges");
	MR_TEST(every_system);
	MR_TEST(barriers);
	MR_TEST(pipedream);
}
