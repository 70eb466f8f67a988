/* millrace schedule: generate, lower, check and simulate the plan of one system, without a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "host/memory.h"
#include "base/file.h"
#include "cli/args.h"
#include "cli/search_limit.h"
#include "cli/output.h"
#include "job/plugins.h"
#include "cli/schedule_report.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "schedules/registry.h"
#include "sim/cost_csv.h"

#define MAX_COSTS ((size_t)4 << 20) /* bytes of a file of costs */

static const mr_option options[] = {
	{"workers", MR_OPT_INT, NULL, 1, 4096, NULL, NULL, "pipeline workers D"},
	{"microbatches", MR_OPT_INT, "0", 0, 1000000, NULL, NULL,
	 "micro-batches T an iteration; of a system that never flushes T a commit, of which four are shown, or of the "
	 "whole run where each one commits; 0: the system's default"},
	{"chunks", MR_OPT_INT, "0", 0, 1024, NULL, NULL,
	 "stages v a worker hosts, for systems that take several; 0: the system's default"},
	{"costs", MR_OPT_STRING, "1,1,1", 0, 0, NULL, NULL,
	 "f,i,w[,c]: time of a worker's forward, input gradient and weight gradient, and of a hand-over; or a CSV file "
	 "with a row a stage"},
	MR_SIM_OPTIONS,
	{"iterations", MR_OPT_INT, "1", 1, 100000, NULL, NULL, "iterations to simulate"},
	{"nodes", MR_OPT_INT, "1", 1, 4096, NULL, NULL,
	 "NUMA nodes over which the workers are spread in equal runs; with --far"},
	{"far", MR_OPT_FLOAT, "-1", -1, 1e9, NULL, NULL,
	 "time of a hand-over between workers of two nodes; less than 0: the same as within a node"},
	{"format", MR_OPT_ENUM, "ascii", 0, 0, "text|json|ascii|svg", NULL,
	 "the plan as text, as JSON with its figures, or as a picture"},
	{"export-lp", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "also write the problem that the system's search solves to this file, as a linear program for a solver; "
	 "empty: no"},
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

/* The linear program of --export-lp, if it is given. */
static mr_status put_lp(const mr_args *args, const mr_sched_ops *ops, const mr_sched_args *a)
{
	const char *path = mr_values_string(args->values, "export-lp");
	mr_strbuf text;
	mr_status st;
	FILE *out;

	if (!*path)
		return MR_OK;
	mr_strbuf_init(&text);
	st = mr_schedule_export_lp(ops, a, &text);
	if (st == MR_ECONFIG)
		st = mr_fail(MR_EUSAGE, "--export-lp: %s", mr_error_text());
	if (st == MR_OK)
		st = mr_output_open(path, &out);
	if (st == MR_OK)
		st = mr_output_close(path, out,
				     fputs(mr_strbuf_text(&text), out) < 0 ? mr_fail(MR_EIO, "cannot write") : MR_OK);
	mr_strbuf_fini(&text);
	return st;
}

/* What the system emits; *@out is the caller's, also after an error. */
static mr_status make_plan(const mr_args *args, const mr_sched_ops *ops, const mr_cost *cost, mr_plan **out)
{
	uint16_t workers = (uint16_t)mr_values_int(args->values, "workers");
	uint32_t micro = (uint32_t)mr_values_int(args->values, "microbatches");
	mr_values *values = NULL;
	uint64_t n_counted = 0;
	mr_sched_args a;
	mr_status st = MR_OK;

	if (ops->options)
		MR_TRY(mr_values_create(ops->options, &values));
	st = read_sets(args, ops, values);
	if (st == MR_OK && !micro) {
		uint32_t step = mr_schedule_step_micro(ops, values);

		micro = ops->asynchronous && !ops->accumulates ? (4u * workers + step - 1) / step * step
							       : ops->default_micro(workers);
	}
	a = (mr_sched_args){
		.n_workers = workers,
		.chunks = (uint16_t)mr_values_int(args->values, "chunks"),
		.n_micro = micro,
		.finite = ops->asynchronous,
		.options = values,
		.costs = cost,
		.now = mr_clock_s,
		.n_counted = &n_counted,
	};
	if (st == MR_OK)
		st = mr_schedule_emit(ops, &a, out);
	if (st == MR_OK && n_counted)
		mr_search_limit_print(ops, mr_values_float(values, ops->timed), n_counted, stderr);
	if (st == MR_OK)
		st = put_lp(args, ops, &a);
	mr_values_destroy(values);
	return st;
}

/* --- costs --- */

/* What --costs says: one row, the share of a worker, or a row a stage of a file. */
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
	if (strchr(text, ',') || strtod(text, &data) != 0 || !*data) /* a number is no name of a file */
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
static mr_status settle_costs(const mr_plan *plan, costs *c)
{
	mr_cost share;

	if (c->row && c->n != plan->n_stages)
		return mr_fail(MR_ECONFIG, "%s: costs of %u stage%s, and the plan has %u", c->path, c->n,
			       c->n == 1 ? "" : "s", plan->n_stages);
	if (c->row)
		return MR_OK;
	c->row = calloc(plan->n_stages, sizeof(*c->row));
	if (!c->row)
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", plan->n_stages);
	c->n = plan->n_stages;
	mr_cost_share(plan, c->share.f, c->share.i, c->share.w, c->row, &share);
	for (uint16_t s = 0; s < c->n; s++)
		c->row[s].c = c->share.c;
	return MR_OK;
}

/* --- nodes --- */

/* The node of each worker where hand-overs between two of them take a time of their own, else NULL; the caller's. */
static mr_status settle_nodes(const mr_args *args, const mr_plan *plan, uint16_t **out)
{
	uint16_t nodes = (uint16_t)mr_values_int(args->values, "nodes");

	*out = NULL;
	if (nodes > plan->n_workers)
		return mr_fail(MR_EUSAGE, "--nodes: %u nodes for %u worker%s", nodes, plan->n_workers,
			       plan->n_workers == 1 ? "" : "s");
	if (mr_values_float(args->values, "far") < 0) {
		if (nodes > 1)
			return mr_fail(MR_EUSAGE,
				       "--nodes: without --far a hand-over to another node takes as long as one within "
				       "a node, so %u nodes are as one",
				       nodes);
		return MR_OK;
	}
	if (nodes <= 1)
		return mr_fail(
			MR_EUSAGE,
			"--far: all workers are on one node, and no hand-over goes to another; --nodes spreads them");
	*out = calloc(plan->n_workers, sizeof(**out));
	if (!*out)
		return mr_fail(MR_ERESOURCE, "no memory to place %u workers", plan->n_workers);
	mr_sim_spread(plan->n_workers, nodes, *out);
	return MR_OK;
}

/* @row: [n_stages] the costs, which get the time of a hand-over between nodes where a stage takes part in one. */
static void lengthen(const mr_plan *plan, const uint16_t *node, double far, mr_stage_cost *row)
{
	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 1; s < plan->n_stages; s++)
			if (node[mr_plan_worker(plan, (uint8_t)p, s)] !=
			    node[mr_plan_worker(plan, (uint8_t)p, (uint16_t)(s - 1))])
				row[s - 1].c = row[s].c = far;
}

/* An order made for these costs must not be slowed by boundary buffers that suffice for others. @node may be NULL. */
static mr_status lower(mr_plan *plan, const costs *c, const uint16_t *node, double far)
{
	mr_stage_cost *row = node ? malloc(c->n * sizeof(*row)) : NULL;
	mr_cost cost[2] = {{c->n, c->row}, {c->n, row}};
	mr_status st;

	if (node && !row)
		return mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", c->n);
	if (row) {
		memcpy(row, c->row, c->n * sizeof(*row));
		lengthen(plan, node, far, row);
	}
	st = mr_plan_lower(plan, &(mr_lower_opts){.costs = cost, .n_costs = row ? 2 : 1});
	free(row);
	return st == MR_OK ? mr_plan_check(plan) : st;
}

/* --- the report --- */

static mr_status put_output(const mr_args *args, const mr_schedule_job *job)
{
	const char *path = mr_values_string(args->values, "output");
	FILE *out;
	mr_status st;

	MR_TRY(mr_output_open(path, &out));
	st = mr_schedule_report(job, mr_values_string(args->values, "format"), out);
	return mr_output_close(path, out, st);
}

static mr_status simulate(const mr_args *args, const mr_plan *plan, const costs *c, const uint16_t *node,
			  const mr_sim_options *bent)
{
	const mr_values *v = args->values;
	bool repeats = mr_plan_list(plan, 0, MR_BODY)->n > 0;
	mr_schedule_job job = {.plan = plan, .cost = {c->n, c->row}, .options = bent, .params = bent->params};

	job.params.n_bodies = repeats ? (uint32_t)mr_values_int(v, "iterations") : 0;
	if (!repeats && mr_values_int(v, "iterations") > 1)
		return mr_fail(MR_EUSAGE, "--iterations: %s never flushes, so its list is one run that does not repeat",
			       plan->system);
	job.params.node = node;
	job.params.far = node ? mr_values_float(v, "far") : 0;
	return put_output(args, &job);
}

static mr_status run(mr_args *args)
{
	const char *name = args->operand[0];
	const mr_sched_ops *ops;
	mr_sim_options bent = {0};
	costs c = {0};
	mr_plan *plan = NULL;
	uint16_t *node = NULL;
	mr_status st;

	mr_memory_keep_freed();
	if (!strcmp(name, MR_SEQUENTIAL))
		return mr_fail(MR_EUSAGE, "sequential has no schedule: it is one worker that runs layer after layer");
	if (mr_schedule_get(name, &ops) != MR_OK)
		return mr_fail(MR_EUSAGE, "%s", mr_error_text());
	st = read_costs(mr_values_string(args->values, "costs"), &c);
	if (st == MR_OK)
		st = mr_sim_options_read(args->values, &bent);
	if (st == MR_OK)
		st = make_plan(args, ops, &(mr_cost){c.row ? c.n : 1, c.row ? c.row : &c.share}, &plan);
	if (st == MR_OK)
		st = settle_costs(plan, &c);
	if (st == MR_OK)
		st = settle_nodes(args, plan, &node);
	if (st == MR_OK)
		st = lower(plan, &c, node, mr_values_float(args->values, "far"));
	if (st == MR_OK)
		st = simulate(args, plan, &c, node, &bent);
	free(node);
	mr_plan_destroy(plan);
	mr_sim_options_fini(&bent);
	free(c.row);
	return st;
}

const mr_command mr_command_schedule = {
	.name = "schedule",
	.operands = "SYSTEM",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "generate, check and simulate the schedule of a system, without a model",
	.help = "millrace list systems names the systems, millrace list systems NAME their options.\n"
		"A file of costs has the head stage,f,i,w,u,c,r,n,s,a,v and a row a stage, from stage 0: forward, "
		"input gradient\n"
		"and weight gradient of a micro-batch, optimizer step, hand-over to the next worker, reduction of the\n"
		"gradients of several pipes, norm of a gradient, what a step inside a backward pass takes less than "
		"u,\n"
		"average of replicas, validation of a step. The head may end behind w or any later column.\n",
	.options = options,
	.sets = true,
	.sets_help = "give the system this option, such as backward=lifo (list systems NAME shows them)",
	.run = run,
};
