/* millrace schedule: generate, lower, check and walk the plan of one system, without a model. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "cli/args.h"
#include "cli/plugins.h"
#include "ir/check.h"
#include "ir/lower.h"
#include "ir/metrics.h"
#include "ir/plan_json.h"
#include "ir/text.h"
#include "ir/walk_trace.h"
#include "report/schedule_picture.h"
#include "schedules/registry.h"

#define TRACE_SCALE 1000.0 /* picture: three decimals of the costs */
#define COLUMNS 118        /* of the ASCII picture, where there is no terminal to ask */

static const mr_option options[] = {
	{"workers", MR_OPT_INT, NULL, 1, 4096, NULL, NULL, "pipeline workers D"},
	{"microbatches", MR_OPT_INT, "0", 0, 1000000, NULL, NULL,
	 "micro-batches T an iteration, or of the whole run of a system that never flushes; 0: the system's default"},
	{"chunks", MR_OPT_INT, "0", 0, 1024, NULL, NULL, "stages v a worker hosts, for systems that take several; 0: the system's default"},
	{"costs", MR_OPT_STRING, "1,1,1", 0, 0, NULL, NULL,
	 "f,i,w[,c]: time of a worker's forward, input gradient and weight gradient, and of a hand-over"},
	{"format", MR_OPT_ENUM, "ascii", 0, 0, "text|json|ascii|svg", NULL,
	 "the plan as text, as JSON with its figures, or as a picture"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o); empty: standard output"},
	{0},
};

static mr_status read_costs(const char *text, mr_stage_cost *out)
{
	return mr_cost_read(text, out) == MR_OK ? MR_OK : mr_fail(MR_EUSAGE, "--costs: %s", mr_error_text());
}

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

static mr_status make_plan(const mr_args *args, const mr_sched_ops *ops, const mr_stage_cost *costs, mr_plan **out)
{
	uint16_t workers = (uint16_t)mr_values_int(args->values, "workers");
	uint32_t micro = (uint32_t)mr_values_int(args->values, "microbatches");
	mr_values *values = NULL;
	mr_sched_args a;
	mr_status st = MR_OK;

	if (ops->options)
		MR_TRY(mr_values_create(ops->options, &values));
	if (!micro)
		micro = ops->asynchronous && !ops->accumulates ? 4u * workers : ops->default_micro(workers);
	a = (mr_sched_args){
		.n_workers = workers,
		.chunks = (uint16_t)mr_values_int(args->values, "chunks"),
		.n_micro = micro,
		.finite = ops->asynchronous,
		.options = values,
		.costs = &(mr_cost){1, costs},
	};
	st = read_sets(args, ops, values);
	if (st == MR_OK)
		st = mr_schedule_emit(ops, &a, out);
	mr_values_destroy(values);
	if (st != MR_OK)
		return st;
	st = mr_plan_lower(*out, NULL);
	if (st == MR_OK)
		st = mr_plan_check(*out);
	if (st != MR_OK)
		mr_plan_destroy(*out);
	return st;
}

static mr_status put_json(const mr_plan *plan, const mr_metrics *m, FILE *out)
{
	mr_json_writer w;

	mr_json_init(&w, out, true);
	mr_json_begin_object(&w);
	MR_TRY(mr_plan_json_put(&w, plan));
	mr_json_key(&w, "metrics");
	mr_metrics_put(&w, m);
	mr_json_end_object(&w);
	return mr_json_finish(&w);
}

static unsigned columns_of(FILE *out)
{
	const char *text = getenv("COLUMNS");
	long n = text ? strtol(text, NULL, 10) : 0;

	return isatty(fileno(out)) && n >= 40 && n <= 1000 ? (unsigned)n : COLUMNS;
}

static mr_status put_picture(const mr_plan *plan, const mr_walk *walk, const mr_metrics *m, bool svg, FILE *out)
{
	char title[96], subtitle[160], period[48] = "";
	mr_schedule_picture p = {.n_workers = plan->n_workers, .unit = TRACE_SCALE, .title = title, .subtitle = subtitle};
	mr_trace_rec *rec;
	mr_status st;

	MR_TRY(mr_walk_trace(plan, walk, TRACE_SCALE, &rec, &p.n_rec));
	if (!isnan(m->period))
		snprintf(period, sizeof(period), ", period %g", m->period);
	snprintf(title, sizeof(title), "%s, %u worker%s, %u stage%s, %u micro-batch%s", plan->system, plan->n_workers,
		 plan->n_workers == 1 ? "" : "s", plan->n_stages, plan->n_stages == 1 ? "" : "s", plan->n_micro,
		 plan->n_micro == 1 ? "" : "es");
	snprintf(subtitle, sizeof(subtitle), "makespan %g%s, bubble %.1f%%", m->makespan, period, 100 * m->bubble_flush);
	p.rec = rec;
	p.versions = plan->contract.flush == MR_FLUSH_NONE;
	if (svg) {
		st = mr_schedule_picture_svg(&p, out);
	} else {
		st = mr_schedule_picture_text(&p, columns_of(out), out);
		fprintf(out, "%s\n", subtitle);
	}
	free(rec);
	return st;
}

static mr_status put(const mr_args *args, const mr_plan *plan, const mr_stage_cost *costs, FILE *out)
{
	const char *format = mr_values_string(args->values, "format");
	mr_walk *walk = NULL;
	mr_metrics *m = NULL;
	mr_status st;

	if (!strcmp(format, "text"))
		return mr_text_write(plan, out);
	st = mr_metrics_walk(plan, costs->f, costs->i, costs->w, costs->c, mr_plan_list(plan, 0, MR_BODY)->n > 0, &walk);
	if (st == MR_OK)
		st = mr_metrics_create(plan, walk, &m);
	if (st == MR_OK && !strcmp(format, "json"))
		st = put_json(plan, m, out);
	else if (st == MR_OK)
		st = put_picture(plan, walk, m, !strcmp(format, "svg"), out);
	mr_metrics_destroy(m);
	mr_walk_destroy(walk);
	return st;
}

static mr_status put_output(const mr_args *args, const mr_plan *plan, const mr_stage_cost *costs)
{
	const char *path = mr_values_string(args->values, "output");
	FILE *out = stdout;
	mr_status st;

	if (!*path)
		return put(args, plan, costs, stdout);
	out = fopen(path, "we");
	if (!out)
		return mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
	st = put(args, plan, costs, out);
	if (fclose(out) && st == MR_OK)
		st = mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
	return st;
}

/* A reader that has left (| head) is no failure of the schedule. */
static mr_status forgive_pipe(mr_status st, FILE *out)
{
	return st == MR_EIO && ferror(out) && errno == EPIPE ? MR_OK : st;
}

static mr_status run(mr_args *args)
{
	const char *name = args->operand[0];
	const mr_sched_ops *ops;
	mr_stage_cost costs;
	mr_plan *plan;
	mr_status st;

	if (!strcmp(name, MR_SEQUENTIAL))
		return mr_fail(MR_EUSAGE, "sequential has no schedule: it is one worker that runs layer after layer");
	if (mr_schedule_get(name, &ops) != MR_OK)
		return mr_fail(MR_EUSAGE, "%s", mr_error_text());
	MR_TRY(read_costs(mr_values_string(args->values, "costs"), &costs));
	MR_TRY(make_plan(args, ops, &costs, &plan));
	st = put_output(args, plan, &costs);
	mr_plan_destroy(plan);
	return forgive_pipe(st, stdout);
}

const mr_command mr_command_schedule = {
	.name = "schedule",
	.operands = "SYSTEM",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "generate, check and walk the schedule of a system, without a model",
	.help = "millrace list systems names the systems, millrace list systems NAME their options.\n",
	.options = options,
	.sets = true,
	.sets_help = "give the system this option, such as backward=lifo (list systems NAME shows them)",
	.run = run,
};
