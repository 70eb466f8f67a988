/*
 * millrace predict: the predictions of a trained model for the samples of a file.
 *
 * All that it needs stands in the checkpoint (trained/trained.h): the configuration, and the form of the data
 * (reader/form.h). The course of predicting is trained/predict_file.h.
 */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/clean_env.h"
#include "trained/predict_file.h"

static void show(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "%s\n", text);
}

static mr_predict_file asked(const mr_args *args)
{
	static const char *const kinds[] = {"auto", "text", "lines", "jsonl", "tokens"};
	const mr_values *v = args->values;
	mr_texts_kind kind = MR_TEXTS_AUTO;

	while (strcmp(kinds[kind], mr_values_string(v, "input")) != 0)
		kind++;
	return (mr_predict_file){.path = args->operand[1], .output = mr_values_string(v, "output"),
				 .format = mr_values_string(v, "format"), .scores = mr_values_string(v, "scores"),
				 .curves = mr_values_string(v, "curves"),
				 .input = kind, .by_token = mr_values_bool(v, "tokens"), .wrong = show};
}

static mr_status work(const mr_args *args, mr_trained *t)
{
	const char *name = mr_values_string(args->values, "checkpoint");
	bool last = mr_values_bool(args->values, "last");
	mr_predict_file p = asked(args);

	if (last && *name)
		return mr_fail(MR_EUSAGE, "--last and --checkpoint name two checkpoints: give one of them");
	MR_TRY(mr_trained_find(t, args->operand[0], last ? "last" : name, args->set, args->n_sets));
	MR_TRY(mr_predict_file_check(&p, t));
	MR_TRY(mr_clean_env(args, t->config));
	MR_TRY(mr_trained_open(t, mr_values_int(args->values, "batch")));
	if (mr_values_bool(args->values, "calibrated"))
		MR_TRY(mr_trained_calibrate(t));
	return mr_predict_file_run(&p, t);
}

static mr_status run(mr_args *args)
{
	mr_trained t = {0};
	mr_status st = work(args, &t);

	mr_trained_close(&t);
	return st;
}

static const mr_option options[] = {
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "write to this file (short: -o); empty or -: to standard output"},
	{"format", MR_OPT_ENUM, "auto", 0, 0, "auto|csv|jsonl|npy", NULL,
	 "a row a sample, as CSV or as JSON; or an array of NumPy. auto: by the ending of the output's name, else csv, "
	 "and of texts jsonl"},
	{"checkpoint", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "of a run's folder: best, or a name such as step-00000100; empty: the best, or the newest where none was "
	 "evaluated"},
	{"last", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "the newest checkpoint, not the best one"},
	{"batch", MR_OPT_INT, "0", 0, 65536, NULL, "samples",
	 "as many at once; 0: what memory allows, up to 512"},
	{"scores", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "of classes, where the file has targets: also write to this file, as JSON, the confusion matrix, precision, "
	 "recall, F1 and the areas under the curves of each class, means over classes, loss, and how well "
	 "probabilities are calibrated; empty: no"},
	{"curves", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "likewise, as CSV, the points of each class's ROC and precision-recall curves; empty: no"},
	{"calibrated", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "of classes: probabilities with the temperature that eval --calibrate has fitted for this checkpoint"},
	{"input", MR_OPT_ENUM, "auto", 0, 0, "auto|text|lines|jsonl|tokens", NULL,
	 "of a language model, what FILE is: one text; a text a line; JSON lines with \"text\" or \"tokens\"; or a "
	 "file of token numbers. auto: jsonl and tokens by the ending .jsonl or .bin, else text"},
	{"tokens", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "of a language model: a row a token, not a text"},
	{0},
};

const mr_command mr_command_predict = {
	.name = "predict",
	.operands = "RUN FILE",
	.min_operands = 2,
	.max_operands = 2,
	.summary = "predict the samples of a file with a trained model",
	.help = "RUN is the folder of a run, or a checkpoint: it is enough, wherever it lies, and the files of the\n"
		"training are not needed. FILE has what the training's data had: CSV with the same columns, in any\n"
		"order where they have names; LIBSVM; a picture or a folder of them; IDX files and CIFAR's records\n"
		"for models of such pictures. An array of NumPy (.npy) with a row for each sample goes with all of\n"
		"these, and so do, for data that are made up, rows of numbers. - is standard input. Columns\n"
		"that the model does not know are ignored. The target may be there or not; where it is, accuracy\n"
		"or errors are printed to standard error.\n"
		"Classes come with their probabilities, numbers in the unit of the target.\n"
		"A language model says how probable a text is: the logarithm of its probability, its perplexity, and\n"
		"the five tokens that are most likely behind it. Its vocabulary or tokenizer is in the checkpoint.\n"
		"Samples that cannot be read are all named, up to 20, and then nothing behind them is predicted.\n",
	.options = options,
	.sets = true,
	.run = run,
};
