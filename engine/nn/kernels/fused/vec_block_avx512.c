/* What products of bf16 numbers need besides their blocks, with 16 lanes. */
#if defined(MR_DNNL) && defined(__x86_64__)
#ifndef __clang__ /* MillraceLayers.cmake says it there */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,prfchw")
#endif
#include "nn/bf16.h"
#include <string.h>
#include "nn/kernels/fused/vec_lanes_avx512.inc"

/* Of two numbers that were widened: the first in the lower half. */
static inline V v_pair(V first, V second)
{
	return _mm512_castsi512_ps(
		_mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(first), 16), _mm512_castps_si512(second)));
}

/* Both, widened. */
static inline V v_unpair(const float *p, V *first)
{
	__m512i x = _mm512_castps_si512(v_load(p, 0));

	*first = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
	return _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000)));
}

/* mr_master_join, @rest may be NULL, and mr_master_split, likewise. */
static inline V v_join(const uint16_t *w, const int16_t *rest, int64_t part)
{
	__m512i wide = _mm512_castps_si512(v_load_bf16(w, part));
	__m256i r;

	if (!rest)
		return _mm512_castsi512_ps(wide);
	r = part ? _mm256_maskz_loadu_epi16(v_first(part), rest) : _mm256_loadu_si256((const __m256i *)rest);
	return _mm512_castsi512_ps(_mm512_add_epi32(wide, _mm512_cvtepi16_epi32(r)));
}

static inline void v_split(V x, uint16_t *w, int16_t *rest, int64_t part)
{
	__m512i bits = _mm512_castps_si512(x), size = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
	M is_nan = _mm512_cmpgt_epi32_mask(size, _mm512_set1_epi32(0x7f800000));
	__m512i near = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x8000)), 16), left;
	__mmask16 some = part ? v_first(part) : (__mmask16)-1;

	near = _mm512_mask_or_epi32(near, is_nan, _mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
	left = _mm512_sub_epi32(bits, _mm512_slli_epi32(near, 16));
	left = _mm512_mask_mov_epi32(left, is_nan, _mm512_setzero_si512());
	_mm256_mask_storeu_epi16(w, some, _mm512_cvtepi32_epi16(near));
	if (rest)
		_mm256_mask_storeu_epi16(rest, some, _mm512_cvtepi32_epi16(left));
}

#define BLOCKS mr_vec_blocks_avx512
#include "nn/kernels/fused/vec_block_all.inc"
#endif
