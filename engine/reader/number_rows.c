#include "reader/number_rows.h"

#include <math.h>
#include <stdlib.h>

#include "nn/element.h"

mr_status mr_number_rows_init(mr_number_rows *r, const mr_form *f, mr_dtype dtype)
{
	const mr_csv_inputs *in = &f->inputs;

	*r = (mr_number_rows){.form = f, .dtype = f->shapes.numbers ? MR_F32 : dtype,
			      .width = (size_t)mr_shape_count(f->shapes.input)};
	if (!in->n_columns)
		return MR_OK;
	r->width = 0;
	for (size_t i = 0; i < in->n_columns; i++)
		r->width += in->column[i].kind == MR_COLUMN_NUMBER || in->column[i].kind == MR_COLUMN_CATEGORY;
	r->value = calloc(in->n_numbers + 1, sizeof(*r->value));
	return r->value ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a row");
}

void mr_number_rows_fini(mr_number_rows *r)
{
	free(r->value);
	*r = (mr_number_rows){0};
}

static mr_status put(const mr_number_rows *r, int64_t at, double v, void *input)
{
	mr_element_put(r->dtype, input, at, v);
	return isfinite(mr_element(r->dtype, input, at))
		       ? MR_OK : mr_fail(MR_EDATA, "number %lld is %g, expected one that is finite in %s",
					 (long long)at + 1, v, mr_dtype_name(r->dtype));
}

static mr_status put_cells(const mr_number_rows *r, const double *row, void *input)
{
	const mr_csv_inputs *in = &r->form->inputs;

	MR_TRY(mr_csv_inputs_take(in, row, r->value, (int32_t *)input + in->n_numbers));
	for (size_t i = 0; i < in->n_numbers; i++)
		MR_TRY(put(r, (int64_t)i, r->value[i], input));
	return MR_OK;
}

static mr_status put_pixels(const mr_number_rows *r, const double *row, void *input)
{
	const mr_form *f = r->form;

	for (size_t i = 0; i < r->width; i++) {
		size_t c = i % (size_t)f->channels;

		if (!(row[i] >= 0 && row[i] <= 255))
			return mr_fail(MR_EDATA, "number %zu is %g, expected a pixel from 0 to 255", i + 1, row[i]);
		MR_TRY(put(r, (int64_t)i, (row[i] / 255.0 - f->mean[c]) / f->std[c], input));
	}
	return MR_OK;
}

static mr_status put_row(const mr_number_rows *r, const double *row, void *input)
{
	if (r->form->inputs.n_columns)
		return put_cells(r, row, input);
	if (r->form->channels)
		return put_pixels(r, row, input);
	for (size_t i = 0; i < r->width; i++)
		MR_TRY(put(r, (int64_t)i, row[i], input));
	return MR_OK;
}

mr_status mr_number_rows_put(const mr_number_rows *r, const double *row, uint64_t number, void *input)
{
	mr_status st = put_row(r, row, input);

	return st == MR_EDATA ? mr_fail_in(st, "row %llu", (unsigned long long)number) : st;
}
