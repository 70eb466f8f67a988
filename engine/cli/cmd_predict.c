/*
 * millrace predict: the predictions of a trained model for the samples of a file.
 *
 * All that it needs stands in the checkpoint: the configuration, and the form of the data (reader/form.h). The model
 * runs on one worker that has all cores, in batches as large as memory allows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notice.h"
#include "base/printable.h"
#include "checkpoint/checkpoints.h"
#include "checkpoint/inspect.h"
#include "cli/args.h"
#include "cli/clean_env.h"
#include "cli/predictions.h"
#include "cli/weights.h"
#include "config/config.h"
#include "nn/element.h"
#include "session/logits.h"

#define MOST_BATCH 512
#define MOST_BYTES ((uint64_t)512 << 20) /* of a batch's activations */
#define SHOWN_MISTAKES 20

typedef struct predict {
	const mr_args *args;
	char *path;          /* of the checkpoint */
	mr_form form;
	mr_session s;
	mr_logits *model;
	mr_reader *reader;
	mr_output out;
	mr_predictions to;
	int64_t batch;
	size_t input_bytes, width;
	char *input;         /* [batch] */
	mr_reader_sample *sample; /* [batch] */
	char **name;         /* [batch] copies of their names; NULL: none */
	double *value;       /* [width] */
	uint64_t n_wrong;    /* samples that cannot be read */
	char first[1024];    /* what was wrong with the first */
} predict;

/* --- the model --- */

/* These keys of the training concern its machine and its files alone. */
static const char *const own_keys[] = {
	"system.name=sequential", "machine.workers=1", "machine.threads=0", "machine.cpus=", "machine.topology=",
	"machine.choices=", "machine.teams=equal", "costs=", "partition=auto", "train.frozen=", "trace.steps=",
};

#define N_OWN (sizeof(own_keys) / sizeof(own_keys[0]))

static mr_status find(predict *p)
{
	const char *run = p->args->operand[0], *asked = mr_values_string(p->args->values, "checkpoint");
	char *folder;
	mr_status st;

	if (!*asked)
		return mr_inspect_find(run, &p->path);
	folder = mr_path_join(run, "checkpoints");
	if (!folder)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	st = mr_checkpoints_find(folder, asked, &p->path);
	free(folder);
	return st;
}

static mr_status load_config(const predict *p, const char *text, mr_config **out)
{
	size_t n = N_OWN + p->args->n_sets;
	const char **sets = calloc(n, sizeof(*sets));
	mr_strbuf notes;
	mr_status st;

	if (!sets)
		return mr_fail(MR_ERESOURCE, "no memory for a configuration");
	memcpy(sets, own_keys, sizeof(own_keys));
	for (size_t i = N_OWN; i < n; i++)
		sets[i] = p->args->set[i - N_OWN];
	mr_strbuf_init(&notes);
	st = mr_config_load_text(p->path, text, sets, n, &notes, out);
	mr_strbuf_fini(&notes);
	free(sets);
	return st;
}

/* Configuration and form of the data, from the checkpoint. */
static mr_status read_checkpoint(predict *p, mr_config **config)
{
	const char *text, *form;
	mr_checkpoint *ck;
	mr_status st = MR_OK;

	MR_TRY(mr_checkpoint_open(p->path, &ck));
	text = mr_checkpoint_fact(ck, "configuration");
	form = mr_checkpoint_fact(ck, "form");
	if (!text)
		st = mr_fail(MR_ECKPT,
			     "%s: it does not hold the configuration and the form of its data, as those of older "
			     "builds: train --resume for one step more, and the next checkpoint does",
			     p->path);
	else if (!form)
		st = mr_fail(MR_ECKPT,
			     "%s: the model was trained on data whose files cannot be predicted: csv, libsvm and "
			     "images can",
			     p->path);
	if (st == MR_OK)
		st = mr_form_read(form, &p->form);
	if (st == MR_OK)
		st = load_config(p, text, config);
	mr_checkpoint_close(ck);
	return st;
}

static mr_status take_weights(predict *p)
{
	mr_state_list weights;
	uint64_t step;
	mr_status st;

	MR_TRY(mr_weights_list(&p->s, &weights));
	st = mr_checkpoints_load_model(p->path, p->s.graph, &weights, &step);
	if (st == MR_ECKPT && !strstr(mr_error_text(), p->path))
		st = mr_fail_in(st, "%s", p->path);
	if (st == MR_OK)
		st = mr_logits_create(&p->s, &weights, p->batch, &p->model);
	mr_weights_list_fini(&weights);
	return st;
}

/* As many samples at once as memory allows. */
static mr_status choose_batch(predict *p)
{
	uint64_t room = p->s.topo.memory_available_bytes / 4, bytes;

	p->batch = mr_values_int(p->args->values, "batch");
	room = room && room < MOST_BYTES ? room : MOST_BYTES;
	if (p->batch)
		return MR_OK;
	for (p->batch = MOST_BATCH; p->batch > 1; p->batch /= 2) {
		MR_TRY(mr_logits_bytes(&p->s, p->batch, &bytes));
		if (bytes <= room)
			break;
	}
	return MR_OK;
}

static const char *loss_of(const predict *p)
{
	return p->s.graph->nodes[p->s.graph->n_nodes - 1].ops->name;
}

/* What the values that enter the loss mean. */
static mr_status judge_outputs(predict *p)
{
	mr_shape out = mr_logits_output(&p->s);
	const char *loss = loss_of(p);

	p->width = (size_t)mr_shape_count(out);
	p->to.classes = p->form.shapes.classes || !strcmp(loss, "logistic");
	p->to.width = p->form.shapes.classes ? (size_t)p->form.shapes.classes : p->to.classes ? 2 : 1;
	if (p->form.shapes.classes ? p->width == p->to.width : !strcmp(loss, "logistic") || !strcmp(loss, "mse"))
		return MR_OK;
	return mr_fail(MR_ECKPT, "%s: the loss %s of this model has no predictions that are known", p->path, loss);
}

static mr_status take_memory(predict *p)
{
	p->input_bytes = mr_shape_bytes(mr_logits_input(&p->s), p->s.kernels->types.activations);
	p->input = calloc((size_t)p->batch, p->input_bytes);
	p->sample = calloc((size_t)p->batch, sizeof(*p->sample));
	p->name = calloc((size_t)p->batch, sizeof(*p->name));
	p->value = calloc(p->width > p->to.width ? p->width : p->to.width, sizeof(*p->value));
	return p->input && p->sample && p->name && p->value ? MR_OK
							     : mr_fail(MR_ERESOURCE, "no memory for a batch");
}

/* --- predicting --- */

static void softmax(double *x, size_t n)
{
	double most = x[0], sum = 0;

	for (size_t i = 1; i < n; i++)
		most = fmax(most, x[i]);
	for (size_t i = 0; i < n; i++)
		sum += x[i] = exp(x[i] - most);
	for (size_t i = 0; i < n; i++)
		x[i] /= sum;
}

/* From what enters the loss to probabilities, or to a number in the target's unit. */
static void finish(const predict *p, double *x)
{
	const mr_dataset *d = &p->form.shapes;

	if (d->classes) {
		softmax(x, p->width);
	} else if (p->to.classes) {
		double one = x[0] >= 0 ? 1 / (1 + exp(-x[0])) : exp(x[0]) / (1 + exp(x[0]));

		x[0] = 1 - one;
		x[1] = one;
	} else if (d->target_deviation > 0) {
		x[0] = x[0] * d->target_deviation + d->target_mean;
	}
}

static mr_status run_batch(predict *p, int64_t n)
{
	mr_dtype type = p->s.kernels->types.activations;
	const void *out;

	if (n == 0 || p->n_wrong)
		return MR_OK;
	MR_TRY(mr_logits_of(p->model, p->input, n, &out));
	for (int64_t i = 0; i < n; i++) {
		for (size_t k = 0; k < p->width; k++)
			p->value[k] = mr_element(type, out, i * (int64_t)p->width + (int64_t)k);
		finish(p, p->value);
		mr_predictions_put(&p->to, &p->sample[i], p->value);
	}
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
		mr_status st = mr_reader_next(p->reader, p->input + (size_t)n * p->input_bytes, &p->sample[n]);

		if (st != MR_OK) {
			MR_TRY(note_wrong(p, st));
			continue;
		}
		if (!p->sample[n].got)
			break;
		MR_TRY(keep_name(p, n));
		if (++n < p->batch)
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

/* The format that is asked for, or that the ending of the output's name tells. */
static mr_status choose_format(predict *p)
{
	const char *format = mr_values_string(p->args->values, "format");
	const char *output = mr_values_string(p->args->values, "output"), *end = strrchr(output, '.');

	if (!strcmp(format, "auto"))
		format = !end ? "csv" : end + 1;
	p->to.format = !strcmp(format, "npy") ? MR_PREDICTIONS_NPY
		       : !strcmp(format, "jsonl") ? MR_PREDICTIONS_JSONL : MR_PREDICTIONS_CSV;
	if (p->to.format == MR_PREDICTIONS_NPY && (!*output || !strcmp(output, "-")))
		return mr_fail(MR_EUSAGE, "--format npy needs a file: --output FILE.npy");
	return MR_OK;
}

static mr_status work(predict *p, const mr_config *config)
{
	MR_TRY(mr_clean_env(p->args, config));
	MR_TRY(mr_session_open_shapes(mr_config_job(config), &p->form.shapes, &p->s));
	MR_TRY(judge_outputs(p));
	MR_TRY(choose_batch(p));
	MR_TRY(take_memory(p));
	MR_TRY(mr_reader_open(&p->form, p->args->operand[1], p->s.kernels->types.activations, &p->reader));
	MR_TRY(take_weights(p));
	p->to.form = &p->form;
	p->to.named = !strcmp(p->form.source, "images");
	return write_all(p);
}

static void release(predict *p)
{
	mr_reader_close(p->reader);
	mr_logits_destroy(p->model);
	mr_session_close(&p->s);
	mr_form_close(&p->form);
	for (int64_t i = 0; p->name && i < p->batch; i++)
		free(p->name[i]);
	free(p->name);
	free(p->input);
	free(p->sample);
	free(p->value);
	free(p->path);
}

static mr_status run(mr_args *args)
{
	predict p = {.args = args};
	mr_config *config = NULL;
	mr_status st = choose_format(&p);

	if (st == MR_OK)
		st = find(&p);
	if (st == MR_OK)
		st = read_checkpoint(&p, &config);
	if (st == MR_OK)
		st = work(&p, config);
	release(&p);
	mr_config_destroy(config);
	return st;
}

static const mr_option options[] = {
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "write to this file (short: -o); empty or -: to standard output"},
	{"format", MR_OPT_ENUM, "auto", 0, 0, "auto|csv|jsonl|npy", NULL,
	 "a row a sample, as CSV or as JSON; or an array of NumPy. auto: by the ending of the output's name, else csv"},
	{"checkpoint", MR_OPT_STRING, "", 0, 0, NULL, NULL,
	 "of a run's folder: best, or a name such as step-00000100; empty: the newest"},
	{"batch", MR_OPT_INT, "0", 0, 65536, NULL, "samples",
	 "as many at once; 0: what memory allows, up to 512"},
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
		"Samples that cannot be read are all named, up to 20, and then nothing behind them is predicted.\n",
	.options = options,
	.sets = true,
	.run = run,
};
