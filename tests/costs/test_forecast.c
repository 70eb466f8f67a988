/* What plan and profile compute: sizes of sequential training, measured layers, costs and their file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "costs/costs.h"
#include "costs/costs_live.h"
#include "session/session_forecast.h"
#include "config/config_help.h"
#include "host/memory.h"
#include "timing/walk.h"
#include "profile/profile.h"
#include "costs/team_costs.h"

#define GPT                                                                                                            \
	"model = { name = \"gpt\"; layers = 2; width = 16; heads = 2; context = 8; %s };\n"                            \
	"data = { name = \"sources\"; root = \"%s\"; };\n"                                                             \
	"optimizer = { name = \"adamw\"; lr = 0.01; }; system = { name = \"%s\"; };\n" \
	"train = { steps = 2; batch = 4; microbatches = 2; };\n"                                            \
	"machine = { workers = 2; threads = 1; }; backend = \"reference\"; precision = \"f64\";\n"
/* 16 tokens a step, of some hundred characters (mr_sparse_rows_pays) */
#define FEW \
	"model = { name = \"gpt\"; layers = 2; width = 16; heads = 2; context = 8; tied = true; };\n" \
	"data = { name = \"sources\"; root = \"%s\"; };\n" \
	"optimizer = { name = \"adamw\"; lr = 0.01; }; system = { name = \"sequential\"; };\n" \
	"train = { steps = 2; batch = 2; microbatches = 1; };\n" \
	"machine = { workers = 1; threads = 1; }; backend = \"reference\"; precision = \"f64\";\n"
#define MUON                                                                                                           \
	"model = { name = \"mlp\"; hidden = [24, 12]; };\n"                                                            \
	"data = { name = \"synthetic\"; features = 8; classes = 4; samples = 100; };\n"                                \
	"optimizer = { name = \"muon\"; lr = 0.01; }; system = { name = \"1f1b\"; };\n" \
	"train = { steps = 2; batch = 3; microbatches = 1; };\n"                                            \
	"machine = { workers = 2; threads = 1; }; backend = \"reference\";\n"

#define MLP                                                                                                            \
	"model = { name = \"mlp\"; hidden = [24, 12]; };\n"                                                            \
	"data = { name = \"synthetic\"; features = 8; classes = 4; samples = 100; };\n"                                \
	"optimizer = { name = \"momentum\"; lr = 0.01; }; system = { name = \"1f1b\"; };\n" \
	"train = { steps = 2; batch = 6; microbatches = 2; };\n"                                            \
	"machine = { workers = 2; threads = 1; }; backend = \"reference\";\n"

#define TWO_MICRO                                                                                                      \
	"model = { name = \"mlp\"; hidden = [24, 12]; };\n"                                                            \
	"data = { name = \"synthetic\"; features = 8; classes = 4; samples = 100; };\n"                                \
	"optimizer = { name = \"momentum\"; lr = 0.01; }; system = { name = \"%s\"; };\n" \
	"train = { steps = 2; batch = 6; microbatches = 2; };\n"                                            \
	"machine = { workers = 2; threads = 1; }; backend = \"reference\";\n"

#define ONE_MICRO                                                                                                      \
	"model = { name = \"mlp\"; hidden = [24, 12]; };\n"                                                            \
	"data = { name = \"synthetic\"; features = 8; classes = 4; samples = 100; };\n"                                \
	"optimizer = { name = \"momentum\"; lr = 0.01; }; system = { name = \"%s\"; };\n" \
	"train = { steps = 2; batch = 6; microbatches = 1; %s };\n"                                         \
	"machine = { workers = 2; threads = 1; }; backend = \"reference\";\n"

static mr_config *config;
static mr_session session;
static mr_workload of; /* that of the session */

static void open_text(const char *text)
{
	mr_strbuf report = {0};

	MR_CHECK_OK(mr_test_load(text, strlen(text), NULL, 0, &report, &config));
	mr_strbuf_fini(&report);
	MR_CHECK_OK(mr_session_open(mr_config_job(config), &session));
	of = mr_session_workload(&session);
}

static void open_gpt(const char *more, const char *system)
{
	char text[1500];

	snprintf(text, sizeof(text), GPT, more, getenv("MR_SOURCE"), system);
	open_text(text);
}

static void close_all(void)
{
	mr_session_close(&session);
	mr_config_destroy(config);
	mr_test_files_remove();
}

/* --- profile --- */

/* Every instruction of the bodies has a time, and what the costs make of them is the time of the bodies. Returns
 * whether the times fit each other, which on a machine that does other things they may not. */
static bool check_live(const mr_profile *p)
{
	const mr_plan *plan = session.plan;
	mr_stage_cost stage[8];
	mr_cost cost = {plan->n_stages, stage};
	double live = 0, table = 0, crowd[2];
	bool fits = true;
	size_t n = 0;
	mr_costs c;

	CU_ASSERT_FATAL(p->live.instr != NULL && plan->n_stages <= 8);
	MR_CHECK_OK(mr_costs_of_profile(&of, p, &c));
	mr_costs_of_stages(&of, &c, stage);
	for (uint16_t w = 0; w < plan->n_workers; w++)
		for (uint32_t i = 0; i < mr_plan_list(plan, w, MR_BODY)->n; i++, n++) {
			CU_ASSERT(p->live.instr[n] > 0);
			fits = fits && p->live.instr[n] < 1;
			live += p->live.instr[n];
			table += mr_instr_cost(plan, &mr_plan_list(plan, w, MR_BODY)->at[i], &cost);
		}
	/* Tiny layers on a machine that does other things: of one order; costs_follow_a_run has the arithmetic. */
	fits = fits && table > 0.1 * live && table < 10 * live;
	/* A worker carries out its instructions one after the other. */
	fits = fits && p->live.step_s < 1 && p->live.step_s * mr_plan_steps(plan) > 0.1 * live / plan->n_workers;
	crowd[0] = c.crowd_f;
	crowd[1] = c.crowd_b;
	mr_costs_fini(&c);
	if (plan->n_workers < 2) /* no two of them share a commit */
		return fits;
	CU_ASSERT(p->commits.shared_s > 0 && p->commits.average_s > 0);
	CU_ASSERT(p->commits.reduce_s > 0 && p->commits.forward_s > 0 && p->commits.back_s > 0);
	CU_ASSERT(crowd[0] >= 0.9 && crowd[0] <= 2 && crowd[1] >= 0.9 && crowd[1] <= 2);
	return fits;
}

/* @by_itself: stages whose step is measured by itself, bit s; @inside: stages whose step is measured inside a backward
 * pass. */
static void check_measured(mr_profile_method method, unsigned by_itself, unsigned inside)
{
	mr_run_config c = mr_session_run_config(&session, NULL);
	bool fits = method != MR_PROFILE_LIVE || !mr_profile_is_live(&c);
	double flops = 0;
	mr_profile p;

	MR_CHECK_OK(mr_profile_measure(&c, session.n_micro, 0, method, &p));
	CU_ASSERT(p.repeats >= MR_PROFILE_MIN_REPEATS);
	for (uint32_t i = 0; i < session.graph->n_nodes; i++) {
		const mr_node *nd = &session.graph->nodes[i];

		flops += p.layer[i].flops_f + p.layer[i].flops_i + p.layer[i].flops_w;
		CU_ASSERT(p.layer[i].f > 0 && p.layer[i].f < 1);
		CU_ASSERT((p.layer[i].w > 0) == (nd->ops->backward_weight != NULL));
		CU_ASSERT(p.layer[i].i >= 0);
	}
	CU_ASSERT_DOUBLE_EQUAL(flops, mr_graph_flops_train(session.graph) * (double)session.samples, 1e-6 * flops);
	for (uint16_t s = 0; s < session.partition.n_stages; s++)
		CU_ASSERT(p.sum_s[s] > 0 && p.norm_s[s] > 0);
	for (uint16_t s = 0; s < session.partition.n_stages; s++)
		CU_ASSERT((by_itself >> s & 1 ? p.update_s[s] > 0 : p.update_s[s] == 0) &&
			  (inside >> s & 1 ? p.inside_s[s] >= 0 : isnan(p.inside_s[s])));
	CU_ASSERT(!fits || (!p.live.instr && p.commits.shared_s == 0 && p.commits.average_s == 0));
	for (int again = 0; !fits && !(fits = check_live(&p)) && again < 10; again++) {
		mr_profile_fini(&p);
		MR_CHECK_OK(mr_profile_measure(&c, session.n_micro, 0, method, &p));
	}
	CU_ASSERT(fits);
	mr_profile_fini(&p);
}

static void check_profile(unsigned by_itself, unsigned inside)
{
	check_measured(MR_PROFILE_ALONE, by_itself, inside);
	check_measured(MR_PROFILE_TOGETHER, by_itself, inside);
	check_measured(MR_PROFILE_LIVE, by_itself, inside);
	close_all();
}

static void every_layer_is_measured(void)
{
	open_text(MLP);
	check_profile(3, 3);
	open_gpt("dropout = 0.1;", "gpipe");
	check_profile(3, 3);
	open_gpt("tied = true;", "1f1b"); /* the head's weights lie in the first stage */
	check_profile(3, 0);
	open_gpt("", "sequential");
	check_profile(1, 1);
	open_gpt("", "data_parallel"); /* pipe 0 comes by one worker alone */
	check_profile(3, 3);
}

/* With one micro-batch a step, W has the step inside. */
static void steps_are_measured_where_they_are(void)
{
	static const char *const systems[] = {"pipedream", "sequential"};
	char text[1500];

	for (unsigned i = 0; i < 2; i++)
		for (int clip = 0; clip < 2; clip++) {
			unsigned all = i ? 1 : 3; /* stages */

			snprintf(text, sizeof(text), ONE_MICRO, systems[i], clip ? "clip = 1.0;" : "");
			open_text(text);
			check_profile(clip ? all : 0, clip ? 0 : all);
		}
}

/* --- costs --- */

static void nominal_costs_are_those_of_the_partition(void)
{
	mr_stage_cost stage[2];
	mr_costs c;

	open_gpt("", "1f1b");
	MR_CHECK_OK(mr_costs_nominal(&of, &c));
	for (uint32_t i = 0; i < session.graph->n_nodes; i++) {
		const mr_stage_cost *l = &c.layer[i];
		double all = mr_partition_cost(session.graph, i, session.samples, session.kernels);

		CU_ASSERT_DOUBLE_EQUAL(l->f + l->i + l->w + l->u, all, 1e-12 * all);
		CU_ASSERT(l->f >= 0 && l->i >= 0 && l->w >= 0 && l->u >= 0);
	}
	mr_costs_of_stages(&of, &c, stage);
	CU_ASSERT(stage[0].f > 0 && stage[0].i > 0 && stage[0].w > 0 && stage[0].u > 0 && stage[0].c == 0);
	mr_costs_fini(&c);
	close_all();
}

static double params_of_stage(uint16_t stage)
{
	double n = 0;

	for (uint32_t i = session.partition.first[stage]; i < session.partition.first[stage + 1]; i++)
		n += (double)mr_costs_params(session.graph, i);
	return n;
}

/* What one worker writes and another reads costs both of them; inside a worker it is free. */
static void boundaries_cost_reader_and_writer(void)
{
	mr_stage_cost plain[4], stage[4];
	double bytes;
	mr_costs c;

	open_gpt("", "1f1b");
	MR_CHECK_OK(mr_costs_nominal(&of, &c));
	mr_costs_of_stages(&of, &c, plain);
	c.remote = (mr_handoff){1e-9, 1e-10};
	mr_costs_of_stages(&of, &c, stage);
	bytes = (double)session.samples * 8 * 16 * 8; /* context, width, f64 */
	CU_ASSERT_DOUBLE_EQUAL(stage[1].f - plain[1].f, bytes * 1e-9, 1e-9 * bytes * 1e-9 + 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(stage[1].i - plain[1].i, bytes * 1e-10, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(stage[0].i - plain[0].i, bytes * 1e-9, 1e-15);
	CU_ASSERT(stage[0].f - plain[0].f > bytes * 1e-10); /* and what comes from the loader */
	CU_ASSERT(stage[0].w == plain[0].w && stage[1].u == plain[1].u);
	mr_costs_fini(&c);
	close_all();
	open_gpt("", "data_parallel");
	MR_CHECK_OK(mr_costs_nominal(&of, &c));
	mr_costs_of_stages(&of, &c, plain);
	c.remote = (mr_handoff){1e-9, 1e-10};
	mr_costs_of_stages(&of, &c, stage);
	CU_ASSERT(stage[0].i == plain[0].i);
	c.sum_s = 1e-9; /* two workers, two pipes: one gradient is added to the other */
	mr_costs_of_stages(&of, &c, stage);
	CU_ASSERT_DOUBLE_EQUAL(stage[0].r, 1e-9 * 8 * params_of_stage(0), 1e-15);
	CU_ASSERT(plain[0].r > 0 && plain[0].n > 0 && stage[0].u == plain[0].u && stage[0].n == plain[0].n);
	mr_costs_fini(&c);
	close_all();
}

/* Times of the plan's instructions: F, B, a step inside and one by itself are a multiple of what @cost says. */
static double *made_up_run(const mr_cost *cost, double f, double b, double inside, double u)
{
	const mr_plan *p = session.plan;
	double *live = calloc(10000, sizeof(*live)), *to = live;

	CU_ASSERT_FATAL(live != NULL);
	for (uint16_t w = 0; w < p->n_workers; w++)
		for (uint32_t i = 0; i < mr_plan_list(p, w, MR_BODY)->n; i++) {
			mr_instr in = mr_plan_list(p, w, MR_BODY)->at[i];
			bool steps = in.flags & MR_INSTR_UPDATE;

			CU_ASSERT_FATAL(to < live + 10000);
			in.flags &= (uint8_t)~MR_INSTR_UPDATE;
			*to = mr_instr_cost(p, &in, cost) * (in.op == MR_OP_F ? f : in.op == MR_OP_U ? u : b);
			*to++ += steps ? inside * cost->stage[in.stage].u : 0;
		}
	return live;
}

/* 1f1b steps inside on worker 0 and by itself on worker 1; in data_parallel two pipes step together. */
static void costs_follow_a_run(void)
{
	mr_stage_cost before[2], after[2];
	mr_costs c;
	double *live;

	open_gpt("", "1f1b");
	MR_CHECK_OK(mr_costs_nominal(&of, &c));
	mr_costs_of_stages(&of, &c, before);
	live = made_up_run(&(mr_cost){2, before}, 2, 3, 1.5, 4);
	MR_CHECK_OK(mr_costs_follow_run(&of, live, &c));
	mr_costs_of_stages(&of, &c, after);
	for (int s = 0; s < 2; s++) {
		CU_ASSERT_DOUBLE_EQUAL(after[s].f, 2 * before[s].f, 1e-9 * before[s].f);
		CU_ASSERT_DOUBLE_EQUAL(after[s].i, 3 * before[s].i, 1e-9 * before[s].i);
		CU_ASSERT_DOUBLE_EQUAL(after[s].w, 3 * before[s].w, 1e-9 * before[s].w);
		CU_ASSERT_DOUBLE_EQUAL(after[s].u, 4 * before[s].u, 1e-9 * before[s].u);
	}
	CU_ASSERT_DOUBLE_EQUAL(after[0].u - after[0].s, 1.5 * before[0].u, 1e-9 * before[0].u);
	for (size_t i = 0; i < 10000; i++)
		live[i] = NAN; /* nothing was measured: nothing follows */
	MR_CHECK_OK(mr_costs_follow_run(&of, live, &c));
	mr_costs_of_stages(&of, &c, before);
	CU_ASSERT(!memcmp(before, after, sizeof(before)));
	free(live);
	mr_costs_fini(&c);
	close_all();
	open_gpt("", "data_parallel");
	MR_CHECK_OK(mr_costs_nominal(&of, &c));
	mr_costs_of_stages(&of, &c, before);
	live = made_up_run(&(mr_cost){2, before}, 1, 1, 0, 4);
	MR_CHECK_OK(mr_costs_follow_run(&of, live, &c));
	mr_costs_of_stages(&of, &c, after);
	CU_ASSERT_EQUAL(session.partition.n_stages, 1);
	CU_ASSERT_DOUBLE_EQUAL(after[0].u, 4 * before[0].u, 1e-9 * before[0].u);
	CU_ASSERT_DOUBLE_EQUAL(after[0].r, before[0].r, 1e-9 * before[0].r);
	CU_ASSERT_DOUBLE_EQUAL(after[0].f, before[0].f, 1e-9 * before[0].f);
	free(live);
	mr_costs_fini(&c);
	close_all();
}

static void a_file_of_costs_is_read_back(void)
{
	char path[300];
	mr_costs c, back;

	snprintf(path, sizeof(path), "%s", mr_test_file("costs.csv", "", 0));
	open_gpt("", "1f1b");
	MR_CHECK_OK(mr_costs_nominal(&of, &c));
	c.remote = (mr_handoff){8e-11, 1e-11};
	c.sum_s = 2e-10;
	c.norm_s = 3e-11;
	c.save_s = 4e-11;
	c.shared_s = 5e-10;
	c.average_s = 6e-10;
	c.hop_s = 7e-6;
	c.crowd_f = 1.125;
	c.spread = 0.125;
	c.error = -0.25;
	c.spreads[1] = 0.0625;
	c.crowd_b = 1.0625;
	c.layer[0].g = c.layer[0].w / 4;
	c.teams = calloc(1, sizeof(*c.teams));
	c.owns_teams = true;
	for (uint32_t k = 1; k <= 4; k *= 2) {
		mr_stage_cost *layer;

		MR_CHECK_OK(mr_team_costs_add(c.teams, session.graph->n_nodes, k, &layer));
		layer[2] = (mr_stage_cost){.f = 1.0 / k, .i = 2.0 / k, .w = 3.0 / k, .u = 4.0 / k};
	}
	MR_CHECK_OK(mr_costs_write(path, &of, &c));
	MR_CHECK_OK(mr_costs_read(path, &of, &back));
	CU_ASSERT_FATAL(back.teams && back.teams->n == 3 && back.teams->threads[2] == 4);
	CU_ASSERT(back.teams->layer[1][2].f == 0.5 && back.teams->layer[2][2].u == 1 && back.teams->layer[0][1].f == 0);
	CU_ASSERT(back.measured);
	CU_ASSERT(back.remote.read_s == 8e-11 && back.remote.write_s == 1e-11 && back.sum_s == 2e-10 &&
		  back.norm_s == 3e-11);
	CU_ASSERT(back.save_s == 4e-11 && back.shared_s == 5e-10 && back.average_s == 6e-10 && back.hop_s == 7e-6);
	CU_ASSERT_DOUBLE_EQUAL(back.spread, 0.125, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(back.error, -0.25, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(back.spreads[1], 0.0625, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(back.crowd_f, 1.125, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(back.crowd_b, 1.0625, 1e-3);
	CU_ASSERT_EQUAL(back.threads, 1);
	for (uint32_t i = 0; i < session.graph->n_nodes; i++) {
		const mr_stage_cost *a = &c.layer[i], *b = &back.layer[i];

		CU_ASSERT_DOUBLE_EQUAL(a->f, b->f, 1e-5 * a->f);
		CU_ASSERT_DOUBLE_EQUAL(a->i, b->i, 1e-5 * a->i);
		CU_ASSERT_DOUBLE_EQUAL(a->w, b->w, 1e-5 * a->w);
		CU_ASSERT_DOUBLE_EQUAL(a->u, b->u, 1e-5 * a->u);
		CU_ASSERT_DOUBLE_EQUAL(a->g, b->g, 1e-5 * a->g);
	}
	mr_costs_fini(&back);
	c.error = 216; /* of a step that others disturbed: what is written is read */
	snprintf(path, sizeof(path), "%s", mr_test_file("disturbed.csv", "", 0));
	MR_CHECK_OK(mr_costs_write(path, &of, &c));
	MR_CHECK_OK(mr_costs_read(path, &of, &back));
	CU_ASSERT_DOUBLE_EQUAL(back.error, 216, 1e-6);
	mr_costs_fini(&c);
	mr_costs_fini(&back);
	close_all();
}

/* What is above the minima, unless it is less than a timer can tell. */
static void spreads_are_parts_of_minima(void)
{
	CU_ASSERT_DOUBLE_EQUAL(mr_profile_spread(3e-3, 2e-3), 0.5, 1e-12);
	CU_ASSERT(mr_profile_spread(3e-6, 1e-6) == 0);
	CU_ASSERT(mr_profile_spread(1e-3, 0) == 0);
	CU_ASSERT(mr_profile_spread(1e-3, 1e-3) == 0);
}

/* Two workers that both host all stages go through all weights; with one pipe each goes through its share. */
static void crowded_stages_take_longer(void)
{
	static const struct {
		const char *system;
		double part; /* of what is beyond the share */
	} cases[] = {{"1f1b", 0}, {"data_parallel", 1}, {"chimera", 1}, {"local_sgd", 0}};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		mr_stage_cost plain[4], crowded[4];
		char text[1500];
		mr_costs c;

		snprintf(text, sizeof(text), TWO_MICRO, cases[k].system);
		open_text(text);
		CU_ASSERT_FATAL(session.partition.n_stages <= 4);
		MR_CHECK_OK(mr_costs_nominal(&of, &c));
		mr_costs_of_stages(&of, &c, plain);
		c.crowd_f = 1.5;
		c.crowd_b = 1.25;
		mr_costs_of_stages(&of, &c, crowded);
		for (uint16_t s = 0; s < session.partition.n_stages; s++) {
			CU_ASSERT_DOUBLE_EQUAL(crowded[s].f, plain[s].f * (1 + 0.5 * cases[k].part), 1e-12);
			CU_ASSERT_DOUBLE_EQUAL(crowded[s].i, plain[s].i * (1 + 0.25 * cases[k].part), 1e-12);
			CU_ASSERT_DOUBLE_EQUAL(crowded[s].w, plain[s].w * (1 + 0.25 * cases[k].part), 1e-12);
			CU_ASSERT_DOUBLE_EQUAL(crowded[s].u, plain[s].u, 1e-12);
		}
		mr_costs_fini(&c);
		close_all();
	}
}

/* --- forecast --- */

static void memory_is_compared_with_limit_and_nodes(void)
{
	mr_forecast f;

	open_text(MLP);
	MR_CHECK_OK(mr_session_forecast(&session, &f));
	CU_ASSERT(f.step_s >= f.busiest_s * (1 - 1e-9) && f.busiest_s >= f.busy_s);
	CU_ASSERT_EQUAL(f.bytes, mr_run_mapped_bytes(f.run));
	CU_ASSERT_EQUAL(f.node_bytes[0], f.bytes);
	for (uint16_t w = 0; w < f.run->n_workers; w++) {
		mr_region_look look = mr_region_look_up(&f.run->worker[w].region);

		CU_ASSERT(look.error || look.n_pages == 0); /* a plan is laid out, and none of it is touched */
	}
	MR_CHECK_OK(mr_session_forecast_fits(&session, &f));
	session.workers_limit = f.bytes;
	MR_CHECK_OK(mr_session_forecast_fits(&session, &f));
	session.workers_limit = f.bytes - 1;
	MR_CHECK_FAIL(mr_session_forecast_fits(&session, &f), MR_ERESOURCE, "the workers need");
	session.workers_limit = 0;
	session.program_bytes = session.topo.memory_bytes; /* the rest of the process has to fit as well */
	MR_CHECK_FAIL(mr_session_forecast_fits(&session, &f), MR_ERESOURCE, "the process needs");
	session.program_bytes = 0;
	f.node_bytes[0] = session.topo.node[0].memory_bytes + 1;
	MR_CHECK_FAIL(mr_session_forecast_fits(&session, &f), MR_ERESOURCE, "and the node has");
	mr_forecast_fini(&f);
	close_all();
}

static void equal_costs_give_the_known_step(void)
{
	char path[300];
	mr_forecast f;
	double error;
	mr_costs c;

	/* Two stages of f = i = w = 1 and no update, 2 micro-batches: (T + D - 1) * 3 from first to last. */
	snprintf(path, sizeof(path), "%s", mr_test_file("equal.csv", "", 0));
	open_text(MLP);
	MR_CHECK_OK(mr_costs_alloc(&of, &c));
	for (uint16_t s = 0; s < 2; s++)
		c.layer[session.partition.first[s]] = (mr_stage_cost){.f = 1, .i = 1, .w = 1};
	MR_CHECK_OK(mr_costs_write(path, &of, &c));
	mr_costs_fini(&c);
	f = (mr_forecast){.of = of};
	MR_CHECK_OK(mr_costs_read(path, &of, &f.costs));
	MR_CHECK_OK(mr_forecast_time(&f));
	CU_ASSERT_DOUBLE_EQUAL(f.walk->makespan, 9, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(f.busy_s, 6, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(f.busiest_s, 6, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(f.step_s, 9, 1e-9); /* the next F0 waits for the update after the last B */
	MR_CHECK_OK(mr_forecast_error(&of, &f.costs, 10.8, &error));
	CU_ASSERT_DOUBLE_EQUAL(error, 0.2, 1e-9);
	CU_ASSERT(isnan(f.costs.error)); /* the file has none */
	mr_forecast_fini(&f);
	close_all();
}

void mr_suite_forecast(void)
{
	MR_SUITE("forecast");
	MR_TEST(every_layer_is_measured);
	MR_TEST(steps_are_measured_where_they_are);
	MR_TEST(nominal_costs_are_those_of_the_partition);
	MR_TEST(boundaries_cost_reader_and_writer);
	MR_TEST(costs_follow_a_run);
	MR_TEST(a_file_of_costs_is_read_back);
	MR_TEST(spreads_are_parts_of_minima);
	MR_TEST(crowded_stages_take_longer);
	MR_TEST(memory_is_compared_with_limit_and_nodes);
	MR_TEST(equal_costs_give_the_known_step);
}
