/*
 * s2vt.c - a captioning model: two LSTM layers over one time axis, on which the frames of a video come first, and then
 * the words of its caption.
 *
 *	frames [n, F] -> projection -> n rows, then m of 0 -> lstm1 --\
 *	words [m] -> embedding -> n rows of 0, then m -----------------> lstm2 -> its last m rows -> output -> loss
 *
 * Venugopalan et al.: "Sequence to sequence - video to text", 2015. While the frames are read the second layer has no
 * words, and while the caption is written the first has no frames. Each word is written after the right one before it.
 * Loss: cross-entropy, the mean over the words of the captions without their padding. Initial weights as in PyTorch:
 * linear layers uniform in their deviation, LSTM layers uniform, embedding normal with deviation 1.
 *
 * A stage may begin at any layer but the loss; behind the second LSTM a single value crosses.
 */
#include "models/compose.h"

#include <math.h>

static const mr_option options[] = {
	{"projection", MR_OPT_INT, "500", 1, 1000000, NULL, NULL, "width of the projected frames"},
	{"embed", MR_OPT_INT, "500", 1, 1000000, NULL, NULL, "width of the word embedding"},
	{"width", MR_OPT_INT, "1000", 1, 1000000, NULL, NULL, "width of both LSTM layers"},
	{"dropout", MR_OPT_FLOAT, "0.0", 0, 0.95, NULL, NULL,
	 "probability of zeroing an input of an LSTM layer, and of the output layer, while training"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

static uint16_t drop(mr_compose *m, const char *name, double rate, uint16_t x)
{
	return rate > 0 ? mr_compose_add(m, "dropout", name, &(mr_layer_cfg){.rate = rate}, x) : x;
}

/* With the deviation of PyTorch's uniform numbers. */
static uint16_t linear(mr_compose *m, const char *name, int64_t in, int64_t out, uint16_t x)
{
	mr_layer_cfg cfg = {.out = out, .transposed = true, .std = 1 / sqrt(3.0 * (double)in)};

	return mr_compose_add(m, "linear", name, &cfg, x);
}

static mr_status s2vt_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	int64_t words = data->target.rows, frames = data->frames, numbers = data->input.rows - words;
	int64_t all = frames + words, width = mr_values_int(values, "width");
	mr_layer_cfg table = {.out = mr_values_int(values, "embed"), .vocab = data->classes, .std = 1};
	double rate = mr_values_float(values, "dropout");
	uint16_t x, y, z[2];
	mr_compose m;

	*out = NULL;
	if (frames < 1)
		return mr_fail(MR_ECONFIG, "takes frames and captions, as the data source captions gives");
	mr_compose_init(&m, data);
	x = mr_compose_add(&m, "row_range", "bits", &(mr_layer_cfg){.count = numbers, .fold = numbers / frames}, 0);
	x = mr_compose_add(&m, "mixed_numbers", "frames", &(mr_layer_cfg){.out = numbers / frames}, x);
	x = linear(&m, "projection", numbers / frames, mr_values_int(values, "projection"), x);
	x = mr_compose_add(&m, "place_rows", "first", &(mr_layer_cfg){.count = all}, drop(&m, "drop.0", rate, x));
	z[0] = mr_compose_add(&m, "lstm", "lstm1", &(mr_layer_cfg){.out = width}, x);
	y = mr_compose_add(&m, "row_range", "words", &(mr_layer_cfg){.first_row = numbers, .count = words}, 0);
	y = mr_compose_add(&m, "embedding", "embedding", &table, y);
	z[1] = mr_compose_add(&m, "place_rows", "last", &(mr_layer_cfg){.first_row = frames, .count = all}, y);
	x = drop(&m, "drop.1", rate, mr_compose_gather(&m, "concat", "both", &(mr_layer_cfg){.parts = 2}, z, 2));
	x = mr_compose_add(&m, "lstm", "lstm2", &(mr_layer_cfg){.out = width}, x);
	x = mr_compose_add(&m, "row_range", "caption", &(mr_layer_cfg){.first_row = frames, .count = words}, x);
	x = linear(&m, "output", width, data->classes, drop(&m, "drop.2", rate, x));
	mr_compose_classify(&m, values, &(mr_layer_cfg){.padding = true}, x);
	return mr_compose_finish(&m, out);
}

const mr_model_ops mr_model_s2vt = {
	.name = "s2vt",
	.summary = "captions: two LSTM layers over frames and then words",
	.options = options,
	.captions = true,
	.build = s2vt_build,
};
