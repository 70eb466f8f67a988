#include "nn/data/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/stats.h"
#include "base/str.h"

void mr_rows_close(mr_dataset *d)
{
	mr_rows *r = (mr_rows *)d;

	free(r->x);
	free(r->y);
	free(d->describe);
	free(r);
}

void mr_rows_get(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	const mr_rows *r = (const mr_rows *)d;
	size_t size = mr_dtype_bytes(r->dtype);
	uint64_t i = g % r->n;

	memcpy(input, r->x + i * r->d * size, r->d * size);
	memcpy(target, r->y + i * size, size);
}

mr_status mr_rows_create(const char *source, uint64_t n, uint64_t d, const mr_data_want *want, mr_rows **out)
{
	size_t size = mr_dtype_bytes(want->dtype), bytes, all;
	mr_rows *r;

	MR_TRY(mr_data_refuse_context(source, want));
	if (!mr_size_mul(n, d, &bytes) || !mr_size_mul(bytes, size, &all))
		return mr_data_no_memory(UINT64_MAX);
	MR_TRY(mr_data_check_memory(all));
	r = calloc(1, sizeof(*r));
	if (!r)
		return mr_data_no_memory(sizeof(*r));
	*r = (mr_rows){.dtype = want->dtype, .n = n, .d = d, .x = calloc(1, all), .y = calloc(n, size)};
	if (!r->x || !r->y) {
		mr_rows_close(&r->base);
		return mr_data_no_memory(all);
	}
	*out = r;
	return MR_OK;
}

static double target(const mr_rows *r, uint64_t i)
{
	return r->dtype == MR_F64 ? ((const double *)(const void *)r->y)[i] : (double)((const float *)(const void *)r->y)[i];
}

static void note_targets(mr_rows *r)
{
	r->base.target_low = r->base.target_high = target(r, 0);
	for (uint64_t i = 1; i < r->n; i++) {
		r->base.target_low = fmin(r->base.target_low, target(r, i));
		r->base.target_high = fmax(r->base.target_high, target(r, i));
	}
}

mr_status mr_rows_finish(mr_rows *r, const char *what, mr_dataset **out)
{
	size_t size = mr_dtype_bytes(r->dtype);
	mr_dataset *d = &r->base;
	mr_strbuf b;

	d->input = (mr_shape){.rows = 1, .cols = (int64_t)r->d};
	d->target = (mr_shape){.rows = 1, .cols = 1};
	d->n_train = d->n_valid = r->n;
	note_targets(r);
	d->fingerprint = mr_hash64(mr_hash64(0, r->x, r->n * r->d * size), r->y, r->n * size);
	mr_strbuf_init(&b);
	mr_strbuf_printf(&b, "%s: %llu rows of %llu numbers, in order", what, (unsigned long long)r->n,
			 (unsigned long long)r->d);
	d->describe = mr_strbuf_take(&b);
	if (!d->describe) {
		mr_rows_close(d);
		return mr_data_no_memory(0);
	}
	*out = d;
	return MR_OK;
}
