/*
 * int8.c - a state in 8 bits: a code for each number, and for each block of them the largest size, in f32.
 *
 * Codes are those of dynamic quantization: a number, divided by the block's largest, is one of 10^-e f, where e has
 * its values in unary and the bits that are left divide f, from 0.1 to 1, evenly. So the largest numbers of a block
 * have a relative error of 1 %, and numbers 10^5 times (squares: 10^6 times) as small still have a code. Code k is
 *
 *	0        0
 *	2^B - 1  1
 *	else     10^(L - B + 1) (0.1 + 0.9 (j + 0.5) / 2^L)    with k + 1 = 2^L + j, 0 <= j < 2^L
 *
 * with B = 8 for means of squares, which have no sign, and B = 7 bits beside the sign for others.
 *
 * Problem: the state of Adam takes twice the memory of the weights. Idea: 8 bits are enough if each block has a scale
 * of its own, so that an outlier spoils 256 numbers, and if small numbers have a small error. Cost: one more pass over
 * the state in a step; products no longer step as they go.
 *
 * Source: Dettmers, Lewis, Shleifer, Zettlemoyer, "8-bit optimizers via block-wise quantization", ICLR 2022, sections 2
 * and 3, and the repository bitsandbytes-foundation/bitsandbytes.
 * NOTE 1: blocks of 256, as its optimizers have them now; 2048 in the paper. A row of a table begins a block, since its
 * step leaves other rows as they are.
 * NOTE 2: codes with a sign have -1 as well as 1, in place of the two smallest: else a block whose largest number is
 * negative would lose 0.7 % of it at each step.
 * NOTE 3: a number between two codes becomes one of them at random, the nearer one more often; there it is the nearest.
 * A mean of squares changes by a thousandth at a step, less than half the way between any two codes.
 * NOTE 4: a mean of squares that is not 0 never becomes 0, but the smallest code: a step divides by its root.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/for_machine.h"
#include "nn/state_form.h"

#define LOG2(k1) /* of 1 to 255 */ \
	((k1) >= 128 ? 7 : (k1) >= 64 ? 6 : (k1) >= 32 ? 5 : (k1) >= 16 ? 4 : (k1) >= 8 ? 3 : (k1) >= 4 ? 2 : (k1) >= 2)
#define TENTHS(e) /* 10^-e, of 0 to 6 */ \
	((e) == 0 ? 1.0 : (e) == 1 ? 1e-1 : (e) == 2 ? 1e-2 : (e) == 3 ? 1e-3 : (e) == 4 ? 1e-4 \
	 : (e) == 5 ? 1e-5 : 1e-6)
#define BETWEEN(B, k1, l) TENTHS((B) - 1 - (l)) * (0.1 + 0.9 * ((k1) - (1 << (l)) + 0.5) / (1 << (l)))
#define VALUE(B, k) \
	(float)((k) == 0 ? 0.0 : (k) == (1 << (B)) - 1 ? 1.0 : BETWEEN(B, (k) + 1, LOG2((k) + 1)))
#define VALUES8(B, k) \
	VALUE(B, k), VALUE(B, (k) + 1), VALUE(B, (k) + 2), VALUE(B, (k) + 3), VALUE(B, (k) + 4), VALUE(B, (k) + 5), \
		VALUE(B, (k) + 6), VALUE(B, (k) + 7)
#define VALUES64(B, k) \
	VALUES8(B, k), VALUES8(B, (k) + 8), VALUES8(B, (k) + 16), VALUES8(B, (k) + 24), VALUES8(B, (k) + 32), \
		VALUES8(B, (k) + 40), VALUES8(B, (k) + 48), VALUES8(B, (k) + 56)

enum { SIGN = 0x80 };

static const float of_squares[256] = {VALUES64(8, 0), VALUES64(8, 64), VALUES64(8, 128), VALUES64(8, 192)};
static const float of_sizes[128] = {VALUES64(7, 0), VALUES64(7, 64)};

MR_FOR_MACHINE_BODY void widen_body(const void *from, const float *scale, bool squares, int64_t n, float *to)
{
	const uint8_t *code = from;

	for (int64_t i = 0; squares && i < n; i++)
		to[i] = of_squares[code[i]] * *scale;
	for (int64_t i = 0; !squares && i < n; i++)
		to[i] = of_sizes[code[i] & ~SIGN] * (code[i] & SIGN ? -*scale : *scale);
}

/* The codes of @n sizes times @by, up to a block, without their signs: loop after loop, as compilers make vectors of
 * them. */
MR_FOR_MACHINE_BODY void
find_codes(const float *from, float by, bool squares, const uint16_t *random, int64_t n, int32_t *code)
{
	static const float tenth[] = {1e6F, 1e5F, 1e4F, 1e3F, 1e2F, 1e1F, 1e0F};
	const float *value = squares ? of_squares : of_sizes;
	int32_t bits = squares ? 8 : 7, last = (1 << bits) - 2, decade[MR_STATE_BLOCK];
	const float *wide = tenth + 8 - bits; /* of the decade of L = 1 */
	float x[MR_STATE_BLOCK], in_decade[MR_STATE_BLOCK];

	for (int64_t i = 0; i < n; i++) {
		float size = fabsf(from[i]) * by;

		x[i] = size < 1 ? size : 1;
		in_decade[i] = x[i] * wide[0];
		decade[i] = 1;
	}
	for (int32_t l = 1; l < bits - 1; l++) /* decade l + 1 begins where l ends, at a tenth of its own 1 */
		for (int64_t i = 0; i < n; i++) {
			float next = x[i] * wide[l];

			in_decade[i] = next >= 0.1F ? next : in_decade[i];
			decade[i] += next >= 0.1F;
		}
	for (int64_t i = 0; i < n; i++) {
		int32_t n_codes = 1 << decade[i]; /* of it */
		float part = (in_decade[i] - 0.1F) * (float)n_codes * (1 / 0.9F);
		/* In front of the first code of a decade it is the last one of the decade before. */
		int32_t below = (int32_t)(part + 0.5F) + n_codes - 2;

		below = below < 0 ? 0 : below;
		code[i] = below > last ? last : below;
	}
	for (int64_t i = 0; i < n; i++) {
		float at = value[code[i]], next = value[code[i] + 1];

		code[i] += (x[i] - at) * 65536 > (float)random[i] * (next - at);
	}
}

/* The largest size of @n numbers; NaN if one is. Sizes are ordered as their bits are. */
MR_FOR_MACHINE_BODY float largest_of(const float *from, int64_t n)
{
	int32_t most = 0;
	float largest;

	for (int64_t i = 0; i < n; i++) {
		int32_t bits;

		memcpy(&bits, &from[i], sizeof(bits));
		bits &= INT32_MAX;
		most = bits > most ? bits : most;
	}
	memcpy(&largest, &most, sizeof(largest));
	return largest;
}

MR_FOR_MACHINE_BODY void
store_body(const float *from, bool squares, const uint16_t *random, int64_t n, void *to, float *scale)
{
	float largest = largest_of(from, n);
	int32_t found[MR_STATE_BLOCK];
	uint8_t *code = to;

	*scale = largest < FLT_MIN ? 0 : largest <= FLT_MAX ? largest : NAN; /* what is not finite stays so */
	if (!(*scale > 0)) {
		memset(code, 0, (size_t)n);
		return;
	}
	find_codes(from, 1 / largest, squares, random, n, found);
	for (int64_t i = 0; squares && i < n; i++)
		code[i] = (uint8_t)(found[i] + (found[i] == 0 && from[i] > 0));
	for (int64_t i = 0; !squares && i < n; i++)
		code[i] = (uint8_t)(found[i] | (from[i] < 0 ? SIGN : 0));
}

MR_FOR_MACHINE(widen, (const void *from, const float *scale, bool squares, int64_t n, float *to),
	       (from, scale, squares, n, to))
MR_FOR_MACHINE(store, (const float *from, bool squares, const uint16_t *random, int64_t n, void *to, float *scale),
	       (from, squares, random, n, to, scale))

extern const mr_state_form mr_state_int8;
const mr_state_form mr_state_int8 = {
	.name = "int8",
	.type = MR_U8,
	.scaled = true,
	.widen = widen,
	.store = store,
};
