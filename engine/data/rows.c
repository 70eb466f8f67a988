#include "data/rows.h"

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
}

size_t mr_rows_target_bytes(const mr_rows *r)
{
	return r->base.classes ? sizeof(int32_t) : mr_dtype_bytes(mr_data_target_type(r->dtype));
}

void mr_rows_get(const mr_rows *r, uint64_t i, void *input, void *target)
{
	size_t row = r->d * mr_dtype_bytes(r->cells), size = mr_rows_target_bytes(r);

	memcpy(input, r->x + i * row, row);
	memcpy(target, r->y + i * size, size);
}

void mr_rows_sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	(void)g;
	mr_rows_get((const mr_rows *)d, i, input, target);
}

void mr_rows_valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	mr_rows_get((const mr_rows *)d, mr_rows_valid_at(d, i), input, target);
}

static char *describe(const mr_rows *r, const char *what)
{
	const mr_dataset *d = &r->base;
	mr_strbuf b = {0};

	if (d->trains_only)
		mr_strbuf_printf(&b, "%s: %llu rows", what, (unsigned long long)r->n);
	else
		mr_strbuf_printf(&b, "%s: %llu training and %llu validation rows", what, (unsigned long long)d->n_train,
				 (unsigned long long)d->n_valid);
	mr_strbuf_printf(&b, " of %llu numbers, in order", (unsigned long long)r->d);
	if (d->classes)
		mr_strbuf_printf(&b, ", %lld classes", (long long)d->classes);
	return mr_strbuf_take(&b);
}

mr_status mr_rows_init(mr_rows *r, const char *source, const char *what, uint64_t n, uint64_t n_train, uint64_t d,
		       int64_t classes, const mr_data_want *want)
{
	size_t cells, bytes, targets;
	mr_dataset *b = &r->base;

	MR_TRY(mr_data_refuse_context(source, want));
	r->dtype = want->dtype;
	r->cells = b->numbers ? MR_F32 : want->dtype;
	r->n = n;
	r->d = d;
	b->classes = classes;
	b->input = (mr_shape){.rows = 1, .cols = (int64_t)d, .tokens = b->numbers > 0};
	b->target = (mr_shape){.rows = 1, .cols = 1, .tokens = classes > 0};
	b->target_low = classes ? 0 : -INFINITY;
	b->target_high = classes ? 0 : INFINITY;
	b->n_train = n_train;
	b->trains_only = n_train == n;
	b->n_valid = b->trains_only ? n_train : n - n_train;
	if (!mr_size_mul(n, d, &cells) || !mr_size_mul(cells, mr_dtype_bytes(r->cells), &bytes) ||
	    !mr_size_mul(n, mr_rows_target_bytes(r), &targets) || bytes + targets < bytes)
		return mr_data_no_memory(UINT64_MAX);
	b->bytes.kept = bytes + targets;
	b->describe = describe(r, what);
	return b->describe ? MR_OK : mr_data_no_memory(0);
}

mr_status mr_rows_take(mr_rows *r)
{
	r->x = calloc(r->n, r->d * mr_dtype_bytes(r->cells));
	r->y = calloc(r->n, mr_rows_target_bytes(r));
	return r->x && r->y ? MR_OK : mr_data_no_memory(r->base.bytes.kept);
}

uint64_t mr_rows_fingerprint(const mr_rows *r, uint64_t hash)
{
	if (!r->base.trains_only)
		hash = mr_data_fold(hash, r->base.n_train);
	return r->base.classes ? mr_data_fold(hash, (uint64_t)r->base.classes) : hash;
}

void mr_rows_seal(mr_rows *r)
{
	uint64_t x = mr_hash64(0, r->x, r->n * r->d * mr_dtype_bytes(r->cells));

	r->base.fingerprint = mr_rows_fingerprint(r, mr_hash64(x, r->y, r->n * mr_rows_target_bytes(r)));
}
