#include "data/excerpts.h"

#include <string.h>

#include "base/rng.h"
#include "data/part.h"

mr_status mr_excerpts_check_context(const char *source, const mr_data_want *want)
{
	if (want->context < 1)
		return mr_fail(MR_ECONFIG, "data \"%s\" gives sequences of tokens, but the model takes none", source);
	return MR_OK;
}

/* Deals the excerpts of an epoch, which are counted, to columns. */
static mr_status deal(mr_excerpts *w, const char *name, int64_t columns)
{
	mr_dataset *d = &w->base;

	if (columns < 1)
		return mr_fail(MR_ECONFIG, "the windows of %s can be read in columns only for training", name);
	if (d->n_train < (uint64_t)columns)
		return mr_fail(MR_EDATA,
			       "%s: %llu training windows of %lld tokens, but %lld columns (train.batch) need one each",
			       name, (unsigned long long)d->n_train, (long long)d->input.rows, (long long)columns);
	d->columns = (uint64_t)columns;
	d->n_train -= d->n_train % d->columns;
	d->fingerprint = mr_data_fold(d->fingerprint, d->columns);
	return MR_OK;
}

mr_status mr_excerpts_init(mr_excerpts *w, const char *name, const char *valid_name, const mr_values *values,
			   const mr_data_want *want)
{
	uint64_t t = (uint64_t)want->context, n = w->train.n;

	if (n <= t)
		return mr_fail(MR_EDATA, "%s: %llu training tokens, but a window of context %llu needs %llu", name,
			       (unsigned long long)n, (unsigned long long)t, (unsigned long long)t + 1);
	if (valid_name && w->valid.n <= t)
		return mr_fail(MR_EDATA, "%s: %llu validation tokens, but a window of context %llu needs %llu",
			       valid_name,
			       (unsigned long long)w->valid.n, (unsigned long long)t, (unsigned long long)t + 1);
	w->base.seed = want->seed;
	w->reach = n - t < t ? n - t : t;
	w->base.n_train = (n - w->reach) / t;
	w->base.n_valid = w->valid.n ? (w->valid.n - 1) / t : 0;
	w->base.input = w->base.target = (mr_shape){.rows = want->context, .cols = 1, .tokens = true};
	return strcmp(mr_values_string(values, "order"), "columns") ? MR_OK : deal(w, name, want->batch);
}

#define PIECE 1024 /* tokens read at once */

/* Tokens [@start, @start + @n) of @s, as numbers below @classes; what is none becomes 0 and is noted. */
static void read_tokens(const mr_token_range *s, int64_t classes, uint64_t start, size_t n, int32_t *to)
{
	size_t size = s->token ? 1 : s->wide ? 4 : 2;
	uint64_t offset = s->offset + start * size;
	uint32_t room[PIECE];
	const void *at = mr_contents_at(s->in, offset, n * size, room);

	for (size_t i = 0; i < n; i++) {
		int64_t token = s->wide ? ((const uint32_t *)at)[i] : 0;

		if (!s->wide)
			token = s->token ? s->token[((const uint8_t *)at)[i]] : (int64_t)((const uint16_t *)at)[i];
		if (token < 0 || token >= classes) {
			mr_contents_has_changed(s->in, offset + i * size);
			token = 0;
		}
		to[i] = (int32_t)token;
	}
}

static void copy(const mr_excerpts *w, const mr_token_range *s, uint64_t start, int32_t *input, int32_t *target)
{
	uint64_t t = (uint64_t)w->base.input.rows;
	int32_t piece[PIECE];

	for (uint64_t done = 0; done <= t; done += PIECE) {
		size_t n = t + 1 - done < PIECE ? (size_t)(t + 1 - done) : PIECE;
		size_t last = done + n == t + 1; /* is a target alone, as the first is an input alone */

		read_tokens(s, w->base.classes, start + done, n, piece);
		memcpy(input + done, piece, (n - last) * sizeof(*piece));
		if (done)
			memcpy(target + done - 1, piece, n * sizeof(*piece));
		else
			memcpy(target, piece + 1, (n - 1) * sizeof(*piece));
	}
}

mr_status mr_excerpts_check(const mr_dataset *d)
{
	const mr_excerpts *w = (const mr_excerpts *)d;

	MR_TRY(mr_contents_check(w->train.in));
	return mr_contents_check(w->valid.in);
}

void mr_excerpts_sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const mr_excerpts *w = (const mr_excerpts *)d;
	double u = mr_rng_uniform(d->seed, MR_RNG_EXCERPT, g / d->n_train, 0, 0);
	uint64_t first = (uint64_t)(u * (double)w->reach);

	copy(w, &w->train, first + i * (uint64_t)d->input.rows, input, target);
}

void mr_excerpts_train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	uint64_t i = g % d->n_train;

	if (d->columns)
		mr_excerpts_sample(d, i % d->columns * (d->n_train / d->columns) + i / d->columns, g, input, target);
	else
		mr_data_train(d, g, input, target);
}

void mr_excerpts_valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	const mr_excerpts *w = (const mr_excerpts *)d;

	copy(w, &w->valid, i * (uint64_t)d->input.rows, input, target);
}
