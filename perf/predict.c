/*
 * predict.c - the simulator against the engine: how long a step should take, by a measured profile, and how long it
 * takes.
 *
 *	predict [--tiny] [--conf FILE] [--set KEY=VALUE]... [--workers N] [--systems A,B,...] [--async] [--ops]
 *		[--rounds N] [--seconds S]
 *		[--json FILE]
 *
 * Every system that flushes (or that --systems names; --async: also those that do not, but whose order repeats) trains
 * the model of FILE (conf/mlp.cfg) on N workers (2) of one thread, all with the same micro-batches. All engines stand
 * ready in this one process. A round lets each engine do a burst of steps, in an order that rotates; an engine that is
 * not timed stands still. Before every few of them the plan of FILE is measured as `millrace profile` does, by each of
 * its methods, S seconds a stage. The predictions are those of `millrace plan --costs`: the median times of all these
 * profiles through the walk of the system's own plan; no time of a step goes into them. The measured step is the median
 * distance of commits (of iterations, where one has several) inside a burst, without the first, in which the pipeline
 * fills; of the bursts of a system, the median. Before and after each burst a cache-line ping-pong tells the placement
 * of the cores (NEAR or FAR, host/probe.h); bursts that saw both are dropped, and profiles and bursts are only compared
 * within one placement. The tables are Markdown. --ops: what each kind of instruction takes a step, in the engine and
 * by the last of the methods, mean of the workers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/stats.h"
#include "config/config.h"
#include "outline/plan_report.h"
#include "host/clock.h"
#include "host/env.h"
#include "host/probe.h"
#include "ir/op.h"
#include "profile/profile.h"
#include "schedules/registry.h"

enum { N_KINDS = 3 };

enum {
	MAX_SETS = 32,
	MAX_SYSTEMS = 64,
	MAX_ROUNDS = 32,
	MAX_PROFILES = 256,
	EACH = 6,
	WARM = 10,
	LEAST_STEPS = 12,
	SKIP = 2,
	N_PLACES = 2
};

#define SETTLE_NS 10000000u /* idle teams spin for some milliseconds before they sleep */
#define BURST_S 0.3

static const char *const kinds[N_KINDS] = {"alone", "together", "live"};
static const mr_profile_method methods[N_KINDS] = {MR_PROFILE_ALONE, MR_PROFILE_TOGETHER, MR_PROFILE_LIVE};

typedef struct contender {
	const char *name;
	const mr_sched_ops *ops;
	mr_job job;
	mr_session s;
	uint64_t steps, burst;
	double ms[N_PLACES][MAX_ROUNDS];
	size_t n[N_PLACES];
	uint64_t op_ns[MR_N_OPS], op_steps; /* of all bursts */
} contender;

typedef struct bench {
	const char *conf, *json;
	const char *set[MAX_SETS];
	uint32_t n_sets;
	char workers[64];
	int rounds;
	double seconds;
	const char *systems; /* ",a,b,": only those; NULL: all */
	bool tiny, async, ops;
	mr_config *config;
	mr_session base;
	contender all[MAX_SYSTEMS];
	size_t n;
	mr_costs costs[N_KINDS][N_PLACES][MAX_PROFILES];
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

static mr_status load(const bench *b, mr_config **config)
{
	const char *sets[MAX_SETS + 2];
	mr_strbuf mistakes = {0};
	mr_status st;

	memcpy(sets, b->set, b->n_sets * sizeof(*sets));
	sets[b->n_sets] = b->workers;
	sets[b->n_sets + 1] = "machine.threads=1";
	st = mr_config_load(b->conf, sets, b->n_sets + 2, &mistakes, config);
	if (st != MR_OK && *mr_strbuf_text(&mistakes))
		mr_error_set("%.*s", (int)strcspn(mr_strbuf_text(&mistakes), "\n"), mr_strbuf_text(&mistakes));
	mr_strbuf_fini(&mistakes);
	return st;
}

/* The user's job with @system in place of its own. One that commits after each micro-batch has one a step, as large as
 * the others' are. */
static mr_status change_job(const bench *b, const mr_sched_ops *system, mr_job *job)
{
	if (strcmp(system->name, job->system.name) != 0)
		MR_TRY(mr_job_choose(job, MR_JOB_SYSTEM, system->name));
	if (system->asynchronous && !system->accumulates) {
		job->train.batch = b->base.samples;
		job->train.microbatches = 1;
	}
	job->source = (mr_job_source){0}; /* it is not what the user wrote */
	return mr_job_check(job);
}

/* A step is as long as a burst of a few says. */
static mr_status warm_up(const bench *b, contender *x)
{
	uint64_t begin = mr_clock_ns();
	double step;

	MR_TRY(mr_executor_run(&x->s.executor, WARM, NULL, NULL, &x->steps));
	step = (double)(mr_clock_ns() - begin) / 1e9 / WARM;
	x->burst = b->tiny ? LEAST_STEPS : (uint64_t)fmax(LEAST_STEPS, BURST_S / step);
	x->burst += 2 * mr_plan_steps(x->s.plan); /* at least two iterations are compared */
	return MR_OK;
}

static mr_status open_one(const bench *b, contender *x)
{
	mr_status st;

	MR_TRY(mr_job_copy(mr_config_job(b->config), &x->job));
	st = change_job(b, x->ops, &x->job);
	if (st == MR_OK)
		st = mr_session_open_beside(&x->job, &b->base, &x->s);
	if (st == MR_OK)
		st = mr_session_start(&x->s, NULL);
	if (st == MR_OK)
		st = warm_up(b, x);
	if (st != MR_OK) {
		mr_session_close(&x->s);
		mr_job_fini(&x->job);
	}
	return st;
}

static bool is_wanted(const bench *b, const mr_sched_ops *ops)
{
	char name[64];

	snprintf(name, sizeof(name), ",%s,", ops->name);
	if (ops->ends) /* its plan is as long as the run: no iteration repeats */
		return false;
	return b->systems ? strstr(b->systems, name) != NULL : b->async || !ops->asynchronous;
}

static void open_all(bench *b)
{
	check(load(b, &b->config), b->conf);
	check(mr_session_open(mr_config_job(b->config), &b->base), b->conf);
	if (!b->base.plan || b->base.plan->contract.flush == MR_FLUSH_NONE) {
		fprintf(stderr, "predict: %s: the system of the configuration must flush\n", b->conf);
		exit(3);
	}
	for (size_t i = 0; mr_schedule_at(i) && b->n < MAX_SYSTEMS; i++) {
		contender *x = &b->all[b->n];

		if (!is_wanted(b, mr_schedule_at(i)))
			continue;
		*x = (contender){.name = mr_schedule_at(i)->name, .ops = mr_schedule_at(i)};
		if (open_one(b, x) == MR_OK)
			b->n++;
		else
			printf("%-16s left out: %.*s\n", x->name, (int)strcspn(mr_error_text(), "\n"), mr_error_text());
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
	mr_workload of = mr_session_workload(&b->base);
	int before = placement(b);
	mr_profile p;
	mr_costs costs;

	check(mr_profile_measure(&c, b->base.n_micro, b->seconds, methods[kind], &p), "profile");
	check(mr_costs_of_profile(&of, &p, &costs), "profile");
	mr_profile_fini(&p);
	if (before >= 0 && before == placement(b) && b->n_costs[kind][before] < MAX_PROFILES)
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

/* The median distance of two commits, @apart of which are an iteration: a pause that the machine makes is in few of
 * them. */
static double step_ms(commits *c, uint32_t apart)
{
	for (size_t i = 0; i + apart < c->n; i++)
		c->ns[i] = (c->ns[i + apart] - c->ns[i]) / apart;
	return mr_median(c->ns, c->n - apart) / 1e6;
}

/* What its instructions have taken so far, added with @sign. */
static void add_ops(contender *x, int sign)
{
	const mr_run *run = mr_executor_run_of(&x->s.executor);

	for (uint16_t w = 0; w < run->n_workers; w++)
		for (int op = 0; op < MR_N_OPS; op++)
			x->op_ns[op] += (uint64_t)sign * run->worker[w].stats.busy_ns[op];
	x->op_steps += (uint64_t)sign * x->steps;
}

static void burst(const bench *b, contender *x)
{
	commits c = {.first = x->steps + SKIP, .ns = calloc(x->burst, sizeof(*c.ns))};
	int before;

	if (!c.ns)
		exit(6);
	mr_clock_sleep(SETTLE_NS);
	before = placement(b);
	add_ops(x, -1);
	check(mr_executor_run(&x->s.executor, x->steps + x->burst, note, &c, &x->steps), x->name);
	add_ops(x, 1);
	if (before >= 0 && before == placement(b))
		x->ms[before][x->n[before]++] = step_ms(&c, mr_plan_steps(x->s.plan));
	free(c.ns);
}

/* --- comparing --- */

enum { N_FIELDS = sizeof(mr_stage_cost) / sizeof(double), N_RATES = 10 };

static double *rate(mr_costs *c, int i)
{
	double *const all[N_RATES] = {&c->remote.read_s, &c->remote.write_s, &c->sum_s, &c->norm_s,  &c->save_s,
				      &c->shared_s,      &c->average_s,      &c->hop_s, &c->crowd_f, &c->crowd_b};

	return all[i];
}

static void median_costs(bench *b, int kind, int place, mr_costs *out)
{
	mr_workload of = mr_session_workload(&b->base);
	mr_costs *from = b->costs[kind][place];
	size_t n = b->n_costs[kind][place];
	double x[MAX_PROFILES];

	check(mr_costs_nominal(&of, out), "costs");
	for (int r = 0; r < N_RATES; r++) {
		for (size_t i = 0; i < n; i++)
			x[i] = *rate(&from[i], r);
		*rate(out, r) = mr_median(x, n);
	}
	for (uint32_t k = 0; k < b->base.graph->n_nodes * N_FIELDS; k++) {
		for (size_t i = 0; i < n; i++)
			x[i] = ((const double *)from[i].layer)[k];
		((double *)out->layer)[k] = mr_median(x, n);
	}
}

/* Milliseconds a step of each op, by @f, mean of the workers. */
static void charged(const contender *x, const mr_forecast *f, double *ms)
{
	const mr_plan *plan = x->s.plan;
	mr_cost cost = {plan->n_stages, f->stage};

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_BODY);

		for (uint32_t i = 0; i < l->n; i++)
			ms[l->at[i].op] += mr_instr_cost(plan, &l->at[i], &cost) * 1e3 /
					   (plan->n_workers * (double)mr_plan_steps(plan));
	}
}

static void print_ops(const contender *x, const mr_forecast *f)
{
	double ms[MR_N_OPS] = {0};

	charged(x, f, ms);
	printf("%s:", x->name);
	for (int op = 0; op < MR_N_OPS; op++)
		if (x->op_ns[op])
			printf("  %s %.3f for %.3f", mr_op_name((uint8_t)op), ms[op],
			       (double)x->op_ns[op] / 1e6 / (double)x->op_steps / x->s.plan->n_workers);
	putchar('\n');
}

/* NAN without a profile of that kind at that placement. */
static double predict_ms(bench *b, const contender *x, int kind, int place)
{
	mr_forecast f = {.of = mr_session_workload(&x->s)};
	double ms;

	if (!b->n_costs[kind][place])
		return NAN;
	median_costs(b, kind, place, &f.costs);
	check(mr_forecast_time(&f), x->name);
	ms = f.step_s * 1e3;
	if (b->ops && kind + 1 == N_KINDS)
		print_ops(x, &f);
	mr_forecast_fini(&f);
	return ms;
}

static void put_one(mr_json_writer *json, const char *name, int place, const double *predicted, const mr_quartiles *q,
		    size_t n)
{
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

static void print_row(const contender *x, const mr_quartiles *q, const double *predicted)
{
	printf("| `%s` | %.4g (%.4g to %.4g)", x->name, q->median, q->q1, q->q3);
	for (int kind = 0; kind < N_KINDS; kind++)
		printf(" | %.4g | %+.1f %%", predicted[kind], 100 * (predicted[kind] / q->median - 1));
	puts(" |");
}

/* The table of one placement. */
static void compare(bench *b, int place, mr_json_writer *json, errors *e)
{
	double predicted[MAX_SYSTEMS][N_KINDS];

	for (int kind = 0; kind < N_KINDS; kind++)
		if (!b->n_costs[kind][place])
			return;
	for (size_t i = 0; i < b->n; i++)
		for (int kind = 0; kind < N_KINDS; kind++)
			predicted[i][kind] = predict_ms(b, &b->all[i], kind, place);
	printf("\n%s, %zu profiles of each kind:\n\n| system | measured, ms (quartiles)",
	       mr_probe_name((mr_probe_distance)place), b->n_costs[0][place]);
	for (int kind = 0; kind < N_KINDS; kind++)
		printf(" | %s | error", kinds[kind]);
	puts(" |\n|---|---|---|---|---|---|---|---|");
	for (size_t i = 0; i < b->n; i++) {
		contender *x = &b->all[i];
		mr_quartiles q = mr_quartiles_of(x->ms[place], x->n[place]);

		if (!x->n[place])
			continue;
		print_row(x, &q, predicted[i]);
		for (int kind = 0; kind < N_KINDS; kind++)
			e->at[kind][e->n[kind]++] = fabs(predicted[i][kind] / q.median - 1);
		if (json)
			put_one(json, x->name, place, predicted[i], &q, x->n[place]);
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
	for (int kind = 0; kind < N_KINDS; kind++) {
		mr_quartiles q = mr_quartiles_of(e.at[kind], e.n[kind]);

		printf("\n%s: median error %.1f %% (quartiles %.1f and %.1f) over %zu", kinds[kind], 100 * q.median,
		       100 * q.q1, 100 * q.q3, e.n[kind]);
	}
	putchar('\n');
	if (!f)
		return;
	mr_json_end_array(&w);
	for (int kind = 0; kind < N_KINDS; kind++) {
		char key[40];

		snprintf(key, sizeof(key), "median_error_%s", kinds[kind]);
		mr_json_key(&w, key);
		mr_json_put_double(&w, mr_median(e.at[kind], e.n[kind]));
	}
	mr_json_end_object(&w);
	check(mr_json_finish(&w), b->json);
	if (fclose(f)) {
		perror(b->json);
		exit(1);
	}
}

static void usage(void)
{
	fputs("usage: predict [--tiny] [--conf FILE] [--set KEY=VALUE]... [--workers N] [--systems A,B,...] [--async] "
	      "[--ops]\n"
	      "               [--rounds N] [--seconds S] [--json FILE]\n",
	      stderr);
	exit(2);
}

static void parse(bench *b, int argc, char **argv)
{
	static char list[1024];
	int workers = 2;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--tiny") || !strcmp(argv[i], "--async") || !strcmp(argv[i], "--ops")) {
			*(argv[i][2] == 't' ? &b->tiny : argv[i][2] == 'a' ? &b->async : &b->ops) = true;
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
		else if (!strcmp(argv[i], "--systems")) {
			snprintf(list, sizeof(list), ",%s,", value);
			b->systems = list;
		} else if (!strcmp(argv[i], "--rounds"))
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
		for (size_t i = 0; i < b->n; i++) {
			for (int kind = 0; i % EACH == 0 && kind < N_KINDS; kind++)
				measure_layers(b, kind);
			burst(b, &b->all[(i + (size_t)r) % b->n]);
		}
	}
	report(b);
	for (size_t i = 0; i < b->n; i++) {
		mr_session_close(&b->all[i].s);
		mr_job_fini(&b->all[i].job);
	}
	for (int k = 0; k < N_KINDS * N_PLACES; k++)
		for (size_t i = 0; i < b->n_costs[k / N_PLACES][k % N_PLACES]; i++)
			mr_costs_fini(&b->costs[k / N_PLACES][k % N_PLACES][i]);
	mr_session_close(&b->base);
	mr_config_destroy(b->config);
	return 0;
}
