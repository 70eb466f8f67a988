#include "data/dataset.h"

#include <string.h>

#include "base/printable.h"
#include "base/registry.h"

#define MR_DATA(id) extern const mr_dataset_ops mr_data_##id;
#include "data/data.def"
#undef MR_DATA

static const mr_dataset_ops *const sources[] = {
#define MR_DATA(id) &mr_data_##id,
#include "data/data.def"
#undef MR_DATA
};

MR_REGISTRY(mr_dataset_ops, sources, mr_dataset_at, mr_dataset_find)

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
	MR_TRY(ops->open(values, &w, out));
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

void mr_dataset_close(mr_dataset *d)
{
	if (d)
		d->ops->close(d);
}
