#include "models/blocks.h"

#include <stdio.h>

static mr_status check(const mr_model_data *data, int64_t blocks)
{
	const mr_shape *in = &data->input, *target = &data->target;

	if (in->tokens || in->rows != 1)
		return mr_fail(MR_ECONFIG, "takes a row of numbers a sample as input, the data has %lld x %lld %s",
			       (long long)in->rows, (long long)in->cols, in->tokens ? "tokens" : "numbers");
	if (target->tokens || target->rows != 1 || target->cols != 1)
		return mr_fail(MR_ECONFIG, "takes one number a sample as target, the data has %lld x %lld %s",
			       (long long)target->rows, (long long)target->cols,
			       target->tokens ? "classes" : "numbers");
	if (blocks > in->cols)
		return mr_fail(MR_ECONFIG, "blocks: the data has %lld coordinates, which do not make %lld blocks",
			       (long long)in->cols, (long long)blocks);
	return MR_OK;
}

int64_t mr_blocks_features(const mr_values *values)
{
	return mr_values_int(values, "blocks");
}

mr_status mr_blocks_build(const mr_values *values, const mr_model_data *data, double l2, const char *loss,
			  mr_graph **out)
{
	int64_t blocks = mr_values_int(values, "blocks"), d = data->input.cols;
	mr_layer_cfg cfg = {.l2 = l2, .noise = mr_values_float(values, "noise")};
	mr_compose m;
	uint16_t x = 0;

	*out = NULL;
	MR_TRY(check(data, blocks));
	mr_compose_init(&m, data);
	for (int64_t b = 0; b < blocks; b++) {
		char name[32];

		snprintf(name, sizeof(name), "block.%lld", (long long)b);
		cfg.first = b == 0;
		cfg.out = d / blocks + (b < d % blocks);
		x = mr_compose_add(&m, "margin", name, &cfg, x);
	}
	mr_compose_add(&m, loss, "loss", &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&m, out);
}
