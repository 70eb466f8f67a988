#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/printable.h"
#include "base/registry.h"
#include "data/part.h"

#define MR_DATA(id) extern const mr_dataset_ops mr_data_##id;
#include "data/data.def"
#undef MR_DATA

static const mr_dataset_ops *const sources[] = {
#define MR_DATA(id) &mr_data_##id,
#include "data/data.def"
#undef MR_DATA
};

MR_REGISTRY(mr_dataset_ops, sources, mr_dataset_at, mr_dataset_find)

static void close_by(const mr_dataset_ops *ops, mr_dataset *d)
{
	if (ops->close)
		ops->close(d);
	free(d->describe);
	free(d);
}

static mr_status open_zeroed(const mr_dataset_ops *ops, const mr_values *values, const mr_data_want *want,
			     mr_dataset **out)
{
	mr_dataset *d = calloc(1, ops->bytes);
	mr_status st;

	if (!d)
		return mr_data_no_memory(ops->bytes);
	d->seed = want->seed;
	st = ops->open(d, values, want);
	if (st == MR_OK)
		*out = d;
	else
		close_by(ops, d);
	return st;
}

mr_status mr_dataset_look(const mr_dataset_ops *ops, const mr_values *values, const mr_data_want *want,
			  mr_dataset **out)
{
	const char *missing = mr_values_missing(values);
	mr_data_want w = *want;

	*out = NULL;
	if (missing)
		return mr_fail(MR_ECONFIG, "data \"%s\" needs the key \"%s\"", ops->name, missing);
	if (!w.keep_bytes)
		w.keep_bytes = MR_DATA_KEEP;
	MR_TRY(ops->make ? ops->make(values, &w, out) : open_zeroed(ops, values, &w, out));
	if (!(*out)->ops)
		(*out)->ops = ops;
	if ((*out)->describe)
		mr_printable((*out)->describe); /* it has names from files */
	return MR_OK;
}

mr_status mr_dataset_load(mr_dataset *d)
{
	if (d->ops->load)
		MR_TRY(d->ops->load(d));
	if (d->describe)
		mr_printable(d->describe);
	return MR_OK;
}

mr_status mr_dataset_open(const mr_dataset_ops *ops, const mr_values *values, const mr_data_want *want,
			  mr_dataset **out)
{
	mr_status st;

	MR_TRY(mr_dataset_look(ops, values, want, out));
	st = mr_dataset_load(*out);
	if (st != MR_OK) {
		mr_dataset_close(*out);
		*out = NULL;
	}
	return st;
}

mr_status mr_dataset_check(const mr_dataset *d)
{
	return d->ops->check ? d->ops->check(d) : MR_OK;
}

mr_status mr_dataset_origin(mr_dataset *d, const uint64_t *at, size_t n, mr_data_origin_fn *each, void *arg)
{
	return d->ops->origin ? d->ops->origin(d, at, n, each, arg) : MR_OK;
}

void mr_dataset_close(mr_dataset *d)
{
	if (d)
		close_by(d->ops, d);
}

/* --- the form --- */

static void put_shape(mr_json_writer *w, const char *key, mr_shape s)
{
	mr_json_field_array(w, key);
	for (uint32_t i = 0; i < mr_shape_dims(s); i++)
		mr_json_put_int(w, mr_shape_dim(s, i));
	mr_json_end_array(w);
}

static void put_form(const mr_dataset *d, mr_json_writer *w)
{
	mr_json_begin_object(w);
	mr_json_field_string(w, "source", d->ops->name);
	mr_json_field_string(w, "files", d->ops->files);
	put_shape(w, "input", d->input);
	mr_json_field_bool(w, "input_tokens", d->input.tokens);
	if (mr_shape_dims(d->image) == 3)
		put_shape(w, "image", d->image);
	put_shape(w, "target", d->target);
	mr_json_field_bool(w, "target_tokens", d->target.tokens);
	mr_json_field_int(w, "classes", d->classes);
	mr_json_field_int(w, "numbers", d->numbers);
	mr_json_field_double(w, "target_low", d->target_low);
	mr_json_field_double(w, "target_high", d->target_high);
	mr_json_field_double(w, "target_mean", d->target_mean);
	mr_json_field_double(w, "target_deviation", d->target_deviation);
	if (d->ops->form)
		d->ops->form(d, w);
	mr_json_end_object(w);
}

mr_status mr_dataset_form(const mr_dataset *d, char **out)
{
	mr_json_writer w;
	mr_status st;
	size_t len;
	FILE *f;

	*out = NULL;
	if (!d->ops->files)
		return MR_OK;
	f = open_memstream(out, &len);
	if (!f)
		return mr_data_no_memory(0);
	mr_json_init(&w, f, false);
	put_form(d, &w);
	st = mr_json_finish(&w);
	if (!fclose(f) && st == MR_OK && *out)
		return MR_OK;
	free(*out);
	*out = NULL;
	return mr_data_no_memory(0);
}
