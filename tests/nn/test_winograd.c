/*
 * test_winograd.c - convolutions by tiles (nn/kernels/fused/images/winograd.h) have the numbers of the direct sums, of
 * the reference in f64: borders, padding on one side, channels that do not fill a block, one thread and three.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "conv_rig.h"
#include "nn/recorder.h"

/* f32 against f64: largest difference / (1 + largest value). Direct sums differ by as much. bf16: numbers are rounded
 * twice, when they are made and when they are stored. */
#define TOLERANCE 3e-6
#define BF16_TOLERANCE 8e-3

typedef struct shape {
	int64_t samples, h, w, c, out, pad_h, pad_w;
	bool relu; /* and a bias */
} shape;

/* Of few tiles, by one thread and by three: of the first one transformed weights are made by parts in one way alone. */
static const shape shapes[] = {{1, 12, 11, 80, 64, 1, 1, true}, {2, 7, 9, 64, 96, 2, 0, false},
			       {2, 13, 8, 64, 64, 0, 1, false}, {3, 7, 8, 144, 208, 1, 1, true},
			       {4, 2, 2, 80, 208, 1, 1, false}};

static mr_conv conv_of(const shape *s)
{
	mr_window w = {.samples = s->samples, .h = s->h, .w = s->w, .c = s->c, .kernel_h = 3, .kernel_w = 3,
		       .stride_h = 1, .stride_w = 1, .pad_h = s->pad_h, .pad_w = s->pad_w, .dilation_h = 1,
		       .dilation_w = 1};

	w.out_h = mr_window_out(w.h, 3, 1, w.pad_h, 1), w.out_w = mr_window_out(w.w, 3, 1, w.pad_w, 1);
	return (mr_conv){.window = w, .out = s->out, .groups = 1, .bias = s->relu, .relu = s->relu};
}

/* Do tiles make gradients of weights? Where AMX multiplies bf16 numbers oneDNN does, which promises equal bits for one
 * number of threads alone (nn/thread_bits.h). */
static bool by_tiles(const mr_kernels *k)
{
	const char *engine = mr_kernels_bf16_engine(k);

	return k->types.activations != MR_BF16 || !engine || strcmp(engine, "amx") != 0;
}

static void compare(const mr_kernels *k, double tolerance)
{
	const mr_kernels *exact = mr_kernels_find("reference", MR_F64);

	for (size_t i = 0; k && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		bool add = i % 2;
		mr_conv g = conv_of(&shapes[i]);
		outputs want = conv_results(exact, 1, &g, add), one = conv_results(k, 1, &g, add),
			three = conv_results(k, 3, &g, add);

		CU_ASSERT(distance(&one, &want) < tolerance);
		CU_ASSERT(!by_tiles(k) || same_bits(&one, &three));
		free(want.v), free(one.v), free(three.v);
	}
}

static void tiles_have_the_numbers_of_direct_sums(void)
{
	compare(mr_kernels_find("auto", MR_F32), TOLERANCE);
	compare(mr_kernels_find("fused", MR_BF16), BF16_TOLERANCE);
	compare(mr_kernels_of("fused", MR_AS_bf16_pure), BF16_TOLERANCE);
}

static void a_step_takes_the_gradient_of_tiles(void)
{
	const mr_kernels *k[] = {mr_kernels_find("fused", MR_F32), mr_kernels_find("fused", MR_BF16)};

	mr_conv g = conv_of(&shapes[2]);

	for (int i = 0; i < 2; i++)
		if (k[i])
			conv_check_sums(k[i], 2, &g, MR_STEP_MOMENTUM, true);
}

/* What `plan` says executes a convolution. */
static mr_kernel_by executor_of(const char *backend, mr_dtype dtype, const mr_conv *g)
{
	const mr_kernels *k = mr_kernels_find(backend, dtype);
	const mr_recorded *call;
	mr_kernel_by by;
	mr_recorder *r;
	size_t n;

	MR_CHECK_OK(mr_recorder_create(k, 1, &r));
	MR_CHECK_OK(mr_recorder_kernels(r)->conv(mr_recorder_context(r),
						 &(mr_conv_args){.g = g, .x = r, .w = r, .bias = r, .y = r}));
	mr_recorder_calls(r, &call, &n);
	by = call[0].by;
	mr_recorder_destroy(r);
	return by;
}

static void their_shapes_are_known(void)
{
	const shape few = {3, 2, 2, 64, 64, 1, 1, false}, narrow = {2, 12, 12, 64, 32, 1, 1, false};
	mr_conv g = conv_of(&shapes[0]), strided = g, grouped = g, none = conv_of(&few), thin = conv_of(&narrow);

	if (!mr_kernels_find("auto", MR_F32))
		return;
	strided.window.stride_w = 2, grouped.groups = 2;
	CU_ASSERT(executor_of("auto", MR_F32, &g) == MR_BY_FUSED);
	CU_ASSERT(executor_of("fused", MR_F32, &g) == MR_BY_FUSED);
	CU_ASSERT(executor_of("onednn", MR_F32, &g) == MR_BY_ONEDNN);
	CU_ASSERT(executor_of("auto", MR_F32, &strided) == MR_BY_ONEDNN);
	CU_ASSERT(executor_of("auto", MR_F32, &grouped) == MR_BY_ONEDNN);
	CU_ASSERT(executor_of("auto", MR_F32, &none) == MR_BY_ONEDNN);
	CU_ASSERT(executor_of("auto", MR_F32, &thin) == MR_BY_ONEDNN);
	if (mr_kernels_find("fused", MR_BF16)) {
		const char *isa = mr_kernels_isa(MR_BF16);
		bool tiles = strcmp(isa, "avx512") == 0 || strcmp(isa, "avx2") == 0; /* of products in f32 */

		CU_ASSERT(executor_of("fused", MR_BF16, &g) == (tiles ? MR_BY_FUSED : MR_BY_ONEDNN));
		CU_ASSERT(executor_of("fused", MR_BF16, &strided) == MR_BY_ONEDNN);
	}
	if (mr_kernels_find("onednn", MR_BF16))
		CU_ASSERT(executor_of("onednn", MR_BF16, &g) == MR_BY_ONEDNN);
}

void mr_suite_winograd(void);

void mr_suite_winograd(void)
{
	MR_SUITE("winograd");
	MR_TEST(tiles_have_the_numbers_of_direct_sums);
	MR_TEST(a_step_takes_the_gradient_of_tiles);
	MR_TEST(their_shapes_are_known);
}
