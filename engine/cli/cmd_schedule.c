/* millrace schedule: the plan of one system without a model, or of a configuration, in virtual time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "host/memory.h"
#include "base/file.h"
#include "cli/args.h"
#include "cli/open_config.h"
#include "training/search_limit.h"
#include "report/output.h"
#include "job/plugins.h"
#include "outline/schedule_report.h"
#include "planner/make_plan.h"
#include "schedules/registry.h"
#include "costs/forecast.h"
#include "costs/sends.h"
#include "timing/cost_csv.h"

#define MAX_COSTS ((size_t)4 << 20) /* bytes of a file of costs */

static const mr_option options[] = {
	{"config", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "show the very plan that this configuration trains, in place of a SYSTEM by itself; with --set of its keys"},
	{"workers", MR_OPT_INT, "0", 0, 4096, NULL, NULL,
	 "pipeline workers D; needed without --config"},
	{"microbatches", MR_OPT_INT, "0", 0, 1000000, NULL, NULL,
	 "micro-batches T an iteration; of a system that never flushes T a commit, of which four are shown, or of the "
	 "whole run where each one commits; 0: the system's default"},
	{"chunks", MR_OPT_INT, "0", 0, 1024, NULL, NULL,
	 "stages v a worker hosts, for systems that take several; 0: the system's default"},
	{"costs", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "f,i,w[,c]: time of a worker's forward, input gradient and weight gradient, and of a hand-over; or a CSV file "
	 "with a row a stage; empty: 1,1,1. With --config: as of plan"},
	MR_SIM_OPTIONS,
	{"iterations", MR_OPT_INT, "1", 1, 100000, NULL, NULL, "iterations to simulate"},
	{"nodes", MR_OPT_INT, "1", 1, 4096, NULL, NULL,
	 "NUMA nodes over which the workers are spread in equal runs; with --far. With --config the default is where "
	 "they are placed"},
	{"far", MR_OPT_FLOAT, "-1", -1, 1e9, NULL, NULL,
	 "time of a hand-over between workers of two nodes; less than 0: the same as within a node"},
	{"format", MR_OPT_ENUM, "ascii", 0, 0, "text|json|ascii|svg", NULL,
	 "the plan as text, as JSON with its figures, or as a picture"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o); empty or -: standard output"},
	{0},
};

static mr_status read_sets(const mr_args *args, const mr_sched_ops *ops, mr_values *values)
{
	for (uint32_t i = 0; i < args->n_sets; i++) {
		const char *equals = strchr(args->set[i], '=');
		char name[64];

		if (!equals || equals == args->set[i])
			return mr_fail(MR_EUSAGE, "--set: expected name=value, got \"%.100s\"", args->set[i]);
		snprintf(name, sizeof(name), "%.*s", (int)(equals - args->set[i]), args->set[i]);
		if (!values)
			return mr_fail(MR_EUSAGE, "--set %s: %s has no options", name, ops->name);
		if (mr_values_set_text(values, name, equals + 1) != MR_OK)
			return mr_fail(MR_EUSAGE, "--set %s: %s", name, mr_error_text());
	}
	return MR_OK;
}

/* --- costs --- */

/* The value of --costs: one row, the share of a worker, or a row a stage of a file. */
typedef struct costs {
	mr_stage_cost share;
	mr_stage_cost *row; /* [n] owned; NULL: share */
	uint16_t n;
	const char *path;
} costs;

static mr_status read_costs(const char *text, costs *out)
{
	char *data;
	size_t len;
	mr_status st;

	*out = (costs){.path = text};
	if (strchr(text, ',') || strtod(text, &data) != 0 || !*data) /* a number is not taken for a file name */
		return mr_cost_read(text, &out->share) == MR_OK ? MR_OK
								: mr_fail(MR_EUSAGE, "--costs: %s", mr_error_text());
	st = mr_file_read(text, MAX_COSTS, &data, &len);
	if (st != MR_OK)
		return st == MR_ERESOURCE ? st : mr_fail(MR_ECONFIG, "%s", mr_error_text());
	st = strlen(data) == len ? mr_cost_csv_read(data, &out->row, &out->n)
				 : mr_fail(MR_ECONFIG, "it has a NUL byte");
	free(data);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", text);
}

/* A row for each of @plan's stages. */
static mr_status costs_of(void *arg, const mr_plan *plan, mr_stage_cost *out)
{
	const costs *c = arg;
	mr_cost share;

	if (c->row && c->n != plan->n_stages)
		return mr_fail(MR_ECONFIG, "%s: costs of %u stage%s, and the plan has %u", c->path, c->n,
			       c->n == 1 ? "" : "s", plan->n_stages);
	if (c->row) {
		memcpy(out, c->row, c->n * sizeof(*out));
		return MR_OK;
	}
	mr_cost_share(plan, c->share.f, c->share.i, c->share.w, out, &share);
	for (uint16_t s = 0; s < plan->n_stages; s++)
		out[s].c = c->share.c;
	return MR_OK;
}

/* --- nodes --- */

static mr_status check_nodes(const mr_args *args, uint16_t workers, bool placed)
{
	int64_t nodes = mr_values_int(args->values, "nodes");
	bool far = mr_values_float(args->values, "far") >= 0;

	if (nodes > workers)
		return mr_fail(MR_EUSAGE, "--nodes: %lld nodes for %u worker%s", (long long)nodes, workers,
			       workers == 1 ? "" : "s");
	if (!far && nodes > 1)
		return mr_fail(MR_EUSAGE,
			       "--nodes: without --far a hand-over to another node takes as long as one within a node, "
			       "so %lld nodes are as one",
			       (long long)nodes);
	if (far && nodes <= 1 && !placed)
		return mr_fail(MR_EUSAGE, "--far: all workers are on one node, and no hand-over goes to another; "
					  "--nodes spreads them");
	return MR_OK;
}

/* The node of each worker if transfers between two nodes take a time of their own, else NULL; the caller frees it.
 * @place: the nodes of the workers unless --nodes spreads them; NULL: one node. */
static mr_status settle_nodes(const mr_args *args, uint16_t workers, const mr_place *place, uint16_t **out)
{
	bool placed = place && !mr_values_is_set(args->values, "nodes");

	*out = NULL;
	MR_TRY(check_nodes(args, workers, placed));
	if (mr_values_float(args->values, "far") < 0)
		return MR_OK;
	*out = calloc(workers, sizeof(**out));
	if (!*out)
		return mr_fail(MR_ERESOURCE, "no memory to place %u workers", workers);
	if (!placed)
		mr_nodes_spread(workers, (uint16_t)mr_values_int(args->values, "nodes"), *out);
	for (uint16_t w = 0; placed && w < workers; w++)
		(*out)[w] = (uint16_t)place->worker[w].node;
	if (placed && !mr_nodes_are_apart(*out, workers))
		return mr_fail(MR_EUSAGE, "--far: all workers are on one node, and no hand-over goes to another; "
					  "--nodes spreads them, or machine.topology may have more nodes");
	return MR_OK;
}

/* --- the report --- */

static mr_status put_output(const mr_args *args, const mr_schedule_job *job)
{
	const char *path = mr_values_string(args->values, "output");
	mr_output out;
	mr_status st;

	MR_TRY(mr_output_open(path, &out));
	st = mr_schedule_report(job, mr_values_string(args->values, "format"), out.file);
	return mr_output_close(&out, st);
}

/* Report @job with the value of --iterations, or without one @bodies. */
static mr_status report(const mr_args *args, mr_schedule_job *job, uint32_t bodies)
{
	bool repeats = mr_plan_repeats(job->plan), asked = mr_values_is_set(args->values, "iterations");

	if (!repeats && mr_values_int(args->values, "iterations") > 1)
		return mr_fail(MR_EUSAGE, "--iterations: %s never flushes, so its list is one run that does not repeat",
			       job->plan->system);
	if (asked || !bodies)
		bodies = (uint32_t)mr_values_int(args->values, "iterations");
	job->n_bodies = repeats ? bodies : 0;
	return put_output(args, job);
}

/* --- a system by itself --- */

/* Read the values of the question into *@values, which are made here. */
static mr_status read_options(const mr_args *args, const mr_sched_ops *ops, mr_values **values, mr_sched_args *a)
{
	uint32_t step;

	if (ops->options)
		MR_TRY(mr_values_create(ops->options, values));
	MR_TRY(read_sets(args, ops, *values));
	a->options = *values;
	a->n_workers = (uint16_t)mr_values_int(args->values, "workers");
	a->chunks = (uint16_t)mr_values_int(args->values, "chunks");
	a->n_micro = (uint32_t)mr_values_int(args->values, "microbatches");
	a->finite = ops->asynchronous;
	if (a->n_micro)
		return MR_OK;
	step = mr_schedule_step_micro(ops, *values);
	a->n_micro = ops->asynchronous && !ops->accumulates ? (4u * a->n_workers + step - 1) / step * step
							    : ops->default_micro(a->n_workers);
	return MR_OK;
}

/* Make the system's order; the caller owns *@plan, also after an error. */
static mr_status draft(const mr_plan_question *q, mr_plan **plan)
{
	const mr_sched_ops *ops = q->system;

	MR_TRY(mr_plan_draft(q, plan));
	if (*q->args.n_tries)
		mr_search_limit_print(ops, mr_values_float(q->args.options, ops->time_budget_option),
				      *q->args.n_tries, stderr);
	return MR_OK;
}

static mr_status put_plan(const mr_args *args, const mr_plan_question *q, const mr_plan *plan,
			  const mr_sim_options *bent)
{
	mr_stage_cost *row = calloc(plan->n_stages, sizeof(*row));
	mr_schedule_job job = {.plan = plan, .cost = {plan->n_stages, row}, .options = bent, .params = bent->params};
	mr_status st = row ? q->costs.of(q->costs.arg, plan, row)
			   : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);

	if (mr_schedule_orders_by_costs(q->system, &q->args) && !mr_values_is_set(args->values, "costs"))
		job.ordered_for = "equal costs; --costs has others";
	job.proof = *q->args.proof;
	job.params.node = q->costs.node;
	job.params.far = q->costs.far;
	if (st == MR_OK)
		st = report(args, &job, 0);
	free(row);
	return st;
}

static mr_status of_system(const mr_args *args, const mr_sched_ops *ops, costs *c, const mr_sim_options *bent)
{
	mr_cost cost = {c->row ? c->n : 1, c->row ? c->row : &c->share};
	uint64_t n_tries = 0;
	mr_sched_proof proof = {0};
	mr_plan_question q = {
		.system = ops,
		.args = {.costs = &cost, .now = mr_clock_s, .proof = &proof, .n_tries = &n_tries},
		.costs = {.of = costs_of, .arg = c},
	};
	mr_values *values = NULL;
	uint16_t *node = NULL;
	mr_plan *plan = NULL;
	mr_status st = read_options(args, ops, &values, &q.args);

	if (st == MR_OK)
		st = draft(&q, &plan);
	if (st == MR_OK)
		st = settle_nodes(args, q.args.n_workers, NULL, &node);
	q.costs.node = node;
	q.costs.far = node ? mr_values_float(args->values, "far") : 0;
	if (st == MR_OK)
		st = mr_plan_finish(&q, &plan, NULL);
	if (st == MR_OK)
		st = put_plan(args, &q, plan, bent);
	mr_plan_destroy(plan);
	free(node);
	mr_values_destroy(values);
	return st;
}

static mr_status run_system(const mr_args *args, const mr_sim_options *bent)
{
	const char *name = args->operand[0], *given = mr_values_string(args->values, "costs");
	mr_plugin system;
	costs c = {0};
	mr_status st;

	mr_memory_keep_freed();
	if (mr_plugin_get(MR_PLUGIN_SYSTEM, name, &system) != MR_OK)
		return mr_fail(MR_EUSAGE, "%s", mr_error_text());
	if (!mr_values_is_set(args->values, "workers"))
		return mr_fail(MR_EUSAGE, "schedule needs --workers");
	if (!mr_values_int(args->values, "workers"))
		return mr_fail(MR_EUSAGE, "--workers: expected an integer from 1 to 4096, got 0");
	st = read_costs(*given ? given : "1,1,1", &c);
	if (st == MR_OK)
		st = of_system(args, mr_schedule_find(name), &c, bent);
	free(c.row);
	return st;
}

/* --- the plan of a configuration --- */

/* Apply the options that are keys of the configuration. */
static mr_status set_keys(mr_args *args)
{
	static const struct {
		const char *option, *key;
	} keys[] = {{"costs", "costs"},
		    {"workers", "machine.workers"},
		    {"microbatches", "train.microbatches"},
		    {"chunks", "system.chunks"}};

	if (args->n_operands)
		return mr_fail(MR_EUSAGE, "--config names the system too: give %s as --set system.name=%s",
			       args->operand[0], args->operand[0]);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		MR_TRY(mr_args_set_key(args, keys[i].option, keys[i].key));
	return MR_OK;
}

/* Refuse forms that cannot hold this plan. */
static mr_status check_form(const mr_args *args, const mr_plan *plan)
{
	const char *format = mr_values_string(args->values, "format");
	bool json = !strcmp(format, "json"), before = false;

	for (uint16_t w = 0; w < plan->n_workers; w++)
		before |= mr_plan_list(plan, w, MR_PROLOGUE)->n > 0;
	if (plan->endless && (json || !strcmp(format, "text")))
		return mr_fail(MR_EUSAGE, "--format %s: the lists of %s are made while it runs, window by window; a "
					  "picture shows the first", format, plan->system);
	if (json && before && mr_plan_repeats(plan))
		return mr_fail(MR_EUSAGE,
			       "--format json holds lists that repeat from their beginning, and those of %s do not: "
			       "take --format text",
			       plan->system);
	return MR_OK;
}

/* Report the plan of @s, whose stages cost @row; @c describes the costs. */
static mr_status report_session(const mr_args *args, const mr_session *s, const mr_costs *c, const mr_stage_cost *row,
				const mr_sim_options *bent)
{
	mr_schedule_job job = {.plan = s->plan,
			       .cost = {s->plan->n_stages, row},
			       .options = bent,
			       .params = bent->params,
			       .proof = s->proof,
			       .identity = s->plan_hash};
	uint16_t *node;
	mr_status st = settle_nodes(args, s->plan->n_workers, &s->place, &node);

	if (s->costs || mr_schedule_orders_by_costs(mr_job_system(s->job),
						    &(mr_sched_args){.options = s->job->system.values}))
		job.ordered_for = c->source;
	job.params.node = node;
	job.params.far = node ? mr_values_float(args->values, "far") : 0;
	if (st == MR_OK)
		st = report(args, &job, mr_forecast_bodies(s->plan));
	free(node);
	return st;
}

static mr_status put_session(const mr_args *args, mr_session *s, const mr_sim_options *bent)
{
	const mr_sched_ops *ops = mr_job_system(s->job);
	mr_workload of = mr_session_workload(s);
	mr_stage_cost *row;
	mr_costs c;
	mr_status st;

	if (s->n_tries)
		mr_search_limit_print(ops, mr_values_float(s->job->system.values, ops->time_budget_option),
				      s->n_tries, stderr);
	MR_TRY(check_form(args, s->plan));
	MR_TRY(mr_costs_at_hand(&of, &c));
	row = calloc(s->plan->n_stages, sizeof(*row));
	st = row ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", s->plan->n_stages);
	if (st == MR_OK) {
		mr_costs_of_stages(&of, &c, row);
		st = mr_sends_lengthen(&of, row);
	}
	if (st == MR_OK)
		st = report_session(args, s, &c, row, bent);
	free(row);
	mr_costs_fini(&c);
	return st;
}

static mr_status run_config(mr_args *args, const mr_sim_options *bent)
{
	const char *path = mr_values_string(args->values, "config");
	mr_config *config;
	mr_session s;
	mr_status st;

	MR_TRY(set_keys(args));
	MR_TRY(mr_open_config_file(args, path, &config));
	st = mr_session_survey(mr_config_job(config), &s);
	if (st == MR_OK) {
		st = put_session(args, &s, bent);
		mr_session_close(&s);
	}
	mr_config_destroy(config);
	return st;
}

static mr_status run(mr_args *args)
{
	bool config = *mr_values_string(args->values, "config");
	mr_sim_options bent = {0};
	mr_status st = MR_OK;

	if (!config && !args->n_operands)
		st = mr_fail(MR_EUSAGE, "schedule needs a SYSTEM, or --config FILE; see millrace schedule --help");
	if (st == MR_OK)
		st = mr_sim_options_read(args->values, &bent);
	if (st == MR_OK)
		st = config ? run_config(args, &bent) : run_system(args, &bent);
	mr_sim_options_fini(&bent);
	return st;
}

const mr_command mr_command_schedule = {
	.name = "schedule",
	.operands = "[SYSTEM]",
	.min_operands = 0,
	.max_operands = 1,
	.summary = "generate, check and simulate the schedule of a system or of a configuration",
	.help = "millrace list systems names the systems, millrace list systems NAME their options.\n"
		"With --config it is the plan that train, simulate and plan make of this configuration, with the same "
		"hash.\n"
		"An order that follows from costs is made for those of --costs; without them it says that it is for "
		"equal ones.\n"
		"With --config costs are those of the configuration, or else nominal ones of its model; --workers,\n"
		"--microbatches and --chunks set its keys, times are seconds, and the workers are on the nodes where "
		"they are placed\n"
		"unless --nodes spreads them. --far then lengthens what is simulated; the plan is that of train.\n"
		"Nominal costs count operations and bytes alone. plan and simulate predict with a model of the "
		"machine, its caches\n"
		"and its memory, so their seconds are others; with measured costs of the same threads steps are "
		"equally long\n"
		"in all three. What simulate notes for a step is the second of its last stage's commit, where other "
		"stages may\n"
		"have more to do until the makespan.\n"
		"A file of costs has the head stage,f,i,w,u,c,r,n,s,a,v and a row a stage, from stage 0: forward, "
		"input gradient\n"
		"and weight gradient of a micro-batch, optimizer step, hand-over to the next worker, reduction of the\n"
		"gradients of several pipes, norm of a gradient, what a step inside a backward pass takes less than "
		"u,\n"
		"average of replicas, validation of a step. The head may end behind w or any later column.\n",
	.options = options,
	.sets = true,
	.sets_help = "give the system this option, such as backward=lifo (list systems NAME shows them); "
		     "with --config: a key of the configuration",
	.run = run,
};
