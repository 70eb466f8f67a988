/* Sums of squares by blocks: the same bits for any number of threads, and those of the kernel for one block. */
#include <math.h>
#include <stdlib.h>

#include <CUnit/CUnit.h>

#include "check.h"
#include "nn/squares.h"

#define MOST (300 * (int64_t)MR_SQUARES_BLOCK + 17) /* more than are added up between two meetings of the threads */

static double with_threads(const mr_kernels *k, uint32_t n_threads, int64_t n, const void *x)
{
	mr_kctx *kc;
	double sum, alone;

	MR_CHECK_OK(k->ctx_create(k, n_threads, &kc));
	MR_CHECK_OK(mr_squares(k, kc, n, x, &sum));
	MR_CHECK_OK(k->sumsq(kc, &(mr_sumsq_args){.n = n, .x = x, .sum = &alone}));
	if (n <= MR_SQUARES_BLOCK)
		CU_ASSERT_EQUAL(sum, alone);
	k->ctx_destroy(kc);
	return sum;
}

static void threads_do_not_change_them(void)
{
	static const int64_t lengths[] = {0, 1, MR_SQUARES_BLOCK - 1, MR_SQUARES_BLOCK, MR_SQUARES_BLOCK + 1,
					  5 * (int64_t)MR_SQUARES_BLOCK + 1000, MOST};
	const mr_kernels *k = mr_kernels_find("fused", MR_F32);
	float *x = malloc((size_t)MOST * sizeof(*x));

	if (!k) /* no such kernels here: the reference's have one thread */
		k = mr_kernels_find("reference", MR_F32);
	CU_ASSERT_FATAL(k && x);
	for (int64_t i = 0; i < MOST; i++)
		x[i] = 1 / (1 + (float)(i % 1001));
	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
		double one = with_threads(k, 1, lengths[l], x), sum = 0;

		for (int64_t i = 0; i < lengths[l]; i++)
			sum += (double)x[i] * (double)x[i];
		CU_ASSERT_DOUBLE_EQUAL(one, sum, 1e-12 * (1 + sum));
		for (uint32_t n = 2; n <= 4; n++)
			CU_ASSERT_EQUAL(with_threads(k, n, lengths[l], x), one);
	}
	free(x);
}

static mr_status fails(mr_kctx *kc, const mr_sumsq_args *o)
{
	(void)kc;
	*o->sum = 0;
	return mr_fail(MR_ERESOURCE, "no memory");
}

/* The sum of a block that could not be made counts in no norm as if it were one. */
static void a_block_that_fails_is_no_number(void)
{
	static const int64_t lengths[] = {1, 3 * (int64_t)MR_SQUARES_BLOCK};
	mr_kernels k = *mr_kernels_find("reference", MR_F32);
	float *x = calloc((size_t)lengths[1], sizeof(*x));
	mr_kctx *kc;

	CU_ASSERT_FATAL(x != NULL);
	k.sumsq = fails;
	MR_CHECK_OK(k.ctx_create(&k, 1, &kc));
	for (int i = 0; i < 2; i++) {
		double sum = 0;

		MR_CHECK_OK(mr_squares(&k, kc, lengths[i], x, &sum));
		CU_ASSERT(isnan(sum));
	}
	k.ctx_destroy(kc);
	free(x);
}

void mr_suite_squares(void);

void mr_suite_squares(void)
{
	MR_SUITE("squares");
	MR_TEST(threads_do_not_change_them);
	MR_TEST(a_block_that_fails_is_no_number);
}
