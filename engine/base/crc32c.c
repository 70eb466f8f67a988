#include "base/crc32c.h"

#include <string.h>

#define POLYNOMIAL 0x82F63B78u /* 0x1EDC6F41 with its bits reversed */

/* 16 entries, one for each nibble: small enough for a constant, and fast enough for a fallback. */
static const uint32_t nibbles[16] = {
#define BIT(x) (((x) >> 1) ^ (((x) & 1) ? POLYNOMIAL : 0))
#define ENTRY(x) BIT(BIT(BIT(BIT((uint32_t)(x)))))
	ENTRY(0), ENTRY(1), ENTRY(2), ENTRY(3), ENTRY(4), ENTRY(5), ENTRY(6), ENTRY(7),
	ENTRY(8), ENTRY(9), ENTRY(10), ENTRY(11), ENTRY(12), ENTRY(13), ENTRY(14), ENTRY(15),
#undef ENTRY
#undef BIT
};

uint32_t mr_crc32c_portable(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		crc = (crc >> 4) ^ nibbles[crc & 15];
		crc = (crc >> 4) ^ nibbles[crc & 15];
	}
	return ~crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t c = ~crc;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		c = _mm_crc32_u64(c, word);
	}
	for (; len; p++, len--)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return ~(uint32_t)c;
}

uint32_t mr_crc32c(uint32_t crc, const void *data, size_t len)
{
	return __builtin_cpu_supports("sse4.2") ? crc_sse42(crc, data, len) : mr_crc32c_portable(crc, data, len);
}

/* Four blocks of @block bytes, a multiple of 8. */
__attribute__((target("sse4.2"))) static void four_sse42(const uint8_t *p, size_t block, uint32_t *crc)
{
	uint64_t c[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

	for (size_t i = 0; i < block; i += 8)
		for (int k = 0; k < 4; k++) {
			uint64_t word;

			memcpy(&word, p + (size_t)k * block + i, 8);
			c[k] = _mm_crc32_u64(c[k], word);
		}
	for (int k = 0; k < 4; k++)
		crc[k] = ~(uint32_t)c[k];
}

static size_t by_fours(const uint8_t *p, size_t len, size_t block, uint32_t *crc)
{
	size_t n = 0;

	if (block % 8 || !__builtin_cpu_supports("sse4.2"))
		return 0;
	for (; (n + 4) * block <= len; n += 4)
		four_sse42(p + n * block, block, &crc[n]);
	return n;
}

#else

static size_t by_fours(const uint8_t *p, size_t len, size_t block, uint32_t *crc)
{
	(void)p;
	(void)len;
	(void)block;
	(void)crc;
	return 0;
}

uint32_t mr_crc32c(uint32_t crc, const void *data, size_t len)
{
	return mr_crc32c_portable(crc, data, len);
}

#endif

void mr_crc32c_blocks(const void *data, size_t len, size_t block, uint32_t *crc)
{
	const uint8_t *p = data;

	for (size_t i = by_fours(p, len, block, crc); i * block < len; i++)
		crc[i] = mr_crc32c(0, p + i * block, len - i * block < block ? len - i * block : block);
}
