#include "trained/trained.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "checkpoint/checkpoints.h"
#include "checkpoint/inspect.h"
#include "nn/element.h"
#include "session/weights_list.h"
#include "trained/temperature.h"

#define MOST_BATCH 512
#define MOST_BYTES ((uint64_t)512 << 20) /* of a batch's activations */

/* These keys of the training concern its machine and its files alone. */
static const char *const own_keys[] = {
	"system.name=sequential", "machine.workers=1", "machine.threads=0",
	"machine.shares=1", "machine.cpus=", "machine.topology=",
	"machine.choices=", "machine.teams=equal", "costs=", "partition=auto", "train.frozen=", "train.class_weights=",
	"trace.steps=",
};

#define N_OWN (sizeof(own_keys) / sizeof(own_keys[0]))

/* --- the checkpoint --- */

static mr_status find(mr_trained *t, const char *run, const char *name)
{
	char *folder;
	mr_status st;

	if (!*name)
		return mr_inspect_find_best(run, &t->path);
	if (!strcmp(name, "last"))
		return mr_inspect_find(run, &t->path);
	folder = mr_path_join(run, "checkpoints");
	if (!folder)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	st = mr_checkpoints_find(folder, name, &t->path);
	free(folder);
	return st;
}

static mr_status load_config(mr_trained *t, const char *text, const char *const *set, size_t n_sets)
{
	size_t n = N_OWN + n_sets;
	const char **sets = calloc(n, sizeof(*sets));
	mr_strbuf notes = {0};
	mr_status st;

	if (!sets)
		return mr_fail(MR_ERESOURCE, "no memory for a configuration");
	memcpy(sets, own_keys, sizeof(own_keys));
	for (size_t i = N_OWN; i < n; i++)
		sets[i] = set[i - N_OWN];
	st = mr_config_load_text(t->path, text, sets, n, &notes, &t->config);
	mr_strbuf_fini(&notes);
	free(sets);
	return st;
}

/* What stands in the checkpoint that was found. */
static mr_status read_facts(mr_trained *t, const char *const *set, size_t n_sets)
{
	const char *text, *form;
	mr_checkpoint *ck;
	mr_status st = MR_OK;

	MR_TRY(mr_checkpoint_open(t->path, &ck));
	text = mr_checkpoint_fact(ck, "configuration");
	form = mr_checkpoint_fact(ck, "form");
	if (!text)
		st = mr_fail(MR_ECKPT,
			     "%s: it does not hold the configuration and the form of its data, as those of older "
			     "builds: train --resume for one step more, and the next checkpoint does",
			     t->path);
	else if (!form && !t->with_data)
		st = mr_fail(MR_ECKPT,
			     "%s: its data are pairs of sequences, of which no file is predicted", t->path);
	if (st == MR_OK && form)
		st = mr_form_read(form, &t->form);
	if (st == MR_OK)
		st = load_config(t, text, set, n_sets);
	mr_checkpoint_close(ck);
	return st;
}

mr_status mr_trained_find(mr_trained *t, const char *run, const char *name, const char *const *set, size_t n_sets)
{
	*t = (mr_trained){0};
	MR_TRY(find(t, run, name));
	return read_facts(t, set, n_sets);
}

mr_status mr_trained_find_with_data(mr_trained *t, const char *run, const char *const *set, size_t n_sets)
{
	*t = (mr_trained){.with_data = true};
	MR_TRY(find(t, run, ""));
	return read_facts(t, set, n_sets);
}

/* --- the data --- */

/* Are they what the model was trained on? */
static mr_status check_data(const mr_trained *t)
{
	char now[24];
	const char *then;
	mr_checkpoint *ck;
	bool same;

	MR_TRY(mr_checkpoint_open(t->path, &ck));
	then = mr_checkpoint_fact(ck, "data");
	snprintf(now, sizeof(now), "%016" PRIx64, t->s.data->fingerprint);
	same = !then || !strcmp(then, now);
	mr_checkpoint_close(ck);
	return same ? MR_OK : mr_fail(MR_EDATA, "the data have changed since the training: %s", t->s.data->describe);
}

/* Of data without a form only shapes are needed. */
static mr_status open_data(mr_trained *t)
{
	MR_TRY(mr_session_survey(mr_config_job(t->config), &t->s));
	MR_TRY(mr_session_load(&t->s));
	MR_TRY(check_data(t));
	if (t->form.source)
		return MR_OK;
	t->form.shapes = *t->s.data;
	t->form.language = t->s.data->input.tokens && mr_shape_same(t->s.data->input, t->s.data->target);
	return MR_OK;
}

/* --- the model --- */

static mr_status take_weights(mr_trained *t)
{
	mr_state_list weights;
	mr_status st;

	MR_TRY(mr_weights_list(&t->s, &weights));
	st = mr_checkpoints_load_model(t->path, t->s.graph, &weights, &t->step);
	if (st == MR_ECKPT && !strstr(mr_error_text(), t->path))
		st = mr_fail_in(st, "%s", t->path);
	if (st == MR_OK)
		st = mr_logits_create(&t->s, &weights, t->batch, &t->model);
	mr_weights_list_fini(&weights);
	return st;
}

/* As many samples at once as memory allows. */
static mr_status choose_batch(mr_trained *t, int64_t asked)
{
	uint64_t room = t->s.topo.memory_available_bytes / 4, bytes;

	t->batch = asked;
	room = room && room < MOST_BYTES ? room : MOST_BYTES;
	if (asked)
		return MR_OK;
	for (t->batch = MOST_BATCH; t->batch > 1; t->batch /= 2) {
		MR_TRY(mr_logits_bytes(&t->s, t->batch, &bytes));
		if (bytes <= room)
			break;
	}
	return MR_OK;
}

/* What the values that enter the loss mean. */
static mr_status judge_outputs(mr_trained *t)
{
	const char *loss = t->s.graph->nodes[t->s.graph->n_nodes - 1].ops->name;
	int64_t classes = t->form.shapes.classes;
	bool known;

	t->width = (size_t)mr_shape_count(mr_logits_output(&t->s));
	t->classes = classes || !strcmp(loss, "logistic");
	t->n_values = classes ? (size_t)classes : t->classes ? 2 : 1;
	if (t->form.language)
		known = mr_session_has_perplexity(&t->s) &&
			t->width == (size_t)(classes * t->form.shapes.input.rows);
	else
		known = classes ? t->width == t->n_values
				: t->width == 1 && (!strcmp(loss, "logistic") || !strcmp(loss, "mse"));
	return known ? MR_OK : mr_fail(MR_ECKPT, "%s: the loss %s of this model has no predictions that are known",
				       t->path, loss);
}

mr_status mr_trained_open(mr_trained *t, int64_t batch)
{
	if (t->with_data)
		MR_TRY(open_data(t));
	else
		MR_TRY(mr_session_open_shapes(mr_config_job(t->config), &t->form.shapes, &t->s));
	MR_TRY(judge_outputs(t));
	MR_TRY(choose_batch(t, batch));
	t->input_bytes = mr_shape_bytes(mr_logits_input(&t->s), t->s.kernels->types.activations);
	return take_weights(t);
}

void mr_trained_close(mr_trained *t)
{
	mr_logits_destroy(t->model);
	mr_session_close(&t->s);
	mr_form_close(&t->form);
	mr_config_destroy(t->config);
	free(t->path);
	*t = (mr_trained){0};
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
static void finish(const mr_trained *t, double *x)
{
	const mr_dataset *d = &t->form.shapes;

	if (d->classes) {
		softmax(x, t->width);
	} else if (t->classes) {
		double one = x[0] >= 0 ? 1 / (1 + exp(-x[0])) : exp(x[0]) / (1 + exp(x[0]));

		x[0] = 1 - one;
		x[1] = one;
	} else if (d->target_deviation > 0) {
		x[0] = x[0] * d->target_deviation + d->target_mean;
	}
}

mr_status mr_trained_calibrate(mr_trained *t)
{
	mr_calibration c;

	if (!t->classes || t->form.language)
		return mr_fail(MR_EUSAGE, "probabilities of classes are calibrated, and this model predicts %s",
			       t->form.language ? "texts" : "numbers");
	MR_TRY(mr_calibration_read(t->path, &c));
	t->temperature = c.temperature;
	return MR_OK;
}

mr_status mr_trained_predict(mr_trained *t, const void *input, int64_t n, double *value)
{
	mr_dtype type = t->s.kernels->types.activations;
	const void *out;

	MR_TRY(mr_logits_of(t->model, input, n, &out));
	for (int64_t i = 0; i < n; i++, value += t->n_values) {
		for (size_t k = 0; k < t->width; k++)
			value[k] = mr_element(type, out, i * (int64_t)t->width + (int64_t)k);
		for (size_t k = 0; t->temperature > 0 && k < t->width; k++)
			value[k] /= t->temperature;
		finish(t, value);
	}
	return MR_OK;
}
