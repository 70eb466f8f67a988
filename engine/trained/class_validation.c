#include "trained/class_validation.h"

#include <stdio.h>
#include <stdlib.h>

#include "nn/element.h"
#include "trained/class_scores.h"
#include "trained/temperature.h"

/* The class of the target of sample @i, whose input goes to @input. */
static size_t read_sample(const mr_trained *t, const mr_dataset *d, uint64_t i, void *input, void *target)
{
	d->ops->valid(d, i, input, target);
	if (d->target.tokens)
		return (size_t)((const int32_t *)target)[0];
	return mr_element(t->s.kernels->types.compute, target, 0) > 0.5;
}

static mr_status predict_all(mr_trained *t, const mr_dataset *d, mr_class_scores *scores)
{
	size_t batch = (size_t)t->batch, classes = t->n_values;
	char *input = calloc(batch, t->input_bytes);
	double *p = calloc(batch * classes, sizeof(*p));
	size_t *target = calloc(batch, sizeof(*target));
	void *one = calloc(1, mr_shape_bytes(d->target, t->s.kernels->types.compute) + sizeof(int32_t));
	mr_status st = input && p && target && one ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a batch");

	for (uint64_t at = 0; st == MR_OK && at < d->n_valid; at += batch) {
		size_t n = d->n_valid - at < batch ? (size_t)(d->n_valid - at) : batch;

		for (size_t i = 0; i < n; i++)
			target[i] = read_sample(t, d, at + i, input + i * t->input_bytes, one);
		st = mr_dataset_check(d);
		if (st == MR_OK)
			st = mr_trained_predict(t, input, (int64_t)n, p);
		for (size_t i = 0; st == MR_OK && i < n; i++)
			mr_class_scores_add(scores, target[i], mr_class_of(p + i * classes, classes), p + i * classes);
	}
	free(input);
	free(p);
	free(target);
	free(one);
	return st;
}

static mr_status calibrate(const mr_class_scores *scores, const char *checkpoint)
{
	mr_calibration c;
	mr_strbuf b = {0};

	MR_TRY(mr_calibration_keep(&scores->samples, checkpoint, &c));
	mr_calibration_print(&c, &b);
	printf("%s\n", mr_strbuf_text(&b));
	mr_strbuf_fini(&b);
	return MR_OK;
}

static mr_status judge(const mr_class_validation *v, mr_trained *t, const mr_dataset *d, mr_class_scores *scores)
{
	if (!t->classes || t->form.language)
		return mr_fail(MR_EUSAGE, "--scores, --curves and --calibrate are of classes of samples, and this "
					  "model predicts %s", t->form.language ? "texts" : "numbers");
	MR_TRY(mr_class_scores_init(scores, t->n_values));
	MR_TRY(predict_all(t, d, scores));
	MR_TRY(mr_class_samples_check(&scores->samples));
	MR_TRY(mr_class_scores_write(scores, &t->form, v->scores));
	MR_TRY(mr_class_curves_write(scores, &t->form, v->curves));
	return v->calibrate ? calibrate(scores, t->path) : MR_OK;
}

mr_status mr_class_validation_run(const mr_class_validation *v, const char *checkpoint, const mr_dataset *d)
{
	mr_class_scores scores = {0};
	mr_trained t;
	mr_status st = mr_trained_find(&t, checkpoint, "", NULL, 0);

	if (st == MR_OK)
		st = mr_trained_open(&t, 0);
	if (st == MR_OK)
		st = judge(v, &t, d, &scores);
	mr_class_scores_fini(&scores);
	mr_trained_close(&t);
	return st;
}
