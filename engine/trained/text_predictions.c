#include "trained/predict_file.h"

#include <math.h>

#include "base/json.h"
#include "base/notice.h"
#include "report/output.h"
#include "trained/language.h"
#include "trained/unreadable.h"

#define SHOWN_NEXT 5 /* tokens that are likely behind a text */

typedef struct writer {
	const mr_trained *t;
	FILE *file;
	mr_predictions_format format;
	mr_texts *texts;
	bool by_token;
	uint64_t n_rows;
	double log_probability;
	uint64_t n_texts, n_scored, n_right;
	mr_unreadable unreadable;
	size_t n_next;
	int32_t next[SHOWN_NEXT];    /* behind the text at hand */
	double probability[SHOWN_NEXT];
} writer;

/* The text of @token as a string, with U+FFFD for a NUL; "" where tokens have none. */
static const char *spelt(const writer *w, int32_t token)
{
	size_t len;
	const char *text = mr_texts_spell(w->texts, token, &len);

	return len && !*text ? "\xef\xbf\xbd" : text;
}

/* --- a row a text --- */

static double perplexity(const mr_language_text *t)
{
	return t->n_scored ? exp(-t->log_probability / (double)t->n_scored) : (double)NAN;
}

static void put_text_json(const writer *w, const mr_language_text *t)
{
	mr_json_writer j = mr_json_begin(w->file, false);

	if (t->bytes)
		mr_json_field_string(&j, "text", t->bytes);
	mr_json_field_uint(&j, "tokens", t->n);
	mr_json_field_double(&j, "log_probability", t->log_probability);
	mr_json_field_double(&j, "perplexity", perplexity(t));
	mr_json_field_array(&j, "next");
	for (size_t i = 0; i < w->n_next; i++) {
		mr_json_begin_object(&j);
		if (mr_texts_spells(w->texts))
			mr_json_field_string(&j, "token", spelt(w, w->next[i]));
		mr_json_field_int(&j, "id", w->next[i]);
		mr_json_field_double(&j, "probability", w->probability[i]);
		mr_json_end_object(&j);
	}
	mr_json_end_array(&j);
	if (mr_json_finish(&j) != MR_OK)
		return; /* the file's error is found when it is closed */
}

/* A number of CSV, empty where it is none. */
static void put_number(const writer *w, double x)
{
	if (isfinite(x))
		fprintf(w->file, "%.9g", x);
}

static void put_text_csv(const writer *w, const mr_language_text *t)
{
	mr_predictions_field(w->file, t->bytes ? t->bytes : "");
	fprintf(w->file, ",%zu,", t->n);
	put_number(w, t->log_probability);
	fputc(',', w->file);
	put_number(w, perplexity(t));
	fputc(',', w->file);
	if (w->n_next) {
		mr_predictions_field(w->file, spelt(w, w->next[0]));
		fprintf(w->file, ",%d,%.7g", w->next[0], w->probability[0]);
	} else {
		fputs(",,", w->file);
	}
	fputc('\n', w->file);
}

static void end_text(void *arg, const mr_language_text *t)
{
	writer *w = arg;

	w->n_texts++;
	w->log_probability += t->log_probability;
	w->n_scored += t->n_scored;
	w->n_right += t->n_right;
	if (!w->by_token && w->format == MR_PREDICTIONS_JSONL)
		put_text_json(w, t);
	else if (!w->by_token && w->format == MR_PREDICTIONS_CSV)
		put_text_csv(w, t);
	else if (!w->by_token)
		fwrite(&t->log_probability, sizeof(t->log_probability), 1, w->file);
	w->n_rows += !w->by_token;
	w->n_next = 0;
}

/* --- a row a token --- */

static void put_token_json(const writer *w, const mr_language_text *t, size_t at, const mr_language_place *p)
{
	mr_json_writer j = mr_json_begin(w->file, false);

	mr_json_field_uint(&j, "row", t->number);
	if (mr_texts_spells(w->texts))
		mr_json_field_string(&j, "token", spelt(w, t->token[at]));
	mr_json_field_int(&j, "id", t->token[at]);
	mr_json_field_double(&j, "log_probability", p ? p->log_probability : (double)NAN);
	if (p && mr_texts_spells(w->texts))
		mr_json_field_string(&j, "prediction", spelt(w, p->best));
	if (p) {
		mr_json_field_int(&j, "prediction_id", p->best);
		mr_json_field_double(&j, "probability", p->best_probability);
	}
	if (mr_json_finish(&j) != MR_OK)
		return; /* the file's error is found when it is closed */
}

static void put_token_csv(const writer *w, const mr_language_text *t, size_t at, const mr_language_place *p)
{
	fprintf(w->file, "%llu,", (unsigned long long)t->number);
	mr_predictions_field(w->file, spelt(w, t->token[at]));
	fprintf(w->file, ",%d,", t->token[at]);
	if (p) {
		put_number(w, p->log_probability);
		fputc(',', w->file);
		mr_predictions_field(w->file, spelt(w, p->best));
		fprintf(w->file, ",%d,%.7g\n", p->best, p->best_probability);
	} else {
		fputs(",,,\n", w->file);
	}
}

/* @p NULL: the first token, of which nothing is known. */
static void put_token(writer *w, const mr_language_text *t, size_t at, const mr_language_place *p)
{
	double log_probability = p ? p->log_probability : (double)NAN;

	if (w->format == MR_PREDICTIONS_JSONL)
		put_token_json(w, t, at, p);
	else if (w->format == MR_PREDICTIONS_CSV)
		put_token_csv(w, t, at, p);
	else
		fwrite(&log_probability, sizeof(log_probability), 1, w->file);
	w->n_rows++;
}

static void take_place(void *arg, const mr_language_text *t, const mr_language_place *p)
{
	writer *w = arg;

	if (w->by_token && p->at == 1)
		put_token(w, t, 0, NULL);
	if (w->by_token && p->at < t->n)
		put_token(w, t, p->at, p);
	if (w->by_token || p->at < t->n)
		return;
	w->n_next = mr_language_likely(p, (size_t)w->t->form.shapes.classes, SHOWN_NEXT, w->next);
	for (size_t i = 0; i < w->n_next; i++)
		w->probability[i] = mr_language_probability(p, w->next[i]);
}

/* --- the whole --- */

static mr_status read_all(writer *w, mr_language *l)
{
	mr_text text;

	do {
		bool skips;
		mr_status st = mr_texts_next(w->texts, &text, &skips);

		if (st == MR_EDATA && skips) {
			mr_unreadable_add(&w->unreadable);
			text.got = true;
			continue;
		}
		MR_TRY(st);
		if (text.got && !w->unreadable.n)
			MR_TRY(mr_language_add(l, text.bytes, text.len, text.token, text.n));
	} while (text.got);
	MR_TRY(mr_unreadable_status(&w->unreadable, "texts"));
	return mr_language_flush(l);
}

static void put_head(const writer *w)
{
	if (w->format == MR_PREDICTIONS_NPY)
		mr_predictions_npy(w->file, 0, 1);
	else if (w->format == MR_PREDICTIONS_CSV)
		fputs(w->by_token ? "row,token,id,log probability,prediction,prediction id,probability\n"
				  : "text,tokens,log probability,perplexity,next,next id,probability\n", w->file);
}

static void say(const writer *w)
{
	double n = (double)w->n_scored;

	if (w->n_scored)
		mr_notice("loss %.7g, perplexity %.6g, accuracy %.4f%%, %llu tokens in %llu texts",
			  -w->log_probability / n, exp(-w->log_probability / n), 100 * (double)w->n_right / n,
			  (unsigned long long)w->n_scored, (unsigned long long)w->n_texts);
	else
		mr_notice("%llu texts without a token behind another", (unsigned long long)w->n_texts);
}

static mr_status write_all(writer *w, mr_trained *t)
{
	mr_language_hooks hooks = {.place = take_place, .end = end_text, .arg = w};
	mr_language *l;
	mr_status st;

	MR_TRY(mr_language_create(t, hooks, &l));
	put_head(w);
	st = read_all(w, l);
	mr_language_destroy(l);
	return st == MR_OK && w->format == MR_PREDICTIONS_NPY ? mr_predictions_npy_again(w->file, w->n_rows, 1) : st;
}

mr_status mr_predict_texts(const mr_predict_file *p, mr_predictions_format format, mr_trained *t)
{
	writer w = {.t = t, .format = format, .by_token = p->by_token,
		    .unreadable = {.show = p->wrong, .arg = p->arg}};
	mr_output out;
	mr_status st;

	if (!p->output)
		return mr_fail(MR_EUSAGE, "the predictions of a language model go to a file: output names it");
	MR_TRY(mr_texts_open(&t->form, p->path, p->input, &w.texts));
	st = mr_output_open(p->output, &out);
	if (st == MR_OK) {
		w.file = out.file;
		st = mr_output_close(&out, write_all(&w, t));
	}
	if (st == MR_OK)
		say(&w);
	mr_texts_close(w.texts);
	return st;
}
