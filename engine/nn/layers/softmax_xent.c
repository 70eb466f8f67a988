/*
 * softmax_xent.c - the loss of a classifier: minus the logarithm of the probability that softmax gives to the right
 * class.
 *
 *	logits [n, classes]   targets [n] int32   loss = mean over rows of log(sum exp(logits)) - logits[target]
 *	F overwrites the logits by dlogits = (softmax(logits) - onehot(target)) / n
 *
 * The mean is over all rows of the micro-batch (samples, or tokens of a gpt), summed in f64. I has nothing left to do.
 * Reads nothing of the configuration; the classes are the input's columns.
 */
#include "nn/bf16.h"
#include "nn/element.h"
#include "nn/layers/shared.h"

static mr_status softmax_xent_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_numbers("softmax_xent", in[0]));
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
#define ITSELF(x) (x)
BEFORE(before_f32, float, float, ITSELF)
BEFORE(before_f64, double, double, ITSELF)
BEFORE(before_bf16, uint16_t, float, mr_bf16_widen)

static int64_t before(mr_dtype t, const void *scores, int64_t row, int64_t n, int32_t target)
{
	switch (t) {
	case MR_F64:
		return before_f64((const double *)scores + row * n, n, target);
	case MR_BF16:
		return before_bf16((const uint16_t *)scores + row * n, n, target);
	default:
		return before_f32((const float *)scores + row * n, n, target);
	}
}

/* Before the scores are overwritten. */
static void judge(const mr_layer_call *c)
{
	int64_t rows = mr_layer_rows(c), cols = c->in->cols;
	mr_dtype t = c->k->types.activations;
	const int32_t *target = c->target;

	for (int64_t i = 0; i < rows; i++) {
		int64_t n = before(t, c->x[0], i, cols, target[i]);

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

static mr_status softmax_xent_forward(const mr_layer_call *c)
{
	if (c->judged)
		judge(c);
	*c->loss = c->k->xent(c->kc, mr_layer_rows(c), c->in->cols, (void *)c->x[0], c->target);
	return MR_OK;
}

const mr_layer_ops mr_layer_softmax_xent = {
	.name = "softmax_xent",
	.summary = "loss: softmax cross-entropy against classes",
	.n_in = 1,
	.loss = true,
	.judges = true,
	.shape = softmax_xent_shape,
	.target = softmax_xent_target,
	.needs = mr_layer_needs_nothing,
	.forward = softmax_xent_forward,
	.backward_input = mr_layer_pass,
};
