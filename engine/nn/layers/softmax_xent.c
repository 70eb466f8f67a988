/*
 * softmax_xent.c - the loss of a classifier: minus the logarithm of the probability that softmax gives to the right
 * class.
 *
 *	logits [n, classes]   targets [n] int32   loss = mean over rows of log(sum exp(logits)) - logits[target]
 *	F overwrites the logits by dlogits = (softmax(logits) - onehot(target)) / n
 *
 * The mean is over all rows of the micro-batch (samples, or tokens of a gpt), summed in f64. I has nothing left to do.
 * The classes are the input's columns.
 *
 * With smoothing e a row's loss is (1 - e) times the above, plus e times the mean over all classes of minus the
 * logarithm of their probability (Szegedy et al., 2016, with PyTorch's convention: the right class is one of them).
 * With padding, rows whose target is MR_PADDING (nn/tensor.h) do not count: they have no loss and a gradient of 0, and
 * the mean is over the other rows. With per_sample the loss is the sum over rows divided by the number of samples: then
 * micro-batches add up to the batch whatever their padding. With weighted, the loss of a row in training is multiplied
 * by the weight of its class, smoothing and all; what the sum is divided by stays. So micro-batches add up to the batch
 * whatever their classes (Keras's class_weight; PyTorch divides by the sum of the weights). Reads of the configuration:
 * smoothing, padding, per_sample, weighted.
 *
 * The operation xent does all rows alike. So padding gets scores with which it yields 0 and 0 exactly, and what
 * smoothing adds, e (logits[target] - mean of the logits), has the gradient e (onehot(target) - 1 / classes).
 */
#include "nn/element.h"
#include "nn/layers/shared.h"

#include <math.h>
#include <string.h>

static mr_status softmax_xent_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("softmax_xent", in[0]));
	if (!(cfg->smoothing >= 0 && cfg->smoothing < 1))
		return mr_fail(MR_ECONFIG, "softmax_xent spreads a part of at least 0 and below 1, got %g",
			       cfg->smoothing);
	*out = in[0];
	return MR_OK;
}

static mr_status softmax_xent_target(const mr_layer_cfg *cfg, mr_shape in, mr_shape target)
{
	(void)cfg;
	if (!target.tokens)
		return mr_fail(MR_ECONFIG, "softmax_xent needs classes as targets, the data has %lld numbers a sample",
			       (long long)(target.rows * target.cols));
	if (target.rows != in.rows || target.cols != 1)
		return mr_fail(MR_ECONFIG, "softmax_xent needs %lld targets a sample, the data has %lld x %lld",
			       (long long)in.rows, (long long)target.rows, (long long)target.cols);
	return MR_OK;
}

/* How many of @n scores come before that of class @target: the larger ones, and of equal ones those in front of it. */
#define BEFORE(NAME, T, REAL, NUMBER)                              \
	static int64_t NAME(const T *x, int64_t n, int32_t target) \
	{                                                          \
		REAL most = NUMBER(x[target]);                     \
		int64_t before = 0;                                \
                                                                   \
		for (int64_t j = 0; j < target; j++)               \
			before += NUMBER(x[j]) >= most;            \
		for (int64_t j = target; j < n; j++)               \
			before += NUMBER(x[j]) > most;             \
		return before;                                     \
	}
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) BEFORE(before_##id, stored, wide, widen)
#include "base/types.def"

static int64_t before(mr_dtype t, const void *scores, int64_t row, int64_t n, int32_t target)
{
	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: return before_##id((const stored *)scores + row * n, n, target);
#include "base/types.def"
	default: break; /* no scores are of a type of files alone */
	}
	return 0;
}

static bool counts(const mr_layer_call *c, int64_t row)
{
	return !c->cfg->padding || ((const int32_t *)c->target)[row] != MR_PADDING;
}

/* Before the scores are overwritten. */
static void judge(const mr_layer_call *c)
{
	int64_t rows = mr_layer_rows(c), cols = c->in->cols;
	mr_dtype t = c->k->types.activations;
	const int32_t *target = c->target;

	for (int64_t i = 0; i < rows; i++) {
		int64_t n;

		if (!counts(c, i)) {
			c->judged->left_out++;
			continue;
		}
		n = before(t, c->x[0], i, cols, target[i]);
		c->judged->right += n < 1;
		c->judged->in_five += n < 5;
		if (c->judged->two)
			c->judged->two[i] = (mr_two_score){
				.above = (float)(mr_element(t, c->x[0], i * cols + 1) -
						 mr_element(t, c->x[0], i * cols)),
				.one = target[i] == 1,
			};
	}
}

#define PADDING_SCORE 1000 /* exp(-1000) is 0 in every type */

/* Set the scores of padding, for which the loss is then 0. Returns the number of the other rows. */
static int64_t blank(const mr_layer_call *c)
{
	int64_t rows = mr_layer_rows(c), n = 0;
	size_t row = mr_layer_bytes(c->k, c->in->cols);

	for (int64_t i = 0; i < rows; i++) {
		if (counts(c, i)) {
			n++;
			continue;
		}
		memset((char *)c->x[0] + (size_t)i * row, 0, row);
		mr_element_put(c->k->types.activations, (void *)c->x[0], i * c->in->cols + MR_PADDING, PADDING_SCORE);
	}
	return n;
}

/* The sum over rows of logits[target] less the mean of the logits. */
static double above_mean(const mr_layer_call *c)
{
	int64_t rows = mr_layer_rows(c), cols = c->in->cols;
	mr_dtype t = c->k->types.activations;
	double all = 0;

	for (int64_t i = 0; i < rows; i++) {
		double sum = 0;

		if (!counts(c, i))
			continue;
		for (int64_t j = 0; j < cols; j++)
			sum += mr_element(t, c->x[0], i * cols + j);
		all += mr_element(t, c->x[0], i * cols + ((const int32_t *)c->target)[i]) - sum / (double)cols;
	}
	return all;
}

/* From the gradient of the mean over all rows to that of the loss. */
typedef struct changes {
	const mr_layer_call *c;
	double factor, spread, at; /* dlogits = factor dlogits - spread, and + at for the right class */
} changes;

static void change(const void *args, int64_t lo, int64_t hi)
{
	const changes *a = args;
	const mr_layer_call *c = a->c;
	int64_t cols = c->in->cols;
	mr_dtype t = c->k->types.activations;

	for (int64_t i = lo; i < hi; i++) {
		int32_t target = ((const int32_t *)c->target)[i];
		void *x = (void *)c->x[0];

		if (!counts(c, i))
			continue;
		for (int64_t j = 0; j < cols; j++)
			mr_element_put(t, x, i * cols + j,
				       a->factor * mr_element(t, x, i * cols + j) - a->spread +
					       (j == target ? a->at : 0));
	}
}

/* --- weighted rows: each by itself, in f64 whatever the backend --- */

typedef struct weighing {
	const mr_layer_call *c;
	double over;  /* what the sum of the losses is divided by */
	double *loss; /* [rows] */
} weighing;

static void weigh_row(const weighing *a, int64_t row)
{
	const mr_layer_call *c = a->c;
	int64_t cols = c->in->cols, first = row * cols;
	int32_t target = ((const int32_t *)c->target)[row];
	mr_dtype t = c->k->types.activations;
	void *x = (void *)c->x[0];
	double e = c->cfg->smoothing, weight = c->class_weight[target], most = -INFINITY, all = 0, sum = 0;

	for (int64_t j = 0; j < cols; j++) {
		double v = mr_element(t, x, first + j);

		most = fmax(most, v);
		all += v;
	}
	for (int64_t j = 0; j < cols; j++)
		sum += exp(mr_element(t, x, first + j) - most);
	a->loss[row] = weight * (most + log(sum) - (1 - e) * mr_element(t, x, first + target) - e * all / (double)cols);
	for (int64_t j = 0; j < cols; j++) {
		double p = exp(mr_element(t, x, first + j) - most) / sum;

		mr_element_put(t, x, first + j,
			       weight * (p - (j == target ? 1 - e : 0) - e / (double)cols) / a->over);
	}
}

static void weigh_rows(const void *args, int64_t lo, int64_t hi)
{
	const weighing *a = args;
	const mr_layer_call *c = a->c;

	for (int64_t i = lo; i < hi; i++) {
		if (counts(c, i)) {
			weigh_row(a, i);
			continue;
		}
		memset((char *)c->x[0] + (size_t)i * mr_layer_bytes(c->k, c->in->cols), 0,
		       mr_layer_bytes(c->k, c->in->cols));
		a->loss[i] = 0;
	}
}

static mr_status weighted(const mr_layer_call *c)
{
	int64_t rows = mr_layer_rows(c), n = 0;
	weighing a = {.c = c, .loss = c->scratch};
	double sum = 0;

	for (int64_t i = 0; i < rows; i++)
		n += counts(c, i);
	a.over = c->cfg->per_sample ? (double)c->samples : n > 0 ? (double)n : 1;
	MR_TRY(c->k->ranges(c->kc, &(mr_ranges_args){.n = rows, .fn = weigh_rows, .args = &a}));
	for (int64_t i = 0; i < rows; i++)
		sum += a.loss[i];
	*c->loss = sum / a.over;
	return MR_OK;
}

static void softmax_xent_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			       mr_layer_needs *out)
{
	*out = (mr_layer_needs){0};
	if (k && cfg->weighted)
		out->scratch = (size_t)(samples * in->rows) * sizeof(double);
}

static mr_status softmax_xent_forward(const mr_layer_call *c)
{
	int64_t rows = mr_layer_rows(c), n = rows;
	double e = c->cfg->smoothing, smooth, over;
	changes a = {.c = c};

	if (c->judged)
		judge(c);
	if (c->cfg->weighted && c->train && !c->k->recorded)
		return weighted(c);
	if (c->cfg->padding)
		n = c->k->recorded ? 0 : blank(c);
	smooth = e > 0 && !c->k->recorded ? e * above_mean(c) : 0;
	MR_TRY(c->k->xent(c->kc, &(mr_xent_args){.rows = rows, .classes = c->in->cols, .logits = (void *)c->x[0],
						 .targets = c->target, .loss = c->loss}));
	over = c->cfg->per_sample ? (double)c->samples : n > 0 ? (double)n : 1;
	if (!(e > 0) && over == (double)rows)
		return MR_OK;
	*c->loss = (*c->loss * (double)rows + smooth) / over;
	a.factor = (double)rows / over;
	a.at = e / over;
	a.spread = e / (double)c->in->cols / over;
	return c->k->ranges(c->kc, &(mr_ranges_args){.n = rows, .fn = change, .args = &a});
}

const mr_layer_ops mr_layer_softmax_xent = {
	.name = "softmax_xent",
	.summary = "loss: softmax cross-entropy against classes",
	.n_in = 1,
	.loss = true,
	.judges = true,
	.shape = softmax_xent_shape,
	.target = softmax_xent_target,
	.needs = softmax_xent_needs,
	.forward = softmax_xent_forward,
	.backward_input = mr_layer_pass,
};
