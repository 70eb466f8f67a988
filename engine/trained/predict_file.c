#include "trained/predict_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/notice.h"
#include "base/printable.h"
#include "report/output.h"
#include "trained/temperature.h"
#include "trained/unreadable.h"

/* --- what is asked for --- */

static mr_predictions_format format_of(const mr_predict_file *p, const mr_trained *t)
{
	const char *format = p->format, *end = p->output ? strrchr(p->output, '.') : NULL;

	if (!strcmp(format, "auto"))
		format = end && !strchr(end, '/') ? end + 1 : t->form.language ? "jsonl" : "csv";
	return !strcmp(format, "npy")     ? MR_PREDICTIONS_NPY
	       : !strcmp(format, "jsonl") ? MR_PREDICTIONS_JSONL
					  : MR_PREDICTIONS_CSV;
}

static bool wants_curves(const mr_predict_file *p)
{
	return p->curves && *p->curves;
}

/* What was asked for and needs targets; NULL: nothing. */
static const char *of_targets(const mr_predict_file *p)
{
	return *p->scores ? "scores" : wants_curves(p) ? "curves" : p->calibrate ? "calibrate" : NULL;
}

mr_status mr_predict_file_check(const mr_predict_file *p, const mr_trained *t)
{
	bool standard = p->output && (!*p->output || !strcmp(p->output, "-"));

	if (t->form.language && of_targets(p))
		return mr_fail(MR_EUSAGE, "--%s is of classes of samples, and this is a language model", of_targets(p));
	if (!t->form.language && (p->input != MR_TEXTS_AUTO || p->by_token))
		return mr_fail(MR_EUSAGE, "--%s is of language models, and this one was trained on data \"%s\"",
			       p->by_token ? "tokens" : "input", t->form.source);
	if (standard && format_of(p, t) == MR_PREDICTIONS_NPY)
		return mr_fail(MR_EUSAGE, "--format npy needs a file: --output FILE.npy");
	return MR_OK;
}

/* --- samples --- */

/* The batch at hand. */
typedef struct course {
	const mr_predict_file *ask;
	mr_trained *t;
	mr_reader *reader;
	mr_predictions to;
	char *input;              /* [batch] */
	mr_reader_sample *sample; /* [batch] */
	char **name;              /* [batch] copies of their names; NULL: none */
	double *value;            /* [batch][n_values] */
	double *target;           /* [batch] */
	mr_unreadable unreadable;
} course;

static mr_status take_memory(course *c)
{
	size_t batch = (size_t)c->t->batch;

	c->input = calloc(batch, c->t->input_bytes);
	c->sample = calloc(batch, sizeof(*c->sample));
	c->name = calloc(batch, sizeof(*c->name));
	c->value = calloc(batch * c->t->n_values, sizeof(*c->value));
	c->target = calloc(batch, sizeof(*c->target));
	return c->input && c->sample && c->name && c->value && c->target
		       ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a batch");
}

static void release(course *c)
{
	mr_reader_close(c->reader);
	for (int64_t i = 0; c->name && i < c->t->batch; i++)
		free(c->name[i]);
	free(c->name);
	free(c->input);
	free(c->sample);
	free(c->value);
	free(c->target);
}

static mr_status run_batch(course *c, int64_t n)
{
	if (n == 0 || c->unreadable.n)
		return MR_OK;
	MR_TRY(mr_trained_predict(c->t, c->input, n, c->value));
	for (int64_t i = 0; i < n; i++) {
		mr_predictions_put(&c->to, &c->sample[i], c->value + (size_t)i * c->t->n_values);
		c->target[i] = c->sample[i].has_target ? c->sample[i].target : (double)NAN;
	}
	if (c->ask->rows && !c->ask->rows(c->ask->arg, (uint64_t)n, c->value, c->target))
		return mr_fail(MR_ESTOPPED, "the predictions were stopped");
	return MR_OK;
}

static mr_status keep_name(course *c, int64_t i)
{
	free(c->name[i]);
	c->name[i] = NULL;
	if (!c->sample[i].name)
		return MR_OK;
	c->name[i] = strdup(c->sample[i].name);
	c->sample[i].name = c->name[i];
	return c->name[i] ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a name");
}

static mr_status predict_all(course *c)
{
	int64_t n = 0;

	for (;;) {
		mr_status st = mr_reader_next(c->reader, c->input + (size_t)n * c->t->input_bytes, &c->sample[n]);

		if (st == MR_EDATA && c->reader->skips) {
			mr_unreadable_add(&c->unreadable);
			continue;
		}
		MR_TRY(st);
		if (!c->sample[n].got)
			break;
		MR_TRY(keep_name(c, n));
		if (++n < c->t->batch)
			continue;
		MR_TRY(run_batch(c, n));
		n = 0;
	}
	MR_TRY(run_batch(c, n));
	return mr_unreadable_status(&c->unreadable, "samples");
}

static void say_odd(const course *c)
{
	mr_strbuf b = {0};

	mr_reader_say(c->reader, &b);
	if (b.len)
		mr_notice("warning: %s: taken as unknown", mr_printable(b.data));
	mr_strbuf_fini(&b);
}

static mr_status write_all(course *c)
{
	mr_output out;
	mr_status st;

	if (!c->ask->output) {
		st = predict_all(c);
	} else {
		MR_TRY(mr_output_open(c->ask->output, &out));
		c->to.file = out.file;
		mr_predictions_begin(&c->to);
		st = predict_all(c);
		if (st == MR_OK)
			st = mr_predictions_end(&c->to);
		st = mr_output_close(&out, st);
	}
	if (st == MR_OK) {
		mr_predictions_say(&c->to);
		say_odd(c);
	}
	return st;
}

static mr_status calibrate(course *c)
{
	mr_calibration fitted;
	mr_strbuf b = {0};

	MR_TRY(mr_calibration_keep(&c->to.scores->samples, c->t->path, &fitted));
	c->t->temperature = fitted.temperature;
	mr_calibration_print(&fitted, &b);
	mr_notice("%s", mr_strbuf_text(&b));
	mr_strbuf_fini(&b);
	return MR_OK;
}

static mr_status write_scores(course *c)
{
	if (!c->to.n_scored)
		return mr_fail(MR_EDATA, "--%s: %s has no targets to compare with", of_targets(c->ask), c->ask->path);
	MR_TRY(mr_class_samples_check(&c->to.scores->samples));
	MR_TRY(mr_class_scores_write(c->to.scores, &c->t->form, c->ask->scores));
	MR_TRY(mr_class_curves_write(c->to.scores, &c->t->form, c->ask->curves));
	return c->ask->calibrate ? calibrate(c) : MR_OK;
}

static mr_status predict_scored(course *c)
{
	mr_class_scores scores;
	mr_status st;

	if (!of_targets(c->ask))
		return write_all(c);
	if (!c->t->classes)
		return mr_fail(MR_EUSAGE, "--%s is of classes, and this model predicts numbers", of_targets(c->ask));
	if (c->ask->calibrate)
		c->t->temperature = 0;
	st = mr_class_scores_init(&scores, c->t->n_values);
	c->to.scores = &scores;
	if (st == MR_OK)
		st = write_all(c);
	if (st == MR_OK)
		st = write_scores(c);
	mr_class_scores_fini(&scores);
	return st;
}

static mr_status predict_samples(const mr_predict_file *p, mr_trained *t)
{
	course c = {.ask = p, .t = t, .unreadable = {.show = p->wrong, .arg = p->arg}};
	mr_status st;

	c.to = (mr_predictions){.form = &t->form, .classes = t->classes, .width = t->n_values,
				.format = format_of(p, t)};
	st = take_memory(&c);
	if (st == MR_OK)
		st = mr_reader_open(&t->form, p->path, t->s.kernels->types.activations, &c.reader);
	if (st == MR_OK) {
		c.to.named = c.reader->named;
		st = predict_scored(&c);
	}
	release(&c);
	return st;
}

mr_status mr_predict_file_run(const mr_predict_file *p, mr_trained *t)
{
	MR_TRY(mr_predict_file_check(p, t));
	return t->form.language ? mr_predict_texts(p, format_of(p, t), t) : predict_samples(p, t);
}
