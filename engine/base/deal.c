#include "base/deal.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"

#define DEAL_SEED 0x73706c6974u

/* Sample @i of the order, of @n of which @m validate. */
static bool validates(const mr_deal *d, uint64_t i, uint64_t n, uint64_t m)
{
	return d->folds ? i % d->folds == d->fold : (i + 1) * m / n > i * m / n;
}

mr_status mr_deal_out(const mr_deal *d, uint64_t n, uint64_t n_train, const int32_t *class_of, uint64_t n_classes,
		      uint64_t *place)
{
	uint64_t *at = calloc(class_of ? n_classes + 1 : 2, sizeof(*at)); /* of each class: its next one in the order */
	uint64_t train = 0, valid = n_train;
	mr_permute p;

	if (!at)
		return mr_fail(MR_ERESOURCE, "no memory to deal out %llu samples", (unsigned long long)n);
	for (uint64_t i = 0; class_of && i < n; i++)
		at[class_of[i] + 1]++;
	for (uint64_t c = 0; class_of && c < n_classes; c++)
		at[c + 1] += at[c];
	mr_permute_init(&p, n, DEAL_SEED ^ d->seed, 0);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t sample = mr_permute_at(&p, i);

		place[sample] = validates(d, at[class_of ? class_of[sample] : 0]++, n, n - n_train);
	}
	for (uint64_t i = 0; i < n; i++)
		place[i] = place[i] ? valid++ : train++;
	free(at);
	return MR_OK;
}
