#include "data/own_part.h"

#include "data/part.h"

mr_status mr_own_part_check(const mr_dataset *d, uint32_t n)
{
	if (d->columns)
		return mr_fail(MR_ECONFIG,
			       "data \"%s\" is read in columns that go through all of it, and so has no parts of the "
			       "workers' own: set data.order = \"random\", or system.data = \"shared\"",
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

	d->ops->sample(d, first + (d->ops->in_order ? g % size : mr_data_order(size, d->seed, g)), g, input, target);
}
