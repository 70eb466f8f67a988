/* test_cost_model.c - the model of nominal and published costs: against recorded rates, and laws on synthetic hosts. */
#include "costs/cost_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "job/job_help.h"
#include "session/session_forecast.h"
#include "costs/team_costs.h"

/* --- recorded --- */

/*
 * GFLOP/s of f32 products of one core with AVX-512, millrace profile --method alone of a layer @width x @width with
 * @rows samples: the output, the gradient of the input, that of the weights.
 */
static const struct {
	double width, rows, rate[3];
} recorded[] = {
	{64, 4, {47.4, 28.0, 53.6}},      {64, 16, {116.9, 103.9, 128.9}},  {64, 64, {182.4, 164.6, 150.9}},
	{64, 512, {217.0, 203.6, 204.6}}, {128, 4, {112.8, 36.1, 77.5}},    {128, 16, {180.5, 136.7, 161.1}},
	{128, 64, {213.5, 196.4, 178.2}}, {128, 512, {224.1, 204.2, 212.8}}, {256, 4, {124.4, 40.7, 88.1}},
	{256, 16, {199.2, 156.5, 172.6}}, {256, 64, {228.6, 210.6, 194.1}}, {256, 512, {227.7, 217.4, 217.9}},
	{512, 4, {111.5, 41.2, 78.5}},    {512, 16, {200.3, 159.4, 170.4}}, {512, 64, {223.6, 225.9, 207.9}},
};

/* The mean of the three passes: which of them is the slower one differs from kernel to kernel. */
static void efficiency_is_that_of_small_products(void)
{
	const double best = 230, top = MR_MODEL_EFFICIENCY;
	size_t n = sizeof(recorded) / sizeof(recorded[0]), far = 0;

	for (size_t i = 0; i < n; i++) {
		double w = recorded[i].width, b = recorded[i].rows, flops = 2 * b * w * w, model = 0, measured = 0;
		double e[3] = {mr_model_efficiency(b * w, w, w, 1), mr_model_efficiency(b * w, w, w, 1),
			       mr_model_efficiency(w * w, w, b, 1)};

		for (int k = 0; k < 3; k++) {
			model += flops / (best * 1e9 * e[k] / top) + MR_MODEL_CALL_S;
			measured += flops / (recorded[i].rate[k] * 1e9);
		}
		far += fabs(model / measured - 1) > 0.25;
		CU_ASSERT(fabs(model / measured - 1) < 0.5);
		if (fabs(model / measured - 1) >= 0.25)
			printf("%g x %g, %g rows: modelled %.3g us, measured %.3g us\n", w, w, b, 1e6 * model,
			       1e6 * measured);
	}
	CU_ASSERT(far <= n / 5);
}

static void more_threads_are_no_more_efficient(void)
{
	for (double elements = 1; elements < 1e8; elements *= 7)
		for (double columns = 1; columns <= elements; columns *= 5)
			for (uint32_t k = 1; k <= 1024; k *= 2) {
				double one = mr_model_efficiency(elements, columns, 64, 1);
				double e = mr_model_efficiency(elements, columns, 64, k);

				CU_ASSERT(e > 0 && e <= MR_MODEL_EFFICIENCY);
				CU_ASSERT(e <= one * (1 + 1e-12));
			}
}

/* --- laws --- */

#define BASE                                                                                                           \
	"model.name=mlp model.hidden=[%u,%u,%u,%u,%u,%u,%u] data.name=synthetic data.features=%u data.classes=16 "     \
	"data.samples=4096 optimizer.name=adamw train.steps=2 train.batch=256 optimizer.lr=0.01 machine.workers=%u " \
	"machine.threads=%u precision=%s"

typedef struct host {
	mr_job job;
	mr_session s;
	mr_forecast f;
} host;

static void open_precise(host *h, uint32_t width, const char *system, uint32_t workers, uint32_t threads,
			 const char *topology, const char *precision)
{
	char base[600], more[200];

	snprintf(base, sizeof(base), BASE, width, width, width, width, width, width, width, width, workers, threads,
		 precision);
	snprintf(more, sizeof(more), "system.name=%s", system);
	mr_test_job_of(&h->job, base, more);
	h->job.machine.topology = topology;
	h->job.train.gradients = MR_GRADIENTS_EACH; /* merging asks for memory: one host might merge, the other not */
	MR_CHECK_OK(mr_session_survey(&h->job, &h->s));
	MR_CHECK_OK(mr_session_forecast(&h->s, &h->f));
}

static void open_host(host *h, uint32_t width, const char *system, uint32_t workers, uint32_t threads,
		      const char *topology)
{
	open_precise(h, width, system, workers, threads, topology, "f32");
}

static void close_host(host *h)
{
	mr_forecast_fini(&h->f);
	mr_session_close(&h->s);
	mr_job_fini(&h->job);
}

static const char *const topologies[] = {"core:8",      "numa:2 core:4", "numa:4 core:16", "spr8480",
					 "genoa9654", "graviton4",    "gnr6980"};
static const char *const systems[] = {"1f1b", "data_parallel", "pipedream", "zb_h1", "chimera"};
#define N_TOPOLOGIES (sizeof(topologies) / sizeof(topologies[0]))
#define N_SYSTEMS (sizeof(systems) / sizeof(systems[0]))

/* What the workers of a node move in a step is no more than its memory gives in that time. */
static void nodes_give_what_they_have(const host *h, const mr_server *m)
{
	const mr_plan *p = h->s.plan;
	mr_stage_cost memory[64], link[64];
	mr_cost cost = {h->s.partition.n_stages, memory};

	CU_ASSERT_FATAL(h->s.partition.n_stages <= 64);
	mr_costs_bytes_of_stages(&h->f.of, &h->f.costs, memory, link);
	for (uint32_t n = 0; n < h->s.topo.n_nodes; n++) {
		double sum = 0;

		for (uint16_t w = 0; w < p->n_workers; w++) {
			const mr_list *l = mr_plan_list(p, w, MR_BODY);

			for (uint32_t i = 0; h->s.place.worker[w].node == n && i < l->n; i++)
				sum += mr_instr_cost(p, &l->at[i], &cost) / mr_forecast_steps(p);
		}
		CU_ASSERT(sum <= mr_model_memory_rate(m) * h->f.step_s * (1 + 1e-6));
	}
}

/* No layer is faster than the peak of its threads times the efficiency, and no node gives more than it has. */
static void limits_hold(const host *h)
{
	mr_server m = mr_model_server(&h->f.of);
	double k = h->s.place.worker[0].n_threads, flops = 0;

	for (uint32_t i = 0; i < h->s.graph->n_nodes; i++) {
		const mr_node *n = &h->s.graph->nodes[i];
		mr_layer_needs z;

		n->ops->needs(&n->cfg, n->in_shape, h->s.samples, NULL, &z);
		CU_ASSERT(h->f.costs.layer[i].f >= z.flops_f / (k * mr_model_peak(&m, &h->f.of) * MR_MODEL_EFFICIENCY));
		CU_ASSERT(h->f.costs.layer[i].w >= z.flops_w / (k * mr_model_peak(&m, &h->f.of) * MR_MODEL_EFFICIENCY));
		flops += z.flops_f + z.flops_w;
	}
	CU_ASSERT(h->f.step_s * h->s.place.n_workers * k * mr_model_peak(&m, &h->f.of) * MR_MODEL_EFFICIENCY >=
		  flops * h->s.n_micro);
	nodes_give_what_they_have(h, &m);
}

static void nothing_is_faster_than_the_machine(void)
{
	for (size_t t = 0; t < N_TOPOLOGIES; t++)
		for (size_t y = 0; y < N_SYSTEMS; y++)
			for (uint32_t width = 64; width <= 2048; width *= 8) {
				host h;

				open_host(&h, width, systems[y], 4, 0, topologies[t]);
				limits_hold(&h);
				close_host(&h);
			}
}

/* Steps of 2,048 wide layers stream weights and state: eight workers of one thread on one node share its memory. */
static void streams_share_a_nodes_memory(void)
{
	host one, two;
	mr_server m;

	open_host(&one, 2048, "data_parallel", 8, 1, "icx8380");
	CU_ASSERT(one.f.use.memory > 0);
	open_host(&two, 2048, "data_parallel", 32, 1, "icx8380");
	CU_ASSERT(two.f.use.memory > 0.99 && two.f.use.slowed > one.f.use.slowed);
	m = mr_model_server(&two.f.of);
	nodes_give_what_they_have(&two, &m);
	close_host(&one);
	close_host(&two);
}

/* The step of @h beside another run like it on other cores of the node. */
static double beside(const host *h)
{
	mr_forecast f = {.of = h->f.of, .share = 0.5};
	double step_s;

	MR_CHECK_OK(mr_costs_modelled(&f.of, 0.5, &f.costs));
	MR_CHECK_OK(mr_forecast_time(&f));
	step_s = f.step_s;
	mr_forecast_fini(&f);
	return step_s;
}

/* Two sequential runs of half a socket each: what fits the caches is not slower, streams are, but not twice. */
static void two_runs_share_a_node(void)
{
	for (uint32_t width = 64; width <= 2048; width *= 2) {
		host h;

		open_host(&h, width, "sequential", 1, 28, "spr8480");
		if (width <= 128)
			CU_ASSERT_DOUBLE_EQUAL(beside(&h), h.f.step_s, 1e-12);
		CU_ASSERT(beside(&h) <= 2 * h.f.step_s);
		if (width == 2048)
			CU_ASSERT(beside(&h) > 1.05 * h.f.step_s);
		close_host(&h);
	}
}

/* A little more than the L3 holds takes a little more time: layers grow, and no step is much longer than the last. */
static void caches_overflow_gradually(void)
{
	double last = 0, weights = 0;

	for (uint32_t width = 480; width <= 1600; width += 8) {
		host h;
		double step_s;

		open_host(&h, width, "sequential", 1, 8, "genoa9654");
		step_s = h.f.step_s;
		if (last > 0)
			CU_ASSERT(step_s > 0.9 * last && step_s < 1.12 * last);
		weights = h.f.costs.bytes[1].u / (7.0 * sizeof(float) * width * width);
		CU_ASSERT(weights >= 0 && weights < 1);
		last = step_s;
		close_host(&h);
	}
	CU_ASSERT(weights > 0.3); /* the last do not fit */
}

/* Products of bf16 numbers run at the peak for these where the core has one, and never below that of f32; numbers that
 * are kept in f32 do not. Wide layers, which the products dominate, gain by it, but not more than the peaks differ. */
static void narrow_products_have_their_own_peak(void)
{
	static const struct {
		const char *topology;
		double wide, narrow; /* FLOP/s of a core, by servers.def */
	} cores[] = {{"spr8480", 64 * 2.6e9, 1024 * 2.2e9},
		     {"genoa9654", 32 * 3.3e9, 64 * 3.3e9},
		     {"icx8380", 64 * 2.6e9, 64 * 2.6e9}};

	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		host wide, narrow, pure;
		mr_server m;

		open_precise(&wide, 2048, "1f1b", 4, 1, cores[i].topology, "f32");
		open_precise(&narrow, 2048, "1f1b", 4, 1, cores[i].topology, "bf16");
		open_precise(&pure, 2048, "1f1b", 4, 1, cores[i].topology, "bf16_pure");
		m = mr_model_server(&wide.f.of);
		CU_ASSERT_DOUBLE_EQUAL(mr_model_peak(&m, &wide.f.of), cores[i].wide, 1);
		CU_ASSERT_DOUBLE_EQUAL(mr_model_peak(&m, &narrow.f.of), cores[i].narrow, 1);
		CU_ASSERT_DOUBLE_EQUAL(mr_model_peak(&m, &pure.f.of), cores[i].narrow, 1);
		CU_ASSERT(narrow.f.step_s >= wide.f.step_s * cores[i].wide / cores[i].narrow / 2);
		if (cores[i].narrow > cores[i].wide)
			CU_ASSERT(narrow.f.step_s < 0.7 * wide.f.step_s);
		limits_hold(&narrow);
		close_host(&wide);
		close_host(&narrow);
		close_host(&pure);
	}
}

/* --- teams that were measured --- */

/* Two sizes of one layer: a time between them is interpolated, one beyond them is that of the nearest. */
static void teams_are_interpolated(void)
{
	mr_team_costs *t = calloc(1, sizeof(*t));
	mr_stage_cost *layer, is;
	uint32_t k;

	MR_CHECK_OK(mr_team_costs_add(t, 1, 2, &layer));
	*layer = (mr_stage_cost){.f = 8, .i = 4, .u = 1};
	MR_CHECK_OK(mr_team_costs_add(t, 1, 8, &layer));
	*layer = (mr_stage_cost){.f = 2, .i = 4, .u = 4};
	MR_CHECK_FAIL(mr_team_costs_add(t, 1, 8, &layer), MR_ECONFIG, "sizes of teams ascend");
	k = 4;
	is = mr_team_costs_at(t, 0, &k);
	CU_ASSERT_EQUAL(k, 4);
	CU_ASSERT_DOUBLE_EQUAL(is.f, 4, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(is.i, 4, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(is.w, 0, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(is.u, 2, 1e-12);
	k = 1;
	CU_ASSERT_DOUBLE_EQUAL(mr_team_costs_at(t, 0, &k).f, 8, 1e-12);
	CU_ASSERT_EQUAL(k, 2);
	k = 64;
	CU_ASSERT_DOUBLE_EQUAL(mr_team_costs_at(t, 0, &k).f, 2, 1e-12);
	CU_ASSERT_EQUAL(k, 8);
	mr_team_costs_destroy(t);
}

/* Costs with times of 1 and 4 threads: 2 and 4 follow from these, 8 from 4 and the model, and the source says so. */
static void measured_teams_replace_the_model(void)
{
	double step[4];

	for (uint32_t k = 1, n = 0; k <= 8; k *= 2, n++) {
		mr_costs c;
		mr_stage_cost *layer;
		host h;

		open_host(&h, 256, "sequential", 1, k, "core:8");
		MR_CHECK_OK(mr_costs_alloc(&h.f.of, &c));
		c.threads = 1;
		c.teams = calloc(1, sizeof(*c.teams));
		c.owns_teams = true;
		for (uint32_t size = 1; size <= 4; size *= 4) {
			MR_CHECK_OK(mr_team_costs_add(c.teams, h.s.graph->n_nodes, size, &layer));
			for (uint32_t i = 0; i < h.s.graph->n_nodes; i++)
				layer[i] = (mr_stage_cost){.f = 1, .i = size == 1 ? 1 : 0.5, .w = 1, .u = 1};
		}
		for (uint32_t i = 0; i < h.s.graph->n_nodes; i++)
			c.layer[i] = (mr_stage_cost){.f = 3, .i = 3, .w = 3, .u = 3};
		MR_CHECK_OK(mr_costs_rescale(&c, &h.f.of));
		CU_ASSERT_DOUBLE_EQUAL(c.layer[2].i, k == 1 ? 3 : k == 2 ? 3 * sqrt(0.5) : k == 4 ? 1.5 : c.layer[2].i,
				       1e-9);
		CU_ASSERT_EQUAL(strstr(c.source, "teams of 8 threads were not measured: those of 4") != NULL, k == 8);
		if (k <= 4)
			CU_ASSERT_DOUBLE_EQUAL(c.layer[2].f, 3, 1e-9);
		step[n] = c.layer[2].f;
		mr_costs_fini(&c);
		close_host(&h);
	}
	CU_ASSERT(step[3] < step[2] && step[3] >= step[2] / 2);
}

static void one_core_agrees(void)
{
	host here, there;

	for (size_t y = 0; y < 2; y++) {
		open_host(&here, 128, y ? "1f1b" : "sequential", 1, 1, "");
		open_host(&there, 128, y ? "1f1b" : "sequential", 1, 1, "numa:1 core:1");
		CU_ASSERT_DOUBLE_EQUAL(here.f.step_s, there.f.step_s, 1e-12 * here.f.step_s);
		close_host(&here);
		close_host(&there);
	}
}

/* The same workers and threads on twice the nodes: memory is shared by fewer, and only hand-overs get longer. */
static void twice_the_nodes_are_no_slower(void)
{
	for (size_t y = 0; y < N_SYSTEMS; y++)
		for (uint32_t width = 256; width <= 2048; width *= 2) {
			host few, more;
			double hops;

			open_host(&few, width, systems[y], 8, 8, "numa:1 core:64");
			open_host(&more, width, systems[y], 8, 8, "numa:2 core:64");
			hops = 2.0 * (few.s.n_micro + 8) * more.f.costs.hop_s;
			CU_ASSERT(more.f.step_s <= few.f.step_s + hops);
			close_host(&few);
			close_host(&more);
		}
}

/* Layers 128 wide: 128 cores are not 64 times as fast as two. */
static void small_layers_do_not_scale(void)
{
	host two, many;

	open_host(&two, 128, "1f1b", 2, 1, "core:2");
	open_host(&many, 128, "1f1b", 2, 64, "numa:2 core:64");
	CU_ASSERT(many.f.step_s > two.f.step_s / 16);
	close_host(&two);
	close_host(&many);
}

/* A step of weights that no cache holds, by one worker on a node and by one on two: the second has the memory of both,
 * half of which comes over links, a quarter of it over each direction of each. */
static void a_worker_on_two_nodes_has_both_memories(void)
{
	static const char *const machines[] = {"spr8480", "genoa9654", "graviton4"};

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const mr_server *m;
		double cores, one_node, both, least;
		host one, two;

		MR_CHECK_OK(mr_server_get(machines[i], &m));
		cores = mr_server_cores(m);
		open_host(&one, 8192, "sequential", 1, (uint32_t)cores, machines[i]);
		open_host(&two, 8192, "sequential", 1, 2 * (uint32_t)cores, machines[i]);
		CU_ASSERT(two.s.place.worker[0].straddles);
		one_node = fmin(mr_model_memory_rate(m), cores * m->l3_gbs * 1e9);
		both = fmin(fmin(2 * mr_model_memory_rate(m), 4 * mr_model_link_rate(m)), 2 * cores * m->l3_gbs * 1e9);
		least = one.f.stage[0].u / two.f.stage[0].u;
		CU_ASSERT(least > 0.9 * both / one_node); /* some of it is in caches, of which two nodes have more */
		CU_ASSERT(least < 1.3 * both / one_node);
		close_host(&one);
		close_host(&two);
	}
}

/* What two shares show each other crosses the link between their nodes, or goes through the caches of one. */
static void shares_read_what_they_show(void)
{
	static const uint32_t threads[] = {56, 28}; /* of each share; a node has 56 cores */

	for (int i = 0; i < 2; i++) {
		const mr_server *m;
		mr_workload alone;
		mr_costs whole;
		double shown = 0, longer = 0, rate;
		host h;

		MR_CHECK_OK(mr_server_get("spr8480", &m));
		rate = i ? threads[i] * m->l3_gbs * 1e9 : mr_model_link_rate(m);
		open_host(&h, 512, "sequential machine.shares=2", 1, threads[i], m->name);
		alone = h.f.of;
		CU_ASSERT_EQUAL(alone.n_shares, 2);
		CU_ASSERT_EQUAL(alone.shares_here, i ? 2 : 1);
		alone.shares_here = alone.n_shares = 0;
		MR_CHECK_OK(mr_costs_modelled(&alone, 0, &whole));
		for (uint32_t n = 0; n < h.f.of.graph->n_nodes; n++) {
			longer += h.f.costs.layer[n].f - whole.layer[n].f;
			shown += (double)(mr_graph_shown(h.f.of.graph, n, false) * h.f.of.samples) * sizeof(float);
		}
		CU_ASSERT(shown > 0);
		CU_ASSERT_DOUBLE_EQUAL(longer, shown / rate, 1e-6 * shown / rate);
		mr_costs_fini(&whole);
		close_host(&h);
	}
}

void mr_suite_cost_model(void);
void mr_suite_cost_model(void)
{
	MR_SUITE("cost_model");
	MR_TEST(efficiency_is_that_of_small_products);
	MR_TEST(more_threads_are_no_more_efficient);
	MR_TEST(nothing_is_faster_than_the_machine);
	MR_TEST(streams_share_a_nodes_memory);
	MR_TEST(two_runs_share_a_node);
	MR_TEST(caches_overflow_gradually);
	MR_TEST(narrow_products_have_their_own_peak);
	MR_TEST(teams_are_interpolated);
	MR_TEST(measured_teams_replace_the_model);
	MR_TEST(one_core_agrees);
	MR_TEST(twice_the_nodes_are_no_slower);
	MR_TEST(small_layers_do_not_scale);
	MR_TEST(a_worker_on_two_nodes_has_both_memories);
	MR_TEST(shares_read_what_they_show);
}
