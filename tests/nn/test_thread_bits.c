/*
 * test_thread_bits.c - every call that mr_thread_bits_of does not name gives the same bits with 1, 2 and 3 threads: all
 * operations of kernels_ops.c and larger products, in every table (backend x precision).
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels_ops.h"
#include "nn/thread_bits.h"

enum { MOST_THREADS = 3 };

typedef struct tally {
	int named, compared;
} tally;

/* Does @o call anything that is named? */
static bool is_named(const op *o, const mr_kernels *k, uint32_t threads, const int64_t dim[4], int variant, bool add)
{
	outputs out = {0};
	op_case c = {.add = add, .variant = variant, .out = &out};
	const mr_recorded *call;
	mr_recorder *r;
	size_t n;
	bool named = false;

	memcpy(c.dim, dim, sizeof(c.dim));
	MR_CHECK_OK(mr_recorder_create(k, threads, &r));
	c.k = mr_recorder_kernels(r);
	c.kc = mr_recorder_context(r);
	o->run(&c);
	mr_recorder_calls(r, &call, &n);
	CU_ASSERT(n > 0);
	for (size_t i = 0; i < n; i++)
		named = named || mr_thread_bits_of(k, threads, &call[i].call).depend;
	mr_recorder_destroy(r);
	free(out.v);
	return named;
}

static void compare(const op *o, const mr_kernels *k, const int64_t dim[4], int variant, bool add, tally *t)
{
	outputs one = {0};

	for (uint32_t threads = 2; threads <= MOST_THREADS; threads++) {
		outputs many;

		if (is_named(o, k, threads, dim, variant, add)) {
			t->named++;
			continue;
		}
		if (!one.v)
			one = run_op(o, k, 1, dim, variant, add);
		many = run_op(o, k, threads, dim, variant, add);
		t->compared++;
		if (!same_bits(&one, &many))
			fprintf(stderr,
				"\n%s in %s of %s, %lldx%lldx%lldx%lld variant %d%s: other bits with %u threads\n",
				o->name, mr_types_name(&k->types), k->name, (long long)dim[0], (long long)dim[1],
				(long long)dim[2], (long long)dim[3], variant, add ? " add" : "", threads);
		CU_ASSERT(same_bits(&one, &many));
		free(many.v);
	}
	free(one.v);
}

/* Every third variant of those that have many. */
static tally compare_all(const op *o, const mr_kernels *k)
{
	tally t = {0};

	for (int s = 0; s < OP_SHAPES && o->dims[s][0] && has_op(k, o); s++)
		for (int v = 0; v < o->n_variants; v += o->n_variants > 10 ? 3 : 1)
			for (int add = 0; add <= (v < o->n_adding); add++)
				compare(o, k, o->dims[s], v, add, &t);
	return t;
}

static const mr_kernels *table(const char *backend, int precision)
{
	static const mr_precision of[] = {MR_AS_f32, MR_AS_bf16, MR_AS_bf16_pure};

	return mr_kernels_of(backend, of[precision]);
}

static void check_backend(const char *backend)
{
	for (int p = 0; p < 3; p++) {
		const mr_kernels *k = table(backend, p);

		if (!k)
			printf("(skipped: %s) ", mr_error_text());
		for (int i = 0; k && i < n_ops; i++) {
			tally t = compare_all(&ops[i], k);

			/* our code is not named */
			if (!strcmp(backend, "reference") || (!strcmp(backend, "fused") && !ops[i].is_gemm))
				CU_ASSERT_EQUAL(t.named, 0);
		}
	}
}

static void of_reference(void)
{
	check_backend("reference");
}

static void of_fused(void)
{
	check_backend("fused");
}

static void of_onednn(void)
{
	check_backend("onednn");
}

static void of_auto(void)
{
	check_backend("auto");
}

/* Of the sizes at which kernels change how they go: strips, groups, panels, tall ones; little or much for a thread. */
static void large_products(void)
{
	static const char *const backends[] = {"fused", "onednn", "auto"};
	static const int64_t dims[OP_SHAPES][4] = {{512, 520, 64},  {64, 512, 520}, {1040, 64, 72},   {200, 768, 40},
						   {40, 200, 1500}, {8, 8, 4096},   {2100, 100, 100}, {96, 2100, 33}};
	int compared = 0;

	for (int i = 0; i < n_ops; i++) {
		op large = ops[i];

		if (strcmp(large.name, "gemm") != 0)
			continue;
		memcpy(large.dims, dims, sizeof(dims));
		for (int b = 0; b < 3; b++)
			for (int p = 0; p < 3; p++)
				if (table(backends[b], p))
					compared += compare_all(&large, table(backends[b], p)).compared;
	}
	if (table("fused", 0))
		CU_ASSERT(compared > 0);
}

/* dims rows, cols: what oneDNN computes row by row. */
static void norm_rows(const op_case *c)
{
	const mr_kernels *k = c->k;
	int64_t rows = c->dim[0], cols = c->dim[1], n = rows * cols;
	mr_dtype compute = k->types.compute;
	void *x = make_input(k, n, 1, -1, 3), *gain = make_input(k, cols, 2, 0, 2);
	void *shift = make_input(k, cols, 3, -1, 1), *dy = make_input(k, n, 4, -1, 1), *y = make_output(k, n);
	void *mean = make_room(compute, rows), *rstd = make_room(compute, rows), *dx = make_output(k, n);

	MR_CHECK_OK(k->norm(c->kc, &(mr_norm_args){.rows = rows, .cols = cols, .eps = 1e-5, .x = x, .gain = gain,
						   .shift = shift, .y = y, .mean = mean, .rstd = rstd}));
	MR_CHECK_OK(k->norm_backward_input(
		c->kc, &(mr_norm_backward_input_args){.rows = rows, .cols = cols, .x = x, .gain = gain, .mean = mean,
						      .rstd = rstd, .dy = dy, .dx = dx, .add = c->add}));
	put(c->out, k, y, n);
	put_of(c->out, compute, mean, rows);
	put_of(c->out, compute, rstd, rows);
	put(c->out, k, dx, n);
	free(x), free(gain), free(shift), free(dy), free(y), free(mean), free(rstd), free(dx);
}

static void norms_by_rows(void)
{
	static const op rows = {"norm by rows", norm_rows, 1, 1, false, 0,
				{{1, 1}, {3, 17}, {5, 64}, {17, 100}, {301, 130}, {20, 1025}, {2000, 64}}};

	for (int p = 0; p < 3; p++) {
		const mr_kernels *k = table("onednn", p);

		if (k)
			CU_ASSERT_EQUAL(compare_all(&rows, k).named, 0);
	}
}

/* What is known to be named: all that oneDNN sums over rows, and what one thread gives to other code than a team. */
static void the_library_is_named(void)
{
	const mr_kernels *k = mr_kernels_find("onednn", MR_F32), *fused = mr_kernels_find("fused", MR_F32);
	mr_kernel_call c = {.id = MR_KERNEL_gemm, .is_gemm = true,
			    .gemm = {.of = MR_GEMM_ACTIVATIONS, .m = 300, .n = 40, .k = 24}};

	if (!k || !fused)
		return;
	CU_ASSERT(mr_thread_bits_of(k, 2, &c).depend);
	CU_ASSERT_FALSE(mr_thread_bits_of(k, 1, &c).depend);
	CU_ASSERT(mr_thread_bits_of(fused, 2, &c).depend);
	CU_ASSERT_EQUAL(mr_thread_bits_of(fused, 2, &c).by, MR_BY_ONEDNN);
	CU_ASSERT_EQUAL(mr_thread_bits_of(fused, 2, &c).by_one, MR_BY_FUSED);
	c.gemm.m = 200;
	CU_ASSERT_FALSE(mr_thread_bits_of(fused, 2, &c).depend);
}

void mr_suite_thread_bits(void);

void mr_suite_thread_bits(void)
{
	MR_SUITE("thread_bits");
	MR_TEST(of_reference);
	MR_TEST(of_fused);
	MR_TEST(of_onednn);
	MR_TEST(of_auto);
	MR_TEST(large_products);
	MR_TEST(norms_by_rows);
	MR_TEST(the_library_is_named);
}
