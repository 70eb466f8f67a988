/* What products of bf16 numbers need besides their blocks, with 8 lanes; see vec_block_avx512.c. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx2,fma,bmi2,prfchw")
#endif
#include "nn/bf16.h"
#include <stdbool.h>
#include <string.h>
#include "nn/kernels/fused/vec/vec_lanes_avx2.inc"

static inline V v_pair(V first, V second)
{
	return _mm256_castsi256_ps(
		_mm256_or_si256(_mm256_srli_epi32(_mm256_castps_si256(first), 16), _mm256_castps_si256(second)));
}

static inline V v_unpair(const float *p, V *first)
{
	__m256i x = _mm256_castps_si256(v_load(p, 0));

	*first = _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
	return _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32((int)0xffff0000)));
}

static inline V v_join(const uint16_t *w, const int16_t *rest, int64_t part)
{
	__m256i wide = _mm256_castps_si256(v_load_bf16(w, part));
	int16_t some[8] = {0};

	if (!rest)
		return _mm256_castsi256_ps(wide);
	if (part)
		rest = memcpy(some, rest, (size_t)part * sizeof(some[0]));
	return _mm256_castsi256_ps(
		_mm256_add_epi32(wide, _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)rest))));
}

/* The lower halves of the lanes. */
static inline void v_store_words(uint16_t *p, __m256i x, int64_t part)
{
	__m256i low = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
	__m128i words = _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08));
	uint16_t some[8];

	_mm_storeu_si128((__m128i *)(part ? some : p), words);
	if (part)
		memcpy(p, some, (size_t)part * sizeof(some[0]));
}

static inline void v_split(V x, uint16_t *w, int16_t *rest, int64_t part)
{
	__m256i bits = _mm256_castps_si256(x), size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
	__m256i is_nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7f800000));
	__m256i near = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x8000)), 16);
	__m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));

	near = _mm256_blendv_epi8(near, quiet, is_nan);
	v_store_words(w, near, part);
	if (rest)
		v_store_words((uint16_t *)rest,
			      _mm256_andnot_si256(is_nan, _mm256_sub_epi32(bits, _mm256_slli_epi32(near, 16))), part);
}

static inline V v_rounded(V x)
{
	uint16_t some[8];

	v_store_bf16(some, x, 0);
	return v_load_bf16(some, 0);
}

static inline void u_zip(U a, U b, uint32_t *p)
{
	U low = _mm256_unpacklo_epi32(a, b), high = _mm256_unpackhi_epi32(a, b);

	_mm256_storeu_si256((__m256i *)p, _mm256_permute2x128_si256(low, high, 0x20));
	_mm256_storeu_si256((__m256i *)(p + LANES), _mm256_permute2x128_si256(low, high, 0x31));
}

static inline void v_store_by(uint16_t *p, V x, const uint32_t *random, bool upper, int64_t part)
{
	__m256i bits = _mm256_castps_si256(x), size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
	__m256i word = _mm256_loadu_si256((const __m256i *)random), by;
	__m256i is_nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7f800000));

	by = upper ? _mm256_srli_epi32(word, 16) : _mm256_and_si256(word, _mm256_set1_epi32(0xffff));
	by = _mm256_blendv_epi8(_mm256_add_epi32(bits, by), _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)), is_nan);
	v_store_words(p, _mm256_srli_epi32(by, 16), part);
}

#define BLOCKS mr_vec_blocks_avx2
#include "nn/kernels/fused/blocks/vec_block_all.inc"
#endif
