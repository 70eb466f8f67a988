/*
 * numbers.c - pairs of numbers written in the configuration; made for the model `chain`, whose arithmetic one checks by
 * hand. Sample g is pair g mod n: in the order of the lists, again and again, never permuted. The last pairs may
 * validate.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "data/rows.h"

typedef struct numbers {
	mr_dataset base;
	mr_dtype dtype;
	double *x, *y; /* y points into x's block */
} numbers;

static void close_numbers(mr_dataset *d)
{
	numbers *s = (numbers *)d;

	free(s->x);
}

static mr_status check(const double *x, size_t n_x, const double *y, size_t n_y, mr_dtype dtype)
{
	if (n_x == 0 || n_x != n_y)
		return mr_fail(MR_EDATA,
			       "data \"numbers\": x has %zu and y has %zu numbers; both need as many, at least 1",
			       n_x, n_y);
	for (size_t i = 0; i < n_x; i++)
		if (!mr_rows_fits(dtype, x[i]) || !mr_rows_fits(mr_data_target_type(dtype), y[i]))
			return mr_fail(MR_EDATA, "data \"numbers\": pair %zu (%g, %g) does not fit into %s", i, x[i],
				       y[i], mr_dtype_name(dtype));
	return MR_OK;
}

static mr_status fill(numbers *s, const double *x, const double *y, size_t n, uint64_t n_train)
{
	mr_dataset *d = &s->base;
	mr_strbuf b = {0};

	s->x = malloc(2 * n * sizeof(*s->x));
	if (!s->x)
		return mr_data_no_memory(2 * n * sizeof(*s->x));
	s->y = s->x + n;
	memcpy(s->x, x, n * sizeof(*x));
	memcpy(s->y, y, n * sizeof(*y));
	d->input = d->target = (mr_shape){.rows = 1, .cols = 1};
	d->n_train = n_train;
	d->n_valid = n - n_train;
	d->target_low = d->target_high = y[0];
	for (size_t i = 1; i < n; i++) {
		d->target_low = fmin(d->target_low, y[i]);
		d->target_high = fmax(d->target_high, y[i]);
	}
	d->fingerprint = mr_hash64(0, s->x, 2 * n * sizeof(*s->x));
	if (d->n_valid)
		d->fingerprint = mr_data_fold(d->fingerprint, n_train);
	mr_strbuf_printf(&b, "numbers: %zu pair%s in the order listed", n, n == 1 ? "" : "s");
	if (d->n_valid)
		mr_strbuf_printf(&b, ", the last %llu for validation", (unsigned long long)d->n_valid);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static mr_status open_numbers(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	numbers *s = (numbers *)d;
	size_t n_x, n_y;
	const double *x = mr_values_floats(values, "x", &n_x);
	const double *y = mr_values_floats(values, "y", &n_y);
	uint64_t n_train;

	MR_TRY(mr_data_refuse_context("numbers", want));
	MR_TRY(check(x, n_x, y, n_y, want->dtype));
	MR_TRY(mr_data_split("data \"numbers\"", values, n_x, &n_train));
	s->dtype = want->dtype;
	return fill(s, x, y, n_x, n_train);
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const numbers *s = (const numbers *)d;

	(void)g;
	mr_element_put(s->dtype, input, 0, s->x[i]);
	mr_element_put(mr_data_target_type(s->dtype), target, 0, s->y[i]);
}


static const mr_option options[] = {
	{"x", MR_OPT_FLOATS, NULL, 0, 0, NULL, NULL, "inputs, used in the order listed and then again"},
	{"y", MR_OPT_FLOATS, NULL, 0, 0, NULL, NULL, "their targets"},
	{"validation", MR_OPT_FLOAT, "0", 0, 0.99, NULL, NULL,
	 "part of the pairs, taken from their end, that only validates"},
	{NULL},
};

extern const mr_dataset_ops mr_data_numbers;
const mr_dataset_ops mr_data_numbers = {
	.name = "numbers",
	.summary = "pairs of numbers listed in the configuration",
	.options = options,
	.bytes = sizeof(numbers),
	.open = open_numbers,
	.close = close_numbers,
	.in_order = true,
	.train = mr_data_train,
	.valid = mr_data_valid,
	.sample = sample,
	.files = "numbers",
};
