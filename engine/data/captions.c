/*
 * captions.c - made-up videos with captions: sequences of frames, each a vector of numbers, and of words.
 *
 * Every word has a vector of standard normal numbers, its appearance. A sample's caption has `shortest` to `longest`
 * words, neighbours different, and its frames show them one after the other: frame i of n shows word i k / n of k,
 * which is its appearance plus `noise` times standard normal numbers. Sample i is a pure function of the run's seed and
 * i: layer 0 of the generator makes appearances, 1 the words, 2 the noise.
 *
 *	input    the bits of the frames' f32 numbers, frame by frame; then BOS and the words, padded
 *	target   the words and EOS, padded (data/pair.h has the reserved tokens)
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/str.h"
#include "data/pair.h"
#include "data/part.h"

#define LONGEST 100

typedef struct captions {
	mr_dataset base;
	int64_t features, words, shortest, longest;
	double noise;
	float *appearance; /* [words, features] */
} captions;

static void close_captions(mr_dataset *d)
{
	free(((captions *)d)->appearance);
}

static mr_status load_captions(mr_dataset *d)
{
	captions *c = (captions *)d;

	c->appearance = malloc(d->bytes.kept);
	if (!c->appearance)
		return mr_data_no_memory(d->bytes.kept);
	for (int64_t w = 0; w < c->words; w++)
		for (int64_t f = 0; f < c->features; f++)
			c->appearance[w * c->features + f] =
				(float)mr_rng_normal(c->base.seed, MR_RNG_SYNTHETIC, (uint64_t)w, 0, (uint64_t)f);
	return MR_OK;
}

static mr_status describe(captions *c)
{
	mr_dataset *d = &c->base;
	mr_strbuf b = {0};

	mr_strbuf_printf(&b,
			 "captions: %llu training and %llu validation sequences of %lld frames of %lld numbers, with "
			 "%lld to %lld words out of %lld",
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, (long long)d->frames,
			 (long long)c->features, (long long)c->shortest, (long long)c->longest, (long long)c->words);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static mr_status fill(captions *c, const mr_values *values, const mr_data_want *want)
{
	mr_dataset *d = &c->base;
	uint64_t samples = (uint64_t)mr_values_int(values, "samples"), noise;
	int64_t sizes[5];

	*c = (captions){
		.base.seed = want->seed,
		.features = mr_values_int(values, "features"),
		.words = mr_values_int(values, "words"),
		.shortest = mr_values_int(values, "shortest"),
		.longest = mr_values_int(values, "longest"),
		.noise = mr_values_float(values, "noise"),
	};
	d->frames = mr_values_int(values, "frames");
	if (c->shortest > c->longest || c->longest > d->frames)
		return mr_fail(MR_ECONFIG,
			       "longest: expected at least shortest = %lld and at most frames = %lld, got %lld",
			       (long long)c->shortest, (long long)d->frames, (long long)c->longest);
	MR_TRY(mr_data_split("data \"captions\"", values, samples, &d->n_train));
	d->n_valid = samples - d->n_train;
	d->classes = MR_PAIR_FIRST + c->words;
	d->target = (mr_shape){.rows = c->longest + 1, .cols = 1, .tokens = true};
	d->input = (mr_shape){.rows = d->frames * c->features + d->target.rows, .cols = 1, .tokens = true};
	d->bytes.kept = (uint64_t)c->words * (uint64_t)c->features * sizeof(float);
	memcpy(&noise, &c->noise, sizeof(noise));
	d->fingerprint = mr_data_fold(mr_data_fold(mr_data_fold(want->seed, samples), d->n_train), noise);
	memcpy(sizes, (int64_t[]){c->features, c->words, c->shortest, c->longest, d->frames}, sizeof(sizes));
	for (int i = 0; i < 5; i++)
		d->fingerprint = mr_data_fold(d->fingerprint, (uint64_t)sizes[i]);
	return describe(c);
}

static mr_status open_captions(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	MR_TRY(mr_pair_check_context("captions", want));
	return fill((captions *)d, values, want);
}

/* Word @which of sample @i. */
static uint32_t draw(const captions *c, uint64_t i, uint64_t which)
{
	return mr_rng_u32(c->base.seed, MR_RNG_SYNTHETIC, i, 1, which);
}

static void make_frames(const captions *c, uint64_t i, const int32_t *word, int64_t k, int32_t *bits)
{
	int64_t n = c->base.frames * c->features;

	for (int64_t at = 0; at < n; at += 4) {
		double e[4];

		mr_rng_normal4(c->base.seed, MR_RNG_SYNTHETIC, i, 2, (uint64_t)at / 4, e);
		for (int64_t j = at; j < n && j < at + 4; j++) {
			int64_t shown = word[j / c->features * k / c->base.frames] - MR_PAIR_FIRST;
			float x = c->appearance[shown * c->features + j % c->features] + (float)(c->noise * e[j - at]);

			memcpy(&bits[j], &x, sizeof(x));
		}
	}
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const captions *c = (const captions *)d;
	int32_t word[LONGEST], *begun = (int32_t *)input + c->base.frames * c->features, *to = target;
	int64_t k = c->shortest + draw(c, i, 0) % (c->longest - c->shortest + 1);

	(void)g;
	word[0] = MR_PAIR_FIRST + (int32_t)(draw(c, i, 1) % c->words);
	for (int64_t j = 1; j < k; j++) { /* another word than the one before */
		int64_t on = c->words > 1 ? 1 + draw(c, i, (uint64_t)j + 1) % (c->words - 1) : 0;

		word[j] = MR_PAIR_FIRST + (int32_t)((word[j - 1] - MR_PAIR_FIRST + on) % c->words);
	}
	make_frames(c, i, word, k, input);
	mr_pair_put_target(c->base.target.rows, word, k, begun, to);
}

static const mr_option options[] = {
	{"frames", MR_OPT_INT, "20", 1, 10000, NULL, NULL, "frames of a video"},
	{"features", MR_OPT_INT, "64", 1, 1 << 20, NULL, NULL, "numbers in a frame"},
	{"words", MR_OPT_INT, "40", 1, 1 << 20, NULL, NULL, "number of different words"},
	{"shortest", MR_OPT_INT, "2", 1, LONGEST, NULL, "words", "length of the shortest captions"},
	{"longest", MR_OPT_INT, "5", 1, LONGEST, NULL, "words", "length of the longest captions"},
	{"noise", MR_OPT_FLOAT, "0.5", 0, 1000, NULL, NULL,
	 "spread of a frame around what it shows, which has spread 1"},
	{"samples", MR_OPT_INT, "65536", 1, 1 << 30, NULL, NULL, "videos in all, the validation part included"},
	MR_DATA_VALIDATION,
	{NULL},
};

extern const mr_dataset_ops mr_data_captions;
const mr_dataset_ops mr_data_captions = {
	.name = "captions",
	.summary = "made-up videos: sequences of frames, with captions",
	.options = options,
	.bytes = sizeof(captions),
	.open = open_captions,
	.load = load_captions,
	.close = close_captions,
	.train = mr_data_train,
	.valid = mr_data_valid,
	.sample = sample,
};
