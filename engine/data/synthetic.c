/*
 * synthetic.c - a made-up classification problem: one cloud of points around a random centre for each class.
 *
 * Sample i belongs to class i mod classes. Its feature f is centre[class][f] + noise * e, where centres and e are
 * standard normal and a pure function of the run's seed. All samples are made when the source is loaded, so that
 * reading one costs a copy and not a thousand random numbers. Layer 0 of the generator makes the centres, layer 1 the
 * samples. With `image` the features of a sample are an image, row by row, each pixel with its channels.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "base/stats.h"
#include "base/str.h"
#include "data/part.h"

#define MAX_FEATURES (1 << 20)

typedef struct synthetic {
	mr_dataset base;
	size_t sample_bytes;
	mr_dtype dtype;
	double noise;
	char *x; /* [samples, features] of the run's dtype */
} synthetic;

static void close_synthetic(mr_dataset *d)
{
	synthetic *s = (synthetic *)d;

	free(s->x);
}

static void make(synthetic *s)
{
	uint64_t features = (uint64_t)mr_shape_count(s->base.input), samples = s->base.n_train + s->base.n_valid;

	for (uint64_t i = 0; i < samples; i++) {
		uint64_t class = i % (uint64_t)s->base.classes;
		void *x = s->x + i * s->sample_bytes;

		for (uint64_t f = 0; f < features; f += 4) {
			double centre[4], e[4];

			mr_rng_normal4(s->base.seed, MR_RNG_SYNTHETIC, class, 0, f / 4, centre);
			mr_rng_normal4(s->base.seed, MR_RNG_SYNTHETIC, i, 1, f / 4, e);
			for (uint64_t j = 0; j < 4 && f + j < features; j++)
				mr_element_put(s->dtype, x, f + j, centre[j] + s->noise * e[j]);
		}
	}
}

/* The shape of a sample: an image or a row of features. */
static mr_status take_input(const mr_values *values, mr_shape *out)
{
	size_t n;
	const double *image = mr_values_floats(values, "image", &n);
	int64_t dim[3], most = 1;

	*out = (mr_shape){.rows = 1, .cols = mr_values_int(values, "features")};
	if (!n)
		return MR_OK;
	if (n != 3)
		return mr_fail(MR_ECONFIG,
			       "data \"synthetic\": image: expected height, width and channels, got %zu numbers", n);
	for (int i = 0; i < 3; i++) {
		if (image[i] != floor(image[i]))
			return mr_fail(MR_ECONFIG, "data \"synthetic\": image: expected whole numbers, got %g",
				       image[i]);
		dim[i] = (int64_t)image[i];
		most *= dim[i];
	}
	if (most > MAX_FEATURES)
		return mr_fail(MR_ECONFIG, "data \"synthetic\": image: at most %d numbers, got %lld", MAX_FEATURES,
			       (long long)most);
	*out = mr_shape_of(3, dim, false);
	return MR_OK;
}

static mr_status fill(synthetic *s, const mr_values *values, const mr_data_want *want)
{
	uint64_t samples = (uint64_t)mr_values_int(values, "samples");
	mr_dataset *d = &s->base;
	mr_strbuf b = {0};
	size_t bytes;

	d->classes = mr_values_int(values, "classes");
	MR_TRY(take_input(values, &d->input));
	d->target = (mr_shape){.rows = 1, .cols = 1, .tokens = true};
	d->n_train = mr_data_train_part(samples, mr_values_float(values, "validation"));
	d->n_valid = samples - d->n_train;
	s->sample_bytes = mr_shape_bytes(d->input, want->dtype);
	if (!d->n_train)
		return mr_fail(MR_EDATA, "data \"synthetic\": %llu samples leave none for training",
			       (unsigned long long)samples);
	if (!mr_size_mul(s->sample_bytes, samples, &bytes))
		return mr_data_no_memory(UINT64_MAX);
	s->dtype = want->dtype;
	s->noise = mr_values_float(values, "noise");
	d->bytes.kept = bytes;
	mr_strbuf_printf(&b, "synthetic: %llu training and %llu validation samples of %lld features, %lld classes",
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid,
			 (long long)mr_shape_count(d->input), (long long)d->classes);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static mr_status load_synthetic(mr_dataset *d)
{
	synthetic *s = (synthetic *)d;

	s->x = malloc(d->bytes.kept);
	if (!s->x)
		return mr_data_no_memory(d->bytes.kept);
	make(s);
	d->fingerprint =
		mr_data_fold(mr_data_fold(mr_hash64(0, s->x, d->bytes.kept), d->n_train), (uint64_t)d->classes);
	return MR_OK;
}

static mr_status open_synthetic(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	MR_TRY(mr_data_refuse_context("synthetic", want));
	return fill((synthetic *)d, values, want);
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const synthetic *s = (const synthetic *)d;

	(void)g;
	memcpy(input, s->x + i * s->sample_bytes, s->sample_bytes);
	*(int32_t *)target = (int32_t)(i % (uint64_t)s->base.classes);
}

static const mr_option options[] = {
	{"features", MR_OPT_INT, "20", 1, MAX_FEATURES, NULL, NULL, "numbers in a sample"},
	{"image", MR_OPT_FLOATS, "[]", 1, 65536, NULL, NULL,
	 "height, width and channels: a sample is such an image, whatever `features` says; empty: it is no image"},
	{"classes", MR_OPT_INT, "4", 1, 1 << 20, NULL, NULL, "number of classes"},
	{"samples", MR_OPT_INT, "2048", 1, 1 << 30, NULL, NULL, "samples in all, the validation part included"},
	{"noise", MR_OPT_FLOAT, "0.5", 0, 1000, NULL, NULL,
	 "spread of a class around its centre; centres have spread 1"},
	MR_DATA_VALIDATION,
	{NULL},
};

extern const mr_dataset_ops mr_data_synthetic;
const mr_dataset_ops mr_data_synthetic = {
	.name = "synthetic",
	.summary = "a made-up classification problem",
	.options = options,
	.bytes = sizeof(synthetic),
	.open = open_synthetic,
	.load = load_synthetic,
	.close = close_synthetic,
	.train = mr_data_train,
	.valid = mr_data_valid,
	.sample = sample,
	.files = "numbers",
};
