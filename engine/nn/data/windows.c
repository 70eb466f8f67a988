#include "nn/data/windows.h"

#include "base/rng.h"
#include "nn/data/part.h"

mr_status mr_windows_check_context(const char *source, const mr_data_want *want)
{
	if (want->context < 1)
		return mr_fail(MR_ECONFIG, "data \"%s\" gives sequences of tokens, but the model takes none", source);
	return MR_OK;
}

mr_status mr_windows_init(mr_windows *w, const char *name, const char *valid_name, const mr_data_want *want)
{
	uint64_t t = (uint64_t)want->context, n = w->train.n;

	if (n <= t)
		return mr_fail(MR_EDATA, "%s: %llu training tokens, but a window of context %llu needs %llu", name,
			       (unsigned long long)n, (unsigned long long)t, (unsigned long long)t + 1);
	if (valid_name && w->valid.n <= t)
		return mr_fail(MR_EDATA, "%s: %llu validation tokens, but a window of context %llu needs %llu",
			       valid_name,
			       (unsigned long long)w->valid.n, (unsigned long long)t, (unsigned long long)t + 1);
	w->seed = want->seed;
	w->reach = n - t < t ? n - t : t;
	w->base.n_train = (n - w->reach) / t;
	w->base.n_valid = w->valid.n ? (w->valid.n - 1) / t : 0;
	w->base.input = w->base.target = (mr_shape){.rows = want->context, .cols = 1, .tokens = true};
	return MR_OK;
}

static void copy(const mr_span *s, uint64_t start, int64_t t, int32_t *input, int32_t *target)
{
	if (s->wide) {
		const uint16_t *at = (const uint16_t *)s->at + start;

		for (int64_t i = 0; i < t; i++) {
			input[i] = at[i];
			target[i] = at[i + 1];
		}
	} else {
		const uint8_t *at = (const uint8_t *)s->at + start;

		for (int64_t i = 0; i < t; i++) {
			input[i] = at[i];
			target[i] = at[i + 1];
		}
	}
}

void mr_windows_train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	const mr_windows *w = (const mr_windows *)d;
	uint64_t epoch = g / d->n_train;
	double u = mr_rng_uniform(w->seed, MR_RNG_WINDOW, epoch, 0, 0);
	uint64_t first = (uint64_t)(u * (double)w->reach);

	copy(&w->train, first + mr_data_order(d->n_train, w->seed, g) * (uint64_t)d->input.rows, d->input.rows, input,
	     target);
}

void mr_windows_valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	const mr_windows *w = (const mr_windows *)d;

	copy(&w->valid, i * (uint64_t)d->input.rows, d->input.rows, input, target);
}
