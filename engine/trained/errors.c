#include "trained/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/notice.h"
#include "base/result.h"
#include "nn/element.h"
#include "trained/errors_internal.h"

#define MOST_POINTS 400 /* of predictions beside targets */
#define N_BINS 31
#define MOST_TEXT 400 /* tokens that a checkpoint writes */

/* What is gathered of samples with one target each. */
typedef struct gathered {
	mr_trained *t;
	uint64_t n;                 /* samples that are looked at, of */
	uint64_t all;
	char *input, *target;       /* [batch] */
	double *value;              /* [batch][n_values] */
	size_t input_bytes, target_bytes;
	mr_worst_list worst;
	mr_confusion confusion;     /* of classes */
	double *of_target, *of_prediction; /* [n] of numbers */
	double loss;                /* sum */
} gathered;

void mr_worst_take(mr_worst_list *l, const mr_worst *w)
{
	double loss = isnan(w->loss) ? (double)INFINITY : w->loss;
	size_t at = l->n;

	for (; at && l->at[at - 1].loss < loss; at--)
		if (at < l->most)
			l->at[at] = l->at[at - 1];
	if (at >= l->most)
		return;
	l->at[at] = *w;
	l->at[at].loss = loss;
	l->n += l->n < l->most;
}

const char *mr_errors_name(const void *arg, size_t i, mr_strbuf *room)
{
	const mr_trained *t = arg;
	const mr_dataset *d = t->s.data;
	const char *text = NULL;
	size_t len = 0;

	if (i < t->form.n_labels)
		return t->form.label[i];
	if (t->form.language && d->tokenizer) {
		text = mr_tokenizer_bytes(d->tokenizer, (int32_t)i, &len);
	} else if (t->form.language && d->token_text) {
		text = d->token_text(d, (int32_t)i);
		len = text ? strlen(text) : 0;
	}
	mr_strbuf_reset(room);
	if (text)
		mr_strbuf_append_n(room, text, len);
	else
		mr_strbuf_printf(room, "%zu", i);
	return mr_strbuf_text(room);
}

/* --- going through the samples --- */

static mr_status take_memory(gathered *g)
{
	const mr_dataset *d = g->t->s.data;
	mr_dtype type = g->t->s.kernels->types.activations;
	size_t batch = (size_t)g->t->batch;

	g->input_bytes = mr_shape_bytes(d->input, type);
	g->target_bytes = mr_shape_bytes(d->target, mr_data_target_type(type));
	g->input = malloc(batch * g->input_bytes);
	g->target = malloc(batch * g->target_bytes);
	g->value = malloc(batch * g->t->n_values * sizeof(*g->value));
	g->of_target = malloc((g->n + 1) * sizeof(double));
	g->of_prediction = malloc((g->n + 1) * sizeof(double));
	if (!g->input || !g->target || !g->value || !g->of_target || !g->of_prediction)
		return mr_fail(MR_ERESOURCE, "no memory for the errors of %llu samples", (unsigned long long)g->n);
	return g->t->classes ? mr_confusion_init(&g->confusion, g->t->n_values, g->n) : MR_OK;
}

static void release(gathered *g)
{
	free(g->input);
	free(g->target);
	free(g->value);
	free(g->of_target);
	free(g->of_prediction);
	mr_confusion_fini(&g->confusion);
}

/* The target in its own unit, or the number of its class. */
static double target_of(const gathered *g, size_t i)
{
	const mr_dataset *d = g->t->s.data;
	const void *at = g->target + i * g->target_bytes;
	double x;

	if (d->target.tokens)
		return *(const int32_t *)at;
	x = mr_element(mr_data_target_type(g->t->s.kernels->types.activations), at, 0);
	return d->target_deviation > 0 && !g->t->classes ? x * d->target_deviation + d->target_mean : x;
}

static void take_class(gathered *g, uint64_t sample, double target, const double *p)
{
	size_t best = 0, is = target > 0 ? (size_t)target : 0;
	mr_worst w = {.sample = sample};

	for (size_t i = 1; i < g->t->n_values; i++)
		if (p[i] > p[best])
			best = i;
	if (is >= g->t->n_values)
		return;
	w.target = (double)is;
	w.prediction = (double)best;
	w.probability = p[is];
	w.confidence = p[best];
	w.loss = -log(fmax(p[is], 1e-300));
	g->loss += w.loss;
	mr_confusion_take(&g->confusion, is, best);
	mr_worst_take(&g->worst, &w);
}

static void take_number(gathered *g, uint64_t k, uint64_t sample, double target, double prediction)
{
	mr_worst w = {.sample = sample, .loss = fabs(prediction - target), .target = target, .prediction = prediction};

	g->of_target[k] = target;
	g->of_prediction[k] = prediction;
	mr_worst_take(&g->worst, &w);
}

static mr_status gather(gathered *g)
{
	const mr_dataset *d = g->t->s.data;
	uint64_t batch = (uint64_t)g->t->batch;

	for (uint64_t first = 0; first < g->n; first += batch) {
		uint64_t n = g->n - first < batch ? g->n - first : batch;

		for (uint64_t i = 0; i < n; i++)
			d->ops->valid(d, mr_errors_sample(first + i, g->n, g->all), g->input + i * g->input_bytes,
				      g->target + i * g->target_bytes);
		MR_TRY(mr_dataset_check(d));
		MR_TRY(mr_trained_predict(g->t, g->input, (int64_t)n, g->value));
		for (uint64_t i = 0; i < n; i++) {
			uint64_t sample = mr_errors_sample(first + i, g->n, g->all);

			if (g->t->classes)
				take_class(g, sample, target_of(g, i), g->value + i * g->t->n_values);
			else
				take_number(g, first + i, sample, target_of(g, i), g->value[i]);
		}
	}
	return MR_OK;
}

/* --- numbers --- */

/* How many differences lie where; those beyond the ends count at the ends. */
static void put_residuals(const gathered *g, double rmse, mr_json_writer *w)
{
	uint64_t bin[N_BINS] = {0};
	double most = 0, high;

	for (uint64_t i = 0; i < g->n; i++)
		most = fmax(most, fabs(g->of_prediction[i] - g->of_target[i]));
	high = fmin(most, 4 * rmse);
	for (uint64_t i = 0; i < g->n; i++) {
		double x = g->of_prediction[i] - g->of_target[i];
		double at = high > 0 ? (x + high) / (2 * high) * N_BINS : N_BINS / 2;

		if (!isnan(at))
			bin[at < 0 ? 0 : at >= N_BINS ? N_BINS - 1 : (int)at]++;
	}
	mr_json_field_object(w, "residuals");
	mr_json_field_double(w, "low", -high);
	mr_json_field_double(w, "high", high);
	mr_json_field_bool(w, "beyond", most > high);
	mr_json_field_array(w, "samples");
	for (int i = 0; i < N_BINS; i++)
		mr_json_put_uint(w, bin[i]);
	mr_json_end_array(w);
	mr_json_end_object(w);
}

static void put_numbers(const gathered *g, mr_json_writer *w)
{
	double squares = 0, distances = 0, sum = 0, mean = 0, spread = 0, n = (double)g->n, rmse;
	uint64_t points = g->n < MOST_POINTS ? g->n : MOST_POINTS;

	for (uint64_t i = 0; i < g->n; i++) {
		double off = g->of_prediction[i] - g->of_target[i], by = g->of_target[i] - mean;

		squares += off * off;
		distances += fabs(off);
		sum += off;
		mean += by / (double)(i + 1);
		spread += by * (g->of_target[i] - mean);
	}
	rmse = sqrt(squares / n);
	mr_json_field_double(w, "rmse", rmse);
	mr_json_field_double(w, "mae", distances / n);
	mr_json_field_double(w, "bias", sum / n);
	mr_json_field_double(w, "r2", spread > 0 ? 1 - squares / spread : (double)NAN);
	put_residuals(g, rmse, w);
	mr_json_field_array(w, "points");
	for (uint64_t k = 0; k < points; k++) {
		uint64_t i = mr_errors_sample(k, points, g->n);

		mr_json_begin_array(w);
		mr_json_put_double(w, g->of_target[i]);
		mr_json_put_double(w, g->of_prediction[i]);
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
}

/* --- the whole --- */

static mr_status put_samples(mr_trained *t, uint64_t most, mr_json_writer *w)
{
	const mr_dataset *d = t->s.data;
	gathered g = {.t = t, .all = d->n_valid, .n = d->n_valid < most ? d->n_valid : most,
		      .worst = {.most = MR_WORST}};
	mr_status st = take_memory(&g);

	if (st == MR_OK)
		st = gather(&g);
	mr_json_field_string(w, "kind", t->classes ? "classes" : "numbers");
	mr_json_field_uint(w, "samples", g.n);
	mr_json_field_uint(w, "of_samples", g.all);
	if (st == MR_OK && t->classes) {
		mr_json_field_double(w, "loss", g.loss / (double)g.n);
		mr_confusion_put(&g.confusion, mr_errors_name, t, w);
	} else if (st == MR_OK) {
		put_numbers(&g, w);
	}
	if (st == MR_OK)
		st = mr_errors_put_worst(t, &g.worst, w);
	release(&g);
	return st;
}

static mr_status write_errors(mr_trained *t, const char *run, uint64_t most, FILE *out)
{
	const char *slash = strrchr(t->path, '/');
	mr_json_writer w;
	mr_status st;

	if (!t->s.data->n_valid)
		return mr_fail(MR_EDATA, "%s has no validation part", t->s.data->ops->name);
	w = mr_json_begin(out, true);
	mr_json_field_uint(&w, "step", t->step);
	mr_json_field_string(&w, "checkpoint", slash ? slash + 1 : t->path);
	mr_json_field_bool(&w, "trains_only", t->s.data->trains_only);
	st = t->form.language ? mr_errors_put_language(t, run, most, &w) : put_samples(t, most, &w);
	MR_TRY(st);
	return mr_json_finish(&w);
}

/* As JSON in *@text, which the caller frees, also after a failure. */
static mr_status write_text(mr_trained *t, const char *run, uint64_t most, char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);
	mr_status st;

	if (!out)
		return mr_fail(MR_ERESOURCE, "no memory for the errors of a model");
	st = write_errors(t, run, most, out);
	if (fclose(out) && st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for the errors of a model");
	return st;
}

static mr_status keep(const char *run, const char *text, size_t len)
{
	char *path = mr_path_join(run, "errors.json");

	if (!path)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	if (mr_result_write(path, text, len, MR_RESULT_UNSYNCED) != MR_OK)
		mr_notice("warning: %s", mr_error_text());
	free(path);
	return MR_OK;
}

/* Several checkpoints write a text each, which must not take for ever. */
static mr_status find_model(mr_trained *t, const char *run)
{
	static const char *const less[] = {"sample.tokens=400"};

	MR_TRY(mr_trained_find_with_data(t, run, NULL, 0));
	if (mr_config_job(t->config)->sample.tokens <= MOST_TEXT)
		return MR_OK;
	mr_trained_close(t);
	return mr_trained_find_with_data(t, run, less, 1);
}

mr_status mr_errors_find(const char *run, uint64_t most, mr_status (*prepare)(void *arg, const mr_config *config),
			 void *arg, mr_json **out)
{
	char *text = NULL;
	size_t len = 0;
	mr_trained t;
	mr_status st = find_model(&t, run);

	if (st == MR_OK)
		st = prepare(arg, t.config);
	if (st == MR_OK)
		st = mr_trained_open(&t, 0);
	if (st == MR_OK)
		st = write_text(&t, run, most, &text, &len);
	mr_trained_close(&t);
	if (st == MR_OK)
		st = keep(run, text, len);
	if (st == MR_OK)
		st = mr_json_read_text(text, len, out);
	free(text);
	return st;
}
