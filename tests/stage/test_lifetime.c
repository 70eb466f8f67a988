/* test_lifetime.c - offsets for tensors that live for a while: no two that live at once share a byte, others may. */
#include "stage/lifetime.h"

#include "base/rng.h"
#include "base/size.h"
#include "check.h"

static size_t add(mr_lifetime *l, uint32_t born, uint32_t dies, size_t bytes)
{
	size_t offset;

	MR_CHECK_OK(mr_lifetime_add(l, born, dies, bytes, &offset));
	return offset;
}

static void lives_that_do_not_meet_share_bytes(void)
{
	mr_lifetime l = {0};

	CU_ASSERT_EQUAL(add(&l, 0, 1, 100), 0);
	CU_ASSERT_EQUAL(add(&l, 1, 2, 64), 128); /* both are there at 1; 100 bytes are two lines */
	CU_ASSERT_EQUAL(add(&l, 2, 3, 64), 0);   /* the first is gone, the second is not */
	CU_ASSERT_EQUAL(add(&l, 2, 3, 128), 192); /* the line that is free between them is too small */
	CU_ASSERT_EQUAL(l.bytes, 320);
	CU_ASSERT_EQUAL(add(&l, 4, 4, 320), 0);
	CU_ASSERT_EQUAL(l.bytes, 320);
	CU_ASSERT_EQUAL(add(&l, 5, 5, 321), 0);
	CU_ASSERT_EQUAL(l.bytes, 384);
	mr_lifetime_fini(&l);
	CU_ASSERT_EQUAL(l.bytes, 0);
}

/* What is empty takes no place, and no place from others. */
static void nothing_needs_no_bytes(void)
{
	mr_lifetime l = {0};

	add(&l, 0, 9, 0);
	CU_ASSERT_EQUAL(l.bytes, 0);
	CU_ASSERT_EQUAL(add(&l, 0, 9, 64), 0);
	CU_ASSERT_EQUAL(add(&l, 0, 9, 64), 64);
	add(&l, 0, 9, 0);
	CU_ASSERT_EQUAL(l.bytes, 128);
	mr_lifetime_fini(&l);
}

static uint32_t below(uint32_t n, uint64_t round, uint32_t i, uint32_t which)
{
	return mr_rng_u32(3, MR_RNG_TEST, round, i, which) % n;
}

/* Random lives, in the order of their births: none overlap, each lies as low as those before it allow, and the whole is
 * as large as its highest byte. */
static void random_lives_do_not_overlap(void)
{
	enum { ITEMS = 80 }; /* more than fit the first allocation */

	for (uint64_t round = 0; round < 100; round++) {
		mr_lifetime l = {0};
		size_t highest = 0;
		uint32_t born = 0;

		for (uint32_t i = 0; i < ITEMS; i++) {
			const mr_lifetime_item *a;
			bool held = false;

			born += below(3, round, i, 0);
			add(&l, born, born + below(6, round, i, 1), below(1000, round, i, 2));
			a = &l.item[i];
			CU_ASSERT_EQUAL(a->offset % MR_CACHE_LINE, 0);
			for (uint32_t k = 0; k < i; k++) {
				const mr_lifetime_item *b = &l.item[k];
				bool meets = a->born <= b->dies && b->born <= a->dies;

				CU_ASSERT_FALSE(meets && a->offset < b->offset + b->bytes &&
						b->offset < a->offset + a->bytes);
				held = held || (meets && b->offset + b->bytes == a->offset);
			}
			CU_ASSERT_TRUE(a->offset == 0 || held); /* something that lives lies right below it */
			highest = a->offset + a->bytes > highest ? a->offset + a->bytes : highest;
		}
		CU_ASSERT_EQUAL(l.n, ITEMS);
		CU_ASSERT_EQUAL(l.bytes, highest);
		mr_lifetime_fini(&l);
	}
}

void mr_suite_lifetime(void)
{
	MR_SUITE("lifetime");
	MR_TEST(lives_that_do_not_meet_share_bytes);
	MR_TEST(nothing_needs_no_bytes);
	MR_TEST(random_lives_do_not_overlap);
}
