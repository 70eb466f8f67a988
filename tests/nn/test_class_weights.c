/*
 * Losses whose samples weigh as their classes do, against scikit-learn 1.9 in f64: its logarithmic loss of
 * p = softmax(z), with the weight of each sample's class, times the sum of these weights, by which it divides, over the
 * number of samples; and the gradient of that, (p - onehot(y)) w[y] / 4.
 */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "nn/element.h"
#include "nn/layer.h"

#define ROWS 4
#define CLASSES 3

static const double z[ROWS * CLASSES] = {0.5, -1.25, 2.0, 1.5, 0.25, -0.75, -0.5, 3.0, 0.125, 0.75, 0.75, -2.0};
static const int32_t y[ROWS] = {2, 1, 1, 0};
static const double weight[CLASSES] = {0.5, 3.0, 1.25};

static double run(const mr_kernels *k, bool weighted, double *grad)
{
	mr_shape in[1] = {{.rows = 1, .cols = CLASSES}};
	mr_layer_cfg cfg = {.weighted = weighted};
	const mr_layer_ops *ops = mr_layer_find("softmax_xent");
	double room[ROWS * CLASSES], scratch[ROWS], loss;
	mr_kctx *kc;
	mr_layer_call c = {.k = k, .cfg = &cfg, .in = in, .out = in, .samples = ROWS, .x = {room}, .target = y,
			   .loss = &loss, .class_weight = weight, .scratch = scratch, .train = true};

	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	c.kc = kc;
	for (int i = 0; i < ROWS * CLASSES; i++)
		mr_element_put(k->types.activations, room, i, z[i]);
	MR_CHECK_OK(ops->forward(&c));
	for (int i = 0; i < ROWS * CLASSES; i++)
		grad[i] = mr_element(k->types.activations, room, i);
	k->ctx_destroy(kc);
	return loss;
}

static void as_scikit_learn(void)
{
	static const double want[ROWS * CLASSES] = {
		0.05525630690857633, 0.009602106352011384, -0.06485841326058772,
		0.5388302558632987, -0.5956225470017613, 0.05679229113846264,
		0.020842771683671785, -0.05978219562337456, 0.03893942393970261,
		-0.06443586772121153, 0.06056413227878847, 0.003871735442423067,
	};
	static const struct {
		mr_dtype type;
		double off; /* the types' own rounding of scores and gradients */
	} kinds[] = {{MR_F64, 1e-15}, {MR_F32, 1e-7}, {MR_BF16, 4e-3}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const mr_kernels *k = mr_kernels_find("reference", kinds[i].type);
		double grad[ROWS * CLASSES];

		CU_ASSERT_PTR_NOT_NULL_FATAL(k);
		CU_ASSERT_DOUBLE_EQUAL(run(k, true, grad), 1.4110746889540529, kinds[i].type == MR_F64 ? 1e-14 : 1e-12);
		for (int j = 0; j < ROWS * CLASSES; j++)
			CU_ASSERT_DOUBLE_EQUAL(grad[j], want[j], kinds[i].off);
	}
}

/* In an evaluation nothing is weighted, nor is anything without weights. */
static void weighs_in_training_alone(void)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F64);
	double grad[ROWS * CLASSES];

	CU_ASSERT_DOUBLE_EQUAL(run(k, false, grad), 0.6552428721959754, 1e-14);
}

void mr_suite_class_weights(void);
void mr_suite_class_weights(void)
{
	MR_SUITE("class_weights");
	MR_TEST(as_scikit_learn);
	MR_TEST(weighs_in_training_alone);
}
