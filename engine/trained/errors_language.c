/* errors_language.c - where a language model errs, and what it writes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "checkpoint/checkpoints.h"
#include "nn/element.h"
#include "session/sample.h"
#include "session/weights_list.h"
#include "store/checkpoint_io.h"
#include "trained/errors_internal.h"
#include "trained/log_sum.h"

#define MOST_EXCERPTS 3 /* that are shown */
#define MOST_SHOWN 256  /* tokens of one of them */
#define MOST_TEXTS 4

typedef struct excerpts {
	mr_trained *t;
	size_t context, vocabulary;
	int32_t *input, *target; /* [batch][context] */
	float *value;            /* [vocabulary] */
	mr_confusion confusion;
	mr_worst_list worst;
	double loss;
} excerpts;

static mr_status take_memory(excerpts *e, size_t n)
{
	size_t batch = (size_t)e->t->batch;

	e->input = malloc(batch * e->context * sizeof(*e->input));
	e->target = malloc(batch * e->context * sizeof(*e->target));
	e->value = malloc(e->vocabulary * sizeof(*e->value));
	if (!e->input || !e->target || !e->value)
		return mr_fail(MR_ERESOURCE, "no memory for excerpts of %zu tokens", e->context);
	return mr_confusion_init(&e->confusion, e->vocabulary, n * e->context);
}

static void release(excerpts *e)
{
	free(e->input);
	free(e->target);
	free(e->value);
	mr_confusion_fini(&e->confusion);
}

/* The loss of a place, whose values are in row @row of @out. */
static double loss_of(excerpts *e, const void *out, size_t row, int32_t target, int32_t *best)
{
	mr_dtype type = e->t->s.kernels->types.activations;

	for (size_t i = 0; i < e->vocabulary; i++)
		e->value[i] = (float)mr_element(type, out, (int64_t)(row * e->vocabulary + i));
	return mr_log_sum(e->value, e->vocabulary, best) - (double)e->value[target];
}

/* All of a batch of @n excerpts from number @first of @all on. */
static mr_status take_batch(excerpts *e, uint64_t first, uint64_t n, uint64_t all)
{
	const mr_dataset *d = e->t->s.data;
	const void *out;

	for (uint64_t i = 0; i < n; i++)
		d->ops->valid(d, mr_errors_sample(first + i, all, d->n_valid), e->input + i * e->context,
			      e->target + i * e->context);
	MR_TRY(mr_dataset_check(d));
	MR_TRY(mr_logits_of(e->t->model, e->input, (int64_t)n, &out));
	for (uint64_t i = 0; i < n; i++) {
		mr_worst w = {.sample = mr_errors_sample(first + i, all, d->n_valid)};

		for (size_t r = 0; r < e->context; r++) {
			int32_t target = e->target[i * e->context + r], best;

			w.loss += loss_of(e, out, i * e->context + r, target, &best) / (double)e->context;
			mr_confusion_take(&e->confusion, (size_t)target, (size_t)best);
		}
		e->loss += w.loss;
		mr_worst_take(&e->worst, &w);
	}
	return MR_OK;
}

/* Each token of an excerpt with its probability. */
static mr_status put_excerpt(excerpts *e, const mr_worst *x, mr_json_writer *w)
{
	const mr_dataset *d = e->t->s.data;
	const void *out;
	mr_strbuf room = {0};

	d->ops->valid(d, x->sample, e->input, e->target);
	MR_TRY(mr_logits_of(e->t->model, e->input, 1, &out));
	mr_json_begin_object(w);
	mr_json_field_uint(w, "sample", x->sample);
	mr_json_field_double(w, "loss", x->loss);
	mr_json_field_array(w, "tokens");
	mr_json_put_string(w, mr_errors_name(e->t, (size_t)e->input[0], &room));
	for (size_t r = 0; r < e->context && r < MOST_SHOWN; r++)
		mr_json_put_string(w, mr_errors_name(e->t, (size_t)e->target[r], &room));
	mr_json_end_array(w);
	mr_json_field_array(w, "probabilities");
	mr_json_put_double(w, (double)NAN);
	for (size_t r = 0; r < e->context && r < MOST_SHOWN; r++) {
		int32_t best;

		mr_json_put_double(w, exp(-loss_of(e, out, r, e->target[r], &best)));
	}
	mr_json_end_array(w);
	mr_json_end_object(w);
	mr_strbuf_fini(&room);
	return MR_OK;
}

/* --- texts --- */

/* What the model of the checkpoint of @step writes. */
static mr_status put_text(mr_trained *t, const char *folder, uint64_t step, const mr_state_list *weights,
			  mr_json_writer *w)
{
	char name[48], *path, *text = NULL;
	uint64_t loaded;
	size_t len;
	mr_status st;
	FILE *f;

	snprintf(name, sizeof(name), "step-%08" PRIu64, step);
	path = mr_path_join(folder, name);
	f = open_memstream(&text, &len);
	st = path && f ? mr_checkpoints_load_model(path, t->s.graph, weights, &loaded)
		       : mr_fail(MR_ERESOURCE, "no memory for a text");
	if (st == MR_OK)
		st = mr_sample_write(&t->s, weights, f);
	if (f)
		fclose(f);
	if (st == MR_OK && text) {
		mr_json_begin_object(w);
		mr_json_field_uint(w, "step", step);
		mr_json_field_string(w, "text", text);
		mr_json_end_object(w);
	}
	free(path);
	free(text);
	return st;
}

/* The texts of up to MOST_TEXTS checkpoints of @folder, the oldest first. One that is damaged is left out. */
static mr_status put_checkpoints(mr_trained *t, const char *folder, mr_json_writer *w)
{
	mr_state_list weights;
	uint64_t *step;
	size_t n;

	if (mr_checkpoint_steps(folder, &step, &n) != MR_OK || !n) {
		free(step);
		return MR_OK;
	}
	if (mr_weights_list(&t->s, &weights) != MR_OK) {
		free(step);
		return mr_fail(MR_ERESOURCE, "no memory for the weights of a checkpoint");
	}
	for (size_t k = 0, all = n < MOST_TEXTS ? n : MOST_TEXTS; k < all; k++) {
		size_t at = all > 1 ? (n - 1) * (all - 1 - k) / (all - 1) : 0;

		if (put_text(t, folder, step[at], &weights, w) != MR_OK)
			continue;
	}
	mr_weights_list_fini(&weights);
	free(step);
	return MR_OK;
}

static mr_status put_texts(mr_trained *t, const char *run, mr_json_writer *w)
{
	char *folder = mr_path_join(run, "checkpoints");
	mr_status st = folder ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a path");

	if (st == MR_OK && mr_sample_check(&t->s) == MR_OK) {
		mr_json_field_string(w, "prompt", mr_config_job(t->config)->sample.prompt);
		mr_json_field_array(w, "texts");
		st = put_checkpoints(t, folder, w);
		mr_json_end_array(w);
	}
	free(folder);
	return st;
}

/* --- the whole --- */

static mr_status put_excerpts(excerpts *e, uint64_t n, mr_json_writer *w)
{
	const mr_dataset *d = e->t->s.data;
	uint64_t batch = (uint64_t)e->t->batch;
	mr_status st;

	MR_TRY(take_memory(e, n));
	for (uint64_t first = 0; first < n; first += batch)
		MR_TRY(take_batch(e, first, n - first < batch ? n - first : batch, n));
	mr_json_field_string(w, "kind", "tokens");
	mr_json_field_uint(w, "samples", n * e->context);
	mr_json_field_uint(w, "of_samples", d->n_valid * e->context);
	mr_json_field_double(w, "loss", e->loss / (double)n);
	mr_json_field_double(w, "perplexity", exp(e->loss / (double)n));
	mr_confusion_put(&e->confusion, mr_errors_name, e->t, w);
	mr_json_field_array(w, "worst");
	st = MR_OK;
	for (size_t i = 0; st == MR_OK && i < e->worst.n; i++)
		st = put_excerpt(e, &e->worst.at[i], w);
	mr_json_end_array(w);
	return st;
}

mr_status mr_errors_put_language(mr_trained *t, const char *run, uint64_t most, mr_json_writer *w)
{
	excerpts e = {.t = t, .context = (size_t)t->form.shapes.input.rows,
		      .vocabulary = (size_t)t->form.shapes.classes, .worst = {.most = MOST_EXCERPTS}};
	uint64_t n = most / e.context ? most / e.context : 1;
	mr_status st = put_excerpts(&e, n < t->s.data->n_valid ? n : t->s.data->n_valid, w);

	release(&e);
	return st == MR_OK ? put_texts(t, run, w) : st;
}
