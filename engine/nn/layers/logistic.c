/*
 * logistic.c - the loss of two classes, and of a penalty that arrives beside the margin.
 *
 *	a [n, margin, (penalty)]   target [n, 1]: 0 or 1      loss = mean of log(1 + e^a) - target a,
 *	                                                     plus the mean penalty
 *	F overwrites the margin by (sigma(a) - target) / n and the penalty by 1 / n
 *
 * log(1 + e^a) is computed as max(a, 0) + log(1 + e^-|a|), which neither overflows nor loses small margins. The sum
 * over rows is f64, in ascending order. I has nothing left to do. Reads of the configuration: weighted.
 *
 * With weighted, a row's loss in training is w1 target log(1 + e^-a) + w0 (1 - target) log(1 + e^a), w0 and w1 the
 * weights of the two classes; what the sum is divided by stays.
 */
#include <math.h>

#include "nn/element.h"
#include "nn/layers/shared.h"

static mr_status logistic_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_numbers("logistic", in[0]));
	if (in[0].rows != 1 || in[0].cols > 2)
		return mr_fail(MR_ECONFIG, "logistic takes a margin and at most a penalty, got %lld x %lld numbers",
			       (long long)in[0].rows, (long long)in[0].cols);
	*out = in[0];
	return MR_OK;
}

static mr_status logistic_target(const mr_layer_cfg *cfg, mr_shape in, mr_shape target)
{
	(void)cfg;
	(void)in;
	if (target.tokens || target.rows != 1 || target.cols != 1)
		return mr_fail(MR_ECONFIG,
			       "logistic needs one number a sample as target, 0 or 1; the data has %lld x %lld %s",
			       (long long)target.rows, (long long)target.cols, target.tokens ? "classes" : "numbers");
	return MR_OK;
}

/* What a row adds to the sum, and the gradient of that. */
typedef struct row_loss {
	double loss, slope;
} row_loss;

static row_loss row_of(double m, double y)
{
	double e = exp(-fabs(m));

	return (row_loss){fmax(m, 0) - m * y + log1p(e), (m >= 0 ? 1 / (1 + e) : e / (1 + e)) - y};
}

static row_loss weighted_row(double m, double y, const double *weight)
{
	double e = exp(-fabs(m)), one = m >= 0 ? 1 / (1 + e) : e / (1 + e), zero = m >= 0 ? e / (1 + e) : 1 / (1 + e);
	double for_one = weight[1] * y, for_zero = weight[0] * (1 - y);

	return (row_loss){for_one * (fmax(-m, 0) + log1p(e)) + for_zero * (fmax(m, 0) + log1p(e)),
			  for_zero * one - for_one * zero};
}

static mr_status logistic_forward(const mr_layer_call *c)
{
	mr_dtype t = c->k->types.activations, target = c->k->types.compute;
	int64_t n = c->samples, cols = c->in->cols;
	void *a = (void *)(uintptr_t)c->x[0];
	bool weighted = c->cfg->weighted && c->train;
	double sum = 0;

	if (c->k->recorded)
		return MR_OK;
	for (int64_t i = 0; i < n; i++) {
		double m = mr_element(t, a, i * cols), y = mr_element(target, c->target, i);
		row_loss row = weighted ? weighted_row(m, y, c->class_weight) : row_of(m, y);

		if (c->judged) {
			c->judged->right += (m > 0) == (y > 0.5);
			if (c->judged->two)
				c->judged->two[i] = (mr_two_score){.above = (float)m, .one = y > 0.5};
		}
		sum += row.loss;
		mr_element_put(t, a, i * cols, row.slope / (double)n);
		if (cols < 2)
			continue;
		sum += mr_element(t, a, i * cols + 1);
		mr_element_put(t, a, i * cols + 1, 1 / (double)n);
	}
	*c->loss = sum / (double)n;
	return MR_OK;
}

const mr_layer_ops mr_layer_logistic = {
	.name = "logistic",
	.summary = "loss: logistic regression against 0 or 1",
	.n_in = 1,
	.loss = true,
	.judges = true,
	.shape = logistic_shape,
	.target = logistic_target,
	.needs = mr_layer_needs_nothing,
	.forward = logistic_forward,
	.backward_input = mr_layer_pass,
};
