/*
 * test_attention.c - attention and the gradients of activations at sizes on both sides of their vectors, tiles and
 * bands, in arrays at the edge of memory (guarded.h): attention against the reference in f64, which
 * test_kernels_exact.c holds to whole matrices, and to the bit between numbers of threads; activations against their
 * derivatives, and to the bit wherever an element lies.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "guarded.h"
#include "kernels_ops.h"

#define CLOSE 4e-6 /* a softmax of up to 300 numbers and sums of as many terms, over 1 + the largest */

/* --- attention ---------------------------------------------------------------------------------------------------- */

/* y and dqkv as numbers; everything lies at the end of memory, or at its beginning. */
static outputs attend(const mr_kernels *k, uint32_t threads, const mr_attn *a, bool at_end)
{
	int64_t n = a->samples * a->t * a->heads * a->dim, floats = (int64_t)mr_dtype_bytes(k->types.weights) / 4;
	int64_t all = a->samples * a->t * mr_attn_width(a);
	guarded qkv = guarded_make(all * floats, at_end), dy = guarded_make(n * floats, at_end);
	guarded y = guarded_make(n * floats, at_end), dqkv = guarded_make(all * floats, at_end);
	guarded saved = guarded_make((int64_t)saved_bytes(k, a) / 4, at_end);
	guarded scratch = guarded_make((int64_t)k->attn_scratch_bytes(a) / 4, at_end);
	guarded *each[] = {&qkv, &dy, &y, &dqkv, &saved, &scratch};
	void *from[2] = {make_input(k, all, 1, -2, 2), make_input(k, n, 2, -1, 1)};
	outputs out = {0};
	mr_kctx *kc;

	for (int i = 0; i < 2; i++) {
		memcpy(each[i]->p, from[i], each[i]->n * sizeof(float));
		guarded_freeze(each[i]);
		free(from[i]);
	}
	MR_CHECK_OK(k->ctx_create(k, threads, &kc));
	MR_CHECK_OK(k->attn(kc, &(mr_attn_args){.a = a, .qkv = qkv.p, .y = y.p, .saved = saved.p,
						.scratch = scratch.p}));
	guarded_freeze(&saved);
	MR_CHECK_OK(k->attn_backward(kc, &(mr_attn_backward_args){.a = a, .qkv = qkv.p, .saved = saved.p, .dy = dy.p,
								  .dqkv = dqkv.p, .scratch = scratch.p}));
	k->ctx_destroy(kc);
	put(&out, k, y.p, n);
	put(&out, k, dqkv.p, all);
	for (int i = 0; i < 6; i++)
		guarded_free(each[i]);
	return out;
}

static void check_attention(const mr_attn *a)
{
	const mr_kernels *k = mr_kernels_find("fused", MR_F32);
	outputs want = attend(mr_kernels_find("reference", MR_F64), 1, a, true), one = attend(k, 1, a, true);
	double d = distance(&one, &want);

	for (uint32_t threads = 2; threads <= 3; threads++) {
		outputs more = attend(k, threads, a, threads == 3);

		if (!same_bits(&one, &more))
			fprintf(stderr, "\n%lld/%lld heads of %lld, T %lld: other bits by %u threads\n",
				(long long)a->heads, (long long)a->kv_heads, (long long)a->dim, (long long)a->t,
				threads);
		CU_ASSERT(same_bits(&one, &more));
		free(more.v);
	}
	if (!(d <= CLOSE))
		fprintf(stderr, "\n%lld/%lld heads of %lld, T %lld: distance %.3g\n", (long long)a->heads,
			(long long)a->kv_heads, (long long)a->dim, (long long)a->t, d);
	CU_ASSERT(d <= CLOSE);
	free(want.v), free(one.v);
}

static bool ready(void)
{
	if (mr_kernels_find("fused", MR_F32))
		return true;
	printf("(skipped: %s) ", mr_error_text());
	return false;
}

static void every_length(void)
{
	static const int64_t dims[] = {16, 19, 32, 5, 64, 8, 33};

	for (int64_t t = 1, i = 0; ready() && t <= 66; t++, i++)
		check_attention(&(mr_attn){.samples = 1, .t = t, .heads = 2, .dim = dims[i % 7]});
}

static void every_width(void)
{
	static const int64_t lengths[] = {21, 50, 48, 33};

	for (int64_t d = 1; ready() && d <= 50; d++)
		check_attention(&(mr_attn){.samples = 2, .t = lengths[d % 4], .heads = 1 + d % 3, .dim = d});
}

/* On both sides of the ends of bands, in all widths of tiles. */
static void long_ones(void)
{
	static const int64_t shape[][2] = {{95, 32},  {96, 64},  {97, 17},  {127, 64}, {128, 64}, {129, 64},
					   {128, 16}, {143, 48}, {145, 80}, {191, 64}, {192, 32}, {193, 40},
					   {240, 64}, {255, 8},  {256, 64}, {257, 33}, {70, 112}, {100, 119}};

	for (int i = 0; ready() && i < 18; i++)
		check_attention(&(mr_attn){.samples = 1, .t = shape[i][0], .heads = 1 + i % 3, .dim = shape[i][1]});
}

/* Two or four heads to each key and value head, and queries that see all keys, on both sides of the ends of tiles. */
static void groups_and_both_directions(void)
{
	static const int64_t dims[] = {16, 19, 64, 8, 33};

	for (int64_t t = 1, i = 0; ready() && t <= 260; t += t < 50 ? 1 : t < 120 ? 13 : 33, i++) {
		mr_attn a = {.samples = 2, .t = t, .heads = 4, .dim = dims[i % 5], .kv_heads = 1 + i % 2};

		check_attention(&a);
		a.bidirectional = true;
		a.kv_heads = 4 >> i % 3;
		check_attention(&a);
	}
}

/* --- activations -------------------------------------------------------------------------------------------------- */

/*
 * GELU(x) = x s with s = logistic(z): its derivative, and how far off it may be: some ulp of s, times x z' of up to 100
 * where s is about 1, and where s is small those of z itself. Below 2^-100 s stays there.
 */
static double gelu_slope(double x, double *room)
{
	double c = 2 * sqrt(2 / acos(-1)), z = c * (x + 0.044715 * x * x * x), s = 1 / (1 + exp(-z));
	double inner = x * c * (1 + 3 * 0.044715 * x * x);

	*room = 2e-7 * s * (3 + fabs(inner)) * (1 + (1 - s) * fabs(z)) + 1e-27;
	return s + s * (1 - s) * inner;
}

/* Over the range in which it is neither 0 nor 1. */
static void gelu_has_its_slope(void)
{
	enum { N = 20001 };
	const mr_kernels *k = mr_kernels_find("fused", MR_F32);
	guarded x = guarded_make(N, true), dy = guarded_make(N, true), dx = guarded_make(N, true);
	mr_kctx *kc;

	for (int i = 0; i < N; i++) {
		x.p[i] = (float)(-10 + 20.0 * i / (N - 1));
		dy.p[i] = 1;
	}
	if (ready()) {
		void *aux;

		MR_CHECK_OK(k->ctx_create(k, 2, &kc));
		aux = make_gelu_aux(k, kc, N, x.p);
		MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = MR_ACT_GELU, .n = N, .aux = aux,
									.dy = dy.p, .dz = dx.p}));
		k->ctx_destroy(kc);
		free(aux);
		for (int i = 0; i < N; i++) {
			double room, want = gelu_slope((double)x.p[i], &room);

			CU_ASSERT(fabs((double)dx.p[i] - want) <= room);
		}
	}
	guarded_free(&x), guarded_free(&dy), guarded_free(&dx);
}

/* Alone at the end of memory, or in the middle of an array shared out to threads: the same bits. */
static void elements_are_alone(void)
{
	enum { N = 70000, MOST = 70 };
	const mr_kernels *k = mr_kernels_find("fused", MR_F32);
	guarded zy = guarded_fill(N, true, 1, -6, 6), dy = guarded_fill(N, true, 2, -1, 1), dz = guarded_make(N, true);
	mr_kctx *kc;

	guarded_freeze(&zy), guarded_freeze(&dy);
	for (int act = 0; ready() && act < 3; act++) {
		MR_CHECK_OK(k->ctx_create(k, 2, &kc));
		MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = (mr_act)act, .n = N, .aux = zy.p,
									.dy = dy.p, .dz = dz.p}));
		for (int64_t n = 1; n <= MOST; n++) {
			int64_t at = n * 131 % (N - MOST);
			guarded z = guarded_make(n, n & 1), d = guarded_make(n, n & 1);

			memcpy(z.p, zy.p + at, (size_t)n * sizeof(float));
			memcpy(d.p, dy.p + at, (size_t)n * sizeof(float));
			guarded_freeze(&z);
			MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = (mr_act)act, .n = n, .aux = z.p,
										.dy = d.p, .dz = d.p}));
			CU_ASSERT(memcmp(d.p, dz.p + at, (size_t)n * sizeof(float)) == 0);
			guarded_free(&z), guarded_free(&d);
		}
		k->ctx_destroy(kc);
	}
	guarded_free(&zy), guarded_free(&dy), guarded_free(&dz);
}

void mr_suite_attention(void);

void mr_suite_attention(void)
{
	MR_SUITE("attention");
	MR_TEST(every_length);
	MR_TEST(every_width);
	MR_TEST(long_ones);
	MR_TEST(groups_and_both_directions);
	MR_TEST(gelu_has_its_slope);
	MR_TEST(elements_are_alone);
}
