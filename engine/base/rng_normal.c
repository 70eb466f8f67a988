/* rng_normal.c - uniform and normal deviates: one block, or many at once with the instructions of the machine. */
#include <math.h>
#include <string.h>

#include "base/for_machine.h"
#include "base/rng.h"

#define BODY MR_FOR_MACHINE_BODY

typedef uint64_t words __attribute__((vector_size(64)));
typedef double numbers __attribute__((vector_size(64)));

enum { LANES = 8 }; /* blocks at once */

#define NUMBER double
#define WORD uint64_t
#define NAME(x) x
#define ALL(c) (-(uint64_t)(c))
#include "base/rng_normal.inc"
#undef NUMBER
#undef WORD
#undef NAME
#undef ALL

#define NUMBER numbers
#define WORD words
#define NAME(x) x##s
#define ALL(c) ((words)(c))
#include "base/rng_normal.inc"

double mr_rng_uniform(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t element)
{
	uint32_t w[4];
	uint64_t bits;

	mr_rng_block(seed, purpose, sample, layer, element >> 1, w);
	bits = (uint64_t)w[2 * (element & 1)] << 32 | w[2 * (element & 1) + 1];
	return (double)(bits >> 11) * 0x1p-53;
}

void mr_rng_normal4(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
		    double out[4])
{
	uint32_t w[4];

	mr_rng_block(seed, purpose, sample, layer, block, w);
	for (int pair = 0; pair < 4; pair += 2) {
		uint64_t radius_word = (uint64_t)w[pair] + 1, angle = w[pair + 1]; /* of (0, 1], so finite */
		double radius, c, s;

		plain_log(&radius_word, &radius);
		radius = sqrt(-2 * radius);
		plain_cos_sin(&angle, &c, &s);
		out[pair] = radius * c;
		out[pair + 1] = radius * s;
	}
}

double mr_rng_normal(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t element)
{
	double out[4];

	mr_rng_normal4(seed, purpose, sample, layer, element >> 2, out);
	return out[element & 3];
}

/* --- many --- */

/* What all blocks of a call have in common, and where they go. */
typedef struct many {
	uint64_t key, sample, block; /* key: with the high half of a block still to be added */
	uint32_t layer;
	void *out;
} many;

/* Words @w of the LANES blocks from @first on: mr_philox4x32 in lanes of 64 bits. */
BODY void blocks(const many *m, uint64_t first, words w[4])
{
	const uint64_t low = 0xffffffffu;
	words number = (words){0, 1, 2, 3, 4, 5, 6, 7} + first;
	words c0 = number & low, k1 = (number >> 32) ^ (m->key >> 32), c1, c2, c3, k0;

	c1 = (words){0} + (uint64_t)m->layer;
	c2 = (words){0} + (m->sample & low);
	c3 = (words){0} + (m->sample >> 32);
	k0 = (words){0} + (m->key & low);
	for (int round = 0; round < 10; round++) {
		words p0 = c0 * (uint64_t)0xD2511F53u, p1 = c2 * (uint64_t)0xCD9E8D57u;

		c0 = (p1 >> 32) ^ c1 ^ k0;
		c1 = p1 & low;
		c2 = (p0 >> 32) ^ c3 ^ k1;
		c3 = p0 & low;
		k0 = (k0 + 0x9E3779B9u) & low;
		k1 = (k1 + 0xBB67AE85u) & low;
	}
	w[0] = c0;
	w[1] = c1;
	w[2] = c2;
	w[3] = c3;
}

BODY void roots(numbers *x)
{
	double at[LANES];

	memcpy(at, x, sizeof(at));
	for (int i = 0; i < LANES; i++)
		at[i] = sqrt(at[i]);
	memcpy(x, at, sizeof(at));
}

BODY void normals_body(const many *m, uint64_t n)
{
	for (uint64_t done = 0; done < n; done += LANES) {
		words w[4];

		blocks(m, m->block + done, w);
		for (unsigned pair = 0; pair < 4; pair += 2) {
			words radius_word = w[pair] + 1;
			double *out = (double *)m->out + 4 * done + pair;
			numbers radius, c, s;

			plain_logs(&radius_word, &radius);
			radius *= -2;
			roots(&radius);
			plain_cos_sins(&w[pair + 1], &c, &s);
			c *= radius;
			s *= radius;
			for (unsigned i = 0; i < LANES; i++) {
				out[4 * i] = c[i];
				out[4 * i + 1] = s[i];
			}
		}
	}
}

BODY void uniforms_body(const many *m, uint64_t n)
{
	for (uint64_t done = 0; done < n; done += LANES) {
		words w[4];

		blocks(m, m->block + done, w);
		for (unsigned pair = 0; pair < 4; pair += 2) {
			words bits = (w[pair] << 32 | w[pair + 1]) >> 11;

			for (unsigned i = 0; i < LANES; i++)
				((double *)m->out)[2 * (done + i) + pair / 2] = (double)(int64_t)bits[i] * 0x1p-53;
		}
	}
}

BODY void pairs_body(const many *m, uint64_t n)
{
	uint64_t *out = m->out;

	for (uint64_t done = 0; done < n; done += LANES) {
		words w[4];

		blocks(m, m->block + done, w);
		w[0] |= w[1] << 32;
		w[2] |= w[3] << 32;
		for (unsigned i = 0; i < LANES; i++) {
			out[2 * (done + i)] = w[0][i];
			out[2 * (done + i) + 1] = w[2][i];
		}
	}
}

MR_FOR_MACHINE(normals, (const many *m, uint64_t n), (m, n))
MR_FOR_MACHINE(uniforms, (const many *m, uint64_t n), (m, n))
MR_FOR_MACHINE(pairs, (const many *m, uint64_t n), (m, n))

static many many_of(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block, void *out)
{
	return (many){.key = mr_rng_key(seed, purpose), .sample = sample, .block = block, .layer = layer, .out = out};
}

void mr_rng_normals(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block, double *out)
{
	many m = many_of(seed, purpose, sample, layer, block, out);

	normals(&m, MR_RNG_MANY / 4);
}

void mr_rng_uniforms(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
		     double *out)
{
	many m = many_of(seed, purpose, sample, layer, block, out);

	uniforms(&m, MR_RNG_MANY / 2);
}

void mr_rng_pairs(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block, uint64_t *out)
{
	many m = many_of(seed, purpose, sample, layer, block, out);

	pairs(&m, MR_RNG_MANY / 4);
}
