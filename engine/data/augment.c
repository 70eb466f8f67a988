#include "data/augment.h"

#include <math.h>

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

static void put_channels(const mr_augment *a, const char *key, const double *value, mr_json_writer *w)
{
	mr_json_field_array(w, key);
	for (int64_t c = 0; c < a->channels; c++)
		mr_json_put_double(w, value[c]);
	mr_json_end_array(w);
}

void mr_augment_form(const mr_augment *a, int64_t resize, mr_json_writer *w)
{
	mr_json_field_int(w, "rows", a->rows);
	mr_json_field_int(w, "cols", a->cols);
	mr_json_field_int(w, "resize", resize);
	put_channels(a, "mean", a->mean, w);
	put_channels(a, "std", a->std, w);
}

void mr_augment_form_classes(int64_t n, mr_json_writer *w)
{
	char text[24];

	mr_json_field_array(w, "labels");
	for (int64_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%lld", (long long)i);
		mr_json_put_string(w, text);
	}
	mr_json_end_array(w);
}

uint64_t mr_augment_fold(const mr_augment *a, uint64_t fingerprint)
{
	fingerprint = mr_hash64(fingerprint, a->value, (size_t)a->channels * sizeof(a->value[0]));
	if (a->padding || a->flip)
		fingerprint = mr_data_fold(mr_data_fold(fingerprint, (uint64_t)a->padding), a->flip);
	return fingerprint;
}

static int64_t below(uint32_t word, int64_t n)
{
	return (int64_t)((uint64_t)word * (uint64_t)n >> 32);
}

int64_t mr_augment_below(const mr_augment *a, uint64_t g, uint64_t draw, int64_t n)
{
	return below(mr_rng_u32(a->seed, MR_RNG_AUGMENT, g, 0, draw), n);
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

/* e^@x for |@x| up to 0.3, by additions and multiplications only: the same bits with every libm. */
static double small_exp(double x)
{
	double sum = 1, term = 1;

	for (int k = 1; k < 14; k++) {
		term *= x / k;
		sum += term;
	}
	return sum;
}

#define WIDEST (4.0 / 3.0)
#define LOG_WIDEST 0.28768207245178092

static mr_box middle(int64_t rows, int64_t cols, int64_t rows_of, int64_t cols_of)
{
	rows = rows < 1 ? 1 : rows > rows_of ? rows_of : rows;
	cols = cols < 1 ? 1 : cols > cols_of ? cols_of : cols;
	return (mr_box){(rows_of - rows) / 2, (cols_of - cols) / 2, rows, cols};
}

mr_box mr_augment_part(const mr_augment *a, uint64_t g, int64_t rows, int64_t cols, double least)
{
	for (uint64_t k = 0; k < 10; k++) {
		uint32_t w[4];
		double area, wide;
		mr_box b;

		mr_rng_block(a->seed, MR_RNG_AUGMENT, g, 0, MR_AUGMENT_PART / 4 + k, w);
		area = (least + (1 - least) * (w[0] / 4294967296.0)) * (double)rows * (double)cols;
		wide = small_exp((2 * (w[1] / 4294967296.0) - 1) * LOG_WIDEST);
		b.cols = (int64_t)floor(sqrt(area * wide) + 0.5);
		b.rows = (int64_t)floor(sqrt(area / wide) + 0.5);
		if (b.cols < 1 || b.cols > cols || b.rows < 1 || b.rows > rows)
			continue;
		b.down = below(w[2], rows - b.rows + 1);
		b.right = below(w[3], cols - b.cols + 1);
		return b;
	}
	if ((double)cols > WIDEST * (double)rows)
		return middle(rows, (int64_t)floor((double)rows * WIDEST + 0.5), rows, cols);
	return middle((int64_t)floor((double)cols * WIDEST + 0.5), cols, rows, cols);
}
