/*
 * steps.c - whole training steps of every system, side by side.
 *
 *	steps [--tiny | --list] [--rounds N] [--case NAME] [--json FILE]        FILE gets the same figures as the tables
 *
 * For each case all systems are built in this one process and take turns: a round times a burst of steps of each, in an
 * order that rotates. Before and after every burst a cache-line ping-pong tells whether the two cores share a cache now (NEAR,
 * about 50 ns one way) or not (FAR, about 250 ns): virtual machines move. Bursts that saw both are dropped; medians are reported
 * per placement. `A` is sequential on all cores with threads inside the operators, the thing to beat; it runs twice in each round,
 * and the spread of that pair is the noise below which a ratio means nothing.
 *
 * What is timed is what trains: the session of `millrace train`, the engine's one step loop. The hash of each plan is printed,
 * and afterwards the weights of every pipeline are compared, bit for bit, with the single-thread replay of as many steps.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/str.h"
#include "cli/session.h"
#include "host/clock.h"
#include "host/env.h"
#include "host/probe.h"
#include "run/replay.h"

enum { MAX_ROUNDS = 64, N_SYSTEMS = 7 };

typedef struct bench_case {
	const char *name, *what;
	const char *model, *data, *optimizer;
	const char *backend;
	int batch, micro; /* micro: of the synchronous pipelines */
	int burst;        /* steps timed at once */
} bench_case;

#define MLP(hidden) "name = \"mlp\"; hidden = " hidden ";"
#define DATA(features) "name = \"synthetic\"; features = " features "; classes = 10; samples = 4096;"
#define GPT(layers, width, heads) \
	"name = \"gpt\"; layers = " layers "; width = " width "; heads = " heads "; context = 128;"
#define X16(w) "[" w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "," w "]"
#define SOURCES "name = \"sources\"; root = "
#define TOKENS "name = \"tokens\"; format = \"nanogpt\"; vocab = 512; path = " /* random ones, see configure */
#define MOMENTUM "name = \"momentum\";"
#define ADAMW "name = \"adamw\";"

static const bench_case cases[] = {
	{"mlp1024-b32", "mlp 784-1024x6-10", MLP("[1024, 1024, 1024, 1024, 1024, 1024]"), DATA("784"), MOMENTUM, "dnnl", 32, 2, 20},
	{"mlp1024-b128", "mlp 784-1024x6-10", MLP("[1024, 1024, 1024, 1024, 1024, 1024]"), DATA("784"), MOMENTUM, "dnnl", 128, 8, 8},
	{"mlp128-b8", "mlp 128-128x16-10 (small operators)", MLP(X16("128")), DATA("128"), MOMENTUM, "dnnl", 8, 2, 400},
	{"mlp128-b16", "mlp 128-128x16-10 (small operators)", MLP(X16("128")), DATA("128"), MOMENTUM, "dnnl", 16, 2, 400},
	{"mlp128-b32", "mlp 128-128x16-10 (small operators)", MLP(X16("128")), DATA("128"), MOMENTUM, "dnnl", 32, 2, 300},
	{"mlp256-b16", "mlp 256-256x16-10 (small operators)", MLP(X16("256")), DATA("256"), MOMENTUM, "dnnl", 16, 2, 150},
	{"gpt128-b16", "gpt 4 layers, 128 wide, context 128", GPT("4", "128", "4"), SOURCES, ADAMW, "dnnl", 16, 4, 4},
	{"gpt256-b8", "gpt 4 layers, 256 wide, context 128, vocabulary 512", GPT("4", "256", "4"), TOKENS, ADAMW, "dnnl", 8, 4, 3},
	{0},
};

static const bench_case tiny = {
	"tiny", "mlp 8-16x4-10", MLP("[16, 16, 16, 16]"), DATA("8"), MOMENTUM, "reference", 8, 2, 3};

typedef struct contender {
	const char *label, *system, *extra; /* extra: keys of the system group */
	int workers, threads;
	bool micro;                         /* takes the case's micro-batches */
	mr_config *config;
	mr_session s;
	uint64_t steps;
	double near[MAX_ROUNDS], far[MAX_ROUNDS]; /* ms a step */
	size_t n_near, n_far;
} contender;

static const contender line_up[N_SYSTEMS] = {
	{.label = "1 thread", .system = "sequential", .workers = 1, .threads = 1},
	{.label = "A", .system = "sequential", .workers = 1, .threads = 2},
	{.label = "A again", .system = "sequential", .workers = 1, .threads = 2},
	{.label = "gpipe", .system = "gpipe", .workers = 2, .threads = 1, .micro = true},
	{.label = "1f1b", .system = "1f1b", .workers = 2, .threads = 1, .micro = true},
	{.label = "pipedream", .system = "pipedream", .workers = 2, .threads = 1},
	{.label = "pipedream, vertical sync", .system = "pipedream", .extra = "vertical_sync = true;", .workers = 2, .threads = 1},
};

static mr_json_writer json;
static FILE *json_file; /* NULL: not wanted */

static void put_number(const char *key, double x)
{
	mr_json_key(&json, key);
	mr_json_put_double(&json, x);
}

static void check(mr_status st, const char *what)
{
	if (st == MR_OK)
		return;
	fprintf(stderr, "steps: %s: %s\n", what, mr_error_text());
	exit(mr_status_exit_code(st));
}

#define TEMPORARY "/tmp/millrace-steps-XXXXXX"

static FILE *temporary(char path[sizeof(TEMPORARY)])
{
	int fd = mkstemp(strcpy(path, TEMPORARY));
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f) {
		perror("steps: cannot write a temporary file");
		exit(1);
	}
	return f;
}

/* Random 16-bit tokens: what they say does not change how long a step takes. */
static void write_tokens(char path[sizeof(TEMPORARY)])
{
	FILE *f = temporary(path);

	for (uint64_t i = 0; i < 200000; i++) {
		uint16_t t = (uint16_t)(mr_rng_u32(1, MR_RNG_TEST, 0, 0, i) % 512);

		fwrite(&t, sizeof(t), 1, f);
	}
	fclose(f);
}

/* A configuration as `millrace train` would read it. */
static void configure(contender *x, const bench_case *c)
{
	char path[sizeof(TEMPORARY)], tokens[sizeof(TEMPORARY)] = "", where[4096] = "";
	FILE *f = temporary(path);
	mr_strbuf mistakes;

	if (!strcmp(c->data, TOKENS)) {
		write_tokens(tokens);
		snprintf(where, sizeof(where), "\"%s\";", tokens);
	} else if (!strcmp(c->data, SOURCES)) {
		char root[4000];

		snprintf(where, sizeof(where), "\"%s\";", getcwd(root, sizeof(root)) ? root : ".");
	}
	fprintf(f, "backend = \"%s\";\nmodel = { %s };\ndata = { %s %s };\noptimizer = { %s };\n", c->backend, c->model, c->data, where,
		c->optimizer);
	fprintf(f, "system = { name = \"%s\"; %s };\n", x->system, x->extra ? x->extra : "");
	fprintf(f, "train = { steps = 1000000; batch = %d; microbatches = %d; lr = 1e-4; };\n", c->batch, x->micro ? c->micro : 1);
	fprintf(f, "machine = { workers = %d; threads = %d; };\n", x->workers, x->threads);
	fclose(f);
	mr_strbuf_init(&mistakes);
	if (mr_config_load(path, NULL, 0, &mistakes, &x->config) != MR_OK) {
		fprintf(stderr, "steps: %s\n%s\n", mr_error_text(), mr_strbuf_text(&mistakes));
		exit(3);
	}
	mr_strbuf_fini(&mistakes);
	unlink(path);
	check(mr_session_open(x->config, &x->s), x->label);
	if (*tokens)
		unlink(tokens); /* open has read all of it */
	check(mr_session_start(&x->s, NULL), x->label);
}

static void run_steps(contender *x, uint64_t n)
{
	uint64_t reached;

	check(mr_executor_run(&x->s.executor, x->steps + n, NULL, NULL, &reached), x->label);
	x->steps = reached;
}

/* NEAR, FAR, or -1 when only one core is there to ask. */
static int placement(const mr_topo *t)
{
	mr_probe_pingpong p;

	if (t->n_usable < 2)
		return -1;
	check(mr_probe_pair(t->core[0].cpu, t->core[1].cpu, 2000, &p), "probe");
	return (int)p.distance;
}

static void burst(contender *x, const bench_case *c, const mr_topo *t)
{
	int before = placement(t);
	uint64_t begin = mr_clock_ns();
	double ms;

	run_steps(x, (uint64_t)c->burst);
	ms = (double)(mr_clock_ns() - begin) / 1e6 / c->burst;
	if (before != placement(t))
		return;
	if (before == MR_PROBE_FAR)
		x->far[x->n_far++] = ms;
	else
		x->near[x->n_near++] = ms;
}

static void prove(contender *x)
{
	mr_run_config rc = mr_session_run_config(&x->s, NULL);
	mr_replay *r;
	mr_state a, b;
	uint64_t ha, hb;

	if (!x->s.plan)
		return;
	check(mr_replay_create(&rc, &r), "replay");
	check(mr_replay_run(r, x->steps, MR_REPLAY_ROUND_ROBIN, 0), "replay");
	check(mr_executor_state(&x->s.executor, &a), "state");
	check(mr_state_of_run(mr_replay_run_of(r), &b), "state");
	ha = mr_state_hash(&a);
	hb = mr_state_hash(&b);
	mr_state_fini(&a);
	mr_state_fini(&b);
	mr_replay_destroy(r);
	printf("  %-26s plan %016" PRIx64 "  weights after %" PRIu64 " steps %016" PRIx64 "  %s\n", x->label, mr_plan_hash(x->s.plan),
	       x->steps, ha, ha == hb ? "= replay" : "DIFFER FROM THE REPLAY");
	if (ha != hb)
		exit(1);
	if (json_file) {
		char hash[2][20];

		snprintf(hash[0], sizeof(hash[0]), "%016" PRIx64, mr_plan_hash(x->s.plan));
		snprintf(hash[1], sizeof(hash[1]), "%016" PRIx64, ha);
		mr_json_begin_object(&json);
		mr_json_key(&json, "system");
		mr_json_put_string(&json, x->label);
		mr_json_key(&json, "plan");
		mr_json_put_string(&json, hash[0]);
		mr_json_key(&json, "weights");
		mr_json_put_string(&json, hash[1]);
		put_number("steps", (double)x->steps);
		mr_json_end_object(&json);
	}
}

static void print_row(const contender *x, const contender *a, bool far, int batch, double flops, double peak)
{
	double mine[MAX_ROUNDS], theirs[MAX_ROUNDS], ms, ratio;
	size_t n = far ? x->n_far : x->n_near, na = far ? a->n_far : a->n_near;

	if (n == 0 || na == 0)
		return;
	memcpy(mine, far ? x->far : x->near, n * sizeof(*mine));
	memcpy(theirs, far ? a->far : a->near, na * sizeof(*theirs));
	ms = mr_median(mine, n);
	ratio = mr_median(theirs, na) / ms;
	if (json_file) {
		mr_json_begin_object(&json);
		mr_json_key(&json, "system");
		mr_json_put_string(&json, x->label);
		put_number("workers", x->workers);
		put_number("threads", x->threads);
		mr_json_key(&json, "placement");
		mr_json_put_string(&json, far ? "FAR" : "NEAR");
		put_number("samples", (double)n);
		put_number("ms", ms);
		put_number("ms_quartile_1", mr_quantile(mine, n, 0.25));
		put_number("ms_quartile_3", mr_quantile(mine, n, 0.75));
		put_number("samples_per_second", 1e3 * batch / ms);
		put_number("gflops", flops / ms / 1e6);
		put_number("percent_of_peak", 100 * flops / ms / 1e6 / peak);
		put_number("a_over_this", ratio);
		mr_json_end_object(&json);
	}
	printf("  %-26s %-5s %3zu  %9.3f  %9.3f  %9.3f  %9.0f  %7.1f  %5.1f %%  x%.2f\n", x->label, far ? "FAR" : "NEAR", n,
	       ms, mr_quantile(mine, n, 0.25), mr_quantile(mine, n, 0.75), 1e3 * batch / ms, flops / ms / 1e6,
	       100 * flops / ms / 1e6 / peak, ratio);
}

static void begin_case(const bench_case *c, double peak, const char *isa)
{
	if (!json_file)
		return;
	mr_json_begin_object(&json);
	mr_json_key(&json, "case");
	mr_json_put_string(&json, c->name);
	mr_json_key(&json, "what");
	mr_json_put_string(&json, c->what);
	put_number("batch", c->batch);
	put_number("microbatches", c->micro);
	put_number("peak_gflops", peak);
	mr_json_key(&json, "isa");
	mr_json_put_string(&json, isa);
	mr_json_key(&json, "rows");
	mr_json_begin_array(&json);
}

static void run_case(const bench_case *c, int rounds, const mr_topo *t)
{
	contender x[N_SYSTEMS];
	double flops, peak;
	const char *isa;

	memcpy(x, line_up, sizeof(x));
	printf("%s: %s, batch %d, %d micro-batches for the synchronous pipelines\n", c->name, c->what, c->batch, c->micro);
	for (int i = 0; i < N_SYSTEMS; i++) {
		if ((uint32_t)x[i].threads > t->n_usable)
			x[i].threads = (int)t->n_usable;
		configure(&x[i], c);
		run_steps(&x[i], (uint64_t)c->burst);
	}
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < N_SYSTEMS; i++)
			burst(&x[(i + r) % N_SYSTEMS], c, t);
	peak = mr_probe_peak_gflops(&isa) * (t->n_usable < 2 ? 1 : 2);
	flops = mr_graph_flops_train(x[0].s.graph) * c->batch;
	printf("  %-26s %-5s %3s  %9s  %9s  %9s  %9s  %7s  %7s  %s\n", "system", "place", "n", "ms/step", "quartile", "quartile",
	       "samples/s", "GFLOP/s", "of peak", "A/this");
	begin_case(c, peak, isa);
	for (int far = 0; far < 2; far++)
		for (int i = 0; i < N_SYSTEMS; i++)
			print_row(&x[i], &x[1], far, c->batch, flops, peak);
	if (json_file) {
		mr_json_end_array(&json);
		mr_json_key(&json, "plans");
		mr_json_begin_array(&json);
	}
	printf("  peak %.0f GFLOP/s (two cores, %s)\n", peak, isa);
	for (int i = 0; i < N_SYSTEMS; i++)
		prove(&x[i]);
	if (json_file) {
		mr_json_end_array(&json);
		mr_json_end_object(&json);
	}
	for (int i = 0; i < N_SYSTEMS; i++) {
		mr_session_close(&x[i].s);
		mr_config_destroy(x[i].config);
	}
	fflush(stdout);
}

static void begin_json(const char *path)
{
	if (!path)
		return;
	json_file = fopen(path, "we");
	if (!json_file) {
		perror(path);
		exit(1);
	}
	mr_json_init(&json, json_file, true);
	mr_json_begin_object(&json);
	mr_json_key(&json, "kernels");
	mr_json_put_string(&json, mr_kernels_library());
	mr_json_key(&json, "cases");
	mr_json_begin_array(&json);
}

static void end_json(const char *path)
{
	if (!path)
		return;
	mr_json_end_array(&json);
	mr_json_end_object(&json);
	check(mr_json_finish(&json), path);
	if (fclose(json_file)) {
		perror(path);
		exit(1);
	}
	printf("written to %s\n", path);
}

int main(int argc, char **argv)
{
	int rounds = 7;
	const char *only = NULL;
	const char *json_path = NULL;
	bool small = false;
	mr_topo t;
	mr_env_params env = {.argv = argv};

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--tiny"))
			small = true;
		else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			rounds = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--case") && i + 1 < argc)
			only = argv[++i];
		else if (!strcmp(argv[i], "--json") && i + 1 < argc)
			json_path = argv[++i];
		else if (!strcmp(argv[i], "--list")) {
			for (const bench_case *c = cases; c->name; c++)
				puts(c->name);
			return 0;
		} else {
			fprintf(stderr, "usage: steps [--tiny | --list] [--rounds N] [--case NAME] [--json FILE]\n");
			return 2;
		}
	}
	if (rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "steps: --rounds expects 1 to %d\n", MAX_ROUNDS);
		return 2;
	}
	check(mr_env_prepare(&env), "environment");
	check(mr_topo_detect(&t), "topology");
	printf("kernels: %s\n", mr_kernels_library());
	begin_json(json_path);
	if (small)
		run_case(&tiny, 2, &t);
	for (const bench_case *c = cases; !small && c->name; c++)
		if (!only || !strcmp(only, c->name))
			run_case(c, rounds, &t);
	mr_topo_fini(&t);
	end_json(json_path);
	return 0;
}
