/*
 * bf16.h - numbers of 16 bits: the upper half of an f32, and what a master weight has beyond it.
 *
 * Activations are rounded to the nearest, ties to the even one. A result that f32 has as a denormal becomes a zero with
 * its sign, as the CPU's own instruction (vcvtneps2bf16) has it, so that a kernel with it and one without it give the
 * same bits. A NaN stays one.
 *
 * A master weight is an f32 that is kept in two parts: the weight, which is the bf16 number nearest to it (ties away
 * from 0), and the rest, the signed difference of the bits, which always fits 16. Both together are the master to the
 * bit; of a NaN that it is one and its sign.
 */
#ifndef MR_NN_BF16_H
#define MR_NN_BF16_H

#include <stdint.h>
#include <string.h>

static inline uint32_t mr_bits_of_f32(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float mr_f32_of_bits(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline float mr_bf16_widen(uint16_t x)
{
	return mr_f32_of_bits((uint32_t)x << 16);
}

static inline uint16_t mr_bf16_round(float x)
{
	uint32_t bits = mr_bits_of_f32(x), size = bits & 0x7fffffff, nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;

	nearest = size < 0x00800000 ? bits >> 16 & 0x8000 : nearest;
	return (uint16_t)(size > 0x7f800000 ? bits >> 16 | 0x40 : nearest);
}

/* One of the two neighbours of @x, the upper one with the probability of the part of the way that @x has gone to it:
 * @random is one of 2^16 equally likely numbers. What bf16 has stays as it is, denormals too. */
static inline uint16_t mr_bf16_round_by(float x, uint16_t random)
{
	uint32_t bits = mr_bits_of_f32(x);

	return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : (bits + random) >> 16);
}

/* The master of @weight and @rest. */
static inline float mr_master_join(uint16_t weight, int16_t rest)
{
	return mr_f32_of_bits(((uint32_t)weight << 16) + (uint32_t)(int32_t)rest);
}

/* The weight of master @x; its rest to *@rest. */
static inline uint16_t mr_master_split(float x, int16_t *rest)
{
	uint32_t bits = mr_bits_of_f32(x), weight = (bits + 0x8000) >> 16;
	uint32_t is_nan = (bits & 0x7fffffff) > 0x7f800000;

	weight = is_nan ? bits >> 16 | 0x40 : weight;
	*rest = (int16_t)(is_nan ? 0 : (int32_t)(bits - (weight << 16)));
	return (uint16_t)weight;
}

#endif
