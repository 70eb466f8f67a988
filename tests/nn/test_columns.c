/*
 * test_columns.c - convolutions of bf16 images as products (nn/kernels/fused/images/columns.h): random windows,
 * strides, paddings, dilations and channels have the numbers of the direct sums, of the reference in f64, and the same
 * bits by one thread and by several; tiles and their model in C agree to the bit.
 */
#include "check.h"

#ifdef MR_DNNL /* the backend fused is there */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "conv_rig.h"
#include "nn/kernels/fused/images/columns.h"

/* Numbers are rounded when they are made, and when they are stored: largest difference / (1 + largest value). */
#define TOLERANCE 8e-3

enum { CASES = 120 };

static const char engine_variable[] = "MR_BF16_ENGINE";
static uint64_t drawn;

static int64_t draw(int64_t least, int64_t most)
{
	return least + (int64_t)(mr_rng_u32(1, MR_RNG_TEST, 0, 0, drawn++) % (uint32_t)(most - least + 1));
}

/* Are all three passes computed here? */
static bool takes_all(const mr_conv *g)
{
	return mr_columns_takes(g, "amx", MR_CONV_FORWARD) && mr_columns_takes(g, "amx", MR_CONV_INPUT) &&
	       mr_columns_takes(g, "amx", MR_CONV_WEIGHT);
}

static bool takes_one(const mr_conv *g)
{
	return mr_columns_takes(g, "amx", MR_CONV_FORWARD) || mr_columns_takes(g, "amx", MR_CONV_INPUT) ||
	       mr_columns_takes(g, "amx", MR_CONV_WEIGHT);
}

/* Small images of many channels, whose windows may be larger than the image but not than the padded one. All passes are
 * computed here: the tiles of oneDNN 2.6 read behind a table of theirs, which the address sanitizer may see. */
static mr_conv some_conv(void)
{
	mr_window w = {.samples = draw(1, 4), .h = draw(1, 9), .w = draw(1, 9), .c = draw(64, 140),
		       .kernel_h = draw(1, 4), .kernel_w = draw(1, 4), .stride_h = draw(1, 3), .stride_w = draw(1, 3),
		       .pad_h = draw(0, 2), .pad_w = draw(0, 2), .dilation_h = draw(1, 2), .dilation_w = draw(1, 2)};
	mr_conv g = {.out = draw(64, 140), .groups = 1, .bias = draw(0, 1) != 0, .relu = draw(0, 1) != 0};

	if (draw(0, 1)) /* what networks have */
		w.c = draw(2, 4) * 32, g.out = draw(2, 4) * 32, w.dilation_h = w.dilation_w = 1;
	w.out_h = mr_window_out(w.h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h);
	w.out_w = mr_window_out(w.w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w);
	g.window = w;
	return w.out_h > 0 && w.out_w > 0 && takes_all(&g) ? g : some_conv();
}

static void compare(const mr_kernels *k, const mr_conv *g, bool add)
{
	outputs want = conv_results(mr_kernels_find("reference", MR_F64), 1, g, add), one = conv_results(k, 1, g, add),
		more = conv_results(k, (uint32_t)draw(2, 4), g, add);

	CU_ASSERT(distance(&one, &want) < TOLERANCE);
	CU_ASSERT(same_bits(&one, &more));
	free(want.v), free(one.v), free(more.v);
}

static void as_direct_sums(void)
{
	const mr_kernels *k[] = {mr_kernels_find("fused", MR_BF16), mr_kernels_of("fused", MR_AS_bf16_pure)};

	for (int i = 0; i < CASES && k[0]; i++) {
		mr_conv g = some_conv();

		compare(k[i % 2], &g, i / 2 % 2);
		if (i % 4 == 0)
			conv_check_sums(k[i / 4 % 2], (uint32_t)draw(1, 3), &g,
					(mr_step_kind)draw(0, MR_N_STEPS - 1), i % 3 == 0);
	}
}

/* @fn with the engine @name; if it is not there, not at all. */
static void with_engine(const char *name, void (*fn)(void))
{
	const char *before = getenv(engine_variable), *why;
	char *kept = before ? strdup(before) : NULL;

	setenv(engine_variable, name, 1);
	if (mr_block_engine_find(&why))
		fn();
	unsetenv(engine_variable);
	if (kept)
		setenv(engine_variable, kept, 1);
	free(kept);
}

static void by_tiles(void)
{
	with_engine("amx", as_direct_sums);
}

static void by_their_model(void)
{
	with_engine("model", as_direct_sums);
}

static outputs seen;

static void look(void)
{
	mr_conv g = {.window = {.samples = 2, .h = 5, .w = 5, .c = 96, .out_h = 3, .out_w = 3, .kernel_h = 3,
				.kernel_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1, .dilation_h = 1,
				.dilation_w = 1}, .out = 80, .groups = 1};

	seen = conv_results(mr_kernels_find("fused", MR_BF16), 1, &g, true);
}

static void tiles_are_their_model(void)
{
	outputs tiles;

	if (!mr_kernels_find("fused", MR_BF16))
		return;
	seen = (outputs){0};
	with_engine("amx", look);
	tiles = seen;
	if (!tiles.v)
		return;
	with_engine("model", look);
	CU_ASSERT(same_bits(&tiles, &seen));
	free(tiles.v), free(seen.v);
}

/* What the rules leave to oneDNN, or cannot be computed here. */
static void what_is_taken(void)
{
	mr_conv g = {.window = {.samples = 8, .h = 4, .w = 4, .c = 64, .out_h = 4, .out_w = 4, .kernel_h = 3,
				.kernel_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1, .dilation_h = 1,
				.dilation_w = 1}, .out = 64, .groups = 1}, other = g;

	CU_ASSERT(takes_all(&g));
	for (int pass = 0; pass < 3; pass++) {
		CU_ASSERT(!mr_columns_takes(&g, "avx512_bf16", (mr_conv_pass)pass));
		CU_ASSERT(!mr_columns_takes(&g, "f32", (mr_conv_pass)pass));
		CU_ASSERT(!mr_columns_takes(&g, NULL, (mr_conv_pass)pass)); /* the backend onednn */
	}
	other.groups = 2;
	CU_ASSERT(!takes_one(&other));
	other = g, other.window.c = 3;
	CU_ASSERT(!takes_one(&other));
	other = g, other.window.w = other.window.out_w = 32;
	CU_ASSERT(!takes_one(&other));
}

#endif

void mr_suite_columns(void);

void mr_suite_columns(void)
{
	MR_SUITE("columns");
#ifdef MR_DNNL
	MR_TEST(by_tiles);
	MR_TEST(by_their_model);
	MR_TEST(tiles_are_their_model);
	MR_TEST(what_is_taken);
#else
	(void)mr_suite_;
#endif
}
