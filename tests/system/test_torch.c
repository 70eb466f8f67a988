/*
 * test_torch.c - whole training runs against PyTorch's f64 numbers (tests/golden/torch): gradients of the first step,
 * and losses and weights of five optimizer steps, by the engine on one and on three workers and by sequential training.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "rig.h"

typedef struct tolerance {
	double values, key_bias; /* see the golden files' README: what Adam makes of the key biases is noise */
} tolerance;

/* The recorded batch, again and again, as a data source. */
typedef struct recorded {
	mr_dataset base;
	mr_json *root;
	mr_dtype dtype;
} recorded;

static void put(const recorded *d, mr_shape shape, const mr_json *j, void *out)
{
	for (int64_t i = 0; i < shape.rows * shape.cols; i++) {
		const mr_json *x = mr_json_is_array(j) ? mr_json_at(j, (size_t)i) : j;

		if (shape.tokens)
			((int32_t *)out)[i] = (int32_t)mr_json_int(x);
		else if (d->dtype == MR_F64)
			((double *)out)[i] = mr_json_double(x);
		else
			((float *)out)[i] = (float)mr_json_double(x);
	}
}

static void sample(const mr_dataset *base, uint64_t g, void *input, void *target)
{
	const recorded *d = (const recorded *)base;

	put(d, base->input, mr_json_at(mr_json_get(d->root, "inputs"), g % base->n_train), input);
	put(d, base->target, mr_json_at(mr_json_get(d->root, "targets"), g % base->n_train), target);
}

static void close_recorded(mr_dataset *base)
{
	mr_json_destroy(((recorded *)base)->root);
}

static const mr_dataset_ops recorded_ops = {
	.name = "recorded", .close = close_recorded, .train = sample, .valid = sample};

/* Put the recorded batch in the place of the data that the session was made with (of the same shapes). */
static const mr_json *use_recorded(rig *r, const char *file)
{
	recorded *d = calloc(1, sizeof(*d));
	char path[MR_GOLDEN_PATH];

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/%s", file), 1 << 24, &d->root));
	d->dtype = r->s.kernels->types.weights;
	d->base = *r->s.data;
	mr_dataset_close(r->s.data);
	d->base.ops = &recorded_ops;
	d->base.describe = NULL;
	d->base.n_train = mr_json_size(mr_json_get(d->root, "inputs"));
	d->base.n_valid = d->base.n_train;
	r->s.data = &d->base;
	return d->root;
}

static double number(const mr_saved_tensor *t, size_t i)
{
	return t->dtype == MR_F64 ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
}

static void load_params(rig *r, const mr_json *params)
{
	mr_state st;

	MR_CHECK_OK(mr_executor_state(&r->s.executor, &st));
	CU_ASSERT_EQUAL_FATAL(st.model.n, mr_json_size(params));
	for (size_t p = 0; p < st.model.n; p++) {
		mr_saved_tensor *t = &st.model.at[p];
		const mr_json *list = mr_json_get(params, t->name);
		size_t n = mr_json_size(list);

		CU_ASSERT_EQUAL_FATAL(n * (t->dtype == MR_F64 ? 8 : 4), t->bytes);
		for (size_t i = 0; i < n; i++) {
			size_t at = mr_golden_at(params, t->name, t->shape[0], t->shape[1], i);

			if (t->dtype == MR_F64)
				((double *)t->data)[i] = mr_json_double(mr_json_at(list, at));
			else
				((float *)t->data)[i] = (float)mr_json_double(mr_json_at(list, at));
		}
	}
	mr_state_fini(&st);
}

static bool is_key_bias(const char *name, size_t i, size_t n)
{
	return strstr(name, "c_attn.bias") && i >= n / 3 && i < 2 * n / 3;
}

static void check_number(const char *what, const char *name, size_t i, double got, double want, double tol)
{
	bool ok = fabs(got - want) <= tol * (1 + fabs(want));

	if (!ok)
		fprintf(stderr, "\n%s: %s[%zu] is %.17g, recorded %.17g\n", what, name, i, got, want);
	CU_ASSERT_FATAL(ok);
}

static void check_params(rig *r, const char *what, const mr_json *params, const tolerance *tol)
{
	rig_result got = {0};

	rig_collect(r, false, &got);
	for (size_t p = 0; p < got.model.n; p++) {
		const mr_saved_tensor *t = &got.model.at[p];
		const mr_json *list = mr_json_get(params, t->name);
		size_t n = mr_json_size(list);

		CU_ASSERT_FATAL(n > 0);
		for (size_t i = 0; i < n; i++)
			check_number(what, t->name, i, number(t, i),
				     mr_json_double(mr_json_at(list, mr_golden_at(params, t->name, t->shape[0],
										  t->shape[1], i))),
				     is_key_bias(t->name, i, n) ? tol->key_bias : tol->values);
	}
	rig_result_fini(&got);
}

/* The gradient sum of parameter @p after a step that did not go on inside backward, element @i. */
static double gradient(const rig *r, uint32_t p, size_t i)
{
	const mr_run *run = mr_engine_run_of(r->s.executor.engine);
	uint16_t s = mr_partition_stage(&r->s.partition, r->s.graph->params[p].node);
	const void *g = run->weights[s].shard[0].grads + mr_stage_grad_at(run->stage[s], p);

	return (r->s.kernels->types.weights == MR_F64 ? ((const double *)g)[i] : (double)((const float *)g)[i]) /
	       r->s.n_micro;
}

static void check_gradients(const rig *r, const char *what, const mr_json *root, double tol)
{
	const mr_json *apart = mr_json_get(root, "grads_wte");

	for (uint32_t p = 0; p < r->s.graph->n_params; p++) {
		const mr_param *param = &r->s.graph->params[p];
		bool tied = param->tied_to >= 0; /* holds its own use's part; its owner the sum of both */
		const mr_json *grads = mr_json_get(root, "grads");
		const mr_json *list = tied ? mr_json_get(apart, "head") : mr_json_get(grads, param->name);

		CU_ASSERT_EQUAL_FATAL(mr_json_size(list), (size_t)param->n);
		for (size_t i = 0; i < (size_t)param->n; i++) {
			size_t at = tied ? i : mr_golden_at(grads, param->name, param->dim[0], param->dim[1], i);

			check_number(what, param->name, i, gradient(r, p, i), mr_json_double(mr_json_at(list, at)),
				     tol);
		}
	}
}

static void check_losses(const char *what, const mr_json *want, const rig_result *got, double tol)
{
	CU_ASSERT_EQUAL_FATAL(mr_json_size(want), got->n_steps);
	for (size_t i = 0; i < got->n_steps; i++)
		check_number(what, "loss", i, got->step[i].loss, mr_json_double(mr_json_at(want, i)), tol);
}

static void set_optimizer(rig *r, const mr_json *run)
{
	const char *kind = mr_json_string(mr_json_get(run, "kind"));
	double mu = mr_json_double(mr_json_get(run, "momentum"));

	CU_ASSERT_PTR_NOT_NULL_FATAL(kind);
	rig_set(r, "optimizer.name=%s", !strcmp(kind, "sgd") && mu > 0 ? "momentum" : kind);
	rig_set(r, "optimizer.weight_decay=%.17g", mr_json_double(mr_json_get(run, "weight_decay")));
	if (mu > 0) {
		rig_set(r, "optimizer.mu=%.17g", mu);
		rig_set(r, "optimizer.nesterov=%s", mr_json_bool(mr_json_get(run, "nesterov")) ? "true" : "false");
	}
	rig_set(r, "optimizer.lr=%.17g", mr_json_double(mr_json_get(run, "lr")));
}

static void steps(rig *r, const char *what, const mr_json *root, const mr_json *run, const tolerance *tol)
{
	rig_result got = {0};

	rig_start(r);
	load_params(r, mr_json_get(root, "params"));
	rig_run(r, 1, &got);
	if (r->job->train.clip > 0)
		check_gradients(r, what, root, tol->values); /* else they were used up, layer by layer */
	check_params(r, what, mr_json_get(run, "params_1"), tol);
	rig_run(r, 5, &got);
	check_params(r, what, mr_json_get(run, "params_5"), tol);
	rig_run(r, 6, &got); /* its loss is that of the weights after five steps */
	check_losses(what, mr_json_get(run, "loss"), &got, tol->values);
	rig_result_fini(&got);
}

typedef struct model {
	const char *file, *sets;
	bool gpt;
	int batch;
} model;

static const model gpt = {"gpt.json", "model.layers=2 model.width=8 model.context=6", true, 3};
static const model gpt_tied = {"gpt_tied.json",
			       "model.layers=2 model.width=8 model.context=6 model.tied=true", true, 3};
static const model mlp = {"mlp.json", "data.features=7 data.classes=5", false, 6};

static void write_text(const rig *r)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/text.txt", r->dir);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (int i = 0; i < 40; i++)
		fputs("abcdefghijk", f); /* a vocabulary of 11, as recorded */
	fclose(f);
}

static void one(const model *m, const char *run_name, const char *backend, const char *how, const tolerance *tol)
{
	const mr_json *root, *run;
	char path[MR_GOLDEN_PATH], what[200];
	mr_json *first;
	rig r;

	snprintf(what, sizeof(what), "%s %s, %s, %s", m->file, run_name, backend, how);
	rig_init(&r);
	if (m->gpt) {
		rig_gpt(&r);
		write_text(&r);
	}
	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/%s", m->file), 1 << 24, &first));
	if (!m->gpt)
		r.model = "model.name=mlp model.hidden=[9,8]";
	rig_sets(&r, m->sets);
	rig_sets(&r, backend);
	rig_set(&r, "train.batch=%d", m->batch);
	set_optimizer(&r, mr_json_get(mr_json_get(first, "runs"), run_name));
	rig_sets(&r, how);
	rig_open(&r);
	mr_json_destroy(first);
	root = use_recorded(&r, m->file);
	run = mr_json_get(mr_json_get(root, "runs"), run_name);
	steps(&r, what, root, run, tol);
	rig_fini(&r);
}

static void everywhere(const model *m, const char *run, double lr)
{
	/* No gradient is as long as the last three allow, but it has to be whole for its norm: the step comes after it.
	 */
	static const char *const how[] = {"system.name=1f1b machine.workers=1 train.microbatches=1",
					  "system.name=sequential train.microbatches=1",
					  "system.name=gpipe machine.workers=3 train.microbatches=3",
					  "system.name=1f1b machine.workers=1 train.microbatches=1 train.clip=1e300",
					  "system.name=sequential train.microbatches=1 train.clip=1e300",
					  "system.name=gpipe machine.workers=3 train.microbatches=3 train.clip=1e300"};
	tolerance f64 = {1e-10, 1e-9}, f32 = {1e-5, 10 * lr};

	for (int i = 0; i < 6; i++) {
		one(m, run, "backend=reference precision=f64", how[i], &f64);
		one(m, run, "backend=reference precision=f32", how[i], &f32);
		if (mr_kernels_find("auto", MR_F32))
			one(m, run, "backend=auto precision=f32", how[i], &f32);
	}
}

static void gpt_adamw(void)
{
	everywhere(&gpt, "adamw", 0.01);
}

static void gpt_tied_adamw(void)
{
	everywhere(&gpt_tied, "adamw", 0.01);
}

static void mlp_runs(void)
{
	static const char *const runs[] = {"adamw", "adam", "sgd", "sgd_decay", "momentum", "nesterov"};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		everywhere(&mlp, runs[i], 0.01);
}

/* Clipping by the global norm, and a learning rate of its own for every step. */
static void clipped_on(const char *how, const char *backend, const tolerance *tol)
{
	char path[MR_GOLDEN_PATH], what[200];
	const mr_json *root, *run;
	rig_result got = {0};
	mr_json *clip;
	rig r;

	snprintf(what, sizeof(what), "clip.json, %s, %s", backend, how);
	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/clip.json"), 1 << 24, &clip));
	run = mr_json_get(mr_json_get(clip, "runs"), "adamw_clipped");
	rig_init(&r);
	rig_gpt(&r);
	write_text(&r);
	rig_sets(&r, gpt.sets);
	rig_sets(&r, backend);
	rig_set(&r, "train.batch=%d", gpt.batch);
	rig_set(&r, "optimizer.weight_decay=%.17g", mr_json_double(mr_json_get(run, "weight_decay")));
	rig_set(&r, "train.clip=%.17g", mr_json_double(mr_json_get(run, "max_norm")));
	rig_sets(&r, how);
	rig_open(&r);
	root = use_recorded(&r, gpt.file);
	rig_start(&r);
	load_params(&r, mr_json_get(root, "params"));
	for (uint64_t t = 1; t <= 6; t++) {
		if (t <= 5) /* the executor looks it up at each commit, and stands still now */
			r.s.lr.base = mr_json_double(mr_json_at(mr_json_get(run, "lr"), t - 1));
		rig_run(&r, t, &got);
		if (t <= 5)
			check_number(what, "norm", t - 1, got.step[t - 1].norm,
				     mr_json_double(mr_json_at(mr_json_get(run, "norm"), t - 1)), tol->values);
		if (t == 1)
			check_params(&r, what, mr_json_get(run, "params_1"), tol);
		if (t == 5)
			check_params(&r, what, mr_json_get(run, "params_5"), tol);
	}
	check_losses(what, mr_json_get(run, "loss"), &got, tol->values);
	rig_result_fini(&got);
	rig_fini(&r);
	mr_json_destroy(clip);
}

static void clipped(void)
{
	static const char *const how[] = {"system.name=1f1b machine.workers=1 train.microbatches=1",
					  "system.name=sequential train.microbatches=3",
					  "system.name=gpipe machine.workers=3 train.microbatches=3"};
	tolerance f64 = {1e-10, 1e-9}, f32 = {1e-5, 0.1};

	for (int i = 0; i < 3; i++) {
		clipped_on(how[i], "backend=reference precision=f64", &f64);
		if (mr_kernels_find("auto", MR_F32))
			clipped_on(how[i], "backend=auto precision=f32", &f32);
	}
}

void mr_suite_torch(void)
{
	MR_SUITE("torch");
	MR_TEST(gpt_adamw);
	MR_TEST(gpt_tied_adamw);
	MR_TEST(mlp_runs);
	MR_TEST(clipped);
}
