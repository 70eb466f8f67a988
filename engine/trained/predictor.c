/* predictor.c - the library's interface to a trained model (millrace/predictor.h). */
#include "millrace/predictor.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/notice.h"
#include "base/printable.h"
#include "reader/number_rows.h"
#include "trained/predict_file.h"

struct mr_predictor {
	mr_trained trained;
	mr_number_rows rows;
	char *input;        /* [batch] */
	long process;       /* that opened it */
	atomic_flag busy;
	mr_strbuf notices;
	mr_strbuf *outer;   /* where this thread's notices went before */
};

/* --- who may use it --- */

static mr_status enter(mr_predictor *p, const char *function)
{
	if (!p)
		return mr_fail(MR_EINVAL, "%s: the model is NULL", function);
	if (p->process != (long)getpid())
		return mr_fail(MR_EINVAL,
			       "%s: process %ld opened this model, and %ld, which was forked from it, lacks its "
			       "threads", function, p->process, (long)getpid());
	if (atomic_flag_test_and_set(&p->busy))
		return mr_fail(MR_EINVAL, "%s: another function of this model has not returned", function);
	mr_strbuf_fini(&p->notices);
	p->outer = mr_notice_to(&p->notices);
	return MR_OK;
}

static mr_status leave(mr_predictor *p, mr_status st)
{
	mr_notice_to(p->outer);
	atomic_flag_clear(&p->busy);
	return st;
}

/* --- its life --- */

static mr_status open_all(mr_predictor *p, const char *path, const mr_predictor_opts *o)
{
	mr_trained *t = &p->trained;

	if (o->batch < 0)
		return mr_fail(MR_EINVAL, "mr_predictor_open: a batch of %lld samples", (long long)o->batch);
	MR_TRY(mr_trained_find(t, path, o->checkpoint ? o->checkpoint : "", o->sets, o->n_sets));
	MR_TRY(mr_trained_open(t, o->batch));
	if (o->calibrated)
		MR_TRY(mr_trained_calibrate(t));
	if (t->form.language)
		return MR_OK;
	MR_TRY(mr_number_rows_init(&p->rows, &t->form, t->s.kernels->types.activations));
	p->input = calloc((size_t)t->batch, t->input_bytes);
	return p->input ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a batch");
}

static void release(mr_predictor *p)
{
	mr_number_rows_fini(&p->rows);
	free(p->input);
	mr_trained_close(&p->trained);
	mr_strbuf_fini(&p->notices);
	free(p);
}

mr_status mr_predictor_open(const char *path, const mr_predictor_opts *opts, mr_predictor **out)
{
	static const mr_predictor_opts none;
	mr_predictor *p;
	mr_status st;

	if (out)
		*out = NULL;
	if (!path || !out)
		return mr_fail(MR_EINVAL, "mr_predictor_open: %s is NULL",
			       path ? "the place for the model" : "the path");
	p = calloc(1, sizeof(*p));
	if (!p)
		return mr_fail(MR_ERESOURCE, "no memory for a model");
	p->process = (long)getpid();
	MR_TRY(enter(p, "mr_predictor_open"));
	st = leave(p, open_all(p, path, opts ? opts : &none));
	if (st != MR_OK)
		release(p);
	else
		*out = p;
	return st;
}

void mr_predictor_close(mr_predictor *p)
{
	/* a process that was forked has the memory, but not the threads */
	if (p && p->process == (long)getpid())
		release(p);
}

const char *mr_predictor_notices(const mr_predictor *p)
{
	return p ? mr_strbuf_text(&p->notices) : "";
}

/* --- what it is --- */

static void put_columns(const mr_form *f, mr_json_writer *w)
{
	const mr_csv_inputs *in = &f->inputs;

	mr_json_field_array(w, "columns");
	for (size_t i = 0; i < in->n_columns; i++) {
		const mr_csv_column *c = &in->column[i];

		if (c->kind != MR_COLUMN_NUMBER && c->kind != MR_COLUMN_CATEGORY)
			continue;
		mr_json_begin_object(w);
		mr_json_field_string(w, "name", c->name);
		mr_json_field_string(w, "kind", c->kind == MR_COLUMN_NUMBER ? "number" : "category");
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
	mr_json_field_string(w, "target", in->column[f->target].name);
}

static void put_about(const mr_predictor *p, mr_json_writer *w)
{
	const mr_trained *t = &p->trained;
	char room[24];

	mr_json_field_string(w, "checkpoint", t->path);
	mr_json_field_uint(w, "step", t->step);
	mr_json_field_string(w, "data", t->form.source);
	mr_json_field_bool(w, "language", t->form.language);
	mr_json_field_string(w, "task", t->form.language ? "tokens" : t->classes ? "classes" : "numbers");
	if (t->form.language)
		return;
	if (t->classes) {
		mr_json_field_array(w, "classes");
		for (size_t i = 0; i < t->n_values; i++)
			mr_json_put_string(w, mr_predictions_class(&t->form, i, room));
		mr_json_end_array(w);
	}
	if (t->form.inputs.n_columns)
		put_columns(&t->form, w);
	mr_json_field_uint(w, "width", p->rows.width);
	mr_json_field_uint(w, "values", t->n_values);
}

static mr_status about(const mr_predictor *p, char **json)
{
	size_t len;
	FILE *f = open_memstream(json, &len);
	mr_json_writer w;
	mr_status st;

	if (!f)
		return mr_fail(MR_ERESOURCE, "no memory for a description");
	w = mr_json_begin(f, false);
	put_about(p, &w);
	st = mr_json_finish(&w);
	if (fclose(f) && st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for a description");
	if (st != MR_OK) {
		free(*json);
		*json = NULL;
	}
	return st;
}

mr_status mr_predictor_about(mr_predictor *p, char **json)
{
	if (!json)
		return mr_fail(MR_EINVAL, "mr_predictor_about: the place for the text is NULL");
	*json = NULL;
	MR_TRY(enter(p, "mr_predictor_about"));
	return leave(p, about(p, json));
}

/* --- predicting --- */

static void say_unknown(const mr_csv_inputs *in)
{
	mr_strbuf b = {0};

	mr_csv_inputs_print_unknown(in, &b);
	if (b.len)
		mr_notice("warning: %s: taken as unknown", mr_printable(b.data));
	mr_strbuf_fini(&b);
}

static mr_status predict(mr_predictor *p, const double *rows, uint64_t n, double *values)
{
	mr_trained *t = &p->trained;
	uint64_t batch = (uint64_t)t->batch, len;

	if (t->form.language)
		return mr_fail(MR_EUSAGE,
			       "mr_predictor_numbers: this is a language model, which predicts texts of files");
	if (n && (!rows || !values))
		return mr_fail(MR_EINVAL, "mr_predictor_numbers: %s is NULL",
			       rows ? "the place for values" : "the rows");
	mr_csv_inputs_forget_unknown(&t->form.inputs);
	for (uint64_t done = 0; done < n; done += len) {
		len = n - done < batch ? n - done : batch;
		for (uint64_t i = 0; i < len; i++)
			MR_TRY(mr_number_rows_put(&p->rows, rows + (done + i) * p->rows.width, done + i + 1,
						  p->input + i * t->input_bytes));
		MR_TRY(mr_trained_predict(t, p->input, (int64_t)len, values + done * t->n_values));
	}
	say_unknown(&t->form.inputs);
	return MR_OK;
}

mr_status mr_predictor_numbers(mr_predictor *p, const double *rows, uint64_t n, double *values)
{
	MR_TRY(enter(p, "mr_predictor_numbers"));
	return leave(p, predict(p, rows, n, values));
}

static void show(void *arg, const char *text)
{
	(void)arg;
	mr_notice("%s", text);
}

static mr_status input_kind(const char *word, mr_texts_kind *out)
{
	static const char *const kinds[] = {"auto", "text", "lines", "jsonl", "tokens"};

	for (int i = 0; i < 5; i++)
		if (!word || !strcmp(word, kinds[i])) {
			*out = (mr_texts_kind)i;
			return MR_OK;
		}
	return mr_fail(MR_EINVAL, "mr_predictor_file: input is \"%.40s\", expected text, lines, jsonl or tokens", word);
}

static mr_status predict_file(mr_predictor *p, const mr_predictor_input *f)
{
	mr_predict_file ask = {.path = f->path, .output = f->output, .format = f->format ? f->format : "auto",
			     .scores = f->scores ? f->scores : "", .curves = f->curves, .calibrate = f->calibrate,
			     .by_token = f->by_token, .rows = f->rows, .arg = f->arg, .wrong = show};

	if (!f->path)
		return mr_fail(MR_EINVAL, "mr_predictor_file: the path is NULL");
	if (f->format && strcmp(f->format, "csv") && strcmp(f->format, "jsonl") && strcmp(f->format, "npy"))
		return mr_fail(MR_EINVAL, "mr_predictor_file: format is \"%.40s\", expected csv, jsonl or npy",
			       f->format);
	MR_TRY(input_kind(f->input, &ask.input));
	mr_csv_inputs_forget_unknown(&p->trained.form.inputs);
	return mr_predict_file_run(&ask, &p->trained);
}

mr_status mr_predictor_file(mr_predictor *p, const mr_predictor_input *file)
{
	if (!file)
		return mr_fail(MR_EINVAL, "mr_predictor_file: the struct of the file is NULL");
	MR_TRY(enter(p, "mr_predictor_file"));
	return leave(p, predict_file(p, file));
}
