#include "nn/dataset.h"

#include <string.h>

#define MR_DATA(id) extern const mr_dataset_ops mr_data_##id;
#include "nn/data/data.def"
#undef MR_DATA

static const mr_dataset_ops *const sources[] = {
#define MR_DATA(id) &mr_data_##id,
#include "nn/data/data.def"
#undef MR_DATA
};

#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

const mr_dataset_ops *mr_dataset_at(uint32_t i)
{
	return i < N_SOURCES ? sources[i] : NULL;
}

const mr_dataset_ops *mr_dataset_find(const char *name)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i];
	return NULL;
}

mr_status mr_dataset_open(const mr_dataset_ops *ops, const mr_values *values, const mr_data_want *want,
			  mr_dataset **out)
{
	const char *missing = mr_values_missing(values);

	*out = NULL;
	if (missing)
		return mr_fail(MR_ECONFIG, "data \"%s\" needs the key \"%s\"", ops->name, missing);
	MR_TRY(ops->open(values, want, out));
	(*out)->ops = ops;
	return MR_OK;
}

void mr_dataset_close(mr_dataset *d)
{
	if (d)
		d->ops->close(d);
}
