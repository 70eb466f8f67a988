/* millrace eval: prints the validation loss of a trained model, or its loss on all training samples without a
 * validation part. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/args.h"
#include "cli/open_config.h"
#include "cli/weights.h"
#include "observe/evaluation.h"
#include "trained/class_validation.h"

static mr_status load(const mr_args *args, mr_session *s, uint64_t *step)
{
	mr_state state;
	mr_status st;

	MR_TRY(mr_executor_state(&s->executor, &state));
	st = mr_weights_load(s, args, &state.model, step);
	mr_state_fini(&state);
	mr_executor_hold(&s->executor);
	return st;
}

/* --scores, --curves, --calibrate */
static mr_status look_closer(const mr_args *args, const mr_session *s)
{
	mr_class_validation v = {.scores = mr_values_string(args->values, "scores"),
			   .curves = mr_values_string(args->values, "curves"),
			   .calibrate = mr_values_bool(args->values, "calibrate")};
	char *path;
	mr_status st;

	if (!mr_class_validation_wanted(&v))
		return MR_OK;
	MR_TRY(mr_weights_find(s->job, args, &path));
	st = mr_class_validation_run(&v, path, s->data);
	free(path);
	return st;
}

static mr_status evaluate(const mr_args *args, mr_session *s)
{
	mr_figures f;
	uint64_t step;

	if (s->data->n_valid == 0 && s->graph->input.tokens && mr_shape_same(s->data->input, s->data->target))
		return mr_fail(MR_EDATA, "%s has no validation part, or none as long as a window of %lld tokens",
			       s->data->ops->name, (long long)s->graph->input.rows);
	if (s->data->n_valid == 0)
		return mr_fail(MR_EDATA, "%s has no validation part", s->data->ops->name);
	MR_TRY(mr_session_start(s, NULL));
	MR_TRY(load(args, s, &step));
	MR_TRY(mr_evaluate(s, NULL, NULL, &f));
	printf("step %llu: ", (unsigned long long)step);
	mr_figures_say_evaluation(&f, MR_DIGITS_EXACT, stdout);
	printf(", %llu samples\n", (unsigned long long)s->data->n_valid);
	return look_closer(args, s);
}

static mr_status run(mr_args *args)
{
	return mr_with_trained(args, false, evaluate);
}

static const mr_option options[] = {
	MR_CHECKPOINT_OPTION,
	{"scores", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "of classes: also write to this file, as JSON, what predict --scores does; empty: no"},
	{"curves", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "likewise, as CSV, the points of each class's ROC and precision-recall curves; empty: no"},
	{"calibrate", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "of classes: fit a temperature to the samples of the evaluation, and keep it in the checkpoint's folder "
	 "(calibration.json) for predict --calibrated"},
	{0},
};

const mr_command mr_command_eval = {
	.name = "eval",
	.operands = "CONF",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "print the validation loss of a trained model",
	.help = "The loss is the mean over all validation samples (text: over their tokens), computed by the\n"
		"workers that the configuration describes. With the configuration of the training it is the\n"
		"number of its best evaluation, or with --last of its last one, to the bit. If a source of rows has\n"
		"no validation part, the loss is that of all training rows, and the output says so. Accuracy, for a\n"
		"loss over classes: the part of the targets (samples; text: tokens) to which the model\n"
		"gives the largest probability.\n",
	.options = options,
	.sets = true,
	.run = run,
};
