/*
 * vec_lanes_avx2.h - vec_lanes_avx512.h for AVX2 and FMA: 8 lanes. See there for what each operation means.
 */
#include <immintrin.h>
#include <stdint.h>

#define LANES 8
#define TILE_ROWS 6 /* rows x 2 vectors of accumulators: 12 of 16 registers */
#define GEMM_ROWS 6 /* 12 of 16 registers */
#define WIDE_VECS 2 /* 6 rows x 2 vectors */

typedef __m256 V;
typedef __m256i M; /* all bits of a lane on or off */

static inline M v_first(int64_t n)
{
	static const int32_t window[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

	return _mm256_loadu_si256((const __m256i *)(window + 8 - n));
}

static inline V v_load(const float *p, int64_t part)
{
	return part ? _mm256_maskload_ps(p, v_first(part)) : _mm256_loadu_ps(p);
}

static inline void v_store(float *p, V v, int64_t part)
{
	if (part)
		_mm256_maskstore_ps(p, v_first(part), v);
	else
		_mm256_storeu_ps(p, v);
}

static inline V v_set(float x) { return _mm256_set1_ps(x); }
static inline V v_add(V a, V b) { return _mm256_add_ps(a, b); }
static inline V v_sub(V a, V b) { return _mm256_sub_ps(a, b); }
static inline V v_mul(V a, V b) { return _mm256_mul_ps(a, b); }
static inline V v_inverse(V a) { return _mm256_div_ps(_mm256_set1_ps(1.0f), a); } /* estimates differ between makers */
static inline V v_root(V a) { return _mm256_sqrt_ps(a); }
static inline V v_fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
static inline V v_fnma(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
static inline V v_max(V a, V b) { return _mm256_max_ps(a, b); }
static inline V v_min(V a, V b) { return _mm256_min_ps(a, b); }
static inline M v_gt(V a, V b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ)); }
static inline V v_keep(M m, V a) { return _mm256_and_ps(_mm256_castsi256_ps(m), a); }
static inline V v_pick(M m, V a, V b) { return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(m)); }
static inline V v_round(V a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

/* 2^n in two factors, because n may lie outside the exponents of normal numbers; 2^-252 stands for all below. */
static inline V v_ldexp(V a, V n)
{
	__m256i whole = _mm256_cvtps_epi32(_mm256_max_ps(_mm256_set1_ps(-252.0f), n));
	__m256i half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
	__m256i f1 = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
	__m256i f2 = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);

	return _mm256_mul_ps(_mm256_mul_ps(a, _mm256_castsi256_ps(f1)), _mm256_castsi256_ps(f2));
}

#define POWER_BASE 12583039.0f /* 3 2^22 + 127 */

static inline V v_power(V t)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(t), 23));
}

static inline float v_sum(V a)
{
	__m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

	x = _mm_add_ps(x, _mm_movehl_ps(x, x));
	return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}

static inline float v_top(V a)
{
	__m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

	x = _mm_max_ps(x, _mm_movehl_ps(x, x));
	return _mm_cvtss_f32(_mm_max_ss(x, _mm_shuffle_ps(x, x, 1)));
}

static inline void v_turn(V x[LANES])
{
	V t[LANES];

	for (int i = 0; i < 8; i += 4) {
		V a = _mm256_unpacklo_ps(x[i], x[i + 1]), b = _mm256_unpackhi_ps(x[i], x[i + 1]);
		V c = _mm256_unpacklo_ps(x[i + 2], x[i + 3]), d = _mm256_unpackhi_ps(x[i + 2], x[i + 3]);

		t[i] = _mm256_shuffle_ps(a, c, 0x44);
		t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
		t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
		t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
	}
	for (int i = 0; i < 4; i++) {
		x[i] = _mm256_permute2f128_ps(t[i], t[4 + i], 0x20);
		x[4 + i] = _mm256_permute2f128_ps(t[i], t[4 + i], 0x31);
	}
}

static inline V v_halves(const float *p, int64_t pitch)
{
	return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * pitch), 1);
}

static inline void v_columns(const float *src, int64_t pitch, V x[4])
{
	V r0 = v_halves(src, pitch), r1 = v_halves(src + pitch, pitch);
	V r2 = v_halves(src + 2 * pitch, pitch), r3 = v_halves(src + 3 * pitch, pitch);
	V a = _mm256_unpacklo_ps(r0, r1), b = _mm256_unpackhi_ps(r0, r1);
	V c = _mm256_unpacklo_ps(r2, r3), d = _mm256_unpackhi_ps(r2, r3);

	x[0] = _mm256_shuffle_ps(a, c, 0x44);
	x[1] = _mm256_shuffle_ps(a, c, 0xee);
	x[2] = _mm256_shuffle_ps(b, d, 0x44);
	x[3] = _mm256_shuffle_ps(b, d, 0xee);
}

static inline void v_add_squares(V a, double acc[LANES])
{
	__m256d lo = _mm256_cvtps_pd(_mm256_castps256_ps128(a)), hi = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));

	_mm256_storeu_pd(acc, _mm256_fmadd_pd(lo, lo, _mm256_loadu_pd(acc)));
	_mm256_storeu_pd(acc + 4, _mm256_fmadd_pd(hi, hi, _mm256_loadu_pd(acc + 4)));
}

typedef struct D {
	__m256d lo, hi;
} D;

static inline D d_set(double x) { return (D){_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
static inline D d_add(D a, D b) { return (D){_mm256_add_pd(a.lo, b.lo), _mm256_add_pd(a.hi, b.hi)}; }
static inline D d_sub(D a, D b) { return (D){_mm256_sub_pd(a.lo, b.lo), _mm256_sub_pd(a.hi, b.hi)}; }
static inline D d_mul(D a, D b) { return (D){_mm256_mul_pd(a.lo, b.lo), _mm256_mul_pd(a.hi, b.hi)}; }
static inline D d_div(D a, D b) { return (D){_mm256_div_pd(a.lo, b.lo), _mm256_div_pd(a.hi, b.hi)}; }

static inline D d_wide(V a)
{
	return (D){_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))};
}

static inline V d_narrow(D a)
{
	return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a.lo)), _mm256_cvtpd_ps(a.hi), 1);
}

typedef __m256i U;

static inline U u_set(uint32_t x) { return _mm256_set1_epi32((int)x); }
static inline U u_iota(void) { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
static inline U u_add(U a, U b) { return _mm256_add_epi32(a, b); }
static inline U u_xor(U a, U b) { return _mm256_xor_si256(a, b); }

static inline void u_mul(U a, U m, U *lo, U *hi)
{
	__m256i even = _mm256_mul_epu32(a, m), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), m);

	*lo = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
	*hi = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

static inline uint64_t u_at_least(U a, U b)
{
	__m256i yes = _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a);

	return (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(yes));
}

static inline M m_from_bits(uint64_t bits)
{
	__m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

	return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), lane), lane);
}
