/* What products of bf16 numbers need besides their blocks, with 8 lanes on Arm; see vec_block_lanes_avx512.inc. */
#if defined(MR_DNNL) && defined(__aarch64__)
#include "nn/bf16.h"
#include <stdbool.h>
#include <string.h>
#include "nn/kernels/fused/vec/vec_neon.h"
#include "nn/kernels/fused/vec/vec_lanes_neon.inc"

static inline float32x4_t n_pair(float32x4_t first, float32x4_t second)
{
	return n_float(vorrq_u32(vshrq_n_u32(n_bits(first), 16), n_bits(second)));
}

static inline V v_pair(V first, V second)
{
	return (V){n_pair(first.lo, second.lo), n_pair(first.hi, second.hi)};
}

static inline V v_unpair(const float *p, V *first)
{
	V x = v_load(p, 0);
	uint32x4_t upper = vdupq_n_u32(0xffff0000);

	*first = (V){n_float(vshlq_n_u32(n_bits(x.lo), 16)), n_float(vshlq_n_u32(n_bits(x.hi), 16))};
	return (V){n_float(vandq_u32(n_bits(x.lo), upper)), n_float(vandq_u32(n_bits(x.hi), upper))};
}

static inline V v_join(const uint16_t *w, const int16_t *rest, int64_t part)
{
	V wide = v_load_bf16(w, part);
	int16_t some[8] = {0};
	int16x8_t x;

	if (!rest)
		return wide;
	if (part)
		rest = memcpy(some, rest, (size_t)part * sizeof(some[0]));
	x = vld1q_s16(rest);
	return (V){vreinterpretq_f32_s32(vaddw_s16(vreinterpretq_s32_f32(wide.lo), vget_low_s16(x))),
		   vreinterpretq_f32_s32(vaddw_s16(vreinterpretq_s32_f32(wide.hi), vget_high_s16(x)))};
}

/* The lower halves of the lanes. */
static inline void v_store_words(uint16_t *p, U x, int64_t part)
{
	uint16_t some[8];

	vst1q_u16(part ? some : p, vcombine_u16(vmovn_u32(x.lo), vmovn_u32(x.hi)));
	if (part)
		memcpy(p, some, (size_t)part * sizeof(some[0]));
}

static inline uint32x4_t n_is_nan(uint32x4_t bits)
{
	return vcgtq_u32(vandq_u32(bits, vdupq_n_u32(0x7fffffff)), vdupq_n_u32(0x7f800000));
}

/* The weight of the master @bits, and the rest to it. */
static inline uint32x4_t n_split(uint32x4_t bits, uint32x4_t *rest)
{
	uint32x4_t nan = n_is_nan(bits), near = vshrq_n_u32(vaddq_u32(bits, vdupq_n_u32(0x8000)), 16);

	near = vbslq_u32(nan, vorrq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(0x40)), near);
	*rest = vbicq_u32(vsubq_u32(bits, vshlq_n_u32(near, 16)), nan);
	return near;
}

static inline void v_split(V x, uint16_t *w, int16_t *rest, int64_t part)
{
	U left, near = {n_split(n_bits(x.lo), &left.lo), n_split(n_bits(x.hi), &left.hi)};

	v_store_words(w, near, part);
	if (rest)
		v_store_words((uint16_t *)rest, left, part);
}

static inline V v_rounded(V x)
{
	uint16_t some[8];

	v_store_bf16(some, x, 0);
	return v_load_bf16(some, 0);
}

static inline void u_zip(U a, U b, uint32_t *p)
{
	vst1q_u32(p, vzip1q_u32(a.lo, b.lo));
	vst1q_u32(p + 4, vzip2q_u32(a.lo, b.lo));
	vst1q_u32(p + 8, vzip1q_u32(a.hi, b.hi));
	vst1q_u32(p + 12, vzip2q_u32(a.hi, b.hi));
}

static inline uint32x4_t n_round_by(uint32x4_t bits, uint32x4_t word, bool upper)
{
	uint32x4_t by = upper ? vshrq_n_u32(word, 16) : vandq_u32(word, vdupq_n_u32(0xffff));

	by = vbslq_u32(n_is_nan(bits), vorrq_u32(bits, vdupq_n_u32(0x400000)), vaddq_u32(bits, by));
	return vshrq_n_u32(by, 16);
}

static inline void v_store_by(uint16_t *p, V x, const uint32_t *random, bool upper, int64_t part)
{
	U rounded = {n_round_by(n_bits(x.lo), vld1q_u32(random), upper),
		     n_round_by(n_bits(x.hi), vld1q_u32(random + 4), upper)};

	v_store_words(p, rounded, part);
}

#define BLOCKS mr_vec_blocks_neon
#include "nn/kernels/fused/blocks/vec_block_all.inc"
#endif
