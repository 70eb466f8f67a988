#include "data/own_part.h"

#include "data/part.h"
#include "data/rows.h"

static bool in_order(const mr_dataset *d)
{
	return d->ops->train == mr_rows_train;
}

mr_status mr_own_part_check(const mr_dataset *d, uint32_t n)
{
	if (!in_order(d) && !d->ops->sample)
		return mr_fail(MR_ECONFIG,
			       "data \"%s\" cannot be divided into parts of the workers' own: set system.data = "
			       "\"shared\", or take rows, clicks or synthetic data",
			       d->ops->name);
	if (d->n_train < n)
		return mr_fail(MR_ECONFIG,
			       "data \"%s\" has %llu training samples, too few for a part for each of %u workers",
			       d->ops->name, (unsigned long long)d->n_train, n);
	return MR_OK;
}

void mr_own_part_train(const mr_dataset *d, uint32_t part, uint32_t n, uint64_t g, void *input, void *target)
{
	uint64_t first = d->n_train * part / n, size = d->n_train * (part + 1) / n - first;

	if (in_order(d))
		d->ops->train(d, first + g % size, input, target);
	else
		d->ops->sample(d, first + mr_data_order(size, d->seed, g), input, target);
}
