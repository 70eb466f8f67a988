#include "data/split.h"

#include <string.h>

mr_status mr_split_read(const mr_values *values, mr_split *out)
{
	const char *how = mr_values_string(values, "split");

	*out = (mr_split){.random = !strcmp(how, "random"),
			  .stratified = !strcmp(how, "stratified"),
			  .deal = {.seed = (uint64_t)mr_values_int(values, "split_seed"),
				   .folds = (uint64_t)mr_values_int(values, "folds"),
				   .fold = (uint64_t)mr_values_int(values, "fold")}};
	if (out->deal.folds == 1)
		return mr_fail(MR_ECONFIG, "folds: one fold leaves nothing for training: 0, or 2 at least");
	if (out->deal.fold && out->deal.fold >= out->deal.folds)
		return mr_fail(MR_ECONFIG, "fold: %llu is none of %llu folds, which begin at 0",
			       (unsigned long long)out->deal.fold, (unsigned long long)out->deal.folds);
	return MR_OK;
}

mr_status mr_split_refuse(const mr_split *s, const char *name)
{
	if (s->random || s->stratified || s->deal.seed || s->deal.folds)
		return mr_fail(MR_ECONFIG, "data \"%s\": validation_path says which rows validate: without split, "
					   "split_seed and folds", name);
	return MR_OK;
}

mr_status mr_split_draws(mr_split *s, bool classes, bool *draws)
{
	if (s->stratified && !classes)
		return mr_fail(MR_ECONFIG, "split: \"stratified\" is by classes, and the targets are numbers");
	s->stratified |= s->deal.folds && classes && !s->random;
	*draws = s->random || s->stratified || s->deal.seed || s->deal.folds;
	return MR_OK;
}

mr_status mr_split_count(const mr_split *s, const char *name, const mr_values *values, uint64_t n, uint64_t *n_train)
{
	if (!s->deal.folds)
		return mr_data_split(name, values, n, n_train);
	if (s->deal.folds > n)
		return mr_fail(MR_EDATA, "%s: %llu samples make no %llu folds", name, (unsigned long long)n,
			       (unsigned long long)s->deal.folds);
	*n_train = n - (n - s->deal.fold + s->deal.folds - 1) / s->deal.folds;
	return MR_OK;
}
