#include "data/part.h"

#include <math.h>

#include "base/rng.h"
#include "base/stats.h"
#include "base/str.h"
#include "data/own_part.h"

char *mr_data_path(const mr_data_want *want, const char *path)
{
	mr_strbuf b = {0};

	if (want->base_dir && path[0] != '/')
		mr_strbuf_printf(&b, "%s/", want->base_dir);
	mr_strbuf_append(&b, path);
	return mr_strbuf_take(&b);
}

mr_status mr_data_no_memory(uint64_t bytes)
{
	char text[16];

	return mr_fail(MR_ERESOURCE, "no memory for %s of data", mr_bytes_text(bytes, text));
}

bool mr_data_will_keep(mr_dataset *d, const mr_contents *in, const mr_data_want *want)
{
	uint64_t bytes = mr_contents_bytes(in);
	bool kept = mr_contents_is_kept(in) || bytes <= want->keep_bytes;

	*(kept ? &d->bytes.kept : &d->bytes.on_disk) += bytes;
	d->bytes.opened += mr_contents_is_kept(in) ? bytes : 0;
	return kept;
}

uint64_t mr_data_train_part(uint64_t n, double fraction)
{
	double part = floor((double)n * (1 - fraction) + 1e-6);

	return part >= (double)n ? n : (uint64_t)part;
}

mr_status mr_data_split(const char *name, const mr_values *values, uint64_t n, uint64_t *n_train)
{
	double fraction = mr_values_float(values, "validation");

	*n_train = mr_data_train_part(n, fraction);
	return *n_train ? MR_OK
			: mr_fail(MR_EDATA, "%s: validation = %g leaves none of %llu sample%s for training", name,
				  fraction, (unsigned long long)n, n == 1 ? "" : "s");
}

mr_status mr_data_refuse_context(const char *source, const mr_data_want *want)
{
	if (want->context)
		return mr_fail(MR_ECONFIG,
			       "data \"%s\" has no token sequences, but the model takes sequences of %lld tokens",
			       source, (long long)want->context);
	return MR_OK;
}

uint64_t mr_data_fold(uint64_t fingerprint, uint64_t figure)
{
	return mr_hash64(fingerprint, &figure, sizeof(figure));
}

uint64_t mr_data_order(uint64_t n, uint64_t seed, uint64_t g)
{
	mr_permute p;

	mr_permute_init(&p, n, seed, g / n);
	return mr_permute_at(&p, g % n);
}

void mr_data_train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	mr_own_part_train(d, 0, 1, g, input, target);
}

void mr_data_valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	d->ops->sample(d, d->n_train + i, 0, input, target);
}
