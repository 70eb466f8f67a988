/* millrace plan: describes the run of a configuration on its machine, or on another one, without training. */
#include <stdio.h>
#include <string.h>

#include "base/result.h"
#include "base/shell_word.h"
#include "choose/auto.h"
#include "choose/compare.h"
#include "choose/in_flight.h"
#include "outline/forecast_picture.h"
#include "choose/what_fits.h"
#include "cli/args.h"
#include "cli/open_config.h"
#include "host/memory.h"
#include "logbook/machine_picture.h"
#include "report/output.h"
#include "outline/plan_kernels.h"
#include "outline/plan_report.h"
#include "session/session_forecast.h"
#include "training/plan_job.h"

/* A refusal says what would fit. */
static mr_status fits(const mr_session *s, const mr_forecast *f)
{
	mr_status st = mr_session_forecast_fits(s, f);
	mr_strbuf refusal = {0}, text = {0};

	if (st != MR_ERESOURCE)
		return st;
	mr_strbuf_append(&refusal, mr_error_text());
	st = mr_what_fits(s, &text);
	if (st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "%s%s%s", mr_strbuf_text(&refusal), text.len ? "\nwould fit: " : "",
			     text.len ? mr_strbuf_text(&text) : "");
	mr_strbuf_fini(&refusal);
	mr_strbuf_fini(&text);
	return st;
}

static mr_status report(void *arg, const mr_session *s, const mr_forecast *f)
{
	const mr_args *args = arg;
	const char *path = mr_values_string(args->values, "output");
	const char *format = mr_values_string(args->values, "format");
	bool svg = !strcmp(format, "svg"), json = !strcmp(format, "json");
	bool layers = !strcmp(format, "layers"), machine = !strcmp(format, "machine");
	mr_output out;
	mr_status st;

	if (svg || machine) /* a picture does not show memory */
		MR_TRY(fits(s, f));
	MR_TRY(mr_output_open(path, &out));
	st = svg      ? mr_forecast_draw(s, f, true, out.file)
	     : machine ? mr_machine_draw(s, out.file)
	     : layers ? mr_plan_layers_print(s, f, out.file)
	     : json   ? mr_forecast_print_json(s, f, out.file)
		      : mr_forecast_print(s, f, out.file);
	if (st == MR_OK && !svg && !machine && !layers && !json)
		st = mr_in_flight_print(s, f, out.file);
	MR_TRY(mr_output_close(&out, st));
	return layers ? MR_OK : fits(s, f);
}

/* All systems side by side. */
static mr_status compare(const mr_args *args)
{
	const char *path = mr_values_string(args->values, "output");
	bool svg = !strcmp(mr_values_string(args->values, "format"), "svg");
	mr_config *config;
	mr_compare c;
	mr_output out;
	mr_status st;

	MR_TRY(mr_open_config(args, &config));
	st = mr_compare_init(&c, mr_config_job(config), (uint64_t)mr_values_int(args->values, "cap"), svg);
	if (st == MR_OK)
		st = mr_output_open(path, &out);
	if (st == MR_OK) {
		st = svg ? mr_compare_draw(&c, out.file) : mr_compare_print(&c, out.file);
		st = mr_output_close(&out, st);
	}
	mr_compare_fini(&c);
	mr_config_destroy(config);
	return st;
}

static mr_status one(mr_args *args)
{
	const char *path = mr_values_string(args->values, "plan"), *plan = *path ? path : NULL;
	mr_config *config;
	mr_status st;

	MR_TRY(mr_open_config_of_plan(args, plan, false, &config));
	st = mr_with_forecast(mr_config_job(config), plan, report, args);
	mr_config_destroy(config);
	return st;
}

/* Where no folder is named, that of the choice is runs/NAME by the choice's own name, not by that of @job, whose run
 * may be there already. Puts the text of that --set into @set. */
static bool has_own_folder(const mr_job *job, const char *path, char *set, size_t size)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strlen(base);

	if (strncmp(job->run_dir, "runs/", 5) != 0 || strcmp(job->run_dir + 5, job->name) != 0)
		return false;
	if (len > 4 && !strcmp(base + len - 4, ".cfg"))
		len -= 4;
	return (size_t)snprintf(set, size, "run.dir=runs/%.*s", (int)len, base) < size;
}

/* Write the configuration of @args with the settings of @r, for the machine that trains with it. */
static mr_status write_choice(const mr_args *args, const mr_job *job, const mr_auto_row *r, const char *path)
{
	char dir[PATH_MAX + 16], word[MR_SHELL_WORD_BYTES];
	const char *sets[64];
	mr_args chosen = *args;
	mr_config *config;
	mr_strbuf text = {0};
	mr_status st;

	if (args->n_sets + r->n_sets + 2 > sizeof(sets) / sizeof(sets[0]))
		return mr_fail(MR_EUSAGE, "--auto takes at most %zu --set",
			       sizeof(sets) / sizeof(sets[0]) - r->n_sets - 2);
	chosen.n_sets = args->n_sets;
	memcpy(sets, args->set, args->n_sets * sizeof(*sets));
	for (uint32_t i = 0; i < r->n_sets; i++)
		sets[chosen.n_sets++] = r->set[i];
	sets[chosen.n_sets++] = "machine.topology=\"\""; /* it is at hand when the run begins */
	if (has_own_folder(job, path, dir, sizeof(dir)))
		sets[chosen.n_sets++] = dir;
	chosen.set = sets;
	MR_TRY(mr_open_config(&chosen, &config));
	st = mr_config_print(config, &text);
	if (st == MR_OK)
		st = mr_result_write(path, mr_strbuf_text(&text), text.len, MR_RESULT_NAMED);
	mr_strbuf_fini(&text);
	mr_config_destroy(config);
	if (st == MR_OK)
		printf("\nwritten to %s: millrace train %s\n", path, mr_shell_word(path, word));
	return st;
}

/* As text, and as SVG to the file that @arg is, unless it is NULL. */
static mr_status show(void *arg, const mr_session *s, const mr_forecast *f)
{
	MR_TRY(mr_forecast_picture_text(s, f, stdout));
	return arg ? mr_forecast_picture_svg(s, f, arg) : MR_OK;
}

static mr_status draw_choice(const mr_auto *a, const char *path)
{
	mr_output svg;
	mr_status st;

	putchar('\n');
	if (!*path)
		return mr_auto_look(a, show, NULL);
	MR_TRY(mr_output_open(path, &svg));
	st = mr_auto_look(a, show, svg.file);
	return mr_output_close(&svg, st);
}

/* The best configuration. */
static mr_status choose(const mr_args *args)
{
	const char *path = mr_values_string(args->values, "output");
	uint32_t verify = (uint32_t)mr_values_int(args->values, "verify");
	mr_auto_question q = {.allow_stale = (uint32_t)mr_values_int(args->values, "allow-stale"),
			      .measures = verify || mr_values_bool(args->values, "measure"),
			      .systems = mr_values_string(args->values, "systems"),
			      .memory = (uint64_t)mr_values_int(args->values, "memory")};
	mr_config *config;
	mr_auto a = {0};
	mr_status st;

	MR_TRY(mr_output_check(path));
	mr_memory_keep_freed(); /* hundreds of plans are made */
	MR_TRY(mr_open_config(args, &config));
	q.job = mr_config_job(config);
	st = mr_auto_search(&q, &a);
	if (st == MR_OK && verify)
		st = mr_auto_verify(&q, &a, verify);
	if (st == MR_OK)
		st = mr_auto_print(&a, stdout);
	if (st == MR_OK)
		st = draw_choice(&a, mr_values_string(args->values, "picture"));
	if (st == MR_OK && *path)
		st = write_choice(args, q.job, &a.row[0], path);
	mr_auto_fini(&a);
	mr_config_destroy(config);
	return st;
}

static mr_status make(mr_args *args)
{
	static const char *const with_auto[] = {"allow-stale", "measure", "verify", "memory", "systems", "picture"};
	static const char *const without[] = {"compare", "plan", "cap", "format"};
	const char *format = mr_values_string(args->values, "format");
	bool all = mr_values_bool(args->values, "compare"), automatic = mr_values_bool(args->values, "auto");

	for (size_t i = 0; !automatic && i < sizeof(with_auto) / sizeof(with_auto[0]); i++)
		if (mr_values_is_set(args->values, with_auto[i]))
			return mr_fail(MR_EUSAGE, "--%s goes with --auto", with_auto[i]);
	for (size_t i = 0; automatic && i < sizeof(without) / sizeof(without[0]); i++)
		if (mr_values_is_set(args->values, without[i]))
			return mr_fail(MR_EUSAGE, "--%s has no meaning with --auto", without[i]);
	if (automatic && !strcmp(mr_values_string(args->values, "output"), "-"))
		return mr_fail(MR_EUSAGE, "--auto writes its tables to standard output: -o needs the name of a file");
	if (automatic)
		return choose(args);

	if (!all && mr_values_int(args->values, "cap"))
		return mr_fail(MR_EUSAGE, "--cap goes with --compare; the limit of a plan is machine.memory_limit");
	if (all && *mr_values_string(args->values, "plan"))
		return mr_fail(MR_EUSAGE, "--compare shows systems side by side, and --plan is one order: take one of "
					  "the two");
	if (all && (!strcmp(format, "json") || !strcmp(format, "layers") || !strcmp(format, "machine")))
		return mr_fail(MR_EUSAGE, "--compare shows a table or pictures; --format %s is of one plan", format);
	return all ? compare(args) : one(args);
}

static mr_status run(mr_args *args)
{
	const char *synthetic = mr_values_string(args->values, "topology");
	mr_topo topo;

	if (*synthetic) {
		if (mr_topo_synthetic(synthetic, &topo) != MR_OK)
			return mr_fail(MR_EUSAGE, "--topology: %s", mr_error_text());
		mr_topo_fini(&topo);
	}
	MR_TRY(mr_args_set_key(args, "topology", "machine.topology"));
	MR_TRY(mr_args_set_key(args, "costs", "costs"));
	return make(args);
}

static const mr_option options[] = {
	{"topology", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "plan for this machine, such as \"numa:4 core:16 pu:2\", with sizes \"numa:2(memory=64GB) core:8 pu:1\", or "
	 "one of list machines"},
	{"costs", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "times of the layers, a file of millrace profile -o; empty: those of costs in the configuration, or nominal"},
	{"plan", MR_OPT_STRING, "", 0, 0, NULL, NULL, "this plan in place of the system's, as train --plan"},
	{"compare", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "all systems side by side: predicted step time, bubble, memory, weight copies, staleness"},
	{"auto", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "search for the fastest workers, threads, micro-batches and system; -o writes them as a configuration"},
	{"allow-stale", MR_OPT_INT, "0", 0, 1e6, NULL, "commits",
	 "with --auto: also systems that do not flush, whose gradients are at most this late"},
	{"picture", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "with --auto: draw the machine with the stages, their memory and the schedule as SVG into this file"},
	{"systems", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "with --auto: only these systems, with commas between; empty: all"},
	{"measure", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "with --auto: measure the layers first, some seconds, unless that is kept from before; --verify does so, too"},
	{"verify", MR_OPT_INT, "0", 0, 100, NULL, NULL,
	 "with --auto: train this many of the best and some others in turns, correct the predictions, and choose by "
	 "what they took"},
	{"memory", MR_OPT_INT, "0", 0, 1e18, NULL, "bytes",
	 "with --auto: the memory of all workers together; recomputation is then a choice; 0: what the machine has"},
	{"cap", MR_OPT_INT, "0", 0, 1e18, NULL, "bytes",
	 "with --compare: the memory of all workers together; 0: machine.memory_limit, which is of the whole process"},
	{"format", MR_OPT_ENUM, "text", 0, 0, "text|json|svg|machine|layers", NULL,
	 "all tables and the schedule as text; stages and every operation of the kernels as JSON; the schedule as a "
	 "picture; the machine with its workers as a picture; or the table of layers that partition reads"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o); empty or -: standard output"},
	{0},
};

const mr_command mr_command_plan = {
	.name = "plan",
	.operands = "CONF",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "show stages, placement, memory, schedule and predicted speed, without training",
	.help = "The memory is that of the engine, stage by stage and node by node; a plan that does not fit is\n"
		"refused with the figures (exit code 6). Times are a prediction from the costs of the layers:\n"
		"nominal ones say how a plan balances, measured ones (millrace profile CONF -o FILE) how long a\n"
		"step takes.\n",
	.options = options,
	.sets = true,
	.run = run,
};
