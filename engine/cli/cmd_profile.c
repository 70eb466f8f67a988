/* millrace profile: measures every layer of a configuration on this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/args.h"
#include "costs/team_costs.h"
#include "session/team_profile.h"
#include "cli/open_config.h"
#include "observe/layer_classes.h"
#include "report/output.h"
#include "host/probe.h"
#include "report/table.h"
#include "profile/profile.h"
#include "costs/forecast.h"
#include "costs/kept_layers.h"
#include "costs/measured_machine.h"
#include "store/kept_machine.h"

typedef struct view {
	const mr_session *s;
	const mr_profile *p;
	double peak_gflops; /* of one core */
	const mr_measured_machine *here;
} view;

static const mr_place_worker *worker_of(const mr_session *s, uint16_t stage)
{
	return &s->place.worker[mr_plan_worker(s->plan, 0, stage)];
}

/* GFLOP/s and percent of the peak of the cores of @stage. */
static void put_speed(mr_table *t, const view *v, uint16_t stage, double flops, double seconds)
{
	double gflops = flops / seconds / 1e9;

	if (flops > 0 && seconds > 0)
		mr_table_cells(t, "%.1f\t%.1f%%", gflops,
			       100 * gflops / (v->peak_gflops * worker_of(v->s, stage)->n_threads));
	else
		mr_table_cells(t, "-\t-");
}

static void put_ms(mr_table *t, double seconds)
{
	if (seconds > 0)
		mr_table_put(t, "%.4f", seconds * 1e3);
	else
		mr_table_put(t, "-");
}

static void put_layer(mr_table *t, const view *v, uint32_t node)
{
	const mr_graph *g = v->s->graph;
	const mr_node *nd = &g->nodes[node];
	const mr_layer_profile *p = &v->p->layer[node];
	uint64_t weights = 0, output = 0;
	char text[16];

	for (uint32_t i = nd->first_param; i < nd->first_param + nd->n_params; i++)
		weights += (uint64_t)g->params[i].n * mr_dtype_bytes(v->s->kernels->types.weights);
	for (uint32_t i = 0; i < nd->n_out; i++)
		output += (uint64_t)v->s->samples *
			  mr_shape_bytes(nd->out_shape[i], v->s->kernels->types.activations);
	mr_table_cells(t, "%s\t%s", nd->name, nd->ops->name);
	put_ms(t, p->f);
	put_ms(t, p->i);
	put_ms(t, p->w);
	put_speed(t, v, mr_partition_stage(&v->s->partition, node), p->flops_f + p->flops_i + p->flops_w,
		  p->f + p->i + p->w);
	mr_table_put(t, "%s", mr_bytes_text(weights, text));
	mr_table_put(t, "%s", mr_bytes_text(output, text));
	mr_table_put(t, "%.0f%%", 100 * p->spread);
}

static mr_status print_layers(const view *v)
{
	static const mr_table_column columns[] = {
		{"layer", false},  {"kind", false}, {"F ms", true},    {"I ms", true},   {"W ms", true},
		{"GFLOP/s", true}, {"peak", true},  {"weights", true}, {"output", true},
		{"spread", true},
	};
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; i < v->s->graph->n_nodes; i++)
		put_layer(t, v, i);
	return mr_table_finish(t, stdout);
}

static void put_stage(mr_table *t, const view *v, uint16_t stage)
{
	mr_layer_profile sum = {0};
	double flops = 0;

	for (uint32_t i = v->s->partition.first[stage]; i < v->s->partition.first[stage + 1]; i++) {
		const mr_layer_profile *p = &v->p->layer[i];

		sum.f += p->f;
		sum.i += p->i;
		sum.w += p->w;
		flops += p->flops_f + p->flops_i + p->flops_w;
	}
	mr_table_cells(t, "%u\t%u", stage, worker_of(v->s, stage)->n_threads);
	put_ms(t, sum.f);
	put_ms(t, sum.i);
	put_ms(t, sum.w);
	put_speed(t, v, stage, flops, sum.f + sum.i + sum.w);
	put_ms(t, v->p->update_s[stage]);
}

static mr_status print_stages(const view *v)
{
	static const mr_table_column columns[] = {
		{"stage", true}, {"threads", true}, {"F ms", true}, {"I ms", true},
		{"W ms", true},  {"GFLOP/s", true}, {"peak", true}, {"update ms", true},
	};
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint16_t i = 0; i < v->s->partition.n_stages; i++)
		put_stage(t, v, i);
	return mr_table_finish(t, stdout);
}

/* The layers by kind and pass, and the picture where one was asked for. */
static mr_status print_classes(const view *v, const char *path)
{
	mr_layer_classes c;
	mr_output out;
	mr_svg svg;
	mr_status st;

	MR_TRY(mr_layer_classes_of(v->s, v->p, v->peak_gflops * 1e9, &v->here->bandwidth, &c));
	putchar('\n');
	st = mr_layer_classes_print(&c, stdout);
	if (st == MR_OK && *path && (st = mr_output_open(path, &out)) == MR_OK) {
		svg = mr_svg_file(out.file);
		st = mr_output_close(&out, mr_layer_classes_svg(&c, v->s->job->name, &svg));
		if (st == MR_OK)
			printf("the roofline is in %s\n", path);
	}
	mr_layer_classes_fini(&c);
	return st;
}

/* The file then holds the times of the run's instructions. */
static mr_status print_live(const view *v)
{
	mr_stage_cost *stage = calloc(v->s->partition.n_stages, sizeof(*stage));
	mr_workload of = mr_session_workload(v->s);
	mr_layer_profile alone = {0};
	mr_stage_cost live = {0};
	mr_costs c = {0};
	double error;
	mr_status st = stage ? mr_costs_of_profile(&of, v->p, &c)
			     : mr_fail(MR_ERESOURCE, "no memory for the costs of %u stages", v->s->partition.n_stages);

	if (st == MR_OK) {
		mr_costs_of_stages(&of, &c, stage);
		for (uint32_t i = 0; i < v->s->graph->n_nodes; i++) {
			alone.f += v->p->layer[i].f;
			alone.i += v->p->layer[i].i + v->p->layer[i].w;
		}
		for (uint16_t i = 0; i < v->s->partition.n_stages; i++) {
			live.f += stage[i].f;
			live.i += stage[i].i + stage[i].w;
		}
		printf("\nin the run itself F take %.3f times as long as these layers, backward passes %.3f times; a "
		       "worker that\n"
		       "waits for another one continues %.3g us after it\n",
		       live.f / alone.f, live.i / alone.i, v->p->live.hop_s * 1e6);
		st = mr_forecast_error(&of, &c, v->p->live.step_s, &error);
	}
	if (st == MR_OK)
		printf("a step took %.4g ms, %+.1f %% beside what these times predict: the margin of plan --compare\n",
		       1e3 * v->p->live.step_s, 100 * error);
	mr_costs_fini(&c);
	free(stage);
	return st;
}

static mr_status print_all(const view *v, const char *isa, const char *roofline)
{
	const mr_session *s = v->s;
	char machine[512];

	printf("machine  %s\n", mr_topo_print(&s->topo, machine, sizeof(machine)));
	printf("         peak %.1f GFLOP/s a core (%s), measured; kernels %s, %s %s\n", v->peak_gflops, isa,
	       mr_kernels_library(), s->kernels->name, mr_types_name(&s->kernels->types));
	mr_bandwidth_print(&v->here->bandwidth, stdout);
	if (*v->here->busy)
		printf("%s\n", v->here->busy);
	printf("layers   micro-batches of %lld sample%s, median of %u or more\n\n", (long long)s->samples,
	       s->samples == 1 ? "" : "s", v->p->repeats);
	MR_TRY(print_layers(v));
	putchar('\n');
	MR_TRY(print_stages(v));
	MR_TRY(print_classes(v, roofline));
	if (v->p->handoff.read_s > 0 || v->p->handoff.write_s > 0)
		printf("\na boundary between two workers costs its reader %.3g us a KiB more, its writer %.3g us\n",
		       v->p->handoff.read_s * 1024e6, v->p->handoff.write_s * 1024e6);
	return v->p->live.instr ? print_live(v) : MR_OK;
}

/* Milliseconds of a micro-batch of each layer, F, I and W, by teams of each size. */
static mr_status print_teams(const mr_session *s, const mr_team_costs *t)
{
	mr_table_column columns[1 + MR_TEAM_SIZES] = {{"layer", false}};
	char head[MR_TEAM_SIZES][24];
	mr_table *table;

	for (uint32_t k = 0; k < t->n; k++) {
		snprintf(head[k], sizeof(head[k]), "%u thread%s", t->threads[k], t->threads[k] == 1 ? "" : "s");
		columns[1 + k] = (mr_table_column){head[k], true};
	}
	MR_TRY(mr_table_create(columns, 1 + t->n, &table));
	for (uint32_t i = 0; i < t->n_layers; i++) {
		const mr_stage_cost *one = &t->layer[0][i];

		mr_table_put(table, "%s", s->graph->nodes[i].name);
		for (uint32_t k = 0; k < t->n; k++) {
			const mr_stage_cost *l = &t->layer[k][i];
			double ms = 1e3 * (l->f + l->i + l->w), first = 1e3 * (one->f + one->i + one->w);

			mr_table_put(table, "%.4f x%.2f", ms, ms > 0 ? first / ms : 1);
		}
	}
	printf("\nF, I and W by one worker of several threads, ms, and how many times as fast as one thread; more than "
	       "%u were\nnot measured\n\n",
	       t->threads[t->n - 1]);
	return mr_table_finish(table, stdout);
}

static mr_status write_costs(const mr_args *args, const mr_session *s, const mr_profile *p)
{
	const char *path = mr_values_string(args->values, "output");
	mr_workload of = mr_session_workload(s);
	mr_costs c;
	mr_status st;

	MR_TRY(mr_costs_of_profile(&of, p, &c));
	st = p->live.step_s > 0 ? mr_forecast_error(&of, &c, p->live.step_s, &c.error) : MR_OK;
	if (st == MR_OK && mr_values_bool(args->values, "teams")) {
		st = mr_team_costs_measure(s, mr_values_float(args->values, "seconds"), &c);
		if (st == MR_OK)
			st = print_teams(s, c.teams);
	}
	if (st == MR_OK && *path)
		st = mr_costs_write(path, &of, &c);
	mr_costs_fini(&c);
	return st;
}

/* Is the measurement good enough to be used? */
static mr_status judge(const mr_profile *p)
{
	if (p->worst > MR_PROFILE_HOPELESS) {
		fflush(stdout);
		return mr_fail(MR_ERESOURCE,
			       "the machine is too busy to be measured: the times of %s are %.0f %% above the "
			       "smallest after %u tries, "
			       "and nothing was written; stop other programs, or give more --seconds",
			       p->worst_of, 100 * p->worst, MR_PROFILE_TRIES);
	}
	if (p->worst > MR_PROFILE_DISTURBED)
		fprintf(stderr,
			"millrace: warning: the machine was disturbed: the times of %s are %.0f %% above the smallest "
			"after %u tries; "
			"measure again when nothing else runs\n",
			p->worst_of, 100 * p->worst, MR_PROFILE_TRIES);
	return MR_OK;
}

/* For predictions of other models. That it cannot be kept is no failure of the measurement. */
static mr_status keep(const mr_session *s, const mr_profile *p, bool anew)
{
	char path[4096];
	mr_workload of = mr_session_workload(s);
	uint32_t n = 0;
	mr_costs c;

	MR_TRY(mr_costs_of_profile(&of, p, &c));
	if (mr_kept_layers_store(&of, &c, anew, &n) == MR_OK && mr_kept_rows_path(path, sizeof(path)))
		printf("\nkept for predictions by plan: %s, %u kinds of layers\n", path, n);
	else
		printf("\nnot kept for predictions by plan: %s\n", mr_error_text());
	mr_costs_fini(&c);
	return MR_OK;
}

static mr_profile_method method_of(const mr_args *args)
{
	const char *name = mr_values_string(args->values, "method");

	return !strcmp(name, "live")    ? MR_PROFILE_LIVE
	       : !strcmp(name, "alone") ? MR_PROFILE_ALONE
					: MR_PROFILE_TOGETHER;
}

static mr_status measure(const mr_args *args, mr_session *s)
{
	const char *path = mr_values_string(args->values, "output"), *isa;
	const char *roofline = mr_values_string(args->values, "roofline");
	mr_run_config c = mr_session_run_config(s, NULL);
	mr_profile p;
	mr_measured_machine here;
	view v = {s, &p, 0, &here};
	double again;
	mr_status st;

	if (s->topo.synthetic)
		return mr_fail(MR_ECONFIG, "machine.topology describes another machine: only this one is measured");
	if (!strcmp(path, "-"))
		return mr_fail(MR_EUSAGE, "--output: the tables go to standard output, so the times need a file");
	if (!strcmp(roofline, "-"))
		return mr_fail(MR_EUSAGE, "--roofline: the tables go to standard output, so the picture needs a file");
	if (*path)
		MR_TRY(mr_output_check(path));
	if (*roofline)
		MR_TRY(mr_output_check(roofline));
	c.norm_every = 0; /* times of steps without a norm */
	if (mr_values_bool(args->values, "recalibrate"))
		mr_kept_machine_forget();
	MR_TRY(mr_measured_machine_rates(&here, &s->topo));
	v.peak_gflops = here.f32;
	st = mr_profile_measure(&c, s->n_micro, mr_values_float(args->values, "seconds"), method_of(args), &p);
	again = mr_probe_peak_gflops(&isa); /* another program may have disturbed the first */
	v.peak_gflops = again > v.peak_gflops ? again : v.peak_gflops;
	if (st == MR_OK)
		st = print_all(&v, isa, roofline);
	if (st == MR_OK && p.worst <= MR_PROFILE_DISTURBED)
		st = keep(s, &p, mr_values_bool(args->values, "recalibrate"));
	if (st == MR_OK)
		st = judge(&p);
	if (st == MR_OK) {
		st = write_costs(args, s, &p);
		if (st == MR_OK && *path)
			printf("\nwritten to %s, for millrace plan %s --costs %s, or as costs in the configuration\n",
			       path, args->operand[0], path);
	}
	mr_profile_fini(&p);
	return st;
}

static mr_status run(mr_args *args)
{
	/* The measurement does not depend on an earlier one, whose file may not exist yet. It has all passes of all
	 * layers: who freezes some leaves theirs out (mr_costs_add). */
	static const char *const always[] = {"costs=", "train.frozen="};
	const char **set = calloc(args->n_sets + 2u, sizeof(*set));
	mr_args own = *args;
	mr_status st;

	if (!set)
		return mr_fail(MR_ERESOURCE, "no memory for --set");
	for (uint32_t i = 0; i < args->n_sets; i++)
		set[i] = args->set[i];
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		set[own.n_sets++] = always[i];
	own.set = set;
	st = mr_with_session(&own, measure);
	args->signal = own.signal;
	free(set);
	return st;
}

static const mr_option options[] = {
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "write the times to this file, for millrace plan --costs (short: -o)"},
	{"roofline", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "draw what the layers reach against the peak and the bandwidths of their cores, as SVG, to this file"},
	{"seconds", MR_OPT_FLOAT, "0.5", 0, 3600, NULL, "seconds", "time to spend on each stage; 5 repeats at least"},
	{"teams", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "measure teams of 1, 2, 4.. threads too, up to all cores of an L3, of a node and of the machine"},
	{"method", MR_OPT_ENUM, "live", 0, 0, "live|alone|together", NULL,
	 "live: each stage alone, then the instructions of the plan as it runs; alone: no more than that; together: "
	 "stages of all workers at once"},
	{"recalibrate", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "forget what was kept of this machine and of layers on it, and keep this one's figures alone"},
	{0},
};

const mr_command mr_command_profile = {
	.name = "profile",
	.operands = "CONF",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "measure every layer of a model on this machine",
	.help = "Forward (F), input half (I) and weight half (W) of the backward pass of every layer on one\n"
		"micro-batch, and the optimizer step of every stage: medians, on the cores and with the threads\n"
		"of the stage's worker. Where every W has a step inside, its time is part of W, and there is no "
		"update. Layers of train.frozen are measured as if they trained.\n"
		"Percent of peak counts the FLOPs of matrix products and attention.\n"
		"Then the plan runs, to measure its instructions while all workers run; the file (-o) has the layers'\n"
		"times scaled to match them. This is left out if workers share cores, or if the plan does not repeat\n"
		"in one order.\n"
		"Then the same by kind of layer and pass, beside the bytes that it moves at least, the level of the\n"
		"caches that can hold them, the part of what peak and bandwidth allow (roof), and what the processor\n"
		"counted, where this machine counts.\n"
		"Spread: distance of the medians from the smallest times. A disturbed measurement is made up to\n"
		"three times; a spread above 25 % gives a warning; above 100 % nothing is written, and the exit code\n"
		"is 6.\n"
		"What was measured without a warning is kept for this machine: plan takes these times for layers like\n"
		"these in other models (millrace(1), XDG_CACHE_HOME).\n",
	.options = options,
	.sets = true,
	.run = run,
};
