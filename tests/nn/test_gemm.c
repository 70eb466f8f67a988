/*
 * test_gemm.c - which matrix products are computed here and which by oneDNN (nn/kernels/fused/gemm/gemm.h), on both
 * sides of where that changes: against the reference in f64; to the bit between numbers of threads, between a batch and
 * its halves, and between a fused step or sum and one afterwards. Results lie between margins that must not change.
 * test_chains.c has the shapes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "step_variants.h"
#include "guarded.h"
#include "kernels_ops.h"
#include "fused_gemm.h"

#define MARGIN 256 /* bytes before and after a result */
#define MARK 0x5A

/* As in kernels_ops.c. Adam divides the gradient by the root of its own square, which may be small. */
#define TOLERANCE 2e-6
#define TOLERANCE_STEP 2e-5


typedef struct work {
	mr_gemm g;
	int step;      /* -1: none */
	bool in_place; /* of the step */
	bool adds;     /* with an addend */
	mr_act fuse_act_backward;
} work;

static void tell(const char *what, const work *w, uint32_t threads, double d)
{
	const mr_gemm *g = &w->g;

	fprintf(stderr, "\n%s: m=%lld n=%lld k=%lld%s%s%s%s%s act %d step %d%s, %u threads: distance %.3g\n", what,
		(long long)g->m, (long long)g->n, (long long)g->k, g->ta ? " ta" : "", g->tb ? " tb" : "",
		g->add ? " add" : "", g->bias ? " bias" : "", w->adds ? " addend" : "", (int)g->act, w->step,
		w->in_place ? " in place" : "", threads, d);
}

/* --- a product between margins ------------------------------------------------------------------------------------ */

/* @n numbers in [lo, hi), the same in each type. */
static void fill(const mr_kernels *k, int64_t n, uint32_t stream, double lo, double hi, void *out)
{
	for (int64_t i = 0; i < n; i++) {
		float x = number_of(stream, i, (float)lo, (float)hi);

		if (k->types.weights == MR_F64)
			((double *)out)[i] = x;
		else
			((float *)out)[i] = x;
	}
}

static void *operand(const mr_kernels *k, int64_t n, uint32_t stream)
{
	void *p = malloc((size_t)n * mr_dtype_bytes(k->types.weights));

	fill(k, n, stream, -1, 1, p);
	return p;
}

/* The same between margins, for what is written. */
static void *fenced(const mr_kernels *k, int64_t n, uint32_t stream, double lo)
{
	size_t bytes = (size_t)n * mr_dtype_bytes(k->types.weights);
	char *p = malloc(bytes + 2 * MARGIN);

	memset(p, MARK, bytes + 2 * MARGIN);
	fill(k, n, stream, lo, 1, p + MARGIN);
	return p + MARGIN;
}

static void drop(const mr_kernels *k, int64_t n, void *at)
{
	size_t bytes = (size_t)n * mr_dtype_bytes(k->types.weights);
	char *p = (char *)at - MARGIN;
	bool whole = true;

	for (size_t i = 0; i < MARGIN; i++)
		whole = whole && p[i] == MARK && p[MARGIN + bytes + i] == MARK;
	CU_ASSERT(whole);
	free(p);
}

static mr_step step_of(const work *w, void *src, void *dst, void *m, void *v)
{
	return step_variant(w->step, src, w->in_place ? src : dst, m, v);
}

typedef enum way { WHOLE, HALVES, APART /* step, sum or act_backward */ } way;

/* C = op(A) op(B) in two halves of the batch, which lie one after the other where A is transposed. */
static void halves(const mr_kernels *k, mr_kctx *kc, const work *w, const void *a, const void *b, void *c,
		   const mr_step *s)
{
	mr_gemm first = w->g, rest = w->g;
	size_t size = mr_dtype_bytes(k->types.weights);

	first.k = w->g.k / 2;
	rest.k = w->g.k - first.k;
	rest.add = true;
	MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &first, .a = a, .b = b, .c = c}));
	a = (const char *)a + (size_t)(first.k * first.m) * size;
	b = (const char *)b + (size_t)(first.k * first.n) * size;
	if (s)
		MR_CHECK_OK(k->gemm_step(kc, &(mr_gemm_step_args){.g = &rest, .a = a, .b = b, .c = c, .s = s}));
	else
		MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &rest, .a = a, .b = b, .c = c}));
}

/* What an activation in front has left for act_backward. */
static void *front_of(const mr_kernels *k, mr_kctx *kc, mr_act act, int64_t n)
{
	void *z = operand(k, n, 11), *aux;

	if (act != MR_ACT_GELU)
		return z; /* only its sign counts */
	aux = make_gelu_aux(k, kc, n, z);
	free(z);
	return aux;
}

static void carry_out(const mr_kernels *k, mr_kctx *kc, const work *w, way how, outputs *out)
{
	mr_gemm of_w = w->g, *g = &of_w;
	int64_t n = g->m * g->n;
	bool gelu = g->act == MR_ACT_GELU, steps = w->step >= 0;
	void *a = operand(k, g->m * g->k, 1), *b = operand(k, g->k * g->n, 2),
	     *bias = g->bias ? operand(k, g->n, 3) : NULL;
	void *front = w->fuse_act_backward != MR_ACT_NONE ? front_of(k, kc, w->fuse_act_backward, n) : NULL;
	void *addend = w->adds ? operand(k, n, 10) : NULL, *c = fenced(k, n, 4, -1),
	     *aux = gelu ? fenced(k, n, 5, -1) : NULL;
	void *of[4] = {0}; /* the step's: src, dst, m, v */
	mr_step s = {0};

	g->addend = how == WHOLE ? addend : NULL;
	g->fuse_act_backward = how == WHOLE ? w->fuse_act_backward : MR_ACT_NONE;
	g->fuse_act_backward_aux = front;
	for (int i = 0; i < 4 && steps; i++)
		of[i] = fenced(k, n, 6 + (uint32_t)i, i == 3 ? 0 : -1);
	if (steps)
		s = step_of(w, of[0], of[1], of[2], of[3]);
	if (how == HALVES)
		halves(k, kc, w, a, b, c, steps ? &s : NULL);
	else if (steps && how == WHOLE)
		MR_CHECK_OK(k->gemm_step(kc, &(mr_gemm_step_args){.g = g, .a = a, .b = b, .c = c, .s = &s}));
	else
		MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = g, .a = a, .b = b, .bias = bias, .c = c, .aux = aux}));
	if (how == APART && steps)
		MR_CHECK_OK(k->step(kc, &(mr_step_args){.n = n, .s = &s, .g = c}));
	if (how == APART && addend)
		MR_CHECK_OK(k->sum(kc, &(mr_sum_args){.n = n, .a = c, .b = addend, .y = c}));
	if (how == APART && front)
		MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = w->fuse_act_backward, .n = n,
									.aux = front, .dy = c, .dz = c}));
	if (!steps)
		put(out, k, c, n);
	if (gelu) { /* as dz: what backends leave there is their own */
		MR_CHECK_OK(k->act_backward(kc, &(mr_act_backward_args){.act = MR_ACT_GELU, .n = n, .aux = aux, .dy = c,
									.dz = c}));
		put(out, k, c, n), drop(k, n, aux);
	}
	for (int i = 0; i < 4 && steps; i++)
		put(out, k, of[i], n), drop(k, n, of[i]);
	drop(k, n, c);
	free(a), free(b), free(bias), free(addend), free(front);
}

static outputs result(const mr_kernels *k, uint32_t threads, const work *w, way how)
{
	outputs out = {0};
	mr_kctx *kc;

	MR_CHECK_OK(k->ctx_create(k, threads, &kc));
	carry_out(k, kc, w, how, &out);
	k->ctx_destroy(kc);
	return out;
}

/* --- what is compared --------------------------------------------------------------------------------------------- */

static const mr_kernels *fused(void)
{
	const mr_kernels *k = mr_kernels_find("fused", MR_F32);

	if (!k)
		printf("(skipped: %s) ", mr_error_text());
	return k;
}

static void same(const char *what, const work *w, uint32_t threads, const outputs *one, outputs other)
{
	if (!same_bits(one, &other))
		tell(what, w, threads, distance(&other, one));
	CU_ASSERT(same_bits(one, &other));
	free(other.v);
}

static void near_reference(const work *w, const outputs *one)
{
	outputs want = result(mr_kernels_find("reference", MR_F64), 1, w, WHOLE);
	double d = distance(one, &want), tolerance = w->step >= 0 ? TOLERANCE_STEP : TOLERANCE;

	if (!(d <= tolerance))
		tell("far from the reference", w, 1, d);
	CU_ASSERT(d <= tolerance);
	free(want.v);
}

/* One thread against the reference; more of them, and a step apart, against one thread. With a sanitizer, not against
 * the reference: it took half of the time, and nn.kernels has its addresses. */
static void compare(const mr_kernels *k, const work *w)
{
	bool own = mr_gemm_has_kernel(&w->g, 3, w->step >= 0);
	outputs one = result(k, 1, w, WHOLE);

	if (!MR_SANITIZED)
		near_reference(w, &one);
	for (uint32_t threads = 2; own && threads <= 3; threads++)
		same("the bits depend on the threads", w, threads, &one, result(k, threads, w, WHOLE));
	if (w->step >= 0)
		same("not the bits of gemm, then step", w, 1, &one, result(k, 1, w, APART));
	if (w->adds)
		same("not the bits of gemm, then sum", w, 1, &one, result(k, 1, w, APART));
	if (w->fuse_act_backward != MR_ACT_NONE)
		same("not the bits of gemm, then act_backward", w, 1, &one, result(k, 1, w, APART));
	free(one.v);
}

static void compare_transposes(const mr_kernels *k, int64_t m, int64_t n, int64_t depth)
{
	for (int v = 0; v < 8; v++)
		compare(k,
			&(work){.g = {.m = m, .n = n, .k = depth, .ta = v & 1, .tb = v & 2, .add = v & 4}, .step = -1});
}

static void compare_epilogues(const mr_kernels *k, int64_t m, int64_t n, int64_t depth)
{
	static const mr_act acts[3] = {MR_ACT_NONE, MR_ACT_RELU, MR_ACT_GELU};

	for (int v = 0; v < 16; v++)
		compare(k, &(work){.g = {.m = m,
					 .n = n,
					 .k = depth,
					 .tb = v & 1,
					 .bias = !(v & 2),
					 .act = acts[(v >> 2) % 3]},
				   .step = -1,
				   .adds = v >= 12});
}

/* dz W^T, through the activation in front. */
static void compare_through(const mr_kernels *k, int64_t m, int64_t n, int64_t depth)
{
	for (int v = 0; v < 4; v++)
		compare(k, &(work){.g = {.m = m, .n = n, .k = depth, .tb = v & 1},
				   .step = -1,
				   .fuse_act_backward = v & 2 ? MR_ACT_RELU : MR_ACT_GELU});
}

static void compare_steps(const mr_kernels *k, int64_t m, int64_t n, int64_t depth)
{
	for (int v = 0; v < 4 * N_STEPS; v++)
		compare(k, &(work){.g = {.m = m, .n = n, .k = depth, .ta = true, .add = v & 1}, .step = v >> 2,
				   .in_place = v & 2});
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

/* Rows of a batch beyond which products go through the tall order, or where it does not pay through oneDNN. */
#define MANY_ROWS 256

/* What oneDNN still has, and where it begins: few rows a thread, and small gradients. */
static void large_batches(void)
{
	const mr_kernels *k = fused();
	const int64_t most = MANY_ROWS;

	if (!k)
		return;
	CU_ASSERT(mr_gemm_has_kernel(&(mr_gemm){.m = most, .n = 9, .k = 99}, 2, false));
	CU_ASSERT_FALSE(mr_gemm_has_kernel(&(mr_gemm){.m = most + 1, .n = 9, .k = 99}, 2, false));
	CU_ASSERT(mr_gemm_has_kernel(&(mr_gemm){.m = 2 * most, .n = 9, .k = 99}, 2, false));
	CU_ASSERT(mr_gemm_has_kernel(&(mr_gemm){.m = 99, .n = 9, .k = most, .ta = true}, 1, true));
	CU_ASSERT_FALSE(mr_gemm_has_kernel(&(mr_gemm){.m = 99, .n = 9, .k = most + 1, .ta = true}, 1, true));
	CU_ASSERT(mr_gemm_has_kernel(&(mr_gemm){.m = 256, .n = 256, .k = most + 1, .ta = true}, 2, true));
	for (int64_t rows = most; rows <= most + 1; rows++) {
		compare_transposes(k, rows, 65, 33);
		compare_transposes(k, 65, 33, rows);
		compare_epilogues(k, rows, 65, 33);
		compare_through(k, rows, 65, 33);
		compare_steps(k, 65, 33, rows);
	}
}

/* The tall order, by every number of threads here, in several blocks of columns and of k. */
static void many_blocks(void)
{
	const mr_kernels *k = fused();

	if (!k)
		return;
	compare_epilogues(k, 3 * MANY_ROWS, 71, 275);
	compare_through(k, 3 * MANY_ROWS, 71, 275);
	compare_through(k, 3 * MANY_ROWS, 300, 40);
	compare_transposes(k, 40, 1090, 2 * MANY_ROWS + 9);
	compare_steps(k, 1090, 35, MANY_ROWS + 9);
	compare_steps(k, 35, 1090, MANY_ROWS + 9);
}

/* dz W^T by rows and by columns, in several blocks of 1536 of a sum, with 1 to 4 vectors to a panel, and panels of
 * several widths. */
static void strips_of_many_blocks(void)
{
	static const int64_t dims[][3] = {{135, 150, 1700}, {232, 140, 3100},  {41, 150, 40},   {56, 140, 4200},
					  {86, 170, 1600},  {130, 1045, 1600}, {200, 8200, 40}, {256, 8203, 16}};
	const mr_kernels *k = fused();

	for (int i = 0; k && i < 16; i++)
		compare(k, &(work){.g = {.m = dims[i / 2][0],
					 .n = dims[i / 2][1],
					 .k = dims[i / 2][2],
					 .tb = true,
					 .add = i & 1},
				   .step = -1});
}

/* Tiles of four vectors: rows from where they begin to more than are taken at a time, whole and other panels, one block
 * of k and more, threads that take the rest from each other and threads that do not. */
static void wide_tiles(void)
{
	static const int64_t dims[][3] = {{47, 256, 40},   {48, 256, 129},  {61, 321, 272},
					  {100, 1090, 33}, {193, 330, 140}, {256, 270, 300}};
	const mr_kernels *k = fused();

	for (int i = 0; k && i < 6; i++) {
		compare_epilogues(k, dims[i][0], dims[i][1], dims[i][2]);
		for (int v = 0; v < 4; v++)
			compare(k, &(work){.g = {.m = dims[i][0],
						 .n = dims[i][1],
						 .k = dims[i][2],
						 .tb = v & 1,
						 .add = v & 2},
					   .step = -1});
	}
}

/* Few rows, and the reference: what else there is of products with a bias, an activation or an addend. */
static void small_products_have_epilogues(void)
{
	static const int64_t dims[][3] = {{1, 1, 1}, {5, 33, 7}, {17, 100, 130}, {40, 300, 65}};
	const mr_kernels *of[3] = {mr_kernels_find("reference", MR_F32), mr_kernels_find("reference", MR_F64), fused()};

	for (int i = 0; i < 12; i++)
		if (of[i % 3])
			compare_epilogues(of[i % 3], dims[i / 3][0], dims[i / 3][1], dims[i / 3][2]),
				compare_through(of[i % 3], dims[i / 3][0], dims[i / 3][1], dims[i / 3][2]);
}

/* A sum over micro-batches is the sum over the batch that they make up, to the bit. */
static void halves_make_a_whole(void)
{
	const int64_t dims[][3] = {
		{37, 65, 50}, {70, 1090, MANY_ROWS}, {1, 33, 7}, {300, 20, 33}, {130, 130, 2 * MANY_ROWS + 6}};
	const mr_kernels *k = fused();

	for (int i = 0; k && i < 5; i++)
		for (int step = -1; step < N_STEPS; step++)
			for (uint32_t threads = 1; threads <= 2; threads++) {
				work w = {.g = {.m = dims[i][0], .n = dims[i][1], .k = dims[i][2], .ta = true},
					  .step = step};
				outputs whole = result(k, threads, &w, WHOLE);

				CU_ASSERT(mr_gemm_has_kernel(&w.g, threads, step >= 0));
				same("two halves are not the whole", &w, threads, &whole,
				     result(k, threads, &w, HALVES));
				free(whole.v);
			}
}

/* One context for products that need ever more scratch, and then less: as from contexts of their own. */
static void scratch_grows(void)
{
	static const mr_gemm products[] = {
		{.m = 9, .n = 40, .k = 5, .tb = true},     {.m = 20, .n = 40, .k = 50},
		{.m = 40, .n = 1100, .k = 50, .ta = true}, {.m = 40, .n = 33, .k = 3000, .tb = true},
		{.m = 9, .n = 40, .k = 5, .tb = true},     {.m = 20, .n = 40, .k = 50}};
	const mr_kernels *k = fused();
	size_t before = 0;

	for (uint32_t threads = 1; k && threads <= 2; threads++) {
		mr_kctx *kc;

		MR_CHECK_OK(k->ctx_create(k, threads, &kc));
		for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
			work w = {.g = products[i], .step = -1};
			outputs out = {0}, fresh = result(k, threads, &w, WHOLE);

			carry_out(k, kc, &w, WHOLE, &out);
			same("a used context gives other bits", &w, threads, &fresh, out);
			free(fresh.v);
			if (i == 3)
				before = k->ctx_bytes(kc);
		}
		CU_ASSERT_EQUAL(k->ctx_bytes(kc), before);
		CU_ASSERT(before > 40 * 1500 * sizeof(float)); /* what was written of it, by one thread at least: a
		                                                  block of k */
		k->ctx_destroy(kc);
	}
}

/* More shapes than oneDNN's table starts with; after it has grown, every primitive is still the one of its shape. */
static void many_large_shapes_fit(void)
{
	const mr_kernels *k = fused();
	int64_t m = MANY_ROWS + 1;
	float *a = malloc((size_t)m * 100 * sizeof(float)), *c = malloc((size_t)m * sizeof(float)), b[100];
	mr_kctx *kc;

	for (int64_t i = 0; i < m * 100; i++)
		a[i] = b[i % 100] = 1;
	for (int i = 0; k && i < 200; i++) {
		mr_gemm g = {.m = m, .n = 1, .k = 1 + i % 100, .tb = true};

		CU_ASSERT_FALSE(mr_gemm_has_kernel(&g, 2, false));
		if (i == 0)
			MR_CHECK_OK(k->ctx_create(k, 2, &kc));
		MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .c = c}));
		CU_ASSERT_EQUAL(c[m - 1], (float)g.k);
	}
	if (k)
		k->ctx_destroy(kc);
	free(a), free(c);
}

void mr_suite_gemm(void);

void mr_suite_gemm(void)
{
	MR_SUITE("gemm");
	MR_TEST(large_batches);
	MR_TEST(many_blocks);
	MR_TEST(wide_tiles);
	MR_TEST(small_products_have_epilogues);
	MR_TEST(strips_of_many_blocks);
	MR_TEST(halves_make_a_whole);
	MR_TEST(scratch_grows);
	MR_TEST(many_large_shapes_fit);
}
