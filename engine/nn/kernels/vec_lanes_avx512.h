/*
 * vec_lanes_avx512.h - the few operations on a vector of floats that the vec_*.h kernels are written in: 16 lanes,
 * AVX-512.
 *
 * vec_lanes_avx2.h has the same names with 8 lanes. @part arguments: 0 means all lanes, otherwise only the first @part
 * lanes are read (the others are 0) or written; kernels pass a literal 0 in their main loop.
 */
#include <float.h>
#include <immintrin.h>
#include <stdint.h>

#define LANES 16
#define TILE_ROWS 12 /* rows x 2 vectors of accumulators: 24 of 32 registers */
#define GEMM_ROWS 14 /* 28 of 32 registers */
#define WIDE_VECS 4 /* 6 rows x 4 vectors: 24 of 32 registers */

typedef __m512 V;
typedef __mmask16 M;

static inline M v_first(int64_t n)
{
	return (M)((1u << n) - 1);
}

static inline V v_load(const float *p, int64_t part)
{
	return part ? _mm512_maskz_loadu_ps(v_first(part), p) : _mm512_loadu_ps(p);
}

static inline void v_store(float *p, V v, int64_t part)
{
	if (part)
		_mm512_mask_storeu_ps(p, v_first(part), v);
	else
		_mm512_storeu_ps(p, v);
}

static inline V v_set(float x) { return _mm512_set1_ps(x); }
static inline V v_add(V a, V b) { return _mm512_add_ps(a, b); }
static inline V v_sub(V a, V b) { return _mm512_sub_ps(a, b); }
static inline V v_mul(V a, V b) { return _mm512_mul_ps(a, b); }

/* 1 / a within an ulp, for a in [2^-120, 2^120]: a 14-bit estimate and one Newton step, a third of a division. */
static inline V v_inverse(V a)
{
	V r = _mm512_rcp14_ps(a);

	return _mm512_fmadd_ps(r, _mm512_fnmadd_ps(a, r, _mm512_set1_ps(1.0f)), r);
}

/* The square root within an ulp; of 0 it is 0, of infinity finite. A tenth of the time of the instruction for it, as a 14-bit
 * estimate of its inverse and one Newton step. */
static inline V v_root(V a)
{
	V x = _mm512_min_ps(_mm512_set1_ps(FLT_MAX), a);
	V y = _mm512_rsqrt14_ps(_mm512_max_ps(_mm512_set1_ps(FLT_MIN), x)), s = _mm512_mul_ps(x, y);

	return _mm512_fmadd_ps(_mm512_fnmadd_ps(s, s, x), _mm512_mul_ps(_mm512_set1_ps(0.5f), y), s);
}

static inline V v_fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }   /* a b + c */
static inline V v_fnma(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a b */
static inline V v_max(V a, V b) { return _mm512_max_ps(a, b); }             /* b when either is NaN, */
static inline V v_min(V a, V b) { return _mm512_min_ps(a, b); }             /* so what may be NaN stands second */
static inline M v_gt(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline V v_keep(M m, V a) { return _mm512_maskz_mov_ps(m, a); }      /* 0 where the mask is off */
static inline V v_pick(M m, V a, V b) { return _mm512_mask_blend_ps(m, b, a); } /* a where the mask is on */
static inline V v_round(V a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline V v_ldexp(V a, V n) { return _mm512_scalef_ps(a, n); }        /* a 2^n; n whole */

#define POWER_BASE 12583039.0f /* 3 2^22 + 127 */

/* 2^n for t = POWER_BASE + n, n whole, from -126 to 127: the exponent is there already. */
static inline V v_power(V t)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(t), 23));
}

static inline float v_sum(V a) { return _mm512_reduce_add_ps(a); }
static inline float v_top(V a) { return _mm512_reduce_max_ps(a); }

/* x[i] lane j becomes x[j] lane i. */
static inline void v_turn(V x[LANES])
{
	V t[LANES];

	for (int i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
	}
	for (int i = 0; i < 16; i += 4) {
		__m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
		__m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);

		x[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
		x[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
		x[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
		x[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
	}
	for (int i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_f32x4(x[i], x[4 + i], 0x88);
		t[4 + i] = _mm512_shuffle_f32x4(x[i], x[4 + i], 0xdd);
		t[8 + i] = _mm512_shuffle_f32x4(x[8 + i], x[12 + i], 0x88);
		t[12 + i] = _mm512_shuffle_f32x4(x[8 + i], x[12 + i], 0xdd);
	}
	for (int i = 0; i < 8; i++) {
		x[i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0x88);
		x[8 + i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0xdd);
	}
}

/* Four floats of each of the rows 0, 4, 8 and 12 from @p, rows @pitch floats apart. */
static inline V v_quarters(const float *p, int64_t pitch)
{
	V x = _mm512_castps128_ps512(_mm_loadu_ps(p));

	x = _mm512_mask_broadcast_f32x4(x, 0x00f0, _mm_loadu_ps(p + 4 * pitch));
	x = _mm512_mask_broadcast_f32x4(x, 0x0f00, _mm_loadu_ps(p + 8 * pitch));
	return _mm512_mask_broadcast_f32x4(x, 0xf000, _mm_loadu_ps(p + 12 * pitch));
}

/*
 * Columns 0 to 3 of LANES rows, @pitch floats apart: x[c] lane r = src[r pitch + c]. Loads put quarters where v_turn() has to
 * shuffle them: 16 columns take two thirds of its time (33 ns instead of 52, rows and result in L2).
 */
static inline void v_columns(const float *src, int64_t pitch, V x[4])
{
	V a = v_quarters(src, pitch), b = v_quarters(src + pitch, pitch);
	V c = v_quarters(src + 2 * pitch, pitch), d = v_quarters(src + 3 * pitch, pitch);
	__m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)), cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
	__m512d ab2 = _mm512_castps_pd(_mm512_unpackhi_ps(a, b)), cd2 = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));

	x[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
	x[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd));
	x[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab2, cd2));
	x[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab2, cd2));
}

/* Sum of squares of the lanes in f64, added to acc[2][8]. */
static inline void v_add_squares(V a, double acc[LANES])
{
	__m512d lo = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
	__m512d hi = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));

	_mm512_storeu_pd(acc, _mm512_fmadd_pd(lo, lo, _mm512_loadu_pd(acc)));
	_mm512_storeu_pd(acc + 8, _mm512_fmadd_pd(hi, hi, _mm512_loadu_pd(acc + 8)));
}

/* The lanes in f64. */
typedef struct D {
	__m512d lo, hi;
} D;

static inline D d_set(double x) { return (D){_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
static inline D d_add(D a, D b) { return (D){_mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi)}; }
static inline D d_sub(D a, D b) { return (D){_mm512_sub_pd(a.lo, b.lo), _mm512_sub_pd(a.hi, b.hi)}; }
static inline D d_mul(D a, D b) { return (D){_mm512_mul_pd(a.lo, b.lo), _mm512_mul_pd(a.hi, b.hi)}; }
static inline D d_div(D a, D b) { return (D){_mm512_div_pd(a.lo, b.lo), _mm512_div_pd(a.hi, b.hi)}; }

static inline D d_wide(V a)
{
	return (D){_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1))};
}

static inline V d_narrow(D a)
{
	return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a.lo)), _mm512_cvtpd_ps(a.hi), 1);
}

/* Vectors of 32-bit words, for the random numbers. */
typedef __m512i U;

static inline U u_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
static inline U u_iota(void) { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
static inline U u_add(U a, U b) { return _mm512_add_epi32(a, b); }
static inline U u_xor(U a, U b) { return _mm512_xor_si512(a, b); }

/* Low and high words of the 64-bit products of @a by the constant @m (in every lane). */
static inline void u_mul(U a, U m, U *lo, U *hi)
{
	__m512i even = _mm512_mul_epu32(a, m), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), m);

	*lo = _mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CCAA);
	*hi = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}

/* One bit a lane: a >= b, unsigned. */
static inline uint64_t u_at_least(U a, U b)
{
	return _mm512_cmpge_epu32_mask(a, b);
}

/* The lanes whose bits are set in the low LANES bits. */
static inline M m_from_bits(uint64_t bits)
{
	return (M)bits;
}
