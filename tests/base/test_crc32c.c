#include "base/crc32c.h"

#include <string.h>

#include "base/rng.h"
#include "check.h"

/* The check value of the CRC catalogue, and the 32-byte examples of RFC 3720, appendix B.4. */
static void test_known_answers(void)
{
	uint8_t bytes[32];
	uint32_t (*const both[])(uint32_t, const void *, size_t) = {mr_crc32c, mr_crc32c_portable};

	for (int f = 0; f < 2; f++) {
		CU_ASSERT_EQUAL(both[f](0, "123456789", 9), 0xE3069283);
		CU_ASSERT_EQUAL(both[f](0, "", 0), 0);
		memset(bytes, 0, sizeof(bytes));
		CU_ASSERT_EQUAL(both[f](0, bytes, 32), 0x8A9136AA);
		memset(bytes, 0xFF, sizeof(bytes));
		CU_ASSERT_EQUAL(both[f](0, bytes, 32), 0x62A8AB43);
		for (int i = 0; i < 32; i++)
			bytes[i] = (uint8_t)i;
		CU_ASSERT_EQUAL(both[f](0, bytes, 32), 0x46DD794E);
		for (int i = 0; i < 32; i++)
			bytes[i] = (uint8_t)(31 - i);
		CU_ASSERT_EQUAL(both[f](0, bytes, 32), 0x113FDB5C);
	}
}

/* All lengths and misalignments around the word size, in one piece and in two. */
static void test_paths_agree(void)
{
	uint8_t bytes[600];

	for (uint64_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)mr_rng_u32(1, MR_RNG_TEST, 0, 0, i);
	for (size_t start = 0; start < 9; start++)
		for (size_t len = 0; len + start < sizeof(bytes); len += len < 40 ? 1 : 37) {
			uint32_t whole = mr_crc32c(0, bytes + start, len);

			CU_ASSERT_EQUAL(whole, mr_crc32c_portable(0, bytes + start, len));
			CU_ASSERT_EQUAL(whole, mr_crc32c(mr_crc32c(0, bytes + start, len / 3), bytes + start + len / 3,
							 len - len / 3));
			CU_ASSERT_EQUAL(whole, mr_crc32c_portable(mr_crc32c(0, bytes + start, len / 2),
								  bytes + start + len / 2, len - len / 2));
		}
}

/* Blocks at a time, some in fours and some not, whole ones and not: as each by itself. */
static void test_blocks(void)
{
	uint8_t bytes[1300];
	uint32_t crc[82];

	for (uint64_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)mr_rng_u32(1, MR_RNG_TEST, 1, 0, i);
	for (size_t block = 16; block <= 120; block += 13)
		for (size_t len = 0; len <= 1290; len += 43) {
			size_t n = (len + block - 1) / block;

			memset(crc, 0, sizeof(crc));
			mr_crc32c_blocks(bytes + 3, len, block, crc);
			for (size_t i = 0; i < n; i++)
				CU_ASSERT_EQUAL(crc[i],
						mr_crc32c_portable(0, bytes + 3 + i * block,
								   i + 1 < n ? block : len - i * block));
			CU_ASSERT_EQUAL(crc[n], 0);
		}
}

void mr_suite_crc32c(void); /* the runner declares it too */

void mr_suite_crc32c(void)
{
	MR_SUITE("crc32c");

	MR_TEST(test_known_answers);
	MR_TEST(test_paths_agree);
	MR_TEST(test_blocks);
}
