/*
 * millrace predict: the predictions of a trained model for the samples of a file.
 *
 * All that it needs stands in the checkpoint (trained/trained.h): the configuration, and the form of the data
 * (reader/form.h). Texts of language models are in text_predictions.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notice.h"
#include "base/printable.h"
#include "cli/args.h"
#include "cli/clean_env.h"
#include "cli/predictions.h"
#include "cli/text_predictions.h"

#define SHOWN_MISTAKES 20

typedef struct predict {
	const mr_args *args;
	mr_trained t;
	mr_reader *reader;
	mr_output out;
	mr_predictions to;
	char *input;         /* [batch] */
	mr_reader_sample *sample; /* [batch] */
	char **name;         /* [batch] copies of their names; NULL: none */
	double *value;       /* [batch][n_values] */
	uint64_t n_wrong;    /* samples that cannot be read */
	char first[1024];    /* what was wrong with the first */
	mr_class_scores scores;
} predict;

static mr_status take_memory(predict *p)
{
	size_t batch = (size_t)p->t.batch;

	/* logits are as many as values, or one where classes are two */
	p->input = calloc(batch, p->t.input_bytes);
	p->sample = calloc(batch, sizeof(*p->sample));
	p->name = calloc(batch, sizeof(*p->name));
	p->value = calloc(batch * p->t.n_values, sizeof(*p->value));
	return p->input && p->sample && p->name && p->value ? MR_OK
							     : mr_fail(MR_ERESOURCE, "no memory for a batch");
}

static mr_status run_batch(predict *p, int64_t n)
{
	if (n == 0 || p->n_wrong)
		return MR_OK;
	MR_TRY(mr_trained_predict(&p->t, p->input, n, p->value));
	for (int64_t i = 0; i < n; i++)
		mr_predictions_put(&p->to, &p->sample[i], p->value + (size_t)i * p->t.n_values);
	return MR_OK;
}

/* One that cannot be read is shown, and so are others behind it. */
static mr_status note_wrong(predict *p, mr_status st)
{
	if (st != MR_EDATA || !p->reader->skips)
		return st;
	if (p->n_wrong == 0)
		snprintf(p->first, sizeof(p->first), "%s", mr_error_text());
	else if (p->n_wrong == 1)
		fprintf(stderr, "%s\n", p->first);
	if (p->n_wrong && p->n_wrong < SHOWN_MISTAKES)
		fprintf(stderr, "%s\n", mr_error_text());
	p->n_wrong++;
	return MR_OK;
}

static mr_status keep_name(predict *p, int64_t i)
{
	free(p->name[i]);
	p->name[i] = NULL;
	if (!p->sample[i].name)
		return MR_OK;
	p->name[i] = strdup(p->sample[i].name);
	p->sample[i].name = p->name[i];
	return p->name[i] ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a name");
}

static mr_status predict_all(predict *p)
{
	int64_t n = 0;

	for (;;) {
		mr_status st = mr_reader_next(p->reader, p->input + (size_t)n * p->t.input_bytes, &p->sample[n]);

		if (st != MR_OK) {
			MR_TRY(note_wrong(p, st));
			continue;
		}
		if (!p->sample[n].got)
			break;
		MR_TRY(keep_name(p, n));
		if (++n < p->t.batch)
			continue;
		MR_TRY(run_batch(p, n));
		n = 0;
	}
	MR_TRY(run_batch(p, n));
	if (p->n_wrong == 1)
		return mr_fail(MR_EDATA, "%s", p->first);
	if (p->n_wrong)
		return mr_fail(MR_EDATA, "%llu samples cannot be read, the first: %s", (unsigned long long)p->n_wrong,
			       p->first);
	return MR_OK;
}

static void say_odd(const predict *p)
{
	mr_strbuf b;

	mr_strbuf_init(&b);
	mr_reader_say(p->reader, &b);
	if (b.len)
		mr_notice("warning: %s: taken as unknown", mr_printable(b.data));
	mr_strbuf_fini(&b);
}

static mr_status write_all(predict *p)
{
	mr_status st;

	MR_TRY(mr_output_open(mr_values_string(p->args->values, "output"), &p->out));
	p->to.file = p->out.file;
	mr_predictions_begin(&p->to);
	st = predict_all(p);
	if (st == MR_OK)
		st = mr_predictions_end(&p->to);
	st = mr_output_close(&p->out, st);
	if (st == MR_OK) {
		mr_predictions_say(&p->to);
		say_odd(p);
	}
	return st;
}

/* The format that is asked for, or that the ending of the output's name tells; of texts JSON lines. */
static mr_status choose_format(predict *p)
{
	const char *format = mr_values_string(p->args->values, "format");
	const char *output = mr_values_string(p->args->values, "output"), *end = strrchr(output, '.');

	if (!strcmp(format, "auto"))
		format = end && !strchr(end, '/') ? end + 1 : p->t.form.language ? "jsonl" : "csv";
	p->to.format = !strcmp(format, "npy") ? MR_PREDICTIONS_NPY
		       : !strcmp(format, "jsonl") ? MR_PREDICTIONS_JSONL : MR_PREDICTIONS_CSV;
	if (p->to.format == MR_PREDICTIONS_NPY && (!*output || !strcmp(output, "-")))
		return mr_fail(MR_EUSAGE, "--format npy needs a file: --output FILE.npy");
	return MR_OK;
}

static const char *name_of(const void *form, size_t i, char room[24])
{
	return mr_predictions_class(form, i, room);
}

/* --scores */
static mr_status write_scores(predict *p, const char *path)
{
	mr_output out;
	mr_json_writer w;

	if (!p->to.n_scored)
		return mr_fail(MR_EDATA, "--scores: %s has no targets to compare with", p->args->operand[1]);
	MR_TRY(mr_output_open(path, &out));
	mr_json_init(&w, out.file, true);
	mr_json_begin_object(&w);
	mr_class_scores_put(&p->scores, name_of, &p->t.form, &w);
	mr_json_end_object(&w);
	return mr_output_close(&out, mr_json_finish(&w));
}

static mr_status predict_samples(predict *p)
{
	const char *scores = mr_values_string(p->args->values, "scores");
	const mr_trained *t = &p->t;

	MR_TRY(take_memory(p));
	MR_TRY(mr_reader_open(&t->form, p->args->operand[1], t->s.kernels->types.activations, &p->reader));
	p->to.form = &t->form;
	p->to.named = !strcmp(t->form.source, "images");
	p->to.classes = t->classes;
	p->to.width = t->n_values;
	if (!*scores)
		return write_all(p);
	if (!t->classes)
		return mr_fail(MR_EUSAGE, "--scores is of classes, and this model predicts numbers");
	MR_TRY(mr_class_scores_init(&p->scores, t->n_values));
	p->to.scores = &p->scores;
	MR_TRY(write_all(p));
	return write_scores(p, scores);
}

/* Keys that are of no use for these data. */
static mr_status check_options(const predict *p)
{
	static const char *const of_texts[] = {"input", "tokens"};

	if (p->t.form.language && mr_values_is_set(p->args->values, "scores"))
		return mr_fail(MR_EUSAGE, "--scores is of classes of samples, and this is a language model");

	for (size_t i = 0; i < 2 && !p->t.form.language; i++)
		if (mr_values_is_set(p->args->values, of_texts[i]))
			return mr_fail(MR_EUSAGE, "--%s is of language models, and this one was trained on data \"%s\"",
				       of_texts[i], p->t.form.source);
	return MR_OK;
}

static mr_status work(predict *p)
{
	const mr_args *args = p->args;
	const char *name = mr_values_string(args->values, "checkpoint");
	bool last = mr_values_bool(args->values, "last");

	if (last && *name)
		return mr_fail(MR_EUSAGE, "--last and --checkpoint name two checkpoints: give one of them");
	MR_TRY(mr_trained_find(&p->t, args->operand[0], last ? "last" : name, args->set, args->n_sets));
	MR_TRY(check_options(p));
	MR_TRY(choose_format(p));
	MR_TRY(mr_clean_env(args, p->t.config));
	MR_TRY(mr_trained_open(&p->t, mr_values_int(args->values, "batch")));
	return p->t.form.language ? mr_text_predictions(args, &p->t, p->to.format) : predict_samples(p);
}

static void release(predict *p)
{
	mr_reader_close(p->reader);
	for (int64_t i = 0; p->name && i < p->t.batch; i++)
		free(p->name[i]);
	free(p->name);
	free(p->input);
	free(p->sample);
	free(p->value);
	mr_class_scores_fini(&p->scores);
	mr_trained_close(&p->t);
}

static mr_status run(mr_args *args)
{
	predict p = {.args = args};
	mr_status st = work(&p);

	release(&p);
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
	 "recall and F1 of each class, loss, and how well probabilities are calibrated; empty: no"},
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
		"order where they have names; LIBSVM; a picture or a folder of them. - is standard input. Columns\n"
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
