#include "data/augment.h"

#include "base/rng.h"
#include "base/stats.h"

void mr_augment_init(mr_augment *a, int64_t rows, int64_t cols, int64_t channels, const mr_values *values,
		     const mr_data_want *want)
{
	*a = (mr_augment){
		.dtype = want->dtype,
		.seed = want->seed,
		.rows = rows,
		.cols = cols,
		.channels = channels,
		.padding = mr_values_int(values, "padding"),
		.flip = mr_values_bool(values, "flip"),
	};
}

void mr_augment_normal(mr_augment *a, int64_t c, double mean, double std)
{
	a->mean[c] = mean;
	a->std[c] = std;
	for (int p = 0; p < 256; p++)
		a->value[c][p] = (p / 255.0 - mean) / std;
}

mr_status mr_augment_normals(mr_augment *a, const char *source, const mr_values *values)
{
	size_t n_mean, n_std, n = (size_t)a->channels;
	const double *mean = mr_values_floats(values, "mean", &n_mean);
	const double *std = mr_values_floats(values, "std", &n_std);

	if ((n_mean != 1 && n_mean != n) || (n_std != 1 && n_std != n))
		return mr_fail(MR_ECONFIG, "data \"%s\": mean has %zu and std %zu numbers, expected 1 or %zu of each",
			       source, n_mean, n_std, n);
	for (size_t c = 0; c < n; c++)
		mr_augment_normal(a, (int64_t)c, mean[n_mean == 1 ? 0 : c], std[n_std == 1 ? 0 : c]);
	return MR_OK;
}

uint64_t mr_augment_fold(const mr_augment *a, uint64_t fingerprint)
{
	fingerprint = mr_hash64(fingerprint, a->value, (size_t)a->channels * sizeof(a->value[0]));
	if (a->padding || a->flip)
		fingerprint = mr_data_fold(mr_data_fold(fingerprint, (uint64_t)a->padding), a->flip);
	return fingerprint;
}

int64_t mr_augment_below(const mr_augment *a, uint64_t g, uint64_t draw, int64_t n)
{
	return (int64_t)((uint64_t)mr_rng_u32(a->seed, MR_RNG_AUGMENT, g, 0, draw) * (uint64_t)n >> 32);
}

mr_augmented mr_augment_of(const mr_augment *a, uint64_t g)
{
	mr_augmented how = {0};

	if (a->padding) {
		how.down = mr_augment_below(a, g, MR_AUGMENT_DOWN, 2 * a->padding + 1) - a->padding;
		how.right = mr_augment_below(a, g, MR_AUGMENT_RIGHT, 2 * a->padding + 1) - a->padding;
	}
	how.flip = a->flip && mr_augment_below(a, g, MR_AUGMENT_MIRROR, 2);
	return how;
}

void mr_augment_row(const mr_augment *a, mr_augmented how, int64_t y, const uint8_t *const *pixels, size_t step,
		    void *image)
{
	int64_t at = y * a->cols * a->channels;

	for (int64_t x = 0; x < a->cols; x++) {
		int64_t from = how.right + (how.flip ? a->cols - 1 - x : x);
		bool black = !pixels || from < 0 || from >= a->cols;

		for (int64_t c = 0; c < a->channels; c++, at++)
			mr_element_put(a->dtype, image, at, a->value[c][black ? 0 : pixels[c][(size_t)from * step]]);
	}
}
