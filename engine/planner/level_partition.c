#include "planner/level_partition.h"

#include <math.h>
#include <stdlib.h>

#include "planner/partition.h"

#define SAME 1e-12 /* costs this close are equal */

/* The best way for layers i to j on m parts of a level. */
typedef struct cell {
	double best;
	uint32_t end, parts; /* the last stage begins at layer `end`, on `parts` parts; end = i: it is the only one */
	uint32_t n_stages;
} cell;

typedef struct solver {
	const mr_level_problem *p;
	double *time, *weights;         /* [n_layers + 1] of all layers before */
	cell *table[MR_LEVELS_MOST];    /* [n_layers][n_layers + 1][parts + 1] by first layer, end, parts */
} solver;

static cell *cell_at(const solver *s, uint32_t level, uint32_t first, uint32_t end, uint32_t parts)
{
	size_t n = s->p->n_layers;

	return &s->table[level][(first * (n + 1) + end) * (s->p->level[level].parts + 1u) + parts];
}

/* A of the level below, on all its parts. */
static double below(const solver *s, uint32_t level, uint32_t first, uint32_t end)
{
	if (!level)
		return s->time[end] - s->time[first];
	return cell_at(s, level - 1, first, end, s->p->level[level - 1].parts)->best;
}

static double transfer(double bytes, double bandwidth)
{
	return bandwidth > 0 ? bytes / bandwidth : 0;
}

static double sync_of(const mr_level_problem *p, uint32_t level, double weights, double m)
{
	double copies = p->sync == MR_SYNC_2018 ? 4 * (m - 1) / m : 2 * (m - 1);

	return transfer(copies * weights, p->level[level].bandwidth);
}

static double shared_by(const solver *s, uint32_t level, uint32_t first, uint32_t end, uint32_t m)
{
	return fmax(below(s, level, first, end), sync_of(s->p, level, s->weights[end] - s->weights[first], m)) / m;
}

static double boundary_at(const mr_level_problem *p, uint32_t level, uint32_t first)
{
	return transfer(2 * p->layer[first - 1].activation, p->level[level].bandwidth);
}

static void find(solver *s, uint32_t level, uint32_t first, uint32_t end, uint32_t m)
{
	cell *c = cell_at(s, level, first, end, m);

	*c = (cell){shared_by(s, level, first, end, m), first, m, 1};
	for (uint32_t at = first + 1; at < end; at++)
		for (uint32_t last = 1; last < m; last++) {
			const cell *rest = cell_at(s, level, first, at, m - last);
			double t = fmax(fmax(rest->best, boundary_at(s->p, level, at)),
					shared_by(s, level, at, end, last));

			if (t < c->best * (1 - SAME) ||
			    (t <= c->best * (1 + SAME) && rest->n_stages + 1 < c->n_stages))
				*c = (cell){t, at, last, rest->n_stages + 1};
		}
}

static mr_status bound(const mr_level_problem *p)
{
	double n = p->n_layers, steps = 0;

	for (uint32_t k = 0; k < p->n_levels; k++)
		steps += n * n * n * p->level[k].parts * p->level[k].parts / 6;
	if (steps <= MR_PARTITION_MOST_STEPS)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "%u layers take %.2g steps (layers^3 parts^2 a level), and at most %.2g are allowed: rows of "
		       "neighbouring layers can be added up",
		       p->n_layers, steps, MR_PARTITION_MOST_STEPS);
}

static mr_status open_solver(solver *s, const mr_level_problem *p)
{
	size_t n = p->n_layers;
	bool there = true;

	*s = (solver){.p = p, .time = calloc(2 * (n + 1), sizeof(*s->time))};
	for (uint32_t k = 0; k < p->n_levels; k++) {
		s->table[k] = calloc(n * (n + 1) * (p->level[k].parts + 1u), sizeof(*s->table[k]));
		there &= s->table[k] != NULL;
	}
	if (!s->time || !there)
		return mr_fail(MR_ERESOURCE, "no memory to cut %u layers", p->n_layers);
	s->weights = s->time + n + 1;
	for (size_t i = 0; i < n; i++) {
		s->time[i + 1] = s->time[i] + p->layer[i].forward + p->layer[i].backward;
		s->weights[i + 1] = s->weights[i] + p->layer[i].weights;
	}
	return MR_OK;
}

static void close_solver(solver *s)
{
	for (uint32_t k = 0; k < MR_LEVELS_MOST; k++)
		free(s->table[k]);
	free(s->time);
}

static mr_status add(mr_level_partition *out, mr_level_stage stage)
{
	mr_level_stage *more = realloc(out->stage, (out->n_stages + 1u) * sizeof(*more));

	if (!more)
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", out->n_stages + 1);
	out->stage = more;
	out->stage[out->n_stages++] = stage;
	return MR_OK;
}

/* The stages of layers [first, end) on @m parts, each before those of one of its parts. */
static mr_status take(const solver *s, uint32_t level, uint32_t first, uint32_t end, uint32_t m,
		      mr_level_partition *out)
{
	const cell *c = cell_at(s, level, first, end, m);

	if (c->end > first)
		MR_TRY(take(s, level, first, c->end, m - c->parts, out));
	MR_TRY(add(out, (mr_level_stage){.first = c->end,
					 .end = end,
					 .level = level,
					 .parts = c->parts,
					 .time = shared_by(s, level, c->end, end, c->parts),
					 .boundary = c->end > first ? boundary_at(s->p, level, c->end) : 0}));
	return level ? take(s, level - 1, c->end, end, s->p->level[level - 1].parts, out) : MR_OK;
}

mr_status mr_level_partition_solve(const mr_level_problem *p, mr_level_partition *out)
{
	uint32_t top = p->n_levels - 1;
	solver s = {0};
	mr_status st;

	*out = (mr_level_partition){0};
	MR_TRY(bound(p));
	st = open_solver(&s, p);
	for (uint32_t k = 0; st == MR_OK && k < p->n_levels; k++)
		for (uint32_t first = p->n_layers; first-- > 0;)
			for (uint32_t end = first + 1; end <= p->n_layers; end++)
				for (uint32_t m = 1; m <= p->level[k].parts; m++)
					find(&s, k, first, end, m);
	if (st == MR_OK) {
		out->bottleneck = cell_at(&s, top, 0, p->n_layers, p->level[top].parts)->best;
		st = take(&s, top, 0, p->n_layers, p->level[top].parts, out);
	}
	close_solver(&s);
	return st;
}

double mr_level_partition_shared(const mr_level_problem *p)
{
	double t = 0, w = 0;

	for (uint32_t i = 0; i < p->n_layers; i++) {
		t += p->layer[i].forward + p->layer[i].backward;
		w += p->layer[i].weights;
	}
	for (uint32_t k = 0; k < p->n_levels; k++)
		t = fmax(t, sync_of(p, k, w, p->level[k].parts)) / p->level[k].parts;
	return t;
}

void mr_level_partition_fini(mr_level_partition *c)
{
	free(c->stage);
	*c = (mr_level_partition){0};
}
