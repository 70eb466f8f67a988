#include "planner/worker_levels.h"

#include <math.h>
#include <stdlib.h>

/* --- levels --- */

/* Are workers @a and @b in one domain of kind @k, and so in one of each above? */
static bool together(const mr_worker_places *p, uint32_t k, uint32_t a, uint32_t b)
{
	for (; k < MR_WORKER_KINDS; k++)
		if (p->domain[k][a] != p->domain[k][b])
			return false;
	return true;
}

/* Workers of each domain of kind @k; 0: they differ. */
static uint32_t size_of(const mr_worker_places *p, uint32_t k)
{
	uint32_t n = 1;

	while (n < p->n_workers && together(p, k, 0, n))
		n++;
	for (uint32_t w = n; w < p->n_workers; w++)
		if (together(p, k, w - 1, w) != (w % n != 0))
			return 0;
	return p->n_workers % n ? 0 : n;
}

/* That of groups of @each workers in groups of @size. */
static mr_level level_of(const mr_worker_places *p, uint32_t each, uint32_t size)
{
	double slowest = 0;

	for (uint32_t w = each; w < p->n_workers; w += each)
		if (w % size)
			slowest = fmax(slowest, p->byte_s(p->arg, w - 1, w));
	return (mr_level){.parts = size / each, .bandwidth = slowest > 0 ? 1 / slowest : 0};
}

void mr_worker_levels(const mr_worker_places *p, mr_level_problem *out)
{
	uint32_t each = 1;

	out->n_levels = 0;
	for (uint32_t k = 0; k <= MR_WORKER_KINDS; k++) {
		uint32_t size = k < MR_WORKER_KINDS ? size_of(p, k) : p->n_workers;

		if (size <= each || size % each)
			continue;
		out->level[out->n_levels++] = level_of(p, each, size);
		each = size;
	}
	if (!out->n_levels)
		out->level[out->n_levels++] = (mr_level){.parts = 1};
}

/* --- flat --- */

typedef struct group {
	const mr_level_problem *p;
	const mr_level_partition *c;
	uint32_t at;          /* the next stage of c */
	mr_flat_partition *out;
	uint32_t n_workers;   /* of the stages so far */
} group;

static uint32_t workers_of_part(const mr_level_problem *p, uint32_t level)
{
	uint32_t n = 1;

	for (uint32_t k = 0; k < level; k++)
		n *= p->level[k].parts;
	return n;
}

/* The stages of one part of the level above @level, which is there @n_bases times, each time from worker @base on. */
static void flatten(group *g, uint32_t level, const uint32_t *base, uint32_t n_bases, uint32_t *room)
{
	uint32_t each = workers_of_part(g->p, level), used = 0;

	while (used < g->p->level[level].parts && g->at < g->c->n_stages) {
		const mr_level_stage *s = &g->c->stage[g->at++];
		uint32_t n = 0;

		for (uint32_t b = 0; b < n_bases; b++)
			for (uint32_t i = 0; i < s->parts; i++)
				room[n++] = base[b] + (used + i) * each;
		used += s->parts;
		if (level) {
			flatten(g, level - 1, room, n, room + n);
			continue;
		}
		g->out->stage[g->out->n_stages++] = (mr_flat_stage){s->first, s->end, n};
		for (uint32_t i = 0; i < n; i++)
			g->out->worker[g->n_workers++] = room[i];
	}
}

mr_status mr_level_partition_flatten(const mr_level_problem *p, const mr_level_partition *c, mr_flat_partition *out)
{
	uint32_t all = workers_of_part(p, p->n_levels), zero = 0;
	uint32_t *room = calloc((size_t)all * p->n_levels, sizeof(*room)); /* a level has at most all workers at once */
	group g = {.p = p, .c = c, .out = out};

	*out = (mr_flat_partition){.in_order = true};
	out->stage = calloc(c->n_stages, sizeof(*out->stage));
	out->worker = calloc(all, sizeof(*out->worker));
	if (!room || !out->stage || !out->worker) {
		free(room);
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", c->n_stages);
	}
	flatten(&g, p->n_levels - 1, &zero, 1, room);
	for (uint32_t w = 0; w < all; w++)
		out->in_order &= out->worker[w] == w;
	free(room);
	return MR_OK;
}

void mr_flat_partition_fini(mr_flat_partition *f)
{
	free(f->stage);
	free(f->worker);
	*f = (mr_flat_partition){0};
}
