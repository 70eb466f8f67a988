/* millrace train: reads the configuration, trains, reports. */
#include <stdio.h>

#include "cli/args.h"
#include "cli/clean_env.h"
#include "cli/open_config.h"
#include "cli/program.h"
#include "cli/train_words.h"
#include "host/launched.h"
#include "training/repeats.h"
#include "training/train_ranks.h"

/* The value of option @name; NULL: it is not given. */
static const char *given(const mr_args *args, const char *name)
{
	const char *text = mr_values_string(args->values, name);

	return *text ? text : NULL;
}

/* MR_EUSAGE if mpirun or srun has started this process as one of several: they would fight for one folder. */
static mr_status refuse_ranks(void)
{
	const char *name;
	long n = mr_launched(&name);

	if (n < 2)
		return MR_OK;
	return mr_fail(MR_EUSAGE, "this is one of %ld processes that a launcher started (%s), and millrace is one "
		       "process: the program for several is millrace-mpi", n, name);
}

/* In this process, or over the ranks of which it is one. */
static mr_status train(mr_args *args, mr_config *config, mr_train_opts *o)
{
	mr_status st;

	if (!args->launcher) {
		MR_TRY(refuse_ranks());
		return mr_train_run(config, o, &args->signal);
	}
	MR_TRY(args->launcher->begin(&args->ranks));
	o->ranks = args->ranks;
	if (!o->ranks || !o->ranks->self)
		return mr_train_run(config, o, &args->signal);
	st = mr_train_follow(config, o);
	return st == MR_ESTALLED ? st : MR_OK; /* rank 0 says all else */
}

typedef struct several {
	mr_args *args;
	mr_train_opts opts;
} several;

/* One training of several. */
static mr_status train_one(void *arg, const mr_repeat *keys, bool resume)
{
	several *s = arg;
	mr_args *args = s->args;
	mr_config *config;
	mr_status st;

	for (uint32_t i = 0; i < keys->n; i++)
		args->set[args->n_sets++] = keys->text[i]; /* there is room: one for each argument */
	s->opts.resume = resume ? "" : NULL;
	st = mr_open_config_of_plan(args, s->opts.plan, resume, &config);
	args->n_sets -= keys->n;
	MR_TRY(st);
	st = mr_train_run(config, &s->opts, &args->signal);
	mr_config_destroy(config);
	return st == MR_OK && args->signal ? MR_ESTOPPED : st;
}

static mr_status run(mr_args *args)
{
	const char *from = mr_values_string(args->values, "from");
	bool go_on = mr_values_bool(args->values, "continue"), resume = mr_values_bool(args->values, "resume");
	mr_train_opts o = {.resume = resume ? from : NULL,
			   .anew = go_on,
			   .init = given(args, "init"),
			   .init_anyway = mr_values_bool(args->values, "init-anyway"),
			   .record = given(args, "record"),
			   .plan = given(args, "plan"),
			   .counts = mr_values_bool(args->values, "counters"),
			   .replay = given(args, "replay")};
	int64_t folds = mr_values_int(args->values, "folds"), seeds = mr_values_int(args->values, "seeds");
	mr_config *config;
	mr_status st;

	if ((folds || seeds) && (resume || o.record || o.replay || args->launcher || (folds && seeds)))
		return mr_fail(MR_EUSAGE, "--folds and --seeds are several trainings: without %s",
			       folds && seeds ? "each other" : resume ? "--resume (--continue goes on with them)"
			       : args->launcher ? "ranks" : "--record and --replay");
	if (*from && !resume)
		return mr_fail(MR_EUSAGE, "--from names the checkpoint that --resume continues from, and goes with it");
	MR_TRY(mr_train_check(&o));
	if (mr_values_bool(args->values, "quiet") && !freopen("/dev/null", "w", stdout))
		return mr_fail(MR_EIO, "--quiet: /dev/null cannot be opened");
	MR_TRY(mr_open_config_of_plan(args, o.plan ? o.plan : o.replay, resume || go_on, &config));
	st = mr_clean_env(args, config);
	if (st == MR_OK && (folds || seeds)) {
		st = mr_repeats_run(mr_config_job(config), folds > 0, (uint32_t)(folds + seeds), go_on, train_one,
				    &(several){args, o});
		mr_config_destroy(config);
		return st;
	}
	if (go_on && mr_rundir_has_checkpoint(mr_config_job(config)->run_dir))
		o.resume = from;
	if (st == MR_OK)
		st = train(args, config, &o);
	mr_config_destroy(config);
	return st;
}

static const mr_option options[] = {
	{"resume", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "continue from the newest checkpoint in run.dir"},
	{"continue", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "as --resume where run.dir holds a checkpoint, else from the start: one command line for services and queues"},
	{"from", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "with --resume: continue from the best checkpoint (best) or the one of this name (such as step-00000100) "
	 "instead"},
	{"init", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "begin with the weights of this safetensors file, index or folder: of a run of this program, or of a model of "
	 "Hugging Face (GPT-2, Llama, Mistral, Qwen2)"},
	{"init-anyway", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "with --init: warn, and go on, where the file has tensors that the network does not take, or config.json "
	 "beside it says something else"},
	{"record", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "racing systems, steal = true: write the order that was taken to this file, as a plan (up to 65536 "
	 "micro-batches)"},
	{"replay", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "carry out the record that --record wrote to this file: the same weights to the bit"},
	{"folds", MR_OPT_INT, "0", 0, 1000, NULL, NULL,
	 "train this number of times, each time with another fold of the data for validation, and print mean and "
	 "deviation of the results; each run is in a folder fold-N of run.dir, the results are in "
	 "folds.json. 0: one training"},
	{"seeds", MR_OPT_INT, "0", 0, 1000, NULL, NULL,
	 "the same with this number of seeds in a row, from train.seed on: folders seed-N, and seeds.json"},
	{"quiet", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "print no progress, tables and samples: only warnings and errors, on standard error"},
	{"plan", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "train this plan, text or JSON, in place of the system's: what millrace check accepts, also written by hand"},
	{"counters", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "count cycles, instructions, cache misses and more for each stage and operation: a table at the end and "
	 "counters.json; costs some system calls an instruction"},
	{0},
};

const mr_command mr_command_train = {
	.name = "train",
	.operands = "CONF",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "train the model that a configuration file describes",
	.help = "Writes run.dir: the resolved configuration, metrics.jsonl, checkpoints and, with\n"
		"trace.steps, a timeline.\n"
		"SIGINT and SIGTERM finish the step, break an evaluation off, save and end (a second one\n"
		"ends at once; --resume makes the evaluation again) or, before the first step, end at once\n"
		"and leave nothing behind; where a save hangs, after a minute at most and with exit code 8\n"
		"(machine.watchdog); SIGUSR1 saves now, SIGUSR2 prints the status.\n"
		"Weights that grew a thousandfold a step while the loss rose are not saved:\n"
		"exit code 7 (millrace(1), CHECKPOINTS).\n",
	.options = options,
	.sets = true,
	.run = run,
};
