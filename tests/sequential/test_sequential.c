/*
 * test_sequential.c - training without a plan: steps by hand, in either order of sums, with threads that make samples
 * ahead, and as many bytes as its size says.
 */
#include "sequential/sequential.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "check.h"
#include "exec/small_run.h"
#include "lower/small_plans.h"
#include "sequential/sequential_loader.h"
#include "sequential/sequential_size.h"

/* For the model, data and optimizer of @r, whose plan is not looked at. */
static mr_sequential_config config_of(const small_run *r, uint32_t n_micro)
{
	return (mr_sequential_config){.graph = r->c.graph, .kernels = r->c.kernels, .data = r->c.data,
				      .optim = r->c.optim, .lr = r->c.lr, .place = r->c.place->worker,
				      .samples = r->c.samples, .n_micro = n_micro};
}

/* One linear layer: y = x W + b, loss = sum of squares / 2, mean over samples, so db = mean of (y - t). */
static void a_step_by_hand(void)
{
	const double x[2] = {1, 2};
	double before[SMALL_COLS], y, db[SMALL_COLS] = {0}, *w, *b;
	mr_sequential *q;
	mr_sequential_config c;
	uint64_t reached;
	small_run r;

	small_run_init(&r, small_gpipe(1, 1, false));
	c = config_of(&r, 1);
	MR_CHECK_OK(mr_sequential_create(&c, &q));
	w = mr_sequential_weights(q, 0);
	b = mr_sequential_weights(q, 1);
	memcpy(before, b, sizeof(before));
	for (int s = 0; s < 2; s++)
		for (int j = 0; j < SMALL_COLS; j++) {
			y = b[j];
			for (int i = 0; i < SMALL_COLS; i++)
				y += x[s] * w[i * SMALL_COLS + j];
			db[j] += (y + x[s]) / 2;
		}
	MR_CHECK_OK(mr_sequential_run(q, 1, NULL, NULL, &reached));
	CU_ASSERT_EQUAL(reached, 1);
	for (int j = 0; j < SMALL_COLS; j++)
		CU_ASSERT_DOUBLE_EQUAL(b[j], before[j] - r.lr.base * db[j], 1e-12);
	mr_sequential_destroy(q);
	small_run_fini(&r);
}

/* Micro-batches of a step are summed in the order that is asked for: other roundings, the same step but for them. */
static void sums_have_an_order(void)
{
	double weight[2][SMALL_COLS * SMALL_COLS];
	uint64_t reached;
	small_run r;

	small_run_init(&r, small_gpipe(3, 4, false));
	for (int order = 0; order < 2; order++) {
		mr_sequential_config c = config_of(&r, 4);
		mr_sequential *q;

		c.sum = order ? MR_SUM_DESCENDING : MR_SUM_ASCENDING;
		MR_CHECK_OK(mr_sequential_create(&c, &q));
		MR_CHECK_OK(mr_sequential_run(q, 3, NULL, NULL, &reached));
		memcpy(weight[order], mr_sequential_weights(q, 0), sizeof(weight[order]));
		mr_sequential_destroy(q);
	}
	CU_ASSERT(memcmp(weight[0], weight[1], sizeof(weight[0])) != 0);
	for (int i = 0; i < SMALL_COLS * SMALL_COLS; i++)
		CU_ASSERT_DOUBLE_EQUAL(weight[0][i], weight[1][i], 1e-12);
	small_run_fini(&r);
}

static void it_holds_what_its_size_says(void)
{
	for (uint32_t n_micro = 1; n_micro <= 3; n_micro += 2) {
		mr_sequential_config c;
		mr_run_memory m;
		mr_sequential *q;
		mr_kctx *kc;
		small_run r;

		small_run_init(&r, small_gpipe(3, n_micro, false));
		c = config_of(&r, n_micro);
		CU_ASSERT(mr_sequential_steps_inside(&c));
		CU_ASSERT_EQUAL(mr_sequential_grad_home(&c, 0), n_micro == 1 ? MR_GRAD_SHARED : MR_GRAD_OWN);
		MR_CHECK_OK(mr_sequential_size(&c, &m));
		MR_CHECK_OK(mr_sequential_create(&c, &q));
		MR_CHECK_OK(c.kernels->ctx_create(c.kernels, 1, &kc)); /* like its own */
		CU_ASSERT_EQUAL(m.weights + m.grads + m.optimizer + m.activations + m.boundaries + m.scratch,
				mr_sequential_bytes(q) - c.kernels->ctx_bytes(kc));
		c.kernels->ctx_destroy(kc);
		CU_ASSERT_EQUAL(m.stashes, 0);
		mr_sequential_destroy(q);
		c.clip = 1; /* the whole gradient comes before any step */
		CU_ASSERT_FALSE(mr_sequential_steps_inside(&c));
		CU_ASSERT_EQUAL(mr_sequential_grad_home(&c, 0), MR_GRAD_OWN);
		small_run_fini(&r);
	}
}

/* Train for five steps in two sessions, and evaluate; the weights and the loss. */
static double train_and_judge(const mr_sequential_config *c, double weight[SMALL_COLS * SMALL_COLS])
{
	uint64_t reached;
	double loss = 0;
	mr_sequential *q;

	MR_CHECK_OK(mr_sequential_create(c, &q));
	MR_CHECK_OK(mr_sequential_run(q, 2, NULL, NULL, &reached));
	MR_CHECK_OK(mr_sequential_eval(q, NULL, NULL, &loss));
	MR_CHECK_OK(mr_sequential_run(q, 5, NULL, NULL, &reached));
	CU_ASSERT_EQUAL(reached, 5);
	MR_CHECK_OK(mr_sequential_eval(q, NULL, NULL, &loss));
	memcpy(weight, mr_sequential_weights(q, 0), SMALL_COLS * SMALL_COLS * sizeof(*weight));
	mr_sequential_destroy(q);
	return loss;
}

/* Threads that make samples ahead change no bit, in either order of micro-batches; data in memory have none. */
static void loaders_change_no_bit(void)
{
	double want[SMALL_COLS * SMALL_COLS], got[SMALL_COLS * SMALL_COLS], loss;
	small_run r;

	small_run_init(&r, small_gpipe(3, 4, false));
	for (int order = 0; order < 2; order++) {
		mr_sequential_config c = config_of(&r, 4);

		c.sum = order ? MR_SUM_DESCENDING : MR_SUM_ASCENDING;
		r.data.bytes.reading = 0;
		loss = train_and_judge(&c, want);
		c.n_loaders = 3;
		CU_ASSERT_EQUAL(mr_sequential_loaders(&c), 0);
		r.data.bytes.on_disk = 1;
		CU_ASSERT_EQUAL(mr_sequential_loaders(&c), 1);
		r.data.bytes = (mr_data_bytes){.reading = 1};
		for (c.n_loaders = 1; c.n_loaders <= 3; c.n_loaders += 2) {
			CU_ASSERT_EQUAL(mr_sequential_loaders(&c), c.n_loaders);
			CU_ASSERT_EQUAL(train_and_judge(&c, got), loss);
			CU_ASSERT(memcmp(got, want, sizeof(want)) == 0);
		}
	}
	small_run_fini(&r);
}

static const mr_dataset_ops *plain_ops;
static _Atomic int n_elsewhere, idle_cpu; /* samples that a loader's thread made on other CPUs than this one */

/* As the plain source, and looks where its thread may run. */
static void look(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	char name[16] = "";
	cpu_set_t set;

	pthread_getname_np(pthread_self(), name, sizeof(name));
	if (!strcmp(name, "mr-samples") && !sched_getaffinity(0, sizeof(set), &set))
		n_elsewhere += CPU_COUNT(&set) != 1 || !CPU_ISSET(idle_cpu, &set);
	plain_ops->train(d, g, input, target);
}

/* The loaders' threads stay on cores that the team has not. */
static void loaders_run_on_idle_cores(void)
{
	double got[SMALL_COLS * SMALL_COLS];
	uint32_t cpu, node = 0;
	mr_sequential_config c;
	mr_dataset_ops ops;
	cpu_set_t set;
	small_run r;

	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(set), &set), 0);
	for (cpu = 0; !CPU_ISSET(cpu, &set); cpu++)
		;
	idle_cpu = (int)cpu;
	small_run_init(&r, small_gpipe(3, 4, false));
	plain_ops = r.data.ops;
	ops = *plain_ops;
	ops.train = look;
	r.data.ops = &ops;
	r.data.bytes = (mr_data_bytes){.reading = 1};
	c = config_of(&r, 4);
	c.n_loaders = 3;
	c.machine = &r.place;
	r.place.n_cores_idle = 1;
	r.place.idle = &cpu;
	r.place.idle_memory = &node;
	r.place.bindable = true;
	n_elsewhere = 0;
	train_and_judge(&c, got);
	CU_ASSERT_EQUAL(n_elsewhere, 0);
	small_run_fini(&r);
}

void mr_suite_sequential(void)
{
	MR_SUITE("sequential");
	MR_TEST(a_step_by_hand);
	MR_TEST(sums_have_an_order);
	MR_TEST(it_holds_what_its_size_says);
	MR_TEST(loaders_change_no_bit);
	MR_TEST(loaders_run_on_idle_cores);
}
