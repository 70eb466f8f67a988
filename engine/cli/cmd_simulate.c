/* millrace simulate: trains in virtual time. */
#include "cli/args.h"
#include "cli/clean_env.h"
#include "cli/open_config.h"
#include "cli/train_words.h"

static mr_status run(mr_args *args)
{
	const char *plan = mr_values_string(args->values, "plan");
	mr_config *config;
	mr_status st;

	MR_TRY(mr_args_set_key(args, "costs", "costs"));
	MR_TRY(mr_open_config_of_plan(args, *plan ? plan : NULL, false, &config));
	st = mr_clean_env(args, config);
	if (st == MR_OK)
		st = mr_train_run(config,
				  &(mr_train_opts){.virtual_time = args->values, .plan = *plan ? plan : NULL},
				  &args->signal);
	mr_config_destroy(config);
	return st;
}

static const mr_option options[] = {
	MR_VIRTUAL_OPTIONS,
	{"plan", MR_OPT_STRING, "", 0, 0, NULL, NULL, "this plan in place of the system's, as train --plan"},
	{0},
};

const mr_command mr_command_simulate = {
	.name = "simulate",
	.operands = "CONF",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "train in virtual time: the plan's arithmetic on one thread, with a simulated clock",
	.help = "The simulator says in which order the workers' instructions begin and when, from the costs of the "
		"layers;\n"
		"they are carried out in that order, and every figure of time is a simulated one. The weights are "
		"those of\n"
		"train, to the bit, with any number of workers and for machines that there are not "
		"(machine.topology).\n"
		"Without measured costs (--costs) its clock is that of plan: a model of the machine, where schedule "
		"--config shows\n"
		"nominal times.\n"
		"Writes run.dir as train does, and train --resume can go on from its checkpoints.\n",
	.options = options,
	.sets = true,
	.run = run,
};
