/* millrace check-data: reads every sample that a configuration names, and says what is in them. */
#include <stdio.h>

#include "cli/args.h"
#include "cli/open_config.h"
#include "starter/survey.h"

static mr_status read_all(const mr_args *args, mr_session *s)
{
	mr_strbuf text = {0};
	mr_survey survey;
	mr_status st;

	(void)args;
	printf("data     %s\n", s->data->describe);
	st = mr_survey_make(s->data, s->kernels->types.activations, s->kernels->types.compute, &survey);
	if (st == MR_OK) {
		mr_survey_print(&survey, &text);
		fputs(mr_strbuf_text(&text), stdout);
	}
	mr_strbuf_fini(&text);
	mr_survey_fini(&survey);
	return st;
}

static mr_status run(mr_args *args)
{
	return mr_with_session(args, read_all);
}

const mr_command mr_command_check_data = {
	.name = "check-data",
	.operands = "CONF",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "read every sample of a configuration's data once",
	.help = "Prints how many samples there are, the ranges of their numbers, tokens and targets, how many\n"
		"training samples each class has, and which columns never vary. Where data are damaged it ends with\n"
		"all mistakes, of which the first 20 are named with their files and lines: exit code 4.\n",
	.sets = true,
	.run = run,
};
