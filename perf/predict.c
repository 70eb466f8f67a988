/*
 * predict.c - the simulator against the engine: how long a step should take, by a measured profile, and how long it takes.
 *
 *	predict [--tiny] [--conf FILE] [--set KEY=VALUE]... [--workers N] [--rounds N] [--seconds S] [--json FILE]
 *
 * Every system that flushes trains the model of FILE (conf/mlp.cfg) on N workers (2) of one thread, all with the same
 * micro-batches. All engines stand ready in this one process. A round measures the layers (what `millrace profile` does, S
 * seconds a stage, with the other workers idle and again with all at once) and then lets each engine do a burst of steps, in an order that rotates; whoever is not timed stands still.
 * The two predictions are those of `millrace plan --costs`: the median layer times through the walk of the system's plan. The
 * measured step is the median distance of commits inside a burst, without the first, in which the pipeline fills. Before and after
 * each burst a cache-line ping-pong tells the placement of the cores (NEAR or FAR, host/probe.h); bursts that saw both are
 * dropped, and profiles and bursts are only compared within one placement.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/stats.h"
#include "cli/plan_report.h"
#include "host/clock.h"
#include "host/env.h"
#include "host/probe.h"
#include "run/profile.h"
#include "schedules/registry.h"

enum { ALONE, TOGETHER, N_KINDS };

enum { MAX_SETS = 32, MAX_SYSTEMS = 64, MAX_ROUNDS = 32, WARM = 10, LEAST_STEPS = 12, SKIP = 2, N_PLACES = 2 };

#define SETTLE_NS 10000000u /* idle teams spin for some milliseconds before they sleep */
#define BURST_S 0.3

typedef struct contender {
	const char *name;
	mr_config *config;
	mr_session s;
	uint64_t steps, burst;
	double ms[N_PLACES][MAX_ROUNDS];
	size_t n[N_PLACES];
} contender;

typedef struct bench {
	const char *conf, *json;
	const char *set[MAX_SETS];
	uint32_t n_sets;
	char workers[64];
	int rounds;
	double seconds;
	bool tiny;
	mr_config *config;
	mr_session base;
	contender all[MAX_SYSTEMS];
	size_t n;
	mr_costs costs[N_KINDS][N_PLACES][MAX_ROUNDS];
	size_t n_costs[N_KINDS][N_PLACES];
} bench;

static bench the_bench;

static void check(mr_status st, const char *what)
{
	if (st == MR_OK)
		return;
	fprintf(stderr, "predict: %s: %s\n", what, mr_error_text());
	exit(mr_status_exit_code(st));
}

/* --- building --- */

static mr_status load(const bench *b, const char *system, mr_config **config)
{
	const char *sets[MAX_SETS + 4];
	char name[64];
	uint32_t n = 0;
	mr_strbuf mistakes;
	mr_status st;

	for (; n < b->n_sets; n++)
		sets[n] = b->set[n];
	sets[n++] = b->workers;
	sets[n++] = "machine.threads=1";
	if (system) {
		snprintf(name, sizeof(name), "system.name=%s", system);
		sets[n++] = name;
	}
	mr_strbuf_init(&mistakes);
	st = mr_config_load(b->conf, sets, n, &mistakes, config);
	if (st != MR_OK && *mr_strbuf_text(&mistakes))
		mr_error_set("%.*s", (int)strcspn(mr_strbuf_text(&mistakes), "\n"), mr_strbuf_text(&mistakes));
	mr_strbuf_fini(&mistakes);
	return st;
}

/* A step is as long as a burst of a few says. */
static mr_status warm_up(const bench *b, contender *x)
{
	uint64_t begin = mr_clock_ns();
	double step;

	MR_TRY(mr_executor_run(&x->s.executor, WARM, NULL, NULL, &x->steps));
	step = (double)(mr_clock_ns() - begin) / 1e9 / WARM;
	x->burst = b->tiny ? LEAST_STEPS : (uint64_t)fmax(LEAST_STEPS, BURST_S / step);
	return MR_OK;
}

static mr_status open_one(const bench *b, contender *x)
{
	mr_status st;

	MR_TRY(load(b, x->name, &x->config));
	st = mr_session_open_beside(x->config, &b->base, &x->s);
	if (st == MR_OK)
		st = mr_session_start(&x->s, NULL);
	if (st == MR_OK)
		st = warm_up(b, x);
	if (st != MR_OK) {
		mr_session_close(&x->s);
		mr_config_destroy(x->config);
	}
	return st;
}

static void open_all(bench *b)
{
	check(load(b, NULL, &b->config), b->conf);
	check(mr_session_open(b->config, &b->base), b->conf);
	if (!b->base.plan || b->base.plan->contract.flush == MR_FLUSH_NONE) {
		fprintf(stderr, "predict: %s: the system of the configuration must flush\n", b->conf);
		exit(3);
	}
	for (size_t i = 0; mr_schedule_at(i) && b->n < MAX_SYSTEMS; i++) {
		contender *x = &b->all[b->n];

		if (mr_schedule_at(i)->asynchronous)
			continue;
		*x = (contender){.name = mr_schedule_at(i)->name};
		if (open_one(b, x) == MR_OK)
			b->n++;
		else
			printf("%-16s left out: %s\n", x->name, mr_error_text());
	}
}

/* --- measuring --- */

/* NEAR, also when only one core is there to ask; FAR; or -1: others keep the cores so busy that none can tell. */
static int placement(const bench *b)
{
	const mr_topo *t = &b->base.topo;
	mr_probe_pingpong p;

	if (t->n_usable < 2)
		return MR_PROBE_NEAR;
	return mr_probe_pair(t->core[0].cpu, t->core[1].cpu, 2000, &p) == MR_OK ? (int)p.distance : -1;
}

static void measure_layers(bench *b, int kind)
{
	mr_run_config c = mr_session_run_config(&b->base, NULL);
	int before = placement(b);
	mr_profile p;
	mr_costs costs;

	check(mr_profile_measure(&c, b->base.n_micro, b->seconds, kind == TOGETHER, &p), "profile");
	check(mr_costs_of_profile(&b->base, &p, &costs), "profile");
	mr_profile_fini(&p);
	if (before >= 0 && before == placement(b))
		b->costs[kind][before][b->n_costs[kind][before]++] = costs;
	else
		mr_costs_fini(&costs);
}

/* When the commits of a burst were. */
typedef struct commits {
	uint64_t first;
	double *ns; /* [n] */
	size_t n;
} commits;

static bool note(void *arg, const mr_step_rec *rec)
{
	commits *c = arg;

	if (rec && rec->step > c->first)
		c->ns[c->n++] = (double)rec->time_ns;
	return true;
}

/* The median distance of two commits: a pause that the machine makes is in few of them. */
static double step_ms(commits *c)
{
	for (size_t i = 0; i + 1 < c->n; i++)
		c->ns[i] = c->ns[i + 1] - c->ns[i];
	return mr_median(c->ns, c->n - 1) / 1e6;
}

static void burst(const bench *b, contender *x)
{
	commits c = {.first = x->steps + SKIP, .ns = calloc(x->burst, sizeof(*c.ns))};
	int before;

	if (!c.ns)
		exit(6);
	mr_clock_sleep(SETTLE_NS);
	before = placement(b);
	check(mr_executor_run(&x->s.executor, x->steps + x->burst, note, &c, &x->steps), x->name);
	if (before >= 0 && before == placement(b))
		x->ms[before][x->n[before]++] = step_ms(&c);
	free(c.ns);
}

/* --- comparing --- */

static double median_of(const bench *b, int kind, int place, uint32_t layer, size_t field)
{
	double x[MAX_ROUNDS];

	for (size_t i = 0; i < b->n_costs[kind][place]; i++)
		x[i] = ((const double *)&b->costs[kind][place][i].layer[layer])[field];
	return mr_median(x, b->n_costs[kind][place]);
}

enum { READ, WRITE, SUM, NORM };

static double median_rate(const bench *b, int kind, int place, int which)
{
	double x[MAX_ROUNDS];

	for (size_t i = 0; i < b->n_costs[kind][place]; i++) {
		const mr_costs *c = &b->costs[kind][place][i];

		x[i] = which == READ ? c->remote.read_s : which == WRITE ? c->remote.write_s : which == SUM ? c->sum_s : c->norm_s;
	}
	return mr_median(x, b->n_costs[kind][place]);
}

static void median_costs(const bench *b, int kind, int place, mr_costs *out)
{
	_Static_assert(sizeof(mr_layer_cost) == 5 * sizeof(double), "five times");
	check(mr_costs_nominal(&b->base, out), "costs");
	out->remote = (mr_hand_over){median_rate(b, kind, place, READ), median_rate(b, kind, place, WRITE)};
	out->sum_s = median_rate(b, kind, place, SUM);
	out->norm_s = median_rate(b, kind, place, NORM);
	for (uint32_t i = 0; i < b->base.graph->n_nodes; i++)
		out->layer[i] = (mr_layer_cost){median_of(b, kind, place, i, 0), median_of(b, kind, place, i, 1),
						median_of(b, kind, place, i, 2), median_of(b, kind, place, i, 3),
						median_of(b, kind, place, i, 4)};
}

/* NAN without a profile of that kind at that placement. */
static double predict_ms(const bench *b, const contender *x, int kind, int place)
{
	mr_forecast f = {.s = &x->s};
	double ms;

	if (!b->n_costs[kind][place])
		return NAN;
	median_costs(b, kind, place, &f.costs);
	check(mr_forecast_time(&f), x->name);
	ms = f.step_s * 1e3;
	mr_forecast_fini(&f);
	return ms;
}

static void put_one(mr_json_writer *json, const char *name, int place, const double *predicted, const mr_quartiles *q, size_t n)
{
	static const char *const kinds[] = {"alone", "together"};

	mr_json_begin_object(json);
	mr_json_key(json, "system");
	mr_json_put_string(json, name);
	mr_json_key(json, "placement");
	mr_json_put_string(json, mr_probe_name((mr_probe_distance)place));
	for (int kind = 0; kind < N_KINDS; kind++) {
		mr_json_key(json, kinds[kind]);
		mr_json_begin_object(json);
		mr_json_key(json, "predicted_ms");
		mr_json_put_double(json, predicted[kind]);
		mr_json_key(json, "error");
		mr_json_put_double(json, predicted[kind] / q->median - 1);
		mr_json_end_object(json);
	}
	mr_json_key(json, "measured_ms");
	mr_json_put_double(json, q->median);
	mr_json_key(json, "measured_q1_ms");
	mr_json_put_double(json, q->q1);
	mr_json_key(json, "measured_q3_ms");
	mr_json_put_double(json, q->q3);
	mr_json_key(json, "bursts");
	mr_json_put_uint(json, n);
	mr_json_end_object(json);
}

/* Absolute errors of each kind. */
typedef struct errors {
	double at[N_KINDS][N_PLACES * MAX_SYSTEMS];
	size_t n[N_KINDS];
} errors;

/* The table of one placement. */
static void compare(bench *b, int place, mr_json_writer *json, errors *e)
{
	if (!b->n_costs[ALONE][place] && !b->n_costs[TOGETHER][place])
		return;
	printf("\n%s: %zu profiles alone, %zu together\n%-16s %12s %21s %12s %8s %12s %8s\n",
	       mr_probe_name((mr_probe_distance)place), b->n_costs[ALONE][place], b->n_costs[TOGETHER][place], "system",
	       "measured ms", "(quartiles)", "alone ms", "error", "together ms", "error");
	for (size_t i = 0; i < b->n; i++) {
		contender *x = &b->all[i];
		mr_quartiles q = mr_quartiles_of(x->ms[place], x->n[place]);
		double predicted[N_KINDS];

		if (!x->n[place])
			continue;
		printf("%-16s %12.4f  (%.4f to %.4f)", x->name, q.median, q.q1, q.q3);
		for (int kind = 0; kind < N_KINDS; kind++) {
			predicted[kind] = predict_ms(b, x, kind, place);
			printf(" %12.4f %+7.1f%%", predicted[kind], 100 * (predicted[kind] / q.median - 1));
			if (!isnan(predicted[kind]))
				e->at[kind][e->n[kind]++] = fabs(predicted[kind] / q.median - 1);
		}
		putchar('\n');
		if (json)
			put_one(json, x->name, place, predicted, &q, x->n[place]);
	}
}

static void report(bench *b)
{
	static errors e;
	FILE *f = b->json ? fopen(b->json, "we") : NULL;
	char machine[512];
	mr_json_writer w;

	if (b->json && !f) {
		perror(b->json);
		exit(1);
	}
	if (f) {
		mr_json_init(&w, f, true);
		mr_json_begin_object(&w);
		mr_json_key(&w, "machine");
		mr_json_put_string(&w, mr_topo_print(&b->base.topo, machine, sizeof(machine)));
		mr_json_key(&w, "configuration");
		mr_json_put_string(&w, b->conf);
		mr_json_key(&w, "micro_batches");
		mr_json_put_uint(&w, b->base.n_micro);
		mr_json_key(&w, "systems");
		mr_json_begin_array(&w);
	}
	for (int place = 0; place < N_PLACES; place++)
		compare(b, place, f ? &w : NULL, &e);
	printf("\nmedian error %.1f%% over %zu by profiles of workers alone, %.1f%% over %zu by profiles of all together\n",
	       100 * mr_median(e.at[ALONE], e.n[ALONE]), e.n[ALONE], 100 * mr_median(e.at[TOGETHER], e.n[TOGETHER]), e.n[TOGETHER]);
	if (!f)
		return;
	mr_json_end_array(&w);
	mr_json_key(&w, "median_error_alone");
	mr_json_put_double(&w, mr_median(e.at[ALONE], e.n[ALONE]));
	mr_json_key(&w, "median_error_together");
	mr_json_put_double(&w, mr_median(e.at[TOGETHER], e.n[TOGETHER]));
	mr_json_end_object(&w);
	check(mr_json_finish(&w), b->json);
	if (fclose(f)) {
		perror(b->json);
		exit(1);
	}
}

static void usage(void)
{
	fputs("usage: predict [--tiny] [--conf FILE] [--set KEY=VALUE]... [--workers N] [--rounds N] [--seconds S] [--json FILE]\n",
	      stderr);
	exit(2);
}

static void parse(bench *b, int argc, char **argv)
{
	int workers = 2;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--tiny")) {
			b->tiny = true;
			continue;
		}
		if (!value)
			usage();
		if (!strcmp(argv[i], "--conf"))
			b->conf = value;
		else if (!strcmp(argv[i], "--set") && b->n_sets < MAX_SETS)
			b->set[b->n_sets++] = value;
		else if (!strcmp(argv[i], "--workers"))
			workers = atoi(value);
		else if (!strcmp(argv[i], "--rounds"))
			b->rounds = atoi(value);
		else if (!strcmp(argv[i], "--seconds"))
			b->seconds = atof(value);
		else if (!strcmp(argv[i], "--json"))
			b->json = value;
		else
			usage();
		i++;
	}
	if (b->rounds < 1 || b->rounds > MAX_ROUNDS || workers < 1 || workers > 64 || !(b->seconds >= 0))
		usage();
	snprintf(b->workers, sizeof(b->workers), "machine.workers=%d", workers);
	if (b->tiny) {
		b->rounds = 1;
		b->seconds = 0;
	}
}

int main(int argc, char **argv)
{
	bench *b = &the_bench;
	mr_env_params env = {.argv = argv};
	const char *source = getenv("MR_SOURCE"); /* ctest says where conf/ is */
	char path[4096];

	snprintf(path, sizeof(path), "%s%sconf/mlp.cfg", source ? source : "", source ? "/" : "");
	b->conf = path;
	b->rounds = 7;
	b->seconds = 0.2;
	parse(b, argc, argv);
	check(mr_env_prepare(&env), "environment");
	open_all(b);
	for (int r = 0; r < b->rounds; r++) {
		measure_layers(b, ALONE);
		measure_layers(b, TOGETHER);
		for (size_t i = 0; i < b->n; i++)
			burst(b, &b->all[(i + (size_t)r) % b->n]);
	}
	report(b);
	for (size_t i = 0; i < b->n; i++) {
		mr_session_close(&b->all[i].s);
		mr_config_destroy(b->all[i].config);
	}
	for (int k = 0; k < N_KINDS * N_PLACES; k++)
		for (size_t i = 0; i < b->n_costs[k / N_PLACES][k % N_PLACES]; i++)
			mr_costs_fini(&b->costs[k / N_PLACES][k % N_PLACES][i]);
	mr_session_close(&b->base);
	mr_config_destroy(b->config);
	return 0;
}
