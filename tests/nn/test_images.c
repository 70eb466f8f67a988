/*
 * test_images.c - conventions of layers over images: which of equal numbers is the maximum, how padding counts, and
 * that a convolution does not flip its weights. The expected numbers were computed by hand.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels_ops.h"
#include "nn/element.h"
#include "nn/layer.h"
#include "step_variants.h"

static mr_window window_of(int64_t h, int64_t w, int64_t kernel, int64_t stride, int64_t pad)
{
	mr_window v = {.samples = 1, .h = h, .w = w, .c = 1, .kernel_h = kernel, .kernel_w = kernel, .stride_h = stride,
		       .stride_w = stride, .pad_h = pad, .pad_w = pad, .dilation_h = 1, .dilation_w = 1};

	v.out_h = mr_window_out(h, kernel, stride, pad, 1);
	v.out_w = mr_window_out(w, kernel, stride, pad, 1);
	return v;
}

static void *numbers(const mr_kernels *k, int64_t n, const double *x)
{
	void *p = make_output(k, n);

	for (int64_t i = 0; i < n; i++)
		set_number(k, p, i, x[i]);
	return p;
}

static void check(const mr_kernels *k, const void *got, int64_t n, const double *want)
{
	for (int64_t i = 0; i < n; i++) {
		double x = number_at(k, got, i);

		CU_ASSERT(isnan(want[i]) ? isnan(x) : x == want[i]);
	}
}

static void for_all(void (*test)(const mr_kernels *k, mr_kctx *kc))
{
	const mr_kernels *all[4 + BF16_TABLES] = {
		mr_kernels_find("reference", MR_F32), mr_kernels_find("reference", MR_F64),
		mr_kernels_find("fused", MR_F32), mr_kernels_find("onednn", MR_F32)};
	uint32_t n = 4 + bf16_tables(all + 4);

	for (uint32_t i = 0; i < n; i++) {
		mr_kctx *kc;

		if (!all[i])
			continue;
		MR_CHECK_OK(all[i]->ctx_create(all[i], 1, &kc));
		test(all[i], kc);
		all[i]->ctx_destroy(kc);
	}
}

static void check_largest(const mr_kernels *k, mr_kctx *kc)
{
	/* equal ones; -infinity alone; NaN behind a number; the largest one last */
	mr_window w = window_of(4, 4, 2, 2, 0);
	void *x = numbers(k, 16, (const double[]){5, 5, -INFINITY, -INFINITY, 5, 5, -INFINITY, -INFINITY, 1, NAN, 1, 2,
						  0, 7, 3, 4});
	void *dy = numbers(k, 4, (const double[]){1, 2, 3, 4}), *y = make_output(k, 4), *dx = make_output(k, 16);
	void *which = make_output(k, 4);

	MR_CHECK_OK(k->pool(kc, &(mr_pool_args){.w = &w, .kind = MR_POOL_MAX, .x = x, .y = y, .which = which}));
	check(k, y, 4, (const double[]){5, -INFINITY, NAN, 4});
	MR_CHECK_OK(k->pool_backward(kc, &(mr_pool_backward_args){.w = &w, .kind = MR_POOL_MAX, .which = which,
								  .dy = dy, .dx = dx}));
	check(k, dx, 16, (const double[]){1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 4});
	free(x), free(dy), free(y), free(dx), free(which);
}

static void the_first_of_equal_numbers_is_the_largest(void)
{
	for_all(check_largest);
}

static void check_padding(const mr_kernels *k, mr_kctx *kc)
{
	mr_window w = window_of(4, 4, 3, 2, 1);
	void *x = numbers(k, 16, (const double[]){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1});
	void *y = make_output(k, 4), *which = make_output(k, 4), *dx = make_output(k, 16);
	void *dy = numbers(k, 4, (const double[]){4, 0, 0, 0});

	MR_CHECK_OK(k->pool(kc, &(mr_pool_args){.w = &w, .kind = MR_POOL_MAX, .x = x, .y = y,
						.which = which})); /* padding with zeros would be larger */
	check(k, y, 4, (const double[]){-1, -1, -1, -1});
	MR_CHECK_OK(k->pool(kc, &(mr_pool_args){.w = &w, .kind = MR_POOL_MEAN, .x = x, .y = y}));
	check(k, y, 4, (const double[]){-1, -1, -1, -1});
	MR_CHECK_OK(k->pool_backward(kc, &(mr_pool_backward_args){.w = &w, .kind = MR_POOL_MEAN, .dy = dy, .dx = dx}));
	check(k, dx, 16, (const double[]){1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
	MR_CHECK_OK(k->pool(kc, &(mr_pool_args){.w = &w, .kind = MR_POOL_MEAN_PADDED, .x = x, .y = y}));
	CU_ASSERT_DOUBLE_EQUAL(number_at(k, y, 0), -4.0 / 9, 2e-3);
	CU_ASSERT_DOUBLE_EQUAL(number_at(k, y, 3), -1, 1e-6);
	free(x), free(y), free(which), free(dx), free(dy);
}

static void padding_is_never_the_largest_and_counts_where_it_is_asked_to(void)
{
	for_all(check_padding);
}

static void check_turning(const mr_kernels *k, mr_kctx *kc)
{
	mr_conv g = {.window = window_of(2, 3, 2, 1, 0), .out = 1, .groups = 1};
	void *x = numbers(k, 6, (const double[]){1, 2, 4, 8, 16, 32});
	void *w = numbers(k, 4, (const double[]){1, 0, 0, -1});
	void *y = make_output(k, 2), *dx = make_output(k, 6), *dw = make_room(k->types.gradients, 4);
	void *dy = numbers(k, 2, (const double[]){1, 2});

	MR_CHECK_OK(k->conv(kc, &(mr_conv_args){.g = &g, .x = x, .w = w, .y = y}));
	check(k, y, 2, (const double[]){-15, -30});
	MR_CHECK_OK(k->conv_backward_input(kc, &(mr_conv_backward_input_args){.g = &g, .dy = dy, .w = w, .dx = dx}));
	check(k, dx, 6, (const double[]){1, 2, 0, 0, -1, -2});
	free(x), free(w), free(y), free(dx), free(dw), free(dy);
}

static void weights_are_not_turned(void)
{
	for_all(check_turning);
}

/* What a step reads and writes, twice. */
typedef struct stepped {
	void *w, *m, *v, *dw;
	int16_t *rest;
} stepped;

static stepped new_stepped(const mr_kernels *k, int64_t n)
{
	stepped s = {.w = make_room(k->types.weights, n), .m = make_room(k->types.state, n),
		     .v = make_room(k->types.state, n), .dw = make_room(k->types.gradients, n),
		     .rest = make_room(MR_BF16, n)};

	for (int64_t i = 0; i < n; i++) {
		mr_element_put(k->types.weights, s.w, i, 0.01 * (double)(i % 37) - 0.2);
		mr_element_put(k->types.state, s.m, i, 0.02 * (double)(i % 29) - 0.3);
		mr_element_put(k->types.state, s.v, i, 0.01 * (double)(i % 31));
		mr_element_put(k->types.gradients, s.dw, i, 0.03 * (double)(i % 23) - 0.4);
		s.rest[i] = (int16_t)(i * 977 % 3000 - 1500);
	}
	return s;
}

static void free_stepped(stepped *s)
{
	free(s->w), free(s->m), free(s->v), free(s->dw), free(s->rest);
}

static bool same_after(const mr_kernels *k, const stepped *a, const stepped *b, int64_t n)
{
	size_t state = (size_t)n * mr_dtype_bytes(k->types.state);

	return !memcmp(a->w, b->w, (size_t)n * mr_dtype_bytes(k->types.weights)) && !memcmp(a->m, b->m, state) &&
	       !memcmp(a->v, b->v, state) && !memcmp(a->rest, b->rest, (size_t)n * sizeof(*a->rest));
}

static mr_step step_of(const mr_kernels *k, int variant, const stepped *s)
{
	mr_step step = step_variant(variant, s->w, s->w, s->m, s->v);

	if (mr_types_rest_bytes(&k->types))
		step.src_rest = step.dst_rest = s->rest;
	step.rounding = (mr_rounding){.seed = 3};
	return step;
}

/* conv_step has the bits of conv_backward_weight and step, also on top of a sum. */
static void check_conv_step(const mr_kernels *k, mr_kctx *kc)
{
	const struct {
		int64_t c, out, kernel, groups;
	} shapes[] = {{3, 64, 3, 1}, {48, 80, 3, 1}, {64, 17, 2, 1}, {32, 1100, 2, 1}, {8, 16, 3, 2}};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		mr_conv g = {.window = window_of(5, 6, shapes[i].kernel, 1, 1), .out = shapes[i].out,
			     .groups = shapes[i].groups};
		int64_t n;
		void *x, *dy;

		g.window.c = shapes[i].c;
		n = mr_conv_weights(&g);
		x = make_input(k, mr_conv_in(&g), 1, -1, 1), dy = make_input(k, mr_conv_out(&g), 2, -1, 1);
		for (int v = 0; v < 2 * N_STEPS; v++) {
			stepped a = new_stepped(k, n), b = new_stepped(k, n);
			mr_step at_once = step_of(k, v / 2, &a), apart = step_of(k, v / 2, &b);

			MR_CHECK_OK(k->conv_step(kc, &(mr_conv_step_args){.g = &g, .x = x, .dy = dy, .dw = a.dw,
									  .add = v % 2, .s = &at_once}));
			MR_CHECK_OK(k->conv_backward_weight(kc, &(mr_conv_backward_weight_args){.g = &g, .x = x,
												.dy = dy, .dw = b.dw,
												.add = v % 2}));
			MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = n, .s = &apart, .g = b.dw}));
			CU_ASSERT(same_after(k, &a, &b, n));
			free_stepped(&a), free_stepped(&b);
		}
		free(x), free(dy);
	}
}

static void a_step_of_a_convolution_has_the_bits_of_its_gradient_and_a_step(void)
{
	for_all(check_conv_step);
}

static void sizes_follow_the_window(void)
{
	CU_ASSERT_EQUAL(mr_window_out(224, 11, 4, 2, 1), 55);
	CU_ASSERT_EQUAL(mr_window_out(6, 3, 2, 0, 1), 2); /* what is left over is dropped */
	CU_ASSERT_EQUAL(mr_window_out(8, 3, 1, 2, 2), 8);
	CU_ASSERT_EQUAL(mr_window_out(2, 3, 1, 0, 1), 0);
	CU_ASSERT_EQUAL(mr_window_out(2, 4, 3, 0, 1), 0);
}

void mr_suite_images(void);

void mr_suite_images(void)
{
	MR_SUITE("images");
	MR_TEST(the_first_of_equal_numbers_is_the_largest);
	MR_TEST(padding_is_never_the_largest_and_counts_where_it_is_asked_to);
	MR_TEST(weights_are_not_turned);
	MR_TEST(a_step_of_a_convolution_has_the_bits_of_its_gradient_and_a_step);
	MR_TEST(sizes_follow_the_window);
}
