#include "run/replicas.h"

#include <string.h>

#include "base/size.h"

#define CHUNK 256 /* elements in hand at once: what is summed stays in the first-level cache */

/* What happens to one chunk, at byte @at of each tensor, @n elements. */
typedef struct chunk {
	const mr_replicas *g;
	mr_dtype t;
	size_t at;
	uint32_t n;
	uint64_t version;
} chunk;

void mr_replicas_layout(mr_replicas *g, mr_arena *a)
{
	bool elastic = g->average->rule == MR_AVERAGE_ELASTIC, outer = g->average->outer_lr > 0;
	size_t bytes = mr_stage_size(g->first->stage)->weight_bytes;

	if (elastic || outer)
		g->reference = mr_arena_take(a, bytes, MR_CACHE_LINE);
	if (g->average->outer_mu > 0)
		g->velocity = mr_arena_take(a, bytes, MR_CACHE_LINE);
	if (elastic)
		g->mean = mr_arena_take(a, bytes, MR_CACHE_LINE);
}

void mr_replicas_init(mr_replicas *g)
{
	const void *weights = mr_block_weights(g->first, 0, 0);
	size_t bytes = mr_stage_size(g->first->stage)->weight_bytes;

	if (g->reference)
		memcpy(g->reference, weights, bytes);
	if (g->velocity)
		memset(g->velocity, 0, bytes);
	if (g->mean)
		memcpy(g->mean, weights, bytes);
}

bool mr_replicas_made(mr_replicas *g, uint64_t v)
{
	for (uint32_t r = 0; r < g->n; r++)
		if (!mr_event_reached(&mr_replicas_block(g, r)->published, (uint32_t)v))
			return false;
	return true;
}

/* --- one chunk --- */

static void load(const chunk *c, const void *from, double *to)
{
	const uint8_t *at = (const uint8_t *)from + c->at;

	for (uint32_t i = 0; i < c->n; i++)
		to[i] = c->t == MR_F64 ? ((const double *)(const void *)at)[i] : (double)((const float *)(const void *)at)[i];
}

static void store(const chunk *c, const double *from, void *to)
{
	uint8_t *at = (uint8_t *)to + c->at;

	for (uint32_t i = 0; i < c->n; i++)
		if (c->t == MR_F64)
			((double *)(void *)at)[i] = from[i];
		else
			((float *)(void *)at)[i] = (float)from[i];
}

static void *weights_of(const chunk *c, uint32_t r, uint64_t v)
{
	return mr_block_weights(mr_replicas_block(c->g, r), 0, v);
}

/* The mean of the replicas' version @v. */
static void mean_of(const chunk *c, uint64_t v, double mean[CHUNK])
{
	double x[CHUNK];

	load(c, weights_of(c, 0, v), mean);
	for (uint32_t r = 1; r < c->g->n; r++) {
		load(c, weights_of(c, r, v), x);
		for (uint32_t i = 0; i < c->n; i++)
			mean[i] += x[i];
	}
	for (uint32_t i = 0; i < c->n; i++)
		mean[i] /= c->g->n;
}

/* Nesterov's step from the reference, for which the way to @mean is the gradient; the new reference into @mean as well. */
static void step_outer(const chunk *c, double mean[CHUNK])
{
	const mr_average *a = c->g->average;
	double reference[CHUNK], velocity[CHUNK] = {0};

	load(c, c->g->reference, reference);
	if (c->g->velocity)
		load(c, c->g->velocity, velocity);
	for (uint32_t i = 0; i < c->n; i++) {
		double delta = reference[i] - mean[i];

		velocity[i] = a->outer_mu * velocity[i] + delta;
		mean[i] = reference[i] - a->outer_lr * (delta + a->outer_mu * velocity[i]);
	}
	store(c, mean, c->g->reference);
	if (c->g->velocity)
		store(c, velocity, c->g->velocity);
}

static void take_mean(const chunk *c)
{
	double mean[CHUNK];

	mean_of(c, c->version - 1, mean);
	if (c->g->reference)
		step_outer(c, mean);
	for (uint32_t r = 0; r < c->g->n; r++)
		store(c, mean, weights_of(c, r, c->version));
}

static void pull(const chunk *c)
{
	double x[CHUNK], reference[CHUNK], mean[CHUNK], before[CHUNK];

	mean_of(c, c->version - 1, mean);
	load(c, c->g->reference, reference);
	load(c, c->g->mean, before);
	for (uint32_t r = 0; r < c->g->n; r++) {
		load(c, weights_of(c, r, c->version - 1), x);
		for (uint32_t i = 0; i < c->n; i++)
			x[i] -= c->g->average->alpha * (x[i] - reference[i]);
		store(c, x, weights_of(c, r, c->version));
	}
	for (uint32_t i = 0; i < c->n; i++)
		reference[i] += mean[i] - before[i];
	store(c, reference, c->g->reference);
	mean_of(c, c->version, mean);
	store(c, mean, c->g->mean);
}

/* State @k of all replicas becomes their mean. */
static void average_state(const chunk *c, uint32_t k)
{
	double mean[CHUNK], x[CHUNK];

	load(c, c->g->first->state[k], mean);
	for (uint32_t r = 1; r < c->g->n; r++) {
		load(c, mr_replicas_block(c->g, r)->state[k], x);
		for (uint32_t i = 0; i < c->n; i++)
			mean[i] += x[i];
	}
	for (uint32_t i = 0; i < c->n; i++)
		mean[i] /= c->g->n;
	for (uint32_t r = 0; r < c->g->n; r++)
		store(c, mean, mr_replicas_block(c->g, r)->state[k]);
}

/* --- a part --- */

void mr_replicas_average(mr_replicas *g, uint32_t part, uint64_t v)
{
	const mr_block *b = g->first;
	size_t lines = mr_stage_size(b->stage)->weight_bytes / MR_CACHE_LINE, bytes = mr_dtype_bytes(b->k->dtype);
	size_t end = lines * (part + 1) / g->n * MR_CACHE_LINE;
	chunk c = {.g = g, .t = b->k->dtype, .version = v};

	for (c.at = lines * part / g->n * MR_CACHE_LINE; c.at < end; c.at += c.n * bytes) {
		size_t left = (end - c.at) / bytes;

		c.n = left < CHUNK ? (uint32_t)left : CHUNK;
		if (g->average->rule == MR_AVERAGE_ELASTIC)
			pull(&c);
		else
			take_mean(&c);
		for (uint32_t k = 0; g->average->state && k < g->optim->ops->n_states; k++)
			average_state(&c, k);
	}
}

/* As take_mean, step_outer, pull and average_state have them. */
uint32_t mr_replicas_passes(const mr_average *a, uint32_t n, uint32_t n_states)
{
	uint32_t states = a->state ? 2 * n * n_states : 0;

	if (a->rule == MR_AVERAGE_ELASTIC)
		return 4 * n + 4 + states;
	return 2 * n + (a->outer_lr > 0 ? 2 : 0) + (a->outer_mu > 0 ? 2 : 0) + states;
}

/* --- pauses --- */

void *mr_replicas_model(const mr_replicas *g)
{
	return g->reference ? g->reference : mr_block_weights(g->first, 0, g->first->latest);
}

void mr_replicas_spread(mr_replicas *g)
{
	const void *model = mr_replicas_model(g);

	for (uint32_t r = 0; g->average->rule == MR_AVERAGE_MEAN && r < g->n; r++) {
		mr_block *b = mr_replicas_block(g, r);
		void *to = mr_block_weights(b, 0, b->latest);

		if (to != model)
			memcpy(to, model, mr_stage_size(b->stage)->weight_bytes);
	}
}
