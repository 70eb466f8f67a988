#include "model_build.h"

#include <string.h>

#include "check.h"
#include "models/registry.h"

mr_model_data data_text(int64_t context, int64_t vocab)
{
	return (mr_model_data){.input = {.rows = context, .cols = 1, .tokens = true},
			       .target = {.rows = context, .cols = 1, .tokens = true},
			       .classes = vocab};
}

mr_model_data data_pairs(int64_t source, int64_t target, int64_t source_vocab, int64_t vocab)
{
	return (mr_model_data){.input = {.rows = source + target, .cols = 1, .tokens = true},
			       .target = {.rows = target, .cols = 1, .tokens = true},
			       .classes = vocab,
			       .source_classes = source_vocab};
}

mr_model_data data_images(int64_t side, int64_t channels, int64_t n)
{
	mr_shape image = mr_shape_of(3, (const int64_t[]){side, side, channels}, false);

	return (mr_model_data){.input = {.rows = 1, .cols = side * side * channels},
			       .image = image,
			       .target = {.rows = 1, .cols = 1, .tokens = true},
			       .classes = n};
}

mr_status build(const char *model, const char *const *settings, const mr_model_data *data, mr_graph **out)
{
	const mr_model_ops *ops = mr_model_find(model);
	mr_values *values;
	mr_status st;

	MR_CHECK_OK(mr_values_create(ops->options, &values));
	for (; *settings; settings++) {
		char key[32];
		const char *equals = strchr(*settings, '=');

		snprintf(key, sizeof(key), "%.*s", (int)(equals - *settings), *settings);
		MR_CHECK_OK(mr_values_set_text(values, key, equals + 1));
	}
	st = mr_model_build(ops, values, data, out);
	mr_values_destroy(values);
	return st;
}
