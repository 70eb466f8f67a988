/*
 * clicks.c - made-up clicks: numbers and categories as in Criteo's logs, with a probability of a click that a model can
 * learn.
 *
 * A sample has numbers and categories (dataset.h). A number is log(1 + e^z), as the logarithm of a count, z standard
 * normal. A category has `values` values, of which the first ones are met far more often: value floor(values u^3), u
 * uniform. Behind the data are, fixed by the run's seed, a weight of each number, an effect of each value, and a point
 * of each value. The logarithm of the odds of a click is
 *
 *	offset + signal (a + b + c) / sqrt(3)
 *
 * with a the weighted z, b the sum of the values' effects, and c the sum over neighbouring categories of the products
 * of their values' points; each has variance 1. Without the tables a model can learn a alone, and without products of
 * pairs not c. Since the odds are known, so is the best area under the ROC curve that any model can have: the one of
 * the odds themselves. It stands in the description, of the validation samples.
 *
 * All samples are made when the source is loaded. Layers of the generator: 0 the z, 1 the u and the click, 2 weights of
 * numbers, 3 effects, 4 points.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"
#include "base/stats.h"
#include "base/str.h"
#include "data/part.h"
#include "nn/scores.h"

enum { POINT = 4 /* coordinates of a value's point */, SKEW = 3 };

typedef struct clicks {
	mr_dataset base;
	mr_dtype target_type;
	int64_t numbers, categories, values;
	double signal, offset;
	int32_t *x;     /* [samples, numbers + categories] */
	bool *clicked;  /* [samples] */
} clicks;

static void close_clicks(mr_dataset *d)
{
	clicks *s = (clicks *)d;

	free(s->x);
	free(s->clicked);
}

/* Number @element of @layer for @sample. */
static double normal(const clicks *s, uint64_t sample, uint32_t layer, int64_t element)
{
	return mr_rng_normal(s->base.seed, MR_RNG_SYNTHETIC, sample, layer, (uint64_t)element);
}

/* Value @value of category @j, as the number of a sample of the generator. */
static uint64_t name_of(const clicks *s, int64_t j, int64_t value)
{
	return (uint64_t)(j * s->values + value);
}

/* The share of categories in the logarithm of the odds: b + c. */
static double of_categories(const clicks *s, const int64_t *value)
{
	double b = 0, c = 0, point[2][POINT];

	for (int64_t j = 0; j < s->categories; j++) {
		uint64_t name = name_of(s, j, value[j]);

		b += normal(s, name, 3, 0);
		mr_rng_normal4(s->base.seed, MR_RNG_SYNTHETIC, name, 4, 0, point[j & 1]);
		for (int k = 0; j > 0 && k < POINT; k++)
			c += point[0][k] * point[1][k];
	}
	b /= sqrt((double)s->categories);
	return s->categories > 1 ? b + c / sqrt((double)(s->categories - 1) * POINT) : b;
}

/* Make sample @i at @x (NULL: it is not wanted); returns the probability of a click. */
static double make(const clicks *s, uint64_t i, int32_t *x, int64_t *value)
{
	double a = 0;

	for (int64_t j = 0; j < s->numbers; j++) {
		double z = normal(s, i, 0, j);
		float number = (float)log1p(exp(z));

		a += z * normal(s, 0, 2, j);
		if (x)
			memcpy(&x[j], &number, sizeof(number));
	}
	a /= sqrt((double)s->numbers);
	for (int64_t j = 0; j < s->categories; j++) {
		double u = mr_rng_uniform(s->base.seed, MR_RNG_SYNTHETIC, i, 1, (uint64_t)(1 + j));

		value[j] = (int64_t)(pow(u, SKEW) * (double)s->values);
		if (x)
			x[s->numbers + j] = (int32_t)value[j];
	}
	return 1 / (1 + exp(-(s->offset + s->signal * (a + of_categories(s, value)) / sqrt(3))));
}

static bool clicks_on(const clicks *s, uint64_t i, double probability)
{
	return mr_rng_uniform(s->base.seed, MR_RNG_SYNTHETIC, i, 1, 0) < probability;
}

/* The area under the ROC curve of the odds themselves, over the validation samples. */
static mr_status best_area(const clicks *s, int64_t *value, double *out)
{
	mr_judging j;
	mr_status st = mr_judging_init(&j, 2, 1, s->base.n_valid, s->base.n_valid);

	for (uint64_t i = 0; st == MR_OK && i < s->base.n_valid; i++) {
		double p = make(s, s->base.n_train + i, NULL, value);

		j.two[i] = (mr_two_score){.above = (float)p, .one = clicks_on(s, s->base.n_train + i, p)};
	}
	*out = st == MR_OK ? mr_judging_end(&j).auc : 0;
	mr_judging_fini(&j);
	return st;
}

static mr_status describe(clicks *s)
{
	mr_dataset *d = &s->base;
	int64_t *value = calloc((size_t)s->categories, sizeof(*value));
	mr_status st = value ? MR_OK : mr_data_no_memory(0);
	mr_strbuf b = {0};
	double best;

	mr_strbuf_printf(&b, "clicks: %llu training and %llu validation samples of %lld numbers and %lld categories",
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, (long long)s->numbers,
			 (long long)s->categories);
	if (st == MR_OK && d->n_valid)
		st = best_area(s, value, &best);
	if (st == MR_OK && d->n_valid)
		mr_strbuf_printf(&b, ", best auc %.4f", best);
	free(value);
	d->describe = mr_strbuf_take(&b);
	return st != MR_OK ? st : d->describe ? MR_OK : mr_data_no_memory(0);
}

static mr_status fill(clicks *s, const mr_values *values, const mr_data_want *want)
{
	uint64_t samples = (uint64_t)mr_values_int(values, "samples");
	mr_dataset *d = &s->base;
	size_t bytes, each;

	s->target_type = mr_data_target_type(want->dtype);
	s->numbers = d->numbers = mr_values_int(values, "numbers");
	s->categories = mr_values_int(values, "categories");
	s->values = mr_values_int(values, "values");
	s->signal = mr_values_float(values, "signal");
	s->offset = mr_values_float(values, "offset");
	d->input = (mr_shape){.rows = 1, .cols = s->numbers + s->categories, .tokens = true};
	d->target = (mr_shape){.rows = 1, .cols = 1};
	d->target_high = 1;
	d->n_train = mr_data_train_part(samples, mr_values_float(values, "validation"));
	d->n_valid = samples - d->n_train;
	if (!d->n_train)
		return mr_fail(MR_EDATA, "data \"clicks\": %llu samples leave none for training",
			       (unsigned long long)samples);
	each = mr_shape_bytes(d->input, want->dtype) + sizeof(bool);
	if (!mr_size_mul(each, samples, &bytes))
		return mr_data_no_memory(UINT64_MAX);
	d->bytes.kept = bytes;
	return describe(s);
}

static mr_status load_clicks(mr_dataset *d)
{
	clicks *s = (clicks *)d;
	uint64_t n = d->n_train + d->n_valid;
	size_t cols = (size_t)d->input.cols;
	int64_t *value = calloc((size_t)s->categories, sizeof(*value));

	s->x = malloc(n * cols * sizeof(*s->x));
	s->clicked = malloc(n * sizeof(*s->clicked));
	if (!s->x || !s->clicked || !value) {
		free(value);
		return mr_data_no_memory(d->bytes.kept);
	}
	for (uint64_t i = 0; i < n; i++)
		s->clicked[i] = clicks_on(s, i, make(s, i, s->x + i * cols, value));
	free(value);
	d->fingerprint = mr_hash64(mr_hash64(0, s->x, n * cols * sizeof(*s->x)), s->clicked, n * sizeof(*s->clicked));
	d->fingerprint = mr_data_fold(d->fingerprint, d->n_train);
	return MR_OK;
}

static mr_status open_clicks(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	MR_TRY(mr_data_refuse_context("clicks", want));
	return fill((clicks *)d, values, want);
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const clicks *s = (const clicks *)d;
	size_t cols = (size_t)s->base.input.cols;

	(void)g;
	memcpy(input, s->x + i * cols, cols * sizeof(*s->x));
	mr_element_put(s->target_type, target, 0, s->clicked[i]);
}

static const mr_option options[] = {
	{"numbers", MR_OPT_INT, "13", 1, 1000, NULL, NULL, "numbers in a sample"},
	{"categories", MR_OPT_INT, "8", 1, 1000, NULL, NULL, "categories in a sample"},
	{"values", MR_OPT_INT, "1000", 2, 1000000000, NULL, NULL, "different values of each category"},
	{"samples", MR_OPT_INT, "100000", 1, 1 << 30, NULL, NULL, "samples in all, the validation part included"},
	{"signal", MR_OPT_FLOAT, "3", 0, 100, NULL, NULL,
	 "standard deviation of the logarithm of the odds; 0: clicks are chance"},
	{"offset", MR_OPT_FLOAT, "-1", -30, 30, NULL, NULL, "its mean; below 0 clicks are rare"},
	MR_DATA_VALIDATION,
	{NULL},
};

extern const mr_dataset_ops mr_data_clicks;
const mr_dataset_ops mr_data_clicks = {
	.name = "clicks",
	.summary = "made-up clicks: numbers, categories, and whether a user clicks",
	.options = options,
	.bytes = sizeof(clicks),
	.open = open_clicks,
	.load = load_clicks,
	.close = close_clicks,
	.train = mr_data_train,
	.valid = mr_data_valid,
	.sample = sample,
	.files = "numbers",
};
