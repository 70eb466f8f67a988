/* millrace sample: writes text with a trained language model to standard output. */
#include <stdio.h>

#include "cli/args.h"
#include "cli/open_config.h"
#include "report/output.h"
#include "session/sample.h"
#include "session/weights_list.h"
#include "cli/weights.h"

static mr_status write_sample(const mr_args *args, mr_session *s)
{
	mr_state_list weights;
	uint64_t step;
	mr_status st;

	MR_TRY(mr_sample_check(s));
	MR_TRY(mr_weights_list(s, &weights));
	st = mr_weights_load(s, args, &weights, &step);
	if (st == MR_OK)
		st = mr_sample_write(s, &weights, stdout);
	mr_weights_list_fini(&weights);
	return mr_output_flush(st);
}

static mr_status run(mr_args *args)
{
	return mr_with_trained(args, true, write_sample);
}

static const mr_option options[] = {
	MR_CHECKPOINT_OPTION,
	{0},
};

const mr_command mr_command_sample = {
	.name = "sample",
	.operands = "CONF",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "let a trained language model write text",
	.help = "Standard output is the text alone. Length, temperature and prompt are keys of the group sample:\n"
		"--set sample.tokens=500 --set sample.prompt=\"To be\". The same seed (train.seed) gives the same\n"
		"text. The characters are those that the checkpoint holds, so the text of the training is not "
		"needed;\n"
		"a model of a tokenizer's tokens needs the same tokenizer.json at data.tokenizer.\n"
		"Up to the model's context a token is one row through the network, which keeps the keys and\n"
		"values, or the state, of those before. Behind it all positions shift: each token then takes a\n"
		"whole window, which is much slower.\n",
	.options = options,
	.sets = true,
	.run = run,
};
