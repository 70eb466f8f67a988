#include "data/pair.h"

mr_status mr_pair_check_context(const char *name, const mr_data_want *want)
{
	if (want->context)
		return mr_fail(MR_ECONFIG, "data \"%s\" gives pairs of sequences, but the model takes single ones",
			       name);
	return MR_OK;
}

void mr_pair_shapes(mr_dataset *d, int64_t source, int64_t target, int64_t source_classes, int64_t classes)
{
	d->target = (mr_shape){.rows = target + 1, .cols = 1, .tokens = true};
	d->input = (mr_shape){.rows = source + 1 + d->target.rows, .cols = 1, .tokens = true};
	d->source_classes = source_classes;
	d->classes = classes;
}

void mr_pair_put_target(int64_t rows, const int32_t *target, int64_t m, int32_t *begun, int32_t *wanted)
{
	for (int64_t i = 0; i < rows; i++) {
		wanted[i] = i < m ? target[i] : i == m ? MR_PAIR_END : MR_PAIR_PAD;
		begun[i] = i == 0 ? MR_PAIR_BEGIN : i <= m ? target[i - 1] : MR_PAIR_PAD;
	}
}

void mr_pair_put(const mr_dataset *d, const int32_t *source, int64_t n, const int32_t *target, int64_t m, void *input,
		 void *wanted)
{
	int64_t t = d->target.rows, s = d->input.rows - t;
	int32_t *from = input;

	for (int64_t i = 0; i < s; i++)
		from[i] = i < n ? source[i] : i == n ? MR_PAIR_END : MR_PAIR_PAD;
	mr_pair_put_target(t, target, m, from + s, wanted);
}
