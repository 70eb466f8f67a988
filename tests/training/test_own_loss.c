/*
 * test_own_loss.c - a loss of the caller's in place of the model's (mr_training_opts.loss): the model's own one,
 * written as such a function, gives the same weights; another one does not; one that fails ends the training.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "millrace/millrace.h"

static const char *const settings[][2] = {
	{"model.name", "mlp"},       {"model.hidden", "[8, 8]"},  {"data.name", "synthetic"}, {"data.features", "4"},
	{"data.classes", "3"},       {"data.samples", "200"},     {"optimizer.name", "sgd"},  {"train.steps", "12"},
	{"train.batch", "8"},        {"optimizer.lr", "0.1"},     {"machine.workers", "2"},   {"machine.threads", "1"},
	{"machine.peak_gflops", "1"}, {"backend", "reference"},   {"precision", "f64"},
};

typedef struct asked {
	uint64_t trained, evaluated; /* samples */
	double factor;
	bool fails;
} asked;

/* Softmax cross entropy. */
static bool entropy(void *arg, const mr_training_outputs *o, double *gradient, double *loss)
{
	asked *a = arg;

	__atomic_add_fetch(o->train ? &a->trained : &a->evaluated, o->n, __ATOMIC_RELAXED);
	*loss = 0;
	for (uint64_t i = 0; i < o->n && o->n_outputs == 3 && o->n_targets == 1; i++) {
		const double *x = o->output + 3 * i;
		double most = fmax(x[0], fmax(x[1], x[2])), sum = 0;

		for (int k = 0; k < 3; k++)
			sum += exp(x[k] - most);
		for (int k = 0; k < 3; k++)
			gradient[3 * i + (unsigned)k] = a->factor / (double)o->n *
				(exp(x[k] - most) / sum - (k == (int)o->target[i]));
		*loss += (most + log(sum) - x[(int)o->target[i]]) / (double)o->n;
	}
	return !a->fails;
}

/* Train with @a (NULL: the model's loss); its first weights to @w, its losses of the last step and of validation. */
static mr_status train(const char *system, asked *a, double w[32], double loss[2])
{
	mr_training_opts opts = {.loss = a ? entropy : NULL, .loss_arg = a};
	mr_training_tensor x;
	mr_training *t;
	mr_status st;
	mr_job job;
	size_t n;

	MR_CHECK_OK(mr_job_init(&job));
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		MR_CHECK_OK(mr_job_set(&job, settings[i][0], settings[i][1]));
	MR_CHECK_OK(mr_job_set(&job, "system.name", system));
	MR_CHECK_OK(mr_job_check(&job));
	MR_CHECK_OK(mr_training_open_with(&job, &opts, &t));
	mr_job_fini(&job);
	st = mr_training_run(t, MR_TRAINING_ALL, NULL, NULL);
	if (st == MR_OK) {
		loss[0] = mr_training_loss(t);
		MR_CHECK_OK(mr_training_evaluate(t, &loss[1], NULL));
		MR_CHECK_OK(mr_training_tensors(t, &n));
		MR_CHECK_OK(mr_training_tensor_at(t, 0, &x));
		memcpy(w, x.data, 32 * sizeof(*w));
	}
	MR_CHECK_OK(mr_training_close(t));
	return st;
}

static void same(const char *system)
{
	asked a = {.factor = 1}, b = {.factor = 2};
	double of_model[32], of_own[32], other[32], loss[2], own[2], off = 0;

	MR_CHECK_OK(train(system, NULL, of_model, loss));
	MR_CHECK_OK(train(system, &a, of_own, own));
	MR_CHECK_OK(train(system, &b, other, own));
	MR_CHECK_OK(train(system, &a, of_own, own));
	for (int i = 0; i < 32; i++) {
		CU_ASSERT_DOUBLE_EQUAL(of_model[i], of_own[i], 1e-12);
		off += fabs(other[i] - of_own[i]);
	}
	CU_ASSERT(off > 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(loss[0], own[0], 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(loss[1], own[1], 1e-12);
	CU_ASSERT(a.trained == 2 * 96 && a.evaluated > 0);
}

static void test_same(void)
{
	same("1f1b");
	same("pipedream");
	same("dualpipe");
	same("data_parallel");
}

static void test_fails(void)
{
	asked a = {.factor = 1, .fails = true};
	double w[32], loss[2];

	CU_ASSERT_EQUAL(train("1f1b", &a, w, loss), MR_EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "own loss"));
}

void mr_suite_own_loss(void);
void mr_suite_own_loss(void)
{
	MR_SUITE("own_loss");
	MR_TEST(test_same);
	MR_TEST(test_fails);
}
