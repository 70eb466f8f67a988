/*
 * test_layer.c - what holds for every registered layer, in every configuration of layer_cases.c.
 *
 * Gradients against finite differences; the halves against the whole, with everything spoilt that needs() does not ask
 * to keep; sums of gradients; and the backends against f64.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "check.h"
#include "layer_rig.h"
#include "nn/lazy_rows.h"

/* Central differences of step h leave an error of h^2 f'''/6, about 1e-11, and rounding of 1e-16 |f|/h, about 1e-10. */
#define STEP 1e-5
#define GRADIENT_TOLERANCE 1e-8

/* One rounding for each addition; an embedding adds row by row, at most 12 here. */
#define F64_SUM_TOLERANCE 1e-15
#define F32_SUM_TOLERANCE 2e-6 /* a kernel may go on with the sum instead of adding the rounded product to it */

/* f32 has 24 bits: 6e-8 a rounding. The longest sum here has 51 terms, softmax and norms divide once more. Relative to
 * the largest element of a tensor, since terms cancel in the small ones. */
#define F32_TOLERANCE 2e-6

static const int64_t sample_counts[] = {1, 3};

static const mr_kernels *reference(mr_dtype dtype)
{
	const mr_kernels *k = mr_kernels_find("reference", dtype);

	CU_ASSERT_PTR_NOT_NULL_FATAL(k);
	return k;
}

static void complain(const layer_rig *r, const char *what, int64_t i, double got, double want)
{
	fprintf(stderr, "\n%s (%s), %lld samples, %s: %s[%lld] is %.17g, expected %.17g\n", r->what->layer,
		r->what->label, (long long)r->samples, r->k->name, what, (long long)i, got, want);
}

static void check_near(const layer_rig *r, const char *what, int64_t i, double got, double want, double scale,
		       double tolerance)
{
	bool ok = fabs(got - want) <= tolerance * (1 + fabs(scale));

	if (!ok)
		complain(r, what, i, got, want);
	CU_ASSERT_FATAL(ok);
}

static void check_same_bits(const layer_rig *r, const char *what, const void *got, const void *want, int64_t n)
{
	size_t size = mr_dtype_bytes(r->k->types.weights);

	for (int64_t i = 0; i < n; i++) {
		bool ok = !memcmp((const char *)got + (size_t)i * size, (const char *)want + (size_t)i * size, size) &&
			  !isnan(rig_get(r, got, i));

		if (!ok)
			complain(r, what, i, rig_get(r, got, i), rig_get(r, want, i));
		CU_ASSERT_FATAL(ok);
	}
}

/* Of the numbers of a case: they do not change when cases are added. */
static uint64_t seed_of(const layer_case *what)
{
	return mr_hash64(mr_hash64(0, what->layer, strlen(what->layer)), what->label, strlen(what->label));
}

/* Run @check on a rig for every case and sample count on @k. */
static void for_all(const mr_kernels *k, void (*check)(layer_rig *r))
{
	const layer_case *what;

	for (size_t i = 0; (what = layer_case_at(i)); i++)
		for (size_t j = 0; j < sizeof(sample_counts) / sizeof(*sample_counts); j++) {
			layer_rig r;

			rig_init(&r, what, k, sample_counts[j], seed_of(what));
			check(&r);
			rig_fini(&r);
		}
}

static void on_all_backends(void (*check)(layer_rig *r))
{
	const mr_kernels *dnnl = mr_kernels_find("fused", MR_F32), *onednn = mr_kernels_find("onednn", MR_F32);

	for_all(reference(MR_F64), check);
	for_all(reference(MR_F32), check);
	if (dnnl)
		for_all(dnnl, check);
	if (onednn)
		for_all(onednn, check);
}

static void every_layer_has_a_case(void)
{
	const mr_layer_ops *ops;

	for (uint32_t i = 0; (ops = mr_layer_at(i)); i++) {
		const layer_case *what;
		size_t n = 0;

		for (size_t j = 0; (what = layer_case_at(j)); j++)
			n += !strcmp(what->layer, ops->name);
		if (!n)
			fprintf(stderr, "\nlayer_cases.c has no configuration of %s\n", ops->name);
		CU_ASSERT_FATAL(n > 0);
		CU_ASSERT_PTR_EQUAL(mr_layer_find(ops->name), ops);
		CU_ASSERT_PTR_NOT_NULL(ops->summary);
		CU_ASSERT(!ops->loss || ops->target);
		CU_ASSERT(!ops->params == !ops->backward_weight);
	}
	CU_ASSERT_PTR_NULL(mr_layer_find("perceptron"));
}

/* --- gradients --- */

static void compare_with_differences(layer_rig *r, const char *what, void *at, const void *gradient, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double old = rig_get(r, at, i), up, down;

		rig_set(r, at, i, old + STEP);
		up = rig_objective(r);
		rig_set(r, at, i, old - STEP);
		down = rig_objective(r);
		rig_set(r, at, i, old);
		check_near(r, what, i, rig_get(r, gradient, i), (up - down) / (2 * STEP), (up - down) / (2 * STEP),
			   GRADIENT_TOLERANCE);
	}
}

static void *copy_of(const layer_rig *r, const void *buffer, int64_t n)
{
	size_t bytes = (size_t)n * mr_dtype_bytes(r->k->types.weights);
	void *p = malloc(bytes ? bytes : 1);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	if (bytes)
		memcpy(p, buffer, bytes);
	return p;
}

static void check_gradients(layer_rig *r)
{
	void *dx[MR_LAYER_INPUTS] = {NULL};

	rig_forward(r);
	rig_input(r);
	rig_weight(r);
	for (int i = 0; i < rig_n_in(r); i++) /* the objective of a loss overwrites dx */
		if (rig_has_dx(r, i))
			dx[i] = copy_of(r, r->dx[i], rig_n_x(r, i));
	for (int i = 0; i < rig_n_in(r); i++)
		if (rig_has_dx(r, i))
			compare_with_differences(r, "dx", r->x[i], dx[i], rig_n_x(r, i));
	for (uint32_t i = 0; i < r->n_params; i++)
		compare_with_differences(r, r->spec[i].suffix, r->w[i], r->dw[i], rig_n_w(r, i));
	for (int i = 0; i < rig_n_in(r); i++)
		free(dx[i]);
}

static void gradients_equal_finite_differences(void)
{
	for_all(reference(MR_F64), check_gradients);
}

/* --- the halves --- */

static void check_halves(layer_rig *r)
{
	layer_rig b;

	rig_init(&b, r->what, r->k, r->samples, r->call.mask.seed);
	rig_forward(&b); /* B: I then W, with nothing in between */
	rig_backward(&b);
	rig_forward(r);
	rig_spoil_after_forward(r);
	rig_input(r);
	rig_spoil_after_input(r);
	for (uint32_t i = 0; i < r->n_params; i++)
		rig_poison(r, r->w[i], rig_n_w(r, i)); /* W reads none: a step may write them right behind it */
	rig_weight(r);
	for (int i = 0; i < rig_n_in(r); i++)
		if (rig_has_dx(r, i))
			check_same_bits(r, "dx", r->dx[i], b.dx[i], rig_n_x(r, i));
	for (uint32_t i = 0; i < r->n_params; i++)
		check_same_bits(r, r->spec[i].suffix, r->dw[i], b.dw[i], rig_n_w(r, i));
	rig_fini(&b);
}

static void halves_equal_the_whole(void)
{
	on_all_backends(check_halves);
}

/* Sum the gradients of two micro-batches into the buffers of @first, as B B or as I I W W. */
static void two_micro_batches(layer_rig *first, layer_rig *second, bool halves)
{
	second->call.dw = first->dw;
	second->call.dw_add = true;
	rig_forward(first);
	rig_forward(second);
	rig_input(first);
	if (halves)
		rig_input(second);
	rig_weight(first);
	if (!halves)
		rig_input(second);
	rig_weight(second);
}

static void check_two(layer_rig *r)
{
	layer_rig r2, b, b2;

	rig_init(&r2, r->what, r->k, r->samples, 5);
	rig_init(&b, r->what, r->k, r->samples, r->call.mask.seed);
	rig_init(&b2, r->what, r->k, r->samples, 5);
	two_micro_batches(r, &r2, true);
	two_micro_batches(&b, &b2, false);
	for (uint32_t i = 0; i < r->n_params; i++)
		check_same_bits(r, r->spec[i].suffix, r->dw[i], b.dw[i], rig_n_w(r, i));
	rig_fini(&r2);
	rig_fini(&b);
	rig_fini(&b2);
}

static void halves_of_two_micro_batches_interleave(void)
{
	on_all_backends(check_two);
}

/* --- sums --- */

/* @got must be @old + @fresh. */
static void check_added(const layer_rig *r, const char *what, const void *got, const void *old,
			const void *fresh, int64_t n)
{
	double tolerance = r->k->types.weights == MR_F64 ? F64_SUM_TOLERANCE : F32_SUM_TOLERANCE;

	for (int64_t i = 0; i < n; i++) {
		double sum = rig_get(r, old, i) + rig_get(r, fresh, i);

		check_near(r, what, i, rig_get(r, got, i), sum, sum, tolerance);
	}
}

static void check_sums(layer_rig *r)
{
	layer_rig s;
	void *dx[MR_LAYER_INPUTS] = {NULL}, *dw[MR_LAYER_PARAMS] = {NULL};

	if (r->ops->loss)
		return;
	rig_init(&s, r->what, r->k, r->samples, r->call.mask.seed);
	for (int i = 0; i < rig_n_in(r); i++)
		dx[i] = copy_of(&s, s.dx[i], rig_has_dx(r, i) ? rig_n_x(r, i) : 0);
	for (uint32_t i = 0; i < r->n_params; i++)
		dw[i] = copy_of(&s, s.dw[i], rig_n_w(r, i));
	rig_forward(r);
	rig_input(r);
	rig_weight(r);
	s.call.dw_add = true;
	memset(s.call.dx_add, true, sizeof(s.call.dx_add));
	rig_forward(&s);
	rig_input(&s);
	rig_weight(&s);
	for (int i = 0; i < rig_n_in(r); i++) {
		if (rig_has_dx(r, i))
			check_added(r, "dx", s.dx[i], dx[i], r->dx[i], rig_n_x(r, i));
		free(dx[i]);
	}
	for (uint32_t i = 0; i < r->n_params; i++) {
		check_added(r, r->spec[i].suffix, s.dw[i], dw[i], r->dw[i], rig_n_w(r, i));
		free(dw[i]);
	}
	rig_fini(&s);
}

static void gradients_are_added(void)
{
	on_all_backends(check_sums);
}

/* --- steps inside the weight half --- */

static mr_step momentum(const layer_rig *r, uint32_t i, void *m)
{
	return (mr_step){.kind = MR_STEP_MOMENTUM, .src = r->w[i], .dst = r->w[i], .m = m, .gscale = 0.5, .lr = 0.25,
			 .mu = 0.5, .decay = 0.125};
}

/* W and then the steps, against W that is given the steps; second micro-batch of a sum, so that dw matters. */
static void check_steps(layer_rig *r)
{
	void *m[2][MR_LAYER_PARAMS];
	mr_step step[MR_LAYER_PARAMS];
	layer_rig s;

	rig_init(&s, r->what, r->k, r->samples, r->call.mask.seed);
	for (uint32_t i = 0; i < r->n_params; i++) {
		m[0][i] = calloc((size_t)rig_n_w(r, i), mr_dtype_bytes(r->k->types.weights));
		m[1][i] = calloc((size_t)rig_n_w(r, i), mr_dtype_bytes(r->k->types.weights));
		step[i] = momentum(&s, i, m[1][i]);
	}
	for (int second = 0; second < 2; second++) {
		r->call.dw_add = s.call.dw_add = second;
		rig_forward(r);
		rig_input(r);
		rig_weight(r);
		rig_forward(&s);
		rig_input(&s);
		s.call.step = second ? step : NULL;
		MR_CHECK_OK(mr_layer_weight(s.ops, &s.call));
	}
	for (uint32_t i = 0; i < r->n_params; i++) {
		mr_step apart = momentum(r, i, m[0][i]);

		if (r->spec[i].lazy)
			MR_CHECK_OK(mr_lazy_step(r->k, r->kc, rig_n_w(r, i) / r->spec[i].dim[0], rig_n_w(r, i), &apart,
						 r->dw[i], NULL));
		else
			MR_CHECK_OK(r->k->step(r->kc, &(mr_step_args){.n = rig_n_w(r, i), .s = &apart, .g = r->dw[i]}));
		check_same_bits(r, "stepped weight", s.w[i], r->w[i], rig_n_w(r, i));
		check_same_bits(r, "momentum", m[1][i], m[0][i], rig_n_w(r, i));
		free(m[0][i]), free(m[1][i]);
	}
	rig_fini(&s);
}

/* W of three micro-batches at once, with the step, against one after the other. */
static void check_span(layer_rig *r)
{
	layer_rig other[2];
	mr_layer_call c[3];
	mr_step step[MR_LAYER_PARAMS];
	void *dw[MR_LAYER_PARAMS], *dst[2][MR_LAYER_PARAMS], *zeros[2][MR_LAYER_PARAMS];

	if (!r->n_params)
		return;
	for (int j = 0; j < 3; j++) {
		layer_rig *s = j ? &other[j - 1] : r;

		if (j)
			rig_init(s, r->what, r->k, r->samples, r->call.mask.seed + (uint64_t)j);
		rig_forward(s);
		rig_input(s);
		c[j] = s->call;
		c[j].dw_add = j > 0;
		c[j].dw = r->call.dw;
	}
	for (int once = 0; once < 2; once++)
		for (uint32_t i = 0; i < r->n_params; i++) {
			dst[once][i] = calloc((size_t)rig_n_w(r, i), mr_dtype_bytes(r->k->types.weights));
			zeros[once][i] = calloc((size_t)rig_n_w(r, i), mr_dtype_bytes(r->k->types.weights));
		}
	for (int once = 0; once < 2; once++) {
		for (uint32_t i = 0; i < r->n_params; i++) {
			rig_poison(r, r->dw[i], rig_n_w(r, i));
			step[i] = momentum(r, i, zeros[once][i]);
			step[i].dst = dst[once][i];
		}
		c[2].step = step;
		if (once)
			MR_CHECK_OK(mr_layer_weights(r->ops, c, 3));
		for (int j = 0; j < 3 && !once; j++)
			MR_CHECK_OK(mr_layer_weight(r->ops, &c[j]));
	}
	for (uint32_t i = 0; i < r->n_params; i++) {
		check_same_bits(r, r->spec[i].suffix, dst[1][i], dst[0][i], rig_n_w(r, i));
		free(dst[0][i]), free(dst[1][i]), free(zeros[0][i]), free(zeros[1][i]);
	}
	c[2].step = NULL; /* and the sum itself */
	for (uint32_t i = 0; i < r->n_params; i++)
		dw[i] = calloc((size_t)rig_n_w(r, i), mr_dtype_bytes(r->k->types.weights));
	MR_CHECK_OK(mr_layer_weights(r->ops, c, 3));
	for (int j = 0; j < 3; j++) {
		c[j].dw = dw;
		MR_CHECK_OK(mr_layer_weight(r->ops, &c[j]));
	}
	for (uint32_t i = 0; i < r->n_params; i++) {
		check_same_bits(r, r->spec[i].suffix, r->dw[i], dw[i], rig_n_w(r, i));
		free(dw[i]);
	}
	rig_fini(&other[0]);
	rig_fini(&other[1]);
}

static void spans_equal_one_after_the_other(void)
{
	on_all_backends(check_span);
}

static void steps_inside_equal_steps_after(void)
{
	on_all_backends(check_steps);
}

/* --- contracts that the engine leans on --- */

static void check_without_dx(layer_rig *r)
{
	layer_rig s;

	rig_init(&s, r->what, r->k, r->samples, r->call.mask.seed);
	rig_forward(r);
	rig_input(r);
	rig_weight(r);
	rig_forward(&s);
	memset(s.call.dx, 0, sizeof(s.call.dx));
	rig_input(&s);
	rig_weight(&s);
	for (uint32_t i = 0; i < r->n_params; i++)
		check_same_bits(r, r->spec[i].suffix, s.dw[i], r->dw[i], rig_n_w(r, i));
	rig_fini(&s);
}

static void input_gradients_may_be_unwanted(void)
{
	on_all_backends(check_without_dx);
}

static void check_passes_dy(layer_rig *r)
{
	if (!r->ops->identity_backward)
		return;
	rig_forward(r);
	rig_input(r);
	for (int i = 0; i < rig_n_in(r); i++)
		check_same_bits(r, "dx", r->dx[i], r->dy[0], rig_n_x(r, i));
}

static void passed_gradients_are_dy_itself(void)
{
	on_all_backends(check_passes_dy);
}

static void check_adds(layer_rig *r)
{
	size_t bytes = (size_t)rig_n_y(r, 0) * mr_dtype_bytes(r->k->types.weights);
	void *apart;

	if (!r->ops->adds || !r->ops->adds(&r->what->cfg))
		return;
	CU_ASSERT(!r->needs.y_i && !r->needs.y_w);
	rig_forward(r);
	apart = malloc(bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(apart);
	MR_CHECK_OK(r->k->sum(r->kc, &(mr_sum_args){.n = rig_n_y(r, 0), .a = r->dy[0], .b = r->y[0],
						    .y = apart})); /* any numbers will do */
	r->call.addend = r->dy[0];
	rig_forward(r);
	r->call.addend = NULL;
	check_same_bits(r, "y", r->y[0], apart, rig_n_y(r, 0));
	free(apart);
}

static void addends_equal_a_sum_afterwards(void)
{
	on_all_backends(check_adds);
}

static void check_needs(layer_rig *r)
{
	mr_layer_needs bare;

	r->ops->needs(&r->what->cfg, r->what->in, r->samples, NULL, &bare);
	CU_ASSERT(bare.aux_i.bytes == 0 && bare.aux_w.bytes == 0 && bare.kept.bytes == 0 && bare.scratch == 0);
	CU_ASSERT(bare.x_i == r->needs.x_i && bare.x_w == r->needs.x_w && bare.y_i == r->needs.y_i);
	CU_ASSERT(bare.y_w == r->needs.y_w && bare.dy_w == r->needs.dy_w);
	CU_ASSERT(bare.flops_f == r->needs.flops_f && bare.flops_i == r->needs.flops_i);
	CU_ASSERT(bare.flops_w == r->needs.flops_w);
	if (!strcmp(r->what->layer, "linear"))
		CU_ASSERT(bare.flops_f == 2.0 * (double)rig_n_w(r, 0) * (double)(rig_n_y(r, 0) / r->out[0].cols));
	if (!strcmp(r->what->layer, "attention")) {
		CU_ASSERT(bare.flops_f == 4.0 * (double)rig_n_y(r, 0) * (double)r->what->in[0].rows);
		CU_ASSERT(bare.flops_i == 2 * bare.flops_f && bare.flops_w == 0);
	}
}

static void needs_can_be_asked_without_kernels(void)
{
	on_all_backends(check_needs);
}

/* The mask of a sample is the same wherever in a micro-batch it stands, and for both directions. */
static void dropout_masks_belong_to_samples(void)
{
	const layer_case what = {.layer = "dropout", .cfg = {.rate = 0.3}, .in = {{.rows = 40, .cols = 50}}};
	layer_rig three, one;
	int64_t n = 40 * 50, zeros = 0;

	rig_init(&three, &what, reference(MR_F64), 3, 9);
	rig_init(&one, &what, reference(MR_F64), 1, 9);
	one.call.mask.first_sample = three.call.mask.first_sample + 2;
	memcpy(one.x[0], (double *)three.x[0] + 2 * n, (size_t)n * sizeof(double));
	memcpy(one.dy[0], (double *)three.dy[0] + 2 * n, (size_t)n * sizeof(double));
	rig_forward(&three);
	rig_forward(&one);
	rig_input(&one);
	check_same_bits(&one, "y", one.y[0], (double *)three.y[0] + 2 * n, n);
	for (int64_t i = 0; i < n; i++) {
		double keep = rig_get(&one, one.y[0], i) != 0 ? 1 / 0.7 : 0;

		zeros += keep == 0;
		check_near(&one, "y", i, rig_get(&one, one.y[0], i), keep * rig_get(&one, one.x[0], i), 1, 1e-15);
		check_near(&one, "dx", i, rig_get(&one, one.dx[0], i), keep * rig_get(&one, one.dy[0], i), 1, 1e-15);
	}
	CU_ASSERT(zeros > 500 && zeros < 700); /* 600 expected, standard deviation 20 */
	rig_fini(&three);
	rig_fini(&one);
}

static void dropout_is_off_outside_training(void)
{
	const layer_case what = {.layer = "dropout", .cfg = {.rate = 0.5}, .in = {{.rows = 2, .cols = 50}},
				 .eval = true};
	layer_rig r;

	rig_init(&r, &what, reference(MR_F64), 1, 9);
	rig_forward(&r);
	check_same_bits(&r, "y", r.y[0], r.x[0], rig_n_y(&r, 0));
	rig_fini(&r);
}

static void one_gradient(double noise, uint64_t first_sample, bool eval, double dw[1000])
{
	layer_case what = {.layer = "margin", .cfg = {.out = 1000, .first = true, .noise = noise},
			   .in = {{.rows = 1, .cols = 1000}}, .eval = eval};
	layer_rig r;

	rig_init(&r, &what, reference(MR_F64), 2, 9);
	r.call.mask.first_sample = first_sample;
	rig_forward(&r);
	rig_input(&r);
	rig_weight(&r);
	memcpy(dw, r.dw[0], 1000 * sizeof(double));
	rig_fini(&r);
}

/* Noise on gradients has its size, belongs to the micro-batch, and is off outside training. */
static void noise_of_gradients(void)
{
	double plain[1000], noisy[1000], again[1000], other[1000], sum = 0, square = 0;

	one_gradient(0, 8, false, plain);
	one_gradient(0.5, 8, false, noisy);
	one_gradient(0.5, 8, false, again);
	one_gradient(0.5, 10, false, other);
	for (int i = 0; i < 1000; i++) {
		sum += noisy[i] - plain[i];
		square += (noisy[i] - plain[i]) * (noisy[i] - plain[i]);
	}
	CU_ASSERT(fabs(sum / 1000) < 0.06); /* deviation 0.016 */
	CU_ASSERT(fabs(square / 1000 - 0.25) < 0.05);
	CU_ASSERT(memcmp(noisy, again, sizeof(noisy)) == 0);
	CU_ASSERT(memcmp(noisy, other, sizeof(noisy)) != 0);
	one_gradient(0.5, 8, true, again);
	CU_ASSERT(memcmp(plain, again, sizeof(plain)) == 0);
}

/* --- backends --- */

static const mr_kernels *under_test;

static double largest(const layer_rig *r, const void *buffer, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(rig_get(r, buffer, i)));
	return most;
}

static void check_against_f64(layer_rig *exact)
{
	layer_rig r;
	const void *pairs[MR_LAYER_OUTPUTS + MR_LAYER_INPUTS + MR_LAYER_PARAMS][2];
	int64_t counts[MR_LAYER_OUTPUTS + MR_LAYER_INPUTS + MR_LAYER_PARAMS];
	int n = 0;

	rig_init(&r, exact->what, under_test, exact->samples, exact->call.mask.seed);
	for (int pass = 0; pass < 2; pass++) {
		layer_rig *one = pass ? &r : exact;

		rig_forward(one);
		rig_input(one);
		rig_weight(one);
		n = 0;
		for (uint32_t i = 0; i < one->n_out; i++) {
			counts[n] = rig_n_y(one, i);
			pairs[n++][pass] = one->y[i];
		}
		for (int i = 0; i < rig_n_in(one); i++) {
			counts[n] = rig_has_dx(one, i) ? rig_n_x(one, i) : 0;
			pairs[n++][pass] = one->dx[i];
		}
		for (uint32_t i = 0; i < one->n_params; i++) {
			counts[n] = rig_n_w(one, i);
			pairs[n++][pass] = one->dw[i];
		}
	}
	check_near(&r, "loss", 0, r.loss, exact->loss, exact->loss, F32_TOLERANCE);
	for (int j = 0; j < n; j++) {
		double scale = largest(exact, pairs[j][0], counts[j]);

		for (int64_t i = 0; i < counts[j]; i++)
			check_near(&r, j < (int)r.n_out ? "y" : "gradient", i, rig_get(&r, pairs[j][1], i),
				   rig_get(exact, pairs[j][0], i), scale, F32_TOLERANCE);
	}
	rig_fini(&r);
}

static void f32_is_near_f64(void)
{
	under_test = reference(MR_F32);
	for_all(reference(MR_F64), check_against_f64);
}

static void fused_is_near_f64(void)
{
	under_test = mr_kernels_find("fused", MR_F32);
	if (under_test)
		for_all(reference(MR_F64), check_against_f64);
	else
		printf(" (left out: %s) ", mr_error_text());
}

void mr_suite_layer(void); /* the runner declares it too */

void mr_suite_layer(void)
{
	MR_SUITE("layer");
	MR_TEST(every_layer_has_a_case);
	MR_TEST(gradients_equal_finite_differences);
	MR_TEST(halves_equal_the_whole);
	MR_TEST(halves_of_two_micro_batches_interleave);
	MR_TEST(gradients_are_added);
	MR_TEST(steps_inside_equal_steps_after);
	MR_TEST(spans_equal_one_after_the_other);
	MR_TEST(input_gradients_may_be_unwanted);
	MR_TEST(passed_gradients_are_dy_itself);
	MR_TEST(addends_equal_a_sum_afterwards);
	MR_TEST(needs_can_be_asked_without_kernels);
	MR_TEST(dropout_masks_belong_to_samples);
	MR_TEST(dropout_is_off_outside_training);
	MR_TEST(noise_of_gradients);
	MR_TEST(f32_is_near_f64);
	MR_TEST(fused_is_near_f64);
}
