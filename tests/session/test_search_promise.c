/*
 * test_search_promise.c - for the costs and the bytes given, search is never worse than a system with one pipe that
 * flushes, whatever its chunks: by the step that plan predicts, over random costs, memory limits, workers and micro-batches.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "config/config_help.h"
#include "session/forecast.h"

#define N_CASES 24
#define MODEL \
	"model = { name = \"mlp\"; hidden = [12, 8, 16, 8, 12, 8, 16]; };\n" \
	"data = { name = \"synthetic\"; features = 8; classes = 4; samples = 100; };\n" \
	"optimizer = { name = \"momentum\"; }; system = { name = \"%s\"; %s };\n" \
	"train = { steps = 2; batch = 24; microbatches = %u; lr = 0.01; clip = %g; };\n" \
	"machine = { workers = %u; threads = 1; topology = \"core:4 pu:1\"; memory_limit = %llu; };\n" \
	"costs = \"%s\"; backend = \"reference\"; dtype = \"f64\";\n"

typedef struct one_case {
	char costs[300];
	uint32_t n_micro, n_workers;
	double clip;
	unsigned long long limit;
} one_case;

/* The predicted step of @system, INFINITY where it cannot run or does not fit; @bytes may be NULL. */
static double step_of(const one_case *c, const char *system, const char *options, uint64_t *bytes)
{
	double step = INFINITY;
	char text[1600];
	mr_config *config = NULL;
	mr_strbuf report;
	mr_session s;
	mr_forecast f;

	snprintf(text, sizeof(text), MODEL, system, options, c->n_micro, c->clip, c->n_workers, c->limit, c->costs);
	mr_strbuf_init(&report);
	if (mr_test_load(text, strlen(text), NULL, 0, &report, &config) == MR_OK) {
		if (mr_session_open(mr_config_job(config), &s) == MR_OK) {
			MR_CHECK_OK(mr_forecast_init(&f, &s));
			step = mr_forecast_fits(&f) == MR_OK ? f.step_s : INFINITY;
			if (bytes)
				*bytes = f.bytes;
			mr_forecast_fini(&f);
			mr_session_close(&s);
		}
		mr_config_destroy(config);
	}
	mr_strbuf_fini(&report);
	return step;
}

static double draw(unsigned k, unsigned what, double least, double most)
{
	return least * pow(most / least, mr_rng_uniform(7, MR_RNG_TEST, k, what, 0));
}

/* Costs that no machine has: anything from 1 to 20 for each half of each layer, and now and then a dear hand-over. */
static void write_costs(unsigned k, one_case *c)
{
	char text[1600];
	mr_config *config;
	mr_strbuf report;
	mr_session s;
	mr_costs costs;

	snprintf(c->costs, sizeof(c->costs), "%s", mr_test_file("costs.csv", "", 0));
	snprintf(text, sizeof(text), MODEL, "1f1b", "", c->n_micro, c->clip, c->n_workers, 0ull, "");
	mr_strbuf_init(&report);
	MR_CHECK_OK(mr_test_load(text, strlen(text), NULL, 0, &report, &config));
	mr_strbuf_fini(&report);
	MR_CHECK_OK(mr_session_open(mr_config_job(config), &s));
	MR_CHECK_OK(mr_costs_alloc(&s, &costs));
	for (uint32_t i = 0; i < s.graph->n_nodes; i++)
		costs.layer[i] = (mr_layer_cost){.f = draw(k, 4 * i, 1e-6, 2e-5), .i = draw(k, 4 * i + 1, 1e-6, 2e-5),
						 .w = draw(k, 4 * i + 2, 1e-6, 2e-5), .u = draw(k, 4 * i + 3, 1e-7, 1e-5)};
	costs.hop_s = k % 3 ? 0 : draw(k, 1000, 1e-7, 2e-5);
	costs.remote.read_s = k % 4 ? 0 : 1e-8;
	MR_CHECK_OK(mr_costs_write(c->costs, &s, &costs));
	mr_costs_fini(&costs);
	mr_session_close(&s);
	mr_config_destroy(config);
}

/* The best of all systems with one pipe, at any number of chunks; *@bytes is what it needs. */
static double best_by_name(const one_case *c, const char **name, uint64_t *bytes)
{
	static const char *const fixed[] = {"naive", "gpipe", "1f1b", "dapple", "zb_h1", "zb_h2", "zb_auto", "zb_v", "1f1b_v",
					    "v_half", "v_min", "dualpipe_v", "hanayo"};
	static const char *const chosen[] = {"interleaved", "looped_bfs", "interleaved_zb"};
	double best = INFINITY;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]) + 4 * sizeof(chosen) / sizeof(chosen[0]); i++) {
		size_t k = i - sizeof(fixed) / sizeof(fixed[0]);
		bool is_fixed = i < sizeof(fixed) / sizeof(fixed[0]);
		const char *system = is_fixed ? fixed[i] : chosen[k / 4];
		char options[40] = "";
		uint64_t need = 0;
		double step;

		if (!is_fixed)
			snprintf(options, sizeof(options), "chunks = %zu;", k % 4 + 1);
		step = step_of(c, system, options, &need);
		if (step < best) {
			best = step;
			*name = system;
			*bytes = need;
		}
	}
	return best;
}

static void search_keeps_its_promise(void)
{
	unsigned better = 0, limited = 0;

	for (unsigned k = 0; k < N_CASES; k++) {
		one_case c = {.n_micro = k % 2 ? 8 : 4, .n_workers = 2 + k % 3, .clip = k % 5 ? 0 : 1};
		const char *name = "";
		uint64_t bytes = 0, least = 0;
		double best, search;

		write_costs(k, &c);
		best = best_by_name(&c, &name, &bytes);
		CU_ASSERT_FATAL(best < INFINITY);
		search = step_of(&c, "search", "tries = 20;", NULL);
		if (!(search <= best * (1 + 1e-9)))
			printf("case %u: search %g, %s %g\n", k, search, name, best);
		CU_ASSERT(search <= best * (1 + 1e-9));
		better += search < best * (1 - 1e-9);
		/* Less memory than what the best had, and as much as one stage a worker takes. */
		step_of(&c, "1f1b", "", &least);
		c.limit = k % 2 ? least : (least + bytes) / 2;
		best = best_by_name(&c, &name, &bytes);
		search = step_of(&c, "search", "tries = 20;", NULL);
		if (!(search <= best * (1 + 1e-9)))
			printf("case %u, %llu bytes: search %g, %s %g\n", k, c.limit, search, name, best);
		CU_ASSERT(search <= best * (1 + 1e-9));
		limited += best < INFINITY;
	}
	CU_ASSERT(better >= N_CASES / 4);
	CU_ASSERT(limited >= N_CASES / 2);
	mr_test_files_remove();
}

void mr_suite_search_promise(void); /* the runner declares it too */

void mr_suite_search_promise(void)
{
	MR_SUITE("search_promise");
	MR_TEST(search_keeps_its_promise);
}
