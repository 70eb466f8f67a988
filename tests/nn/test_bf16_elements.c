/*
 * Every operation of `fused` in bf16 that is not a product: what f32 makes of the widened operands, rounded once, to
 * the bit; also where NaN, infinities and denormals come in, at the end of memory, and by any number of threads. Only
 * attention, whose products may take numbers of bf16, is compared within a tolerance.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "guarded.h"
#include "kernels_ops.h"
#include "nn/bf16.h"

#define MOST 16 /* tensors of a call */

/* An operation's tensors in one of the two types: activations in bf16 or widened, the rest in f32. */
typedef struct side {
	const mr_kernels *k;
	mr_kctx *kc;
	guarded memory[MOST];
	void *tensor[MOST];
	int64_t n[MOST];
	bool act[MOST], out[MOST];
	int tensors;
	double loss;
} side;

/* Every 41st number of an input, from its stream on; 0: none. */
static float special;

static bool is_bf16(const side *s)
{
	return s->k->types.weights == MR_BF16;
}

/* Activations that end where the memory does. */
static void *tensor(side *s, int64_t n, bool act, bool out)
{
	int64_t floats = act && is_bf16(s) ? (n + 1) / 2 : n;
	guarded *g = &s->memory[s->tensors];

	*g = guarded_make(floats, true);
	memset(g->p, 0, (size_t)floats * sizeof(float));
	s->n[s->tensors] = n;
	s->act[s->tensors] = act;
	s->out[s->tensors] = out;
	return s->tensor[s->tensors++] = act && is_bf16(s) ? (uint16_t *)(void *)g->p + (2 * floats - n) : (void *)g->p;
}

/* @x: of activations it is a number of bf16. */
static void set(const side *s, void *tensor, bool act, int64_t i, float x)
{
	if (act && is_bf16(s))
		((uint16_t *)tensor)[i] = (uint16_t)(mr_bits_of_f32(x) >> 16);
	else
		((float *)tensor)[i] = x;
}

static void *input(side *s, int64_t n, bool act, uint32_t stream, float lo, float hi)
{
	void *t = tensor(s, n, act, false);

	for (int64_t i = 0; i < n; i++) {
		float x = number_of(stream, i, lo, hi);

		x = act ? mr_bf16_widen(mr_bf16_round(x)) : x;
		set(s, t, act, i, act && special != 0 && i % 41 == stream % 41 ? special : x);
	}
	return t;
}

static void *output(side *s, int64_t n, bool act)
{
	void *t = tensor(s, n, act, true);

	for (int64_t i = 0; i < n; i++)
		set(s, t, act, i, 7);
	return t;
}

/* Activations that go in and, if @out, are overwritten. */
static void *inout(side *s, int64_t n, bool out, uint32_t stream, float lo, float hi)
{
	void *t = input(s, n, true, stream, lo, hi);

	s->out[s->tensors - 1] = out;
	return t;
}

static bool same_number(float x, float y)
{
	return mr_bits_of_f32(x) == mr_bits_of_f32(y) || (isnan(x) && isnan(y));
}

/* Numbers of @low's results that are not @wide's, rounded if they are activations. */
static int64_t differences(const side *low, const side *wide)
{
	int64_t off = 0;

	for (int t = 0; t < low->tensors; t++)
		for (int64_t i = 0; low->out[t] && i < low->n[t]; i++) {
			const float *want = wide->tensor[t];

			if (low->act[t])
				off += !same_number(mr_bf16_widen(((const uint16_t *)low->tensor[t])[i]),
						    mr_bf16_widen(mr_bf16_round(want[i])));
			else
				off += !same_number(((const float *)low->tensor[t])[i], want[i]);
		}
	return off + (low->loss != wide->loss && !(isnan(low->loss) && isnan(wide->loss)));
}

static void side_free(side *s)
{
	for (int t = 0; t < s->tensors; t++)
		guarded_free(&s->memory[t]);
	s->tensors = 0;
	s->loss = 0;
}

typedef void op_run(side *s, int64_t rows, int64_t cols, int variant);

/* In bf16 by one to three threads, against f32 by one. */
static void check(const char *name, op_run *run, int variants)
{
	static const int64_t shapes[][2] = {{1, 1},   {3, 5},   {7, 16},    {5, 33},
					    {33, 47}, {64, 80}, {40, 1031}, {300, 129}};
	const float specials[] = {0, NAN, INFINITY, -INFINITY, mr_f32_of_bits(0x00010000) /* the least of bf16 */};
	side low = {.k = mr_kernels_find("fused", MR_BF16)}, wide = {.k = mr_kernels_find("fused", MR_F32)};

	if (!low.k) {
		printf("(skipped: %s) ", mr_error_text());
		return;
	}
	MR_CHECK_OK(wide.k->ctx_create(wide.k, 1, &wide.kc));
	for (int i = 0; i < 8 * 5 * variants; i++) {
		const int64_t *d = shapes[i % 8];

		special = specials[i / 8 % 5];
		run(&wide, d[0], d[1], i / 40);
		for (uint32_t threads = 1; threads <= 3; threads++) {
			int64_t off;

			MR_CHECK_OK(low.k->ctx_create(low.k, threads, &low.kc));
			run(&low, d[0], d[1], i / 40);
			low.k->ctx_destroy(low.kc);
			off = differences(&low, &wide);
			if (off)
				fprintf(stderr,
					"\n%s %lldx%lld variant %d, %u threads, among %g: %lld are off\n", name,
					(long long)d[0], (long long)d[1], i / 40, threads, (double)special,
					(long long)off);
			CU_ASSERT_EQUAL(off, 0);
			side_free(&low);
		}
		side_free(&wide);
	}
	special = 0;
	wide.k->ctx_destroy(wide.kc);
}

/* variant 1: in place */
static void run_sum(side *s, int64_t rows, int64_t cols, int variant)
{
	void *a = input(s, rows * cols, true, 1, -1, 1), *b = inout(s, rows * cols, variant, 2, -1, 1);

	MR_CHECK_OK(s->k->sum(s->kc, &(mr_sum_args){.n = rows * cols, .a = a, .b = b,
						    .y = variant ? b : output(s, rows * cols, true)}));
}

static void run_colsum(side *s, int64_t rows, int64_t cols, int variant)
{
	void *x = input(s, rows * cols, true, 1, -1, 1);

	MR_CHECK_OK(s->k->colsum(s->kc, &(mr_colsum_args){.rows = rows, .cols = cols, .x = x,
							  .y = output(s, cols, false), .add = variant}));
}

/* variant: activation, + 3: in place */
static void run_act_backward(side *s, int64_t rows, int64_t cols, int variant)
{
	void *aux = input(s, rows * cols, true, 1, -1, 1), *dy = inout(s, rows * cols, variant >= 3, 2, -1, 1);

	MR_CHECK_OK(s->k->act_backward(
		s->kc, &(mr_act_backward_args){.act = (mr_act)(variant % 3), .n = rows * cols, .aux = aux, .dy = dy,
					       .dz = variant >= 3 ? dy : output(s, rows * cols, true)}));
}

/* variant 1: adds; 2: not shifted; 4: backward in two halves */
static void run_norm(side *s, int64_t rows, int64_t cols, int variant)
{
	bool add = variant & 1, shifts = !(variant & 2);
	void *x = input(s, rows * cols, true, 1, -1, 3), *dy = input(s, rows * cols, true, 2, -1, 1);
	void *gain = input(s, cols, true, 3, 0, 2), *shift = shifts ? input(s, cols, true, 4, -1, 1) : NULL;
	void *y = output(s, rows * cols, true), *dx = output(s, rows * cols, true);
	void *mean = shifts ? output(s, rows, false) : NULL, *rstd = output(s, rows, false);
	void *dgain = output(s, cols, false), *dshift = shifts ? output(s, cols, false) : NULL;

	MR_CHECK_OK(s->k->norm(s->kc, &(mr_norm_args){.rows = rows, .cols = cols, .eps = 1e-5, .x = x, .gain = gain,
						      .shift = shift, .y = y, .mean = mean, .rstd = rstd}));
	if (variant & 4) {
		MR_CHECK_OK(s->k->norm_backward_input(
			s->kc, &(mr_norm_backward_input_args){.rows = rows, .cols = cols, .x = x, .gain = gain,
							      .mean = mean, .rstd = rstd, .dy = dy, .dx = dx,
							      .add = add}));
		MR_CHECK_OK(s->k->norm_backward_weight(
			s->kc, &(mr_norm_backward_weight_args){.rows = rows, .cols = cols, .x = x, .mean = mean,
							       .rstd = rstd, .dy = dy, .dgain = dgain, .dshift = dshift,
							       .add_weight = add}));
	} else {
		MR_CHECK_OK(s->k->norm_backward(
			s->kc, &(mr_norm_backward_args){.rows = rows, .cols = cols, .x = x, .gain = gain, .mean = mean,
							.rstd = rstd, .dy = dy, .dx = dx, .add = add, .dgain = dgain,
							.dshift = dshift, .add_weight = add}));
	}
}

/* variant 1: adds; 2: with ReLU; 4: by statistics that are given */
static void batch_normalised(side *s, int64_t rows, int64_t cols, int variant)
{
	mr_batch_norm b = {.rows = rows, .cols = cols, .eps = 1e-5, .given = variant & 4,
			   .act = variant & 2 ? MR_ACT_RELU : MR_ACT_NONE};
	void *x = input(s, rows * cols, true, 1, -1, 3), *dy = input(s, rows * cols, true, 2, -1, 1);
	void *gain = input(s, cols, true, 3, 0, 2), *shift = input(s, cols, true, 4, -1, 1);
	void *y = output(s, rows * cols, true), *dx = output(s, rows * cols, true);
	void *mean = b.given ? input(s, cols, false, 5, 0, 2) : output(s, cols, false);
	void *variance = b.given ? input(s, cols, false, 6, 1, 2) : output(s, cols, false);

	MR_CHECK_OK(s->k->batch_norm(s->kc, &(mr_batch_norm_args){.b = &b, .x = x, .gain = gain, .shift = shift, .y = y,
								  .mean = mean, .variance = variance}));
	if (!b.given)
		MR_CHECK_OK(s->k->batch_norm_backward(
			s->kc, &(mr_batch_norm_backward_args){.b = &b, .x = x, .y = y, .gain = gain, .mean = mean,
							      .variance = variance, .dy = dy, .dx = dx,
							      .add = variant & 1, .dgain = output(s, cols, false),
							      .dshift = output(s, cols, false)}));
}

/* variant 1: adds; 2: without positions */
static void run_embed(side *s, int64_t rows, int64_t cols, int variant)
{
	int64_t vocab = 50, t = rows / 2 + 1;
	int32_t *tokens = make_tokens(rows, vocab, 4);
	void *wte = input(s, vocab * cols, true, 1, -1, 1), *dy = input(s, rows * cols, true, 3, -1, 1);
	void *wpe = variant & 2 ? NULL : input(s, t * cols, true, 2, -1, 1);
	void *dwte = output(s, vocab * cols, false), *dwpe = wpe ? output(s, t * cols, false) : NULL;

	MR_CHECK_OK(s->k->embed(s->kc, &(mr_embed_args){.rows = rows, .t = t, .cols = cols, .vocab = vocab,
							.tokens = tokens, .wte = wte, .wpe = wpe,
							.y = output(s, rows * cols, true)}));
	MR_CHECK_OK(s->k->embed_backward(
		s->kc, &(mr_embed_backward_args){.rows = rows, .t = t, .cols = cols, .vocab = vocab, .tokens = tokens,
						 .dy = dy, .dwte = dwte, .dwpe = dwpe, .add = variant & 1}));
	free(tokens);
}

/* variant 1: in place */
static void run_dropout(side *s, int64_t rows, int64_t cols, int variant)
{
	mr_mask_key key = {.seed = 5, .first_sample = 0xFFFFFFFEu, .layer = 3};
	void *x = inout(s, rows * cols, variant, 1, 1, 2);

	MR_CHECK_OK(s->k->dropout(s->kc, &(mr_dropout_args){.samples = rows, .per_sample = cols, .rate = 0.3,
							    .key = &key, .x = x,
							    .y = variant ? x : output(s, rows * cols, true)}));
}

static void run_cross_entropy(side *s, int64_t rows, int64_t cols, int variant)
{
	int32_t *targets = make_tokens(rows, cols, 2);

	(void)variant;
	MR_CHECK_OK(s->k->xent(s->kc, &(mr_xent_args){.rows = rows, .classes = cols,
						      .logits = inout(s, rows * cols, true, 1, -9, 9),
						      .targets = targets, .loss = &s->loss}));
	free(targets);
}

static void run_squared_error(side *s, int64_t rows, int64_t cols, int variant)
{
	void *y = input(s, rows * cols, false, 2, -1, 1);

	(void)variant;
	MR_CHECK_OK(s->k->mse(s->kc, &(mr_mse_args){.rows = rows, .cols = cols,
						    .a = inout(s, rows * cols, true, 1, -1, 1), .y = y,
						    .loss = &s->loss}));
}

static void run_gradient_sum(side *s, int64_t rows, int64_t cols, int variant)
{
	void *a = input(s, rows * cols, false, 1, -1, 1), *b = input(s, rows * cols, false, 2, -1, 1);

	(void)variant;
	MR_CHECK_OK(s->k->sum_gradients(s->kc, &(mr_sum_gradients_args){.n = rows * cols, .a = a, .b = b,
									.y = output(s, rows * cols, false)}));
}

/* variant 1: in place */
static void run_sum_relu(side *s, int64_t rows, int64_t cols, int variant)
{
	void *a = inout(s, rows * cols, variant, 1, -1, 1), *b = input(s, rows * cols, true, 2, -1, 1);

	MR_CHECK_OK(s->k->sum_relu(s->kc, &(mr_sum_relu_args){.n = rows * cols, .a = a, .b = b,
							      .y = variant ? a : output(s, rows * cols, true)}));
}

static void sums(void)
{
	check("sum", run_sum, 2);
	check("sum_relu", run_sum_relu, 2);
	check("sum_gradients", run_gradient_sum, 1);
	check("colsum", run_colsum, 2);
}

static void activations(void)
{
	check("act_backward", run_act_backward, 6);
}

static void norms(void)
{
	check("norm", run_norm, 8);
	check("batch_norm", batch_normalised, 8);
}

static void embeddings(void)
{
	check("embed", run_embed, 4);
}

static void dropouts(void)
{
	check("dropout", run_dropout, 2);
}

static void losses(void)
{
	check("xent", run_cross_entropy, 1);
	check("mse", run_squared_error, 1);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

static void attend(side *s, uint32_t threads, const mr_attn *a)
{
	int64_t rows = a->samples * a->t, c = a->heads * a->dim, width = mr_attn_width(a);
	void *qkv = input(s, rows * width, true, 1, -2, 2), *dy = input(s, rows * c, true, 2, -1, 1);
	void *y = output(s, rows * c, true), *dqkv = output(s, rows * width, true);
	void *saved = tensor(s, (int64_t)saved_bytes(s->k, a) / 4, false, false);

	MR_CHECK_OK(s->k->ctx_create(s->k, threads, &s->kc));
	MR_CHECK_OK(s->k->attn(s->kc, &(mr_attn_args){.a = a, .qkv = qkv, .y = y, .saved = saved}));
	guarded_freeze(&s->memory[s->tensors - 1]);
	MR_CHECK_OK(s->k->attn_backward(s->kc, &(mr_attn_backward_args){.a = a, .qkv = qkv, .saved = saved, .dy = dy,
									.dqkv = dqkv}));
	s->k->ctx_destroy(s->kc);
}

/* Root of the mean square of what tensor @t of @low is off by, over that of @wide; infinity where NaN are elsewhere. */
static double off_by(const side *low, const side *wide, int t)
{
	double off = 0, size = 0;

	for (int64_t i = 0; i < low->n[t]; i++) {
		double got = (double)mr_bf16_widen(((const uint16_t *)low->tensor[t])[i]);
		double want = (double)((const float *)wide->tensor[t])[i];

		if (isnan(got) != isnan(want))
			return INFINITY;
		if (!isfinite(got) || !isfinite(want))
			continue;
		off += (got - want) * (got - want);
		size += want * want;
	}
	return size > 0 ? sqrt(off / size) : sqrt(off);
}

/* Rounded are P or dS, and the result: each by up to 2^-9 of itself, whatever its sign. */
#define OFF_BY 0.006

static void check_attention(const mr_attn *a)
{
	side low[3], wide = {.k = mr_kernels_find("fused", MR_F32)};

	attend(&wide, 1, a);
	for (uint32_t i = 0; i < 3; i++) {
		low[i] = (side){.k = mr_kernels_find("fused", MR_BF16)};
		attend(&low[i], i + 1, a);
	}
	for (int t = 2; t < 4; t++) {
		size_t bytes = (size_t)wide.n[t] * 2;
		double off = off_by(&low[0], &wide, t);

		if (!(off <= OFF_BY))
			fprintf(stderr, "\n%lld heads of %lld, T %lld, among %g: %s is off by %.3g\n",
				(long long)a->heads, (long long)a->dim, (long long)a->t, (double)special,
				t == 2 ? "y" : "dqkv", off);
		CU_ASSERT(off <= OFF_BY);
		CU_ASSERT(!memcmp(low[0].tensor[t], low[1].tensor[t], bytes));
		CU_ASSERT(!memcmp(low[0].tensor[t], low[2].tensor[t], bytes));
	}
	for (int i = 0; i < 3; i++)
		side_free(&low[i]);
	side_free(&wide);
}

/* On both sides of the ends of blocks, chunks and bands of all widths. */
static void attention(void)
{
	static const int64_t shapes[][2] = {{1, 8},   {2, 1},   {15, 5},  {31, 32},  {32, 64},  {33, 33},  {63, 17},
					    {64, 16}, {65, 65}, {96, 40}, {97, 128}, {128, 64}, {129, 31}, {160, 96},
					    {191, 9}, {257, 64}, {300, 80}};

	for (int i = 0; mr_kernels_find("fused", MR_BF16) && i < 17; i++)
		check_attention(&(mr_attn){.samples = 1 + i % 2, .t = shapes[i][0], .heads = 1 + i % 3,
					   .dim = shapes[i][1]});
}

static void attention_of_groups_and_in_both_directions(void)
{
	static const int64_t shapes[][2] = {{1, 8},   {2, 1},   {31, 32},  {33, 33},
					    {64, 16}, {97, 64}, {130, 40}, {257, 9}};

	for (int i = 0; mr_kernels_find("fused", MR_BF16) && i < 3 * 8; i++)
		check_attention(&(mr_attn){.samples = 1 + i % 2, .t = shapes[i / 3][0], .heads = 4,
					   .dim = shapes[i / 3][1], .kv_heads = i % 3 == 2 ? 0 : 1 + i % 2,
					   .bidirectional = i % 3 > 0});
}

static void attention_keeps_nan(void)
{
	static const float specials[] = {NAN, INFINITY, -INFINITY};

	for (int i = 0; mr_kernels_find("fused", MR_BF16) && i < 3; i++) {
		special = specials[i];
		check_attention(&(mr_attn){.samples = 2, .t = 50, .heads = 2, .dim = 8});
		check_attention(&(mr_attn){.samples = 2, .t = 50, .heads = 4, .dim = 8, .kv_heads = 2});
	}
	special = 0;
}

void mr_suite_bf16_elements(void);

void mr_suite_bf16_elements(void)
{
	MR_SUITE("bf16_elements");
	MR_TEST(sums);
	MR_TEST(activations);
	MR_TEST(norms);
	MR_TEST(embeddings);
	MR_TEST(dropouts);
	MR_TEST(losses);
	MR_TEST(attention);
	MR_TEST(attention_of_groups_and_in_both_directions);
	MR_TEST(attention_keeps_nan);
}
