#include "base/arena.h"

#include <string.h>

#include "base/size.h"
#include "check.h"

static void test_size(void)
{
	size_t x = 7;

	CU_ASSERT_TRUE(mr_size_add(SIZE_MAX - 1, 1, &x));
	CU_ASSERT_EQUAL(x, SIZE_MAX);
	CU_ASSERT_FALSE(mr_size_add(SIZE_MAX, 1, &x));
	CU_ASSERT_EQUAL(x, SIZE_MAX);
	CU_ASSERT_TRUE(mr_size_mul(SIZE_MAX / 3, 3, &x));
	CU_ASSERT_EQUAL(x, SIZE_MAX / 3 * 3);
	CU_ASSERT_FALSE(mr_size_mul(SIZE_MAX / 3 + 1, 3, &x));
	CU_ASSERT_FALSE(mr_size_mul((size_t)1 << 32, (size_t)1 << 32, &x));
	CU_ASSERT_TRUE(mr_size_mul(0, SIZE_MAX, &x));
	CU_ASSERT_EQUAL(x, 0);
	CU_ASSERT_TRUE(mr_size_mul(SIZE_MAX, 0, &x));
	CU_ASSERT_EQUAL(mr_align_up(0, 64), 0);
	CU_ASSERT_EQUAL(mr_align_up(1, 64), 64);
	CU_ASSERT_EQUAL(mr_align_up(64, 64), 64);
	CU_ASSERT_EQUAL(mr_align_up(65, 64), 128);
	CU_ASSERT_EQUAL(mr_align_up(5, 1), 5);
}

struct layout {
	char *bytes;
	double *numbers;
	void *empty;
	float *lines;
};

static void lay_out(struct layout *l, mr_arena *a)
{
	l->bytes = mr_arena_take(a, 3, 1);
	l->numbers = mr_arena_take(a, 5 * sizeof(double), _Alignof(double));
	l->empty = mr_arena_take(a, 0, 16);
	l->lines = mr_arena_take(a, 100, MR_CACHE_LINE);
}

static void test_two_passes_agree(void)
{
	_Alignas(MR_CACHE_LINE) uint8_t memory[512];
	struct layout l;
	mr_arena a;
	size_t bytes;

	mr_arena_init(&a, NULL, 0);
	lay_out(&l, &a);
	bytes = a.used;
	CU_ASSERT_PTR_NULL(l.bytes);
	CU_ASSERT_PTR_NULL(l.lines);
	CU_ASSERT_EQUAL(bytes, 64 + 100); /* 3, pad to 8, 40, empty at 48, pad to 64, 100 */
	mr_arena_init(&a, memory, bytes);
	lay_out(&l, &a);
	CU_ASSERT_EQUAL(a.used, bytes);
	CU_ASSERT_PTR_EQUAL(l.bytes, memory);
	CU_ASSERT_PTR_EQUAL(l.numbers, memory + 8);
	CU_ASSERT_PTR_EQUAL(l.empty, memory + 48);
	CU_ASSERT_PTR_EQUAL(l.lines, memory + 64);
}

static void test_full(void)
{
	_Alignas(MR_CACHE_LINE) uint8_t memory[128];
	mr_arena a;

	mr_arena_init(&a, memory, 100);
	CU_ASSERT_PTR_NOT_NULL(mr_arena_take(&a, 60, 4));
	CU_ASSERT_PTR_NULL(mr_arena_take(&a, 41, 4)); /* one byte too many */
	CU_ASSERT_EQUAL(a.used, 60);
	CU_ASSERT_PTR_NULL(mr_arena_take(&a, 37, 64)); /* fits, but not aligned */
	CU_ASSERT_PTR_NULL(mr_arena_take(&a, SIZE_MAX, 4));
	CU_ASSERT_PTR_EQUAL(mr_arena_take(&a, 40, 4), memory + 60);
	CU_ASSERT_PTR_NULL(mr_arena_take(&a, 1, 1));
}

static void test_measure_overflow(void)
{
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	mr_arena_take(&a, SIZE_MAX / 2, 1);
	mr_arena_take(&a, SIZE_MAX / 2 + 10, 1);
	CU_ASSERT_EQUAL(a.used, SIZE_MAX);
	mr_arena_take(&a, 1, 64);
	CU_ASSERT_EQUAL(a.used, SIZE_MAX);
}

void mr_suite_arena(void); /* the runner declares it too */

void mr_suite_arena(void)
{
	MR_SUITE("arena");

	MR_TEST(test_size);
	MR_TEST(test_two_passes_agree);
	MR_TEST(test_full);
	MR_TEST(test_measure_overflow);
}
