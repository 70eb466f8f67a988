#include "schedules/common/search_candidate.h"

#include <string.h>

#include "base/rng.h"

double mr_search_roll(mr_search_dice *d)
{
	return mr_rng_uniform(d->seed, MR_RNG_SEARCH, d->candidate, 0, d->n++);
}

static double between(mr_search_dice *d, double least, double most)
{
	return least + (most - least) * mr_search_roll(d);
}

static uint32_t whole(mr_search_dice *d, uint32_t least, uint32_t most)
{
	return least + (uint32_t)(mr_search_roll(d) * ((double)most - least + 1));
}

/* The size of a change, from 0.01 to 0.3. */
static double pick_size(mr_search_dice *d)
{
	static const double size[] = {0.01, 0.03, 0.1, 0.3};

	return size[whole(d, 0, sizeof(size) / sizeof(size[0]) - 1)];
}

uint16_t mr_search_worker(mr_search_place place, uint16_t n_workers, uint16_t n_stages, uint16_t s)
{
	uint16_t at = s % n_workers;

	if (place == MR_SEARCH_BLOCKS)
		return (uint16_t)(s / (n_stages / n_workers));
	return (uint16_t)(place == MR_SEARCH_WAVES && s / n_workers % 2 ? n_workers - 1 - at : at);
}

/* A limit of memory: usually @cap; else less, which can keep workers from running ahead of each other. */
static uint32_t draw_limit(uint32_t floor, uint32_t cap, mr_search_dice *d)
{
	bool all = mr_search_roll(d) < 0.6;

	return all ? cap : whole(d, floor, cap);
}

void mr_search_draw(mr_search_way *way, uint16_t n_stages, uint32_t n_micro, uint32_t floor, uint32_t cap,
		    mr_search_dice *d)
{
	double noise = pick_size(d);
	float *key = way->key;

	way->patient = mr_search_roll(d) < 0.5;
	way->keyed = true;
	way->limit = draw_limit(floor, cap, d);
	for (unsigned kind = 0; kind < 3; kind++) {
		double base = between(d, -1, 1), per_micro = between(d, 0, 4), per_stage = between(d, -2, 2);

		for (uint16_t s = 0; s < n_stages; s++)
			for (uint32_t m = 0; m < n_micro; m++)
				*key++ = (float)(base + per_micro * m / n_micro + per_stage * s / n_stages +
						 noise * mr_search_roll(d));
	}
}

void mr_search_vary(mr_search_way *way, const mr_search_way *from, uint16_t n_stages, uint32_t n_micro, uint32_t floor,
		    uint32_t cap, mr_search_dice *d)
{
	size_t n = 3 * (size_t)n_stages * n_micro;
	double share = pick_size(d), by = pick_size(d);

	way->place = from->place;
	way->split = from->split;
	way->keyed = true;
	way->patient = mr_search_roll(d) < 0.1 ? !from->patient : from->patient;
	way->limit = mr_search_roll(d) < 0.1 ? draw_limit(floor, cap, d) : from->limit;
	memcpy(way->key, from->key, n * sizeof(*way->key));
	for (size_t k = 0; k < n; k++)
		if (mr_search_roll(d) < share)
			way->key[k] += (float)between(d, -by, by);
}
