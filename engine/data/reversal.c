/*
 * reversal.c - made-up pairs of sequences: random letters, and the same letters backwards.
 *
 * What a translation model must learn there is attention alone: the order is turned round, and the letters themselves
 * are copied. Sample i has a length between `shortest` and `longest` and letters that are pure functions of the run's
 * seed and i; nothing is kept in memory. The letters are the tokens behind the four that pairs reserve (data/pair.h).
 */
#include <stdlib.h>

#include "base/rng.h"
#include "base/str.h"
#include "data/pair.h"
#include "data/part.h"

#define LONGEST 1000

typedef struct reversal {
	mr_dataset base;
	int64_t letters, shortest, longest;
} reversal;

static mr_status fill(reversal *r, const mr_values *values, const mr_data_want *want)
{
	mr_dataset *d = &r->base;
	uint64_t samples = (uint64_t)mr_values_int(values, "samples");
	int64_t all[4];
	mr_strbuf b = {0};

	*r = (reversal){
		.base.seed = want->seed,
		.letters = mr_values_int(values, "letters"),
		.shortest = mr_values_int(values, "shortest"),
		.longest = mr_values_int(values, "longest"),
	};
	if (r->shortest > r->longest)
		return mr_fail(MR_ECONFIG, "longest: expected at least shortest = %lld, got %lld",
			       (long long)r->shortest, (long long)r->longest);
	MR_TRY(mr_data_split("data \"reversal\"", values, samples, &d->n_train));
	d->n_valid = samples - d->n_train;
	mr_pair_shapes(d, r->longest, r->longest, MR_PAIR_FIRST + r->letters, MR_PAIR_FIRST + r->letters);
	all[0] = r->letters;
	all[1] = r->shortest;
	all[2] = r->longest;
	all[3] = (int64_t)samples;
	d->fingerprint = want->seed;
	for (int i = 0; i < 4; i++)
		d->fingerprint = mr_data_fold(d->fingerprint, (uint64_t)all[i]);
	d->fingerprint = mr_data_fold(d->fingerprint, d->n_train);
	mr_strbuf_printf(&b,
			 "reversal: %llu training and %llu validation sequences of %lld to %lld letters out of %lld",
			 (unsigned long long)d->n_train, (unsigned long long)d->n_valid, (long long)r->shortest,
			 (long long)r->longest, (long long)r->letters);
	d->describe = mr_strbuf_take(&b);
	return d->describe ? MR_OK : mr_data_no_memory(0);
}

static mr_status open_reversal(mr_dataset *d, const mr_values *values, const mr_data_want *want)
{
	MR_TRY(mr_pair_check_context("reversal", want));
	return fill((reversal *)d, values, want);
}

/* Word @which of sample @i. */
static uint32_t draw(const reversal *r, uint64_t i, uint64_t which)
{
	return mr_rng_u32(r->base.seed, MR_RNG_SYNTHETIC, i, 0, which);
}

static void sample(const mr_dataset *d, uint64_t i, uint64_t g, void *input, void *target)
{
	const reversal *r = (const reversal *)d;
	int32_t letter[LONGEST], reversed[LONGEST];
	int64_t n = r->shortest + draw(r, i, 0) % (r->longest - r->shortest + 1);

	(void)g;
	for (int64_t j = 0; j < n; j++)
		letter[j] = MR_PAIR_FIRST + (int32_t)(draw(r, i, (uint64_t)j + 1) % r->letters);
	for (int64_t j = 0; j < n; j++)
		reversed[j] = letter[n - 1 - j];
	mr_pair_put(&r->base, letter, n, reversed, n, input, target);
}

static const mr_option options[] = {
	{"letters", MR_OPT_INT, "60", 1, 1 << 20, NULL, NULL, "number of different letters"},
	{"shortest", MR_OPT_INT, "5", 1, LONGEST, NULL, "letters", "length of the shortest sequences"},
	{"longest", MR_OPT_INT, "15", 1, LONGEST, NULL, "letters", "length of the longest sequences"},
	{"samples", MR_OPT_INT, "65536", 1, 1 << 30, NULL, NULL, "sequences in all, the validation part included"},
	MR_DATA_VALIDATION,
	{NULL},
};

extern const mr_dataset_ops mr_data_reversal;
const mr_dataset_ops mr_data_reversal = {
	.name = "reversal",
	.summary = "made-up pairs: random letters, and the same backwards",
	.options = options,
	.bytes = sizeof(reversal),
	.open = open_reversal,
	.train = mr_data_train,
	.valid = mr_data_valid,
	.sample = sample,
};
